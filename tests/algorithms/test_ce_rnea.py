"""Inverse dynamics, mass matrix and bias in independent coordinates, and the forces of motors."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.errors import UnknownNameError, UnsupportedError
from sarrus.model.independent import independent_velocities
from tests.algorithms.embedded_cases import loop_on_a_loop, state_of
from tests.mechanisms import relative_error
from tests.oracles import loops

MECHANISMS = {
    "parallel belts": lambda: zoo.tree_of("parallel_belt", 2, 1),
    "differentials": lambda: zoo.tree_of("differential", 1, 2, kind="rods"),
    "four-bars": lambda: zoo.tree_of("four_bar", 1, 2),
    "unbalanced rotors": lambda: zoo.tree_of("link_and_rotor", 1, 2, symmetric=False),
    "five-bar": zoo.five_bar,
    "Sarrus' linkage": zoo.sarrus_linkage,
    "two chains": lambda: zoo.parallel_chains(3, 2, "connecting_rod"),
    "rigid": lambda: zoo.four_bar("weld"),
}


class Case:
    """A mechanism at a state, with G and g as the oracle has them: qd = G yd, qdd = G ydd + g."""

    def __init__(self, name: str, make=None) -> None:
        self.model = (make or MECHANISMS[name])()
        self.embedded = sarrus.embed(self.model)
        self.q, self.v, self.tau = state_of(self.model)
        self.problem = loops.kkt(self.model, self.q, self.v)
        J, k = self.problem.J, self.problem.k
        free = list(independent_velocities(self.embedded))
        unit = np.eye(self.model.nv)[free]
        A = np.vstack([J, unit])  # the rows, and which velocities are free
        self.G = np.linalg.lstsq(A, np.vstack([np.zeros((len(J), len(free))), np.eye(len(free))]), rcond=1e-9)[0]
        self.g = np.linalg.lstsq(A, np.concatenate([k, np.zeros(len(free))]), rcond=1e-9)[0]


@pytest.fixture(scope="module", params=MECHANISMS)
def case(request) -> Case:
    return Case(request.param)


def test_inverse_dynamics_undoes_forward_dynamics(case):
    found = sarrus.ce_aba(case.embedded, case.q, case.v, case.tau)
    expected = case.G.T @ case.tau
    for given in ({"a": found.qdd}, {"ydd": found.ydd}):
        back = sarrus.ce_rnea(case.embedded, case.q, case.v, **given)
        assert relative_error(back.tau_y, expected, 1.0) < 1e-9
        assert relative_error(back.missing, expected, 1.0) < 1e-9  # there are no motors
        assert back.motors.shape == (0,)


def test_mass_matrix_and_bias(case):
    """M_y = G^T M G, c_y = G^T (M g + c), M_y ydd + c_y = tau_y."""
    M, c = case.problem.M, case.problem.c
    M_y = sarrus.ce_crba(case.embedded, case.q)
    c_y = sarrus.ce_bias_forces(case.embedded, case.q, case.v)
    assert relative_error(M_y, case.G.T @ M @ case.G, 1e-6) < 1e-9
    assert relative_error(c_y, case.G.T @ (M @ case.g + c), 1.0) < 1e-9
    ydd = sarrus.ce_aba(case.embedded, case.q, case.v, case.tau).ydd
    assert relative_error(M_y @ ydd + c_y, case.G.T @ case.tau, 1.0) < 1e-9


def test_external_forces():
    case = Case("four-bars")
    forces = np.random.default_rng(0).normal(size=(case.model.nb, 6))
    ydd = sarrus.ce_aba(case.embedded, case.q, case.v, case.tau, external_forces=forces).ydd
    back = sarrus.ce_rnea(case.embedded, case.q, case.v, ydd=ydd, external_forces=forces)
    assert relative_error(back.tau_y, case.G.T @ case.tau, 1.0) < 1e-9


def test_velocities_in_independent_coordinates():
    case = Case("four-bars")
    yd = case.v[list(independent_velocities(case.embedded))]
    ydd = np.arange(1.0, 1.0 + case.embedded.ny)
    one, other = (sarrus.ce_rnea(case.embedded, case.q, ydd=ydd, **given) for given in ({"v": case.v}, {"yd": yd}))
    assert relative_error(one.tau_y, other.tau_y) < 1e-9


@pytest.mark.parametrize("method", ["ce_rnea", "ce_crba", "ce_bias_forces"])
def test_batches_and_kernels_are_single_states(method):
    case = Case("five-bar")
    states = [state_of(case.model, seed) for seed in (1, 2, 3)]
    arrays = [np.stack(x) for x in zip(*states, strict=True)][: 1 if method == "ce_crba" else 2]
    if method == "ce_rnea":
        arrays.append(np.random.default_rng(0).normal(size=(3, case.model.nv)))
    function, kernel = getattr(sarrus, method), sarrus.compile(case.embedded, method)
    first = lambda x: x if isinstance(x, np.ndarray) else x.tau_y  # noqa: E731
    single = np.stack([first(function(case.embedded, *x)) for x in zip(*arrays, strict=True)])
    assert relative_error(first(function(case.embedded, *arrays)), single, 1.0) < 1e-10
    assert relative_error(first(kernel(*arrays)), single, 1.0) < 1e-10


# --- motors --------------------------------------------------------------------------------------------


def power(case: Case, rates: np.ndarray, found) -> None:
    """tau_y = W^T motors + missing, W from the rates of the motors per independent velocity."""
    assert relative_error(rates.T @ found.motors + found.missing, found.tau_y, 1.0) < 1e-9


def joint_rates(case: Case, names) -> np.ndarray:
    return np.stack([case.G[case.model.layout.v_of(name).start] for name in names])


def test_motors_on_rotors():
    """What a joint needs comes from rotors: all but the base's wrench, which nothing gives."""
    case = Case("parallel belts")
    motors = tuple(name for name in case.model.joint_names if "rotor" in name)
    ydd = np.random.default_rng(0).normal(size=case.embedded.ny)
    found = sarrus.ce_rnea(case.embedded, case.q, case.v, ydd=ydd, motors=motors)
    power(case, joint_rates(case, motors), found)
    assert relative_error(found.missing[:6], found.tau_y[:6]) < 1e-14  # the root wrench
    assert np.abs(found.missing[6:]).max() < 1e-9 * np.abs(found.tau_y).max()
    # The same accelerations by these forces on the rotors' joints, and the wrench on the base.
    tau = np.zeros(case.model.nv)
    for name, force in zip(motors, found.motors, strict=True):
        tau[case.model.layout.v_of(name)] = force
    tau[:6] = found.missing[:6]
    assert relative_error(sarrus.ce_aba(case.embedded, case.q, case.v, tau).ydd, ydd) < 1e-9


def test_more_motors_than_freedoms_share_by_least_squares():
    case = Case("five-bar")
    motors = case.model.joint_names
    ydd = np.array([0.7, -0.4])
    found = sarrus.ce_rnea(case.embedded, case.q, case.v, ydd=ydd, motors=motors)
    W = joint_rates(case, motors)
    power(case, W, found)
    assert np.abs(found.missing).max() < 1e-9 * np.abs(found.tau_y).max()
    assert relative_error(found.motors, np.linalg.pinv(W.T) @ found.tau_y) < 1e-9


def test_fewer_motors_than_freedoms_leave_something_missing():
    case = Case("five-bar")
    motors = case.model.joint_names[:1]
    found = sarrus.ce_rnea(case.embedded, case.q, case.v, ydd=np.array([0.7, -0.4]), motors=motors)
    W = joint_rates(case, motors)
    power(case, W, found)
    assert np.abs(W @ found.missing).max() < 1e-9 * np.abs(found.tau_y).max()  # and no more than must be


def sliding_four_bar():
    """A crank and a slider with the cut joint prismatic: the coupler slides along an arm that turns about D."""
    builder = sarrus.ModelBuilder("quick return", gravity=(0.0, 0.0, -9.81))
    inertial = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": np.diag([0.01, 0.02, 0.02])}
    builder.add_body("crank", axis=(0, 1, 0), **inertial)
    builder.add_body("block", "crank", axis=(0, 1, 0), position=(0.2, 0.0, 0.0), **inertial)
    builder.add_body("arm", axis=(0, 1, 0), position=(-0.3, 0.0, 0.1), **inertial)
    builder.add_frame("on_block", "block", rotation=(0.0, 0.3, 0.0))
    builder.add_frame("on_arm", "arm", position=(0.0, 0.0, 0.0), rotation=(0.0, 0.0, 0.0))
    return builder.add_constraint(sarrus.loop("on_arm", "on_block", "prismatic", axis=(1, 0, 0), name="slide")).build()


def loop_rate(model, q, v, name: str) -> float:
    """How fast frame b turns (or slides) about the axis in frame a, from poses a moment apart."""
    loop = next(c for c in model.constraints if c.name == name)
    axis = np.array([0.0, 0.0, 1.0] if loop.axis is None else loop.axis)
    sides = []
    for sign in (-1.0, 1.0):
        moved = sarrus.integrate(model, q, sign * 1e-6 * v)
        at = sarrus.forward_kinematics(model, moved, frames=(loop.frame_a, loop.frame_b))
        sides.append((at.rotation[0].T @ (at.position[1] - at.position[0]), at.rotation[0].T @ at.rotation[1]))
    (p0, R0), (p1, R1) = sides
    if loop.joint == "prismatic":
        return float(axis @ (p1 - p0)) / 2e-6
    turn = R1 @ R0.T
    return float(axis @ [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / 4e-6


@pytest.mark.parametrize(
    ("make", "motor"),
    [
        (zoo.four_bar, "coupler_rocker"),
        (sliding_four_bar, "slide"),
        (loop_on_a_loop, "first"),
        (loop_on_a_loop, "second"),
    ],
)
def test_a_motor_at_the_cut_joint(make, motor):
    """Its power is that of the force on the independent velocities, whatever they do."""
    case = Case("", make)
    for ydd in np.eye(case.embedded.ny)[-2:]:
        found = sarrus.ce_rnea(case.embedded, case.q, case.v, ydd=ydd, motors=(motor,))
        W = np.array([loop_rate(case.model, case.q, case.G @ e, motor) for e in np.eye(case.embedded.ny)])[None]
        assert relative_error(W.T @ found.motors + found.missing, found.tau_y, 1.0) < 1e-6
    assert np.count_nonzero(np.abs(W) > 1e-6) == 1


def test_motors_in_words():
    case = Case("parallel belts")
    zero = np.zeros(case.embedded.ny)
    with pytest.raises(UnknownNameError, match=r"a joint, or an embedded loop that turns or slides.*Valid: .*rotor_1"):
        sarrus.ce_rnea(case.embedded, case.q, case.v, ydd=zero, motors=("b0_0_rotor_1_gear",))
    with pytest.raises(UnsupportedError, match="a free joint has several velocities"):
        sarrus.ce_rnea(case.embedded, case.q, case.v, ydd=zero, motors=("base_joint",))


@pytest.mark.parametrize("method", ["ce_rnea", "ce_crba", "ce_bias_forces", "expand", "reduce"])
def test_only_for_embedded_models(method):
    model = zoo.four_bar()
    arguments = {"ce_crba": 1, "reduce": 1, "expand": 1, "ce_bias_forces": 2}.get(method, 3)
    with pytest.raises(UnsupportedError, match=rf"{method} needs a model with embedded constraints"):
        getattr(sarrus, method)(model, *[np.zeros(3)] * arguments)
