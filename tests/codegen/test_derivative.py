"""`compile(derivative=...)` of every algorithm: against differences, and the three kinds against each other."""

from __future__ import annotations

import pickle
import shutil
from typing import Any

import casadi as ca
import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.codegen.tape.derivative import Derivative, derivative_tape
from sarrus.codegen.tape.interpret import run
from sarrus.codegen.tape.replay import iterates
from sarrus.codegen.tape.tape import Tape
from sarrus.codegen.tape.trace import trace
from sarrus.errors import UnsupportedError
from tests.algorithms.test_three_ways import FIRST, Case
from tests.codegen.test_picks import compiled_c
from tests.mechanisms import MOVING_KINDS, mechanism, relative_error

H = 1e-3  # of differences of fourth order
KINDS = ("jacobian", "jvp", "vjp")
ONE_BY_ONE = [  # algorithms whose own tape is differentiated
    name for name, case in FIRST.items()
    if not case.algorithm.derivatives and case.algorithm.family != "derivatives" and name not in ("project", "expand")
]  # fmt: skip


def evaluated(tape: Tape, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Of one state."""
    values = run(tape, [np.ravel(given[port.name]) for port in tape.inputs])
    return {p.name: np.array(x, float).reshape(p.shape) for p, x in zip(tape.outputs, values, strict=True)}


def moved(model: sarrus.Model, given: dict[str, np.ndarray], along: dict[str, np.ndarray], t: float) -> dict:
    out = dict(given)
    for name, u in along.items():
        if name in ("q", "near"):
            out[name] = sarrus.integrate(model, given[name], t * u)
        else:
            out[name] = given[name] + t * u
    return out


def change(model: sarrus.Model, name: str, now: np.ndarray, then: np.ndarray) -> np.ndarray:
    return sarrus.difference(model, now, then) if name == "q" else then - now


def tangents_of(model: sarrus.Model, given: dict[str, np.ndarray], wrt: tuple[str, ...], seed: int) -> dict:
    rng = np.random.default_rng(seed)
    sizes = {name: (model.nv,) if name in ("q", "near") else given[name].shape for name in wrt}
    return {name: rng.normal(size=size) for name, size in sizes.items()}


def check_all_kinds(model: sarrus.Model, case: Case, tolerance: float) -> None:
    """Along a direction: differences, the jvp and the Jacobian; and the vjp weighted by what the jvp is weighted by."""
    given, options, algorithm = case.first(), dict(case.options), case.algorithm
    value = trace(model, algorithm, inputs=case.names, **options)
    tapes = {
        kind: derivative_tape(model, algorithm, Derivative(kind, case.names), case.names, **options) for kind in KINDS
    }
    along = tangents_of(model, given, case.names, 1)
    now = evaluated(value, given)
    ahead = {t: evaluated(value, moved(model, given, along, t * H)) for t in (-2, -1, 1, 2)}
    jvp = evaluated(tapes["jvp"], given | {f"d{name}": u for name, u in along.items()})
    jacobian = evaluated(tapes["jacobian"], given)
    smooth = [port.name for port in value.outputs if not port.whole]
    for name in smooth:
        assert relative_error(jvp[name], now[name], 1.0) < 1e-12
        step = {t: change(model, name, now[name], x[name]) for t, x in ahead.items()}
        slope = (8.0 * (step[1] - step[-1]) - (step[2] - step[-2])) / (12.0 * H)
        assert relative_error(jvp[f"d{name}"], slope, 1.0) < tolerance
        summed = sum(np.tensordot(jacobian[f"d{name}_d{x}"], u, axes=u.ndim) for x, u in along.items())
        assert relative_error(summed, jvp[f"d{name}"], 1.0) < 1e-11
    weights = {f"{x}_bar": np.random.default_rng(2).normal(size=jvp[f"d{x}"].shape) for x in smooth}
    vjp = evaluated(tapes["vjp"], given | weights)
    forwards = sum(np.vdot(weights[f"{x}_bar"], jvp[f"d{x}"]) for x in smooth)
    terms = [vjp[f"{name}_bar"] * u for name, u in along.items()]
    assert abs(forwards - sum(x.sum() for x in terms)) < 1e-11 * (1.0 + sum(np.abs(x).sum() for x in terms))


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_every_algorithm(name):
    case = FIRST[name]
    assert not iterates(trace(case.model, case.algorithm, inputs=case.names, **dict(case.options)))
    check_all_kinds(case.model, case, 1e-6)


@pytest.mark.parametrize("name", ["aba", "rnea"])
@pytest.mark.parametrize("kind", MOVING_KINDS)
def test_dynamics_of_every_joint_type(name, kind):
    class Small(Case):
        """A chain that begins with this joint."""

        @property
        def model(self):
            return CHAINS[kind].model

        def first(self):
            return CHAINS[kind].state().arguments(self.names)

    algorithm = sarrus.catalog()[name]
    case = Small(algorithm, (*algorithm.required, "external_forces"), ())
    without = Small(algorithm, algorithm.required, ())
    check_kinds_beside_each_other(case)
    check_all_kinds(case.model, without, 1e-7)


CHAINS = {kind: mechanism(3, [kind, "revolute"], armature=[True, False]) for kind in MOVING_KINDS}


def check_kinds_beside_each_other(case: Case) -> None:
    """External forces have no closed form: Jacobians of tapes stand beside closed ones."""
    model, given = case.model, case.first()
    both = derivative_tape(model, case.algorithm, Derivative("jacobian", case.names), case.names)
    assert both.op_count.total > 0
    closed = derivative_tape(model, case.algorithm, Derivative("jacobian", case.names[:3]), case.names)
    found, expected = evaluated(both, given), evaluated(closed, given)
    for name in expected:
        assert relative_error(found[name], expected[name], 1.0) < 1e-10


def test_every_method_of_constrained_dynamics_is_differentiated():
    """In closed form, or it is straight-line text itself."""
    for case in FIRST.values():
        if case.algorithm.output_names[0] == "qdd" and case.algorithm.family in ("constrained", "embedded"):
            closed = case.algorithm.derivatives == "forward_dynamics_derivatives"
            assert closed or case.algorithm.name in ("ce_aba", "ltl_soft", "pv_soft")


@pytest.mark.parametrize("name", ["lcaba", "pv", "hybrid"])
def test_methods_that_iterate_are_differentiated_at_their_solution(name):
    case = FIRST[name]
    names = tuple(x for x in ("q", "v", "tau", "k") if x in case.algorithm.input_names)
    wrt, model, given = names[:3], case.model, case.first()
    given = {x: given[x] for x in names}
    expected = sarrus.forward_dynamics_derivatives(model, **given)
    found = evaluated(derivative_tape(model, case.algorithm, Derivative("jacobian", wrt), names), given)
    assert relative_error(found["dqdd_dq"], expected.dqdd_dq, 1.0) < 1e-9
    assert "unique" in found
    along = tangents_of(model, given, wrt, 4)
    jvp = evaluated(
        derivative_tape(model, case.algorithm, Derivative("jvp", wrt), names),
        given | {f"d{x}": u for x, u in along.items()},
    )
    assert relative_error(jvp["dqdd"], sum(found[f"dqdd_d{x}"] @ u for x, u in along.items()), 1.0) < 1e-10
    weights = {"qdd_bar": np.ones(model.nv), "forces_bar": np.zeros(model.n_rows)}
    vjp = evaluated(derivative_tape(model, case.algorithm, Derivative("vjp", wrt), names), given | weights)
    assert relative_error(vjp["tau_bar"], found["dqdd_dtau"].sum(axis=0), 1.0) < 1e-10


def test_what_has_no_derivative_is_refused_in_words():
    model = zoo.five_bar()
    with pytest.raises(UnsupportedError, match=r"nothing differentiates through iterations.*derivatives"):
        sarrus.compile(model, "project", derivative="jvp")
    with pytest.raises(UnsupportedError, match="Valid: jacobian, jvp, vjp"):
        sarrus.compile(model, "aba", derivative="hessian")
    with pytest.raises(UnsupportedError, match="Valid: jacobian, jvp, vjp"):
        sarrus.compile(model, "aba", wrt="q")
    with pytest.raises(sarrus.errors.SarrusError, match=r"wrt of aba.*q, v, tau"):
        sarrus.compile(model, "aba", derivative="jvp", wrt=("q", "qdd"))
    with pytest.raises(UnsupportedError, match="expected names"):
        sarrus.compile(model, "aba", derivative="jvp", wrt=5)
    with pytest.raises(UnsupportedError, match="each once"):
        sarrus.compile(model, "aba", derivative="jvp", wrt=())
    with pytest.raises(UnsupportedError, match="each once"):
        sarrus.compile(model, "aba", derivative="jvp", wrt=("q", "q"))


def test_second_derivatives():
    """Of text that is a loop in the tape: repetitions are written out."""
    model = zoo.chain(6)
    q, v = sarrus.random_state(model, 0)
    rng = np.random.default_rng(0)
    a, u = rng.normal(size=(2, model.nv))
    tape = derivative_tape(model, sarrus.aba_derivatives, Derivative("jvp", ("q",)), ("q", "v", "tau"))
    got = evaluated(tape, {"q": q, "v": v, "tau": a, "dq": u})

    def at(t: float) -> np.ndarray:
        return sarrus.aba_derivatives(model, q + t * u, v, a).dqdd_dv

    expected = (8.0 * (at(H) - at(-H)) - (at(2 * H) - at(-2 * H))) / (12.0 * H)
    assert relative_error(got["ddqdd_dv"], expected, 1.0) < 1e-6


def symbolic() -> tuple[sarrus.Model, dict[str, Any]]:
    symbols = {name: ca.SX.sym(name) for name in ("m", "l", "c")}
    builder = sarrus.ModelBuilder("symbolic").add_body("upper", mass=1.0, com=(0.0, 0.1, -0.2), inertia=0.1 * np.eye(3))
    builder.add_body(
        "lower", "upper", axis=(0.0, 1.0, 0.0), position=(0.0, 0.0, -symbols["l"]), mass=symbols["m"],
        com=(0.0, 0.0, symbols["c"]), inertia=0.05 * np.eye(3),
    )  # fmt: skip
    return builder.build(), symbols


@pytest.mark.parametrize("name", ["aba", "rnea", "energy"])
def test_parameters_of_a_model(name):
    model, symbols = symbolic()
    order = [symbols[x] for x in "mlc"]
    p = np.array([1.3, 0.4, -0.2])
    names = sarrus.catalog()[name].required
    state = dict(zip(("q", "v", "tau", "a"), np.random.default_rng(5).normal(size=(4, 2)), strict=True))
    given = {x: state[x] for x in names} | {"parameters": p}
    value = sarrus.compile(model, name, parameters=order)
    kernel = sarrus.compile(model, name, parameters=order, derivative="jacobian", wrt=("parameters", "q"))
    found, first = kernel(**given), value.output_names[0]

    def at(t: float, e: np.ndarray) -> np.ndarray:
        result = value(**given | {"parameters": p + t * e})
        return np.asarray(result[0] if isinstance(result, tuple) else result)

    slopes = [(8.0 * (at(H, e) - at(-H, e)) - (at(2 * H, e) - at(-2 * H, e))) / (12.0 * H) for e in np.eye(3)]
    assert relative_error(getattr(found, f"d{first}_dparameters"), np.stack(slopes, axis=-1), 1.0) < 1e-7
    back = sarrus.compile(model, name, parameters=order, derivative="vjp", wrt="parameters")
    weights = {f"{x}_bar": np.ones(np.shape(getattr(found, x))) for x in value.output_names}
    total = sum(np.reshape(getattr(found, f"d{x}_dparameters"), (-1, 3)).sum(axis=0) for x in value.output_names)
    assert relative_error(back(**given | weights).parameters_bar, total, 1.0) < 1e-12


def test_a_gear_ratio_of_constrained_dynamics():
    """Methods that iterate too: what they solve is solved once, and that is differentiated."""
    symbols = {name: ca.SX.sym(name) for name in ("m", "l", "r")}
    builder = sarrus.ModelBuilder("geared").add_body("motor", mass=0.3, inertia=0.01 * np.eye(3))
    builder.add_body("arm", mass=symbols["m"], com=(0.0, 0.1, -symbols["l"]), inertia=0.1 * np.eye(3), axis=(0, 1, 0))
    builder.add_body("hand", "arm", axis=(0, 1, 0), position=(0.0, 0.0, -symbols["l"]), mass=1.0, com=(0.1, 0, -0.2),
                     inertia=0.05 * np.eye(3))  # fmt: skip
    builder.add_constraint(sarrus.coupling({"motor_joint": 1.0, "arm_joint": -symbols["r"]}))
    model, order = builder.build(), list(symbols.values())
    assert not model.is_numeric
    assert "(-r)" in model.constraints[0].in_words()[1]
    q, v, tau = np.random.default_rng(1).normal(size=(3, 3))
    p, external = np.array([1.3, 0.4, 6.0]), np.random.default_rng(2).normal(size=(3, 6))
    inputs = ("q", "v", "tau", "external_forces")
    value = sarrus.compile(model, "bbo", inputs=inputs, parameters=order, fallback=None)
    kernel = sarrus.compile(
        model,
        "prox_ltl",
        inputs=inputs,
        parameters=order,
        mu=1e8,
        derivative="vjp",
        wrt=("parameters", "external_forces"),
    )
    weights = np.random.default_rng(3).normal(size=(3,))
    got = kernel(q, v, tau, external, p, weights, np.zeros(1))
    assert (got.status, got.unique) == (0, 1.0)

    def at(p: np.ndarray, external: np.ndarray) -> float:
        return weights @ value(q, v, tau, external, p).qdd

    def slope(f) -> float:
        return (8.0 * (f(H) - f(-H)) - (f(2 * H) - f(-2 * H))) / (12.0 * H)

    by_parameters = [slope(lambda t, e=e: at(p + t * e, external)) for e in np.eye(3)]
    by_forces = [slope(lambda t, e=e: at(p, external + t * e.reshape(3, 6))) for e in np.eye(18)]
    assert relative_error(got.parameters_bar, np.array(by_parameters), 1.0) < 1e-8
    assert relative_error(got.external_forces_bar.ravel(), np.array(by_forces), 1.0) < 1e-8


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
def test_native_code_casadi_and_python_agree(kind, tmp_path):
    model = mechanism(1, ["free", "revolute", "spherical", "universal"]).model
    kernel = sarrus.compile(model, "aba", derivative=kind, wrt=("q", "tau"))
    rng = np.random.default_rng(3)
    q, v = sarrus.random_state(model, 1, batch=9)
    arrays = [q, v, *rng.normal(size=(len(kernel.input_names) - 2, 9, model.nv))]
    batch = kernel(*arrays)
    for k in (0, 8):
        one = kernel(*(x[k] for x in arrays))
        text = kernel._algorithm.text(model, **{n: x[k] for n, x in zip(kernel.input_names, arrays, strict=True)})
        symbolic = kernel.to_casadi()(*(x[k] for x in arrays))
        for x, y, z, w in zip(batch, one, text, symbolic, strict=True):
            assert np.array_equal(x[k], y)
            assert relative_error(y, z, 1.0) < 1e-10
            assert relative_error(np.asarray(w).ravel(), y, 1.0) < 1e-10
    again = pickle.loads(pickle.dumps(kernel))
    assert type(pickle.loads(pickle.dumps(batch))) is type(again(*arrays)) is type(batch)
    assert kernel.to_c(tmp_path).is_file()


def test_kernels_of_different_derivatives_are_told_apart():
    model = zoo.chain(3)
    plain = sarrus.compile(model, "aba")
    hashes = {plain.source_hash}
    for kind in ("jvp", "vjp"):
        for wrt in (None, "q", ("q", "v"), ("v", "q")):
            for _ in range(2):  # the second one from disk
                kernel = sarrus.compile(model, "aba", derivative=kind, wrt=wrt)
                order = (wrt,) if isinstance(wrt, str) else wrt or ("q", "v", "tau")
                if kind == "vjp":
                    assert kernel.output_names == ("qdd", *(f"{x}_bar" for x in order))
                else:
                    assert kernel.input_names == ("q", "v", "tau", *(f"d{x}" for x in order))
            hashes.add(kernel.source_hash)
    assert len(hashes) == 9


@pytest.mark.parametrize(("name", "most"), [("aba", 2.2), ("rnea", 2.5)])
def test_what_a_gradient_costs(name, most):
    """Exactly, beside the value: `python -m benchmarks.gradient_counts` has robots."""
    model = zoo.biped().without_constraints()
    gradient = derivative_tape(model, sarrus.catalog()[name], Derivative("vjp", sarrus.catalog()[name].required))
    ratio = gradient.op_count.total / sarrus.op_count(model, name).total
    assert ratio < most


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
@pytest.mark.parametrize(
    ("name", "how"),
    [("forward_dynamics_derivatives", {}), ("lcaba", {"derivative": "vjp"}), ("aba", {"derivative": "jacobian"})],
)
def test_derivatives_in_c(name, how, tmp_path):
    """Loops over columns, outputs without elements and all."""
    model = zoo.five_bar()
    kernel = sarrus.compile(model, name, **how)
    q, v = sarrus.random_state(model, 2)
    rng, state = np.random.default_rng(0), {"q": q, "v": v}
    given = [state[p.name] if p.name in state else rng.normal(size=p.shape) for p in kernel.tape.inputs]
    found = compiled_c(kernel.tape, tmp_path, [x.reshape(1, -1) for x in given])
    for x, y in zip(found, kernel(*given), strict=True):
        assert relative_error(np.ravel(x), np.ravel(y), 1.0) < 1e-12
