"""What algorithms claim to support, held against them: on models of every kind each is right, or refuses in words.

The matrix is made from `supports`, `ignores` and `needs` of the catalog; the truth is the dense oracle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sarrus
from sarrus import Algorithm, Feature, Status
from sarrus.errors import IllPosedError, UnsupportedError
from sarrus.model.independent import independent_positions, independent_velocities
from sarrus.model.model import Model
from sarrus.registry.features import found_in
from tests.algorithms.embedded_cases import Dense, State, dense
from tests.algorithms.kinds import KINDS, Inputs, inputs_of, limbs, model_of
from tests.derivatives.differences import along_the_constraints, differences, slope
from tests.derivatives.duals import jacobians
from tests.mechanisms import relative_error
from tests.oracles import loops
from tests.oracles.dense import oracle_of_model

CATALOG = sarrus.catalog()
OF_STATES = Feature.ANY_RANK | Feature.SOFT  # what no model can be refused for
WEIGHT = 50.0  # of soft rows


def can_do(algorithm: Algorithm, kind: str) -> bool:
    """As it claims."""
    has = KINDS[kind][0]
    return not has & ~(algorithm.supports | algorithm.ignores | OF_STATES) and algorithm.needs in has


CELLS = [(name, kind) for name in CATALOG for kind in KINDS]
TAKEN = [(name, kind) for name, kind in CELLS if can_do(CATALOG[name], kind)]
REFUSED = [cell for cell in CELLS if cell not in TAKEN]


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_model_has_is_found(kind):
    assert found_in(model_of(kind)) == KINDS[kind][0] & ~OF_STATES


def test_every_feature_is_claimed_by_somebody_and_has_words():
    claimed = Feature.NOTHING
    for algorithm in CATALOG.values():
        claimed |= algorithm.supports
    assert claimed | Feature.OTHER | Feature.MASSLESS == Feature.EVERYTHING
    for feature in Feature:
        assert str(feature) == "nothing" if feature is Feature.NOTHING else str(feature) != "nothing"
    assert str(Feature.LOOPS | Feature.LINKS) == "contacts and link rows, loop closures"


# --- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "kind"), REFUSED, ids=str)
def test_what_is_not_claimed_is_refused_in_words(name, kind):
    """Whether it is called, counted or compiled: before anything runs."""
    algorithm, x = CATALOG[name], inputs_of(kind)
    options = options_for(algorithm, x.model)
    for call in (
        lambda: algorithm(x.model, **x.arguments(algorithm.required), **options),
        lambda: algorithm.op_count(x.model, **options),
        lambda: algorithm.compile(x.model, **options),
    ):
        with pytest.raises(IllPosedError if kind == "massless" else UnsupportedError, match=f"^{name}") as error:
            call()
        culprits = ["feather", "sarrus.embed", "model.spanning", *(repr(c.name) for c in x.model.active_constraints)]
        assert any(word in str(error.value) for word in culprits)
        if "supports no constraints" in str(error.value):  # what does it instead really does
            able = str(error.value).partition("Take ")[2].split(", or ")[0] if ", or " in str(error.value) else ""
            assert all(can_do(CATALOG[other], kind) for other in able.split(", ") if other)


def test_forward_dynamics_leaves_nothing_out_of_account():
    """`sarrus.aba` ignores constraints; as a method it would be wrong to."""
    x = inputs_of("links")
    qdd = sarrus.aba(x.model, x["q"], x["v"], x["tau"])
    assert np.array_equal(qdd, sarrus.aba(limbs(), x["q"], x["v"], x["tau"]))
    message = (
        r"^aba supports no constraints, and 'contact_tip_a' is a Contact\. Use bbo, constrained_aba, .*, or `model"
    )
    with pytest.raises(UnsupportedError, match=message):
        sarrus.forward_dynamics(x.model, x["q"], x["v"], x["tau"], method="aba")


# --- what is right -------------------------------------------------------------------------------------------------

Comparison = tuple[Any, Any]  # what was found, and the truth


@pytest.mark.parametrize(("name", "kind"), TAKEN, ids=str)
def test_what_is_claimed_is_right(name, kind):
    algorithm, x = CATALOG[name], inputs_of(kind)
    unclaimed = KINDS[kind][0] & OF_STATES & ~algorithm.supports
    try:
        result = algorithm(x.model, **x.arguments(inputs_for(algorithm)), **options_for(algorithm, x.model))
    except UnsupportedError:
        assert unclaimed
        return
    values = (result,) if algorithm.outputs is not None else result
    found = dict(zip(algorithm.output_names, values, strict=True))
    if unclaimed and found.get("status") != Status.OK:  # it says that it cannot
        return
    for got, expected in TRUTH[algorithm.family](name, x, found):
        assert relative_error(got, expected, 1.0) < 1e-7
    assert found.get("status", Status.OK) in (Status.OK, Status.INFEASIBLE if "conflict" in kind else Status.OK)


def inputs_for(algorithm: Algorithm) -> tuple[str, ...]:
    return tuple(i.name for i in algorithm.inputs if i.instead_of is None and i.name not in ("held", "forces0"))


def options_for(algorithm: Algorithm, model: Model) -> dict[str, Any]:
    options = {"frame": model.body_names[-1], "weight": WEIGHT}
    return {name: options[name] for name in algorithm.options if name in options}


def problem(x: Inputs) -> Dense:
    return dense(x.model, State(x["q"], x["v"], x["tau"]), x["external_forces"], x["k"])


def of_tree(name: str, x: Inputs, found: dict[str, Any]) -> list[Comparison]:
    oracle, model = oracle_of_model(x.model), x.model
    q, v, a, tau = (x[key] for key in ("q", "v", "a", "tau"))
    forces = dict(zip(model.body_names, x["external_forces"], strict=True))
    frame = model.body_names[-1], np.eye(4)
    bodies = [oracle.frame_motion(body, np.eye(4), q, v, a) for body in model.body_names]
    momenta = np.array([oracle.centroidal_momentum(q, unit) for unit in np.eye(model.nv)]).T
    truth: dict[str, Callable[[], tuple[Any, ...]]] = {
        "aba": lambda: (oracle.forward_dynamics(q, v, tau, forces),),
        "rnea": lambda: (oracle.inverse_dynamics(q, v, a, forces),),
        "crba": lambda: (oracle.mass_matrix(q),),
        "bias_forces": lambda: (oracle.bias(q, v, forces),),
        "gravity_forces": lambda: (oracle.bias(q, 0.0 * v),),
        "energy": lambda: oracle.energy(q, v),
        "center_of_mass": lambda: oracle.center_of_mass(q, v),
        "centroidal_momentum": lambda: (oracle.centroidal_momentum(q, v),),
        "centroidal_momentum_matrix": lambda: (momenta,),
        "frame_jacobian": lambda: (oracle.frame_jacobian(*frame, q),),
        "frame_jacobian_bias": lambda: (oracle.frame_motion(*frame, q, v)[2],),
        "frame_velocity": lambda: (oracle.frame_motion(*frame, q, v)[1],),
        "frame_acceleration": lambda: (oracle.frame_motion(*frame, q, v, a)[2],),
        "forward_kinematics": lambda: (
            np.array([T[:3, :3] for T, _, _ in bodies]),
            np.array([T[:3, 3] for T, _, _ in bodies]),
            *(np.array(motion) for motion in zip(*(body[1:] for body in bodies), strict=True)),
        ),
    }
    if name.endswith("_regressor"):  # times the parameters
        pi = sarrus.inertial_parameters(model)
        kinetic, potential = oracle.energy(q, v)
        arm = np.concatenate([body.joint.armature for body in model.bodies])
        truth |= {
            "inverse_dynamics_regressor": lambda: (oracle.inverse_dynamics(q, v, a) - arm * a,),
            "kinetic_energy_regressor": lambda: (kinetic - 0.5 * arm @ (v * v),),
            "potential_energy_regressor": lambda: (potential,),
        }
        found = {name: found["Y"] @ pi}
    return list(zip(found.values(), truth[name](), strict=True))


def of_constrained(name: str, x: Inputs, found: dict[str, Any]) -> list[Comparison]:
    truth = problem(x)
    soft = Feature.SOFT in CATALOG[name].supports
    return [(found["qdd"], truth.soft(x["tau"], WEIGHT) if soft else truth.hard(x["tau"]))]


def of_delassus(name: str, x: Inputs, found: dict[str, Any]) -> list[Comparison]:
    A = problem(x).delassus
    if "Lambda_inv" in found:
        return [(found["Lambda_inv"], A)]
    return [(found["applied"], A @ x["rhs"]), (A @ found["solved"], x["rhs"])]


def of_embedded(name: str, x: Inputs, found: dict[str, Any]) -> list[Comparison]:
    """By G and g of the oracle: qd = G yd, qdd = G ydd + g."""
    truth, free = problem(x), list(independent_velocities(x.model))
    A = np.vstack([truth.K, np.eye(x.model.nv)[free]])
    zero, unit = np.zeros((len(truth.K), len(free))), np.eye(len(free))
    G = np.linalg.lstsq(A, np.vstack([zero, unit]), rcond=1e-9)[0]
    g = np.linalg.lstsq(A, np.concatenate([truth.kappa, 0.0 * unit[0]]), rcond=1e-9)[0]
    qdd = truth.hard(x["tau"])
    return {
        "ce_aba": lambda: [(found["qdd"], qdd), (found["ydd"], qdd[free])],
        "ce_crba": lambda: [(found["M_y"], G.T @ truth.M @ G)],
        "ce_bias_forces": lambda: [(found["c_y"], G.T @ (truth.M @ g + truth.c))],
        "ce_rnea": lambda: [(found["tau_y"], G.T @ (truth.M @ x["a"] + truth.c))],
        "embedding_jacobian": lambda: [(found["G"], G), (found["g"], g)],
        "ce_frame_jacobian": lambda: of_reduced_jacobian(x, found, G, g),
        "ce_inverse_dynamics_regressor": lambda: [
            (
                found["Y"] @ sarrus.inertial_parameters(x.model),
                G.T @ (truth.M @ x["a"] + oracle_of_model(x.model).bias(x["q"], x["v"])),
            )
        ],
        "hybrid": lambda: [(found["qdd"], qdd)],
        "reduce": lambda: [(G @ found["yd"], x["v"])],
        "expand": lambda: [(found["q"], x["q"]), (found["v"], x["v"])],
    }[name]()


def of_reduced_jacobian(x: Inputs, found: dict[str, Any], G: np.ndarray, g: np.ndarray) -> list[Comparison]:
    oracle, frame = oracle_of_model(x.model), (x.model.body_names[-1], np.eye(4))
    J, bias = oracle.frame_jacobian(*frame, x["q"]), oracle.frame_motion(*frame, x["q"], x["v"])[2]
    return [(found["J_y"], J @ G), (found["bias"], J @ g + bias)]


def of_position(name: str, x: Inputs, found: dict[str, Any]) -> list[Comparison]:
    whole = loops.kkt(x.model.spanning, x["q"], x["v"], x["k"])
    if name == "closure":
        return [(found["jacobian"], whole.J), (found["velocity"], whole.J @ x["v"])]
    away = sarrus.integrate(x.model, x["q"], 0.02 * x["a"])
    back = sarrus.project(x.model, away, x["a"])
    error = loops.closure_error(x.model.spanning, back.q)[0]
    J = loops.kkt(x.model.spanning, back.q, back.v, x["k"]).J
    return [(error, 0.0 * error), (J @ back.v, np.zeros(len(J)))]


def of_derivatives(name: str, x: Inputs, found: dict[str, Any]) -> list[Comparison]:
    """By dual numbers, of the text that is differentiated; of constrained dynamics, by differences."""
    if name == "forward_dynamics_derivatives":
        return of_constrained_derivatives(x, found)
    if name == "ce_aba_derivatives":
        return of_embedded_derivatives(x, found)
    model, last = x.model, x.model.body_names[-1]
    if name == "frame_jacobian_derivative":
        (by,) = jacobians(lambda q: sarrus.frame_jacobian.text(model, q, last).ravel(), model, x["q"])
        return [(found["J_t"], (by @ x["v"]).reshape(6, -1))]
    source = CATALOG[name.removesuffix("_derivatives")]
    names = [key for key in source.input_names if key in ("v", "a", "tau")]
    rest = {"external_forces": x["external_forces"]} if "external_forces" in source.input_names else {}
    rest |= {"frame": last} if "frame" in source.options else {}

    def values(*state: Any) -> np.ndarray:
        result = source.text(model, *state, **rest)
        return np.concatenate([np.ravel(y) for y in (result if source.outputs is None else [result])])

    state = [x["q"], *(x[key] for key in names)]
    pairs, start, jacobian = [], 0, jacobians(values, model, *state)
    for output in source.output_names:
        span = slice(start, start := start + np.size(found[output]))
        pairs.append((np.ravel(found[output]), values(*state)[span]))
        for key, by in zip(("q", *names), jacobian, strict=True):
            if (matrix := f"d{output}_d{key}") in found:
                pairs.append((np.ravel(found[matrix]), by[span].ravel()))
    assert len(pairs) == len(found)
    return pairs


def of_embedded_derivatives(x: Inputs, found: dict[str, Any]) -> list[Comparison]:
    """By differences along motions that keep the loops closed."""
    model, q, zero = x.model, x["q"], np.zeros(x.model.ny)
    free, where = list(independent_velocities(model)), list(independent_positions(model))

    def ydd(dy, dyd):
        moved = sarrus.integrate(model, q, found["G"] @ dy)
        at = sarrus.expand(model, moved[where], x["v"][free] + dyd, near=moved, tolerance=1e-14)
        return sarrus.ce_aba(model, at.q, at.v, x["tau"], external_forces=x["external_forces"]).ydd

    by_y = [slope(lambda t, e=e: ydd(t * e, zero)) for e in np.eye(model.ny)]
    by_yd = [slope(lambda t, e=e: ydd(zero, t * e)) for e in np.eye(model.ny)]
    return [
        (found["ydd"], ydd(zero, zero)),
        (found["dydd_dy"], np.stack(by_y, axis=1)),
        (found["dydd_dyd"], np.stack(by_yd, axis=1)),
        (found["dydd_dtau_y"] @ sarrus.ce_crba(model, q), np.eye(model.ny)),
    ]


def of_constrained_derivatives(x: Inputs, found: dict[str, Any]) -> list[Comparison]:
    model, (q, v, tau) = x.model, (x[key] for key in ("q", "v", "tau"))

    given = {"external_forces": x["external_forces"]} | ({"k": x["k"]} if model.n_input_rows else {})

    def qdd(q, v, tau):
        return sarrus.prox_ltl(model.spanning, q, v, tau, **given, tolerance=1e-14).qdd

    by = [found[f"dqdd_d{key}"] for key in ("q", "v", "tau")]
    if found["unique"] == 1.0:
        return [(found["qdd"], qdd(q, v, tau)), *zip(by, differences(qdd, model, q, v, tau), strict=True)]

    def along(dq, dv):
        return slope(lambda t: qdd(sarrus.integrate(model, q, t * dq), v + t * dv, tau))

    return [(by[0] @ dq + by[1] @ dv, along(dq, dv)) for dq, dv in along_the_constraints(model, q, v)]


TRUTH = {
    "tree": of_tree, "position": of_position, "constrained": of_constrained, "embedded": of_embedded,
    "delassus": of_delassus, "derivatives": of_derivatives,
}  # fmt: skip
