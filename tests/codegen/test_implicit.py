"""Gradients and directions of methods that iterate: one solve at the solution, beside the closed form's columns."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus import Status, zoo
from sarrus.codegen.tape.derivative import Derivative, derivative_tape
from tests.algorithms.embedded_cases import state_of
from tests.algorithms.kinds import limbs
from tests.codegen.test_derivative import evaluated
from tests.derivatives.differences import along_the_constraints, slope
from tests.derivatives.test_constrained_derivatives import LOOPS, OVERCONSTRAINED, truth
from tests.mechanisms import relative_error

NAMES = ("q", "v", "tau")
ROWS = np.array([[1.0, 2.0, 0.0, 0.0, 0.3, 0.0], [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]])


def check_beside_columns(model: sarrus.Model, method: str, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The vjp, after it was compared with the Jacobian transposed, and so was the jvp with the Jacobian."""
    algorithm, names, rng = sarrus.catalog()[method], tuple(given), np.random.default_rng(7)
    wrt = tuple(x for x in names if x in ("q", "v", "tau", "k"))
    columns = evaluated(derivative_tape(model, algorithm, Derivative("jacobian", wrt), names), given)
    bars = {"qdd_bar": rng.normal(size=model.nv), "forces_bar": rng.normal(size=model.n_rows)}
    vjp = evaluated(derivative_tape(model, algorithm, Derivative("vjp", wrt), names), given | bars)
    along = {f"d{x}": rng.normal(size=columns[f"dqdd_d{x}"].shape[1]) for x in wrt}
    jvp = evaluated(derivative_tape(model, algorithm, Derivative("jvp", wrt), names), given | along)
    for found in (vjp, jvp):
        for name in ("rank", "unique", "status"):
            assert found[name] == columns[name]
        for name in ("qdd", "forces"):
            assert relative_error(found[name], columns[name], 1.0) < 1e-10
    for x in wrt:
        summed = columns[f"dqdd_d{x}"].T @ bars["qdd_bar"] + columns[f"dforces_d{x}"].T @ bars["forces_bar"]
        assert relative_error(vjp[f"{x}_bar"], summed, 1.0) < 1e-9
    for x in ("qdd", "forces"):
        summed = sum(columns[f"d{x}_d{y}"] @ along[f"d{y}"] for y in wrt)
        assert relative_error(jvp[f"d{x}"], summed, 1.0) < 1e-9
    return vjp | bars


@pytest.mark.parametrize("name", [*LOOPS, *OVERCONSTRAINED])
def test_loops(name):
    model = (LOOPS | OVERCONSTRAINED)[name]()
    found = check_beside_columns(model, "lcaba", dict(zip(NAMES, state_of(model, 1), strict=True)))
    assert found["status"] == Status.OK
    assert found["unique"] == (name in LOOPS)


def test_gradients_beside_differences():
    """Of the method itself, forces included."""
    model = zoo.five_bar()
    q, v, tau = state_of(model, 1)
    found, f, h = check_beside_columns(model, "lcaba", {"q": q, "v": v, "tau": tau}), truth(model), 1e-4

    def total(*state: np.ndarray) -> float:
        return np.concatenate([found["qdd_bar"], found["forces_bar"]]) @ f(*state)

    for e in np.eye(model.nv):
        assert abs(slope(lambda t, e=e: total(q + t * e, v, tau), h) - found["q_bar"] @ e) < 1e-7
        assert abs(slope(lambda t, e=e: total(q, v + t * e, tau), h) - found["v_bar"] @ e) < 1e-7
        assert abs(slope(lambda t, e=e: total(q, v, tau + t * e), h) - found["tau_bar"] @ e) < 1e-7


@pytest.mark.parametrize("name", OVERCONSTRAINED)
def test_overconstrained_loops_along_motions_that_keep_them_closed(name):
    """What is not unique is marked; what is, is right."""
    model, weights = OVERCONSTRAINED[name](), np.random.default_rng(3)
    q, v, tau = state_of(model, 1)
    bars = {"qdd_bar": weights.normal(size=model.nv), "forces_bar": np.zeros(model.n_rows)}
    tape = derivative_tape(model, sarrus.lcaba, Derivative("vjp", NAMES))
    found, f = evaluated(tape, {"q": q, "v": v, "tau": tau} | bars), truth(model)
    assert (found["unique"], found["status"]) == (0.0, Status.OK)
    for dq, dv in along_the_constraints(model, q, v):

        def moved(t, dq=dq, dv=dv):
            at = sarrus.project(model, sarrus.integrate(model, q, t * dq), v + t * dv)
            return f(at.q, at.v, tau)[: model.nv] @ bars["qdd_bar"]

        expected = slope(moved, 1e-3)
        assert abs(found["q_bar"] @ dq + found["v_bar"] @ dv - expected) < 1e-7 * (1.0 + abs(expected))


@pytest.mark.parametrize(
    "constraint",
    [
        sarrus.contact("tip_a", 6, stabilization=0.05, at=(np.array([0.1, 0.2, 0.3]), np.eye(3))),
        sarrus.loop("tip_a", "tip_b", "revolute", axis=(0.0, 0.0, 1.0), stabilization=0.1),
        sarrus.loop("tip_a", "tip_b", "universal", axis=(1.0, 0.0, 0.0), stabilization=0.1),
        sarrus.weld("tip_a", "tip_b", stabilization=0.1),
        sarrus.distance("tip_a", "tip_b", 0.4, stabilization=0.1),
        sarrus.coupling({"a0_joint": 1.0, "b2_joint": -6.0}, stabilization=0.1),
        sarrus.center_of_mass_constraint("xz", stabilization=0.1),
        sarrus.link_rows("tip_b", ROWS, k="input"),
    ],
    ids=lambda c: c.name,
)
def test_every_type_of_constraint(constraint):
    """Open, with feedback, external forces and accelerations that are given."""
    model = limbs(constraint, root="free", middle=("spherical", "cylindrical"))
    q, v = sarrus.random_state(model.without_constraints(), 5)
    rng = np.random.default_rng(2)
    given = {"q": q, "v": v, "tau": rng.normal(size=model.nv)}
    given |= {"k": rng.normal(size=2)} if model.n_input_rows else {}
    found = check_beside_columns(model, "prox_ltl", given | {"external_forces": rng.normal(size=(model.nb, 6))})
    assert (found["unique"], found["status"]) == (1.0, Status.OK)


def test_embedded_constraints_count_as_rows():
    """Their forces are not reported, and yet they hold."""
    model = sarrus.embed(zoo.geared_quadruped()).with_constraints(sarrus.contact("front_left_foot", 3, name="foot"))
    q, v = sarrus.random_state(model, 1)
    assert 0 < model.n_rows < model.spanning.n_rows
    found = check_beside_columns(model, "lcaba", {"q": q, "v": v, "tau": np.random.default_rng(0).normal(size=len(v))})
    assert found["status"] == Status.OK


def test_rows_that_are_there_twice():
    """Forces of the second ones do not vary; all else is as without them."""
    foot, again = (sarrus.contact("tip_a", 3, name=name, stabilization=0.1) for name in ("foot", "again"))
    once, twice = limbs(foot, root="free"), limbs(foot, again, root="free")
    q, v = sarrus.random_state(once.without_constraints(), 5)
    given = {"q": q, "v": v, "tau": np.ones(once.nv)}
    found = check_beside_columns(twice, "lcaba", given)
    assert (found["rank"], found["unique"], found["status"]) == (3, 1.0, Status.OK)
    tapes = {x: derivative_tape(x, sarrus.lcaba, Derivative("vjp", NAMES)) for x in (once, twice)}
    bars = {x: {"qdd_bar": np.ones(once.nv), "forces_bar": np.zeros(x.n_rows)} for x in tapes}
    one, two = (evaluated(tape, given | bars[x]) for x, tape in tapes.items())
    for x in NAMES:
        assert relative_error(one[f"{x}_bar"], two[f"{x}_bar"], 1.0) < 1e-9


def test_what_is_not_finite_is_told():
    model = zoo.five_bar()
    q, v = sarrus.random_state(model, 0)
    kernel, told = sarrus.compile(model, "lcaba", derivative="vjp"), 0
    for exponent in (0, 100, *range(140, 162, 2), 308):
        for scale in (1.0, 1e300):
            with np.errstate(all="ignore"):
                found = kernel(q, v * 10.0**exponent, np.zeros(4), scale * np.ones(4), np.ones(model.n_rows))
            is_finite = all(np.isfinite(np.asarray(x, float)).all() for x in found)
            assert is_finite or found.status != Status.OK
            told += not is_finite
    assert told


@pytest.mark.parametrize(("name", "most"), [("biped", 40_100), ("stewart", 15_500), ("delta", 17_100)])
def test_what_a_gradient_costs(name, most):
    """A few times the method, not columns; `python -m benchmarks.gradient_counts` has robots. A bound in operations
    does not change when the method itself becomes cheaper.
    """
    model = getattr(zoo, name)()
    gradient = derivative_tape(model, sarrus.lcaba, Derivative("vjp", NAMES)).op_count.total
    assert gradient < most
    assert gradient < 0.25 * sarrus.op_count(model, "forward_dynamics_derivatives").total


@pytest.mark.parametrize("make", [zoo.five_bar, zoo.geared_quadruped, zoo.delta], ids=lambda f: f.__name__)
def test_all_coordinates_by_independent_ones(make):
    """`expand` iterates; its derivatives are those of what it finds: dq = G dy, and v = G yd varies with both."""
    model = sarrus.embed(make())
    q, v, _ = state_of(model, 1)
    y, yd = sarrus.reduce(model, q, v)
    kernels = [
        sarrus.compile(model, "expand", inputs=("y", "yd", "near"), derivative=kind, wrt=("y", "yd"))
        for kind in ("jacobian", "jvp", "vjp")
    ]
    got = kernels[0](y, yd, q)
    assert got.status == Status.OK

    def both(y: np.ndarray, yd: np.ndarray) -> np.ndarray:
        x = sarrus.expand(model, y, yd, near=q)
        return np.concatenate([sarrus.difference(model, got.q, x.q), x.v])

    by_y = np.stack([slope(lambda t, e=e: both(y + t * e, yd)) for e in np.eye(len(y))], axis=1)
    by_yd = np.stack([slope(lambda t, e=e: both(y, yd + t * e)) for e in np.eye(len(yd))], axis=1)
    assert relative_error(np.concatenate([got.dq_dy, got.dv_dy]), by_y) < 1e-9
    assert relative_error(np.concatenate([got.dq_dyd, got.dv_dyd]), by_yd) < 1e-9
    rng = np.random.default_rng(0)
    dy, dyd, q_bar, v_bar = (rng.normal(size=n) for n in (len(y), len(yd), model.nv, model.nv))
    along, back = kernels[1](y, yd, q, dy, dyd), kernels[2](y, yd, q, q_bar, v_bar)
    assert relative_error(along.dv, got.dv_dy @ dy + got.dv_dyd @ dyd) < 1e-11
    assert relative_error(back.y_bar, q_bar @ got.dq_dy + v_bar @ got.dv_dy) < 1e-11
