"""A and B of steps on the ground, where contacts stick, slip, open, and limits hold: against differences of steps."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus import ContactOptions, Simulation, zoo
from sarrus.errors import StateError, UnsupportedError
from sarrus.model.visuals import Box, Sphere
from sarrus.simulation.trajectory import State
from tests.derivatives.differences import slope
from tests.mechanisms import relative_error

EXACT = ContactOptions(tolerance=1e-12)  # so that differences see no iterations
H = 2e-6  # far less than gaps, so that nothing opens or closes on the way


def differences(simulation: Simulation, state: State, **inputs) -> tuple[np.ndarray, np.ndarray]:
    """By tau."""
    model, base = simulation.model, simulation.step(state, **inputs)
    nv, tau = model.nv, inputs["tau"]

    def after(dx: np.ndarray, du: np.ndarray) -> np.ndarray:
        x = State(state.time, sarrus.integrate(model, state.q, dx[:nv]), state.v + dx[nv:])
        found = simulation.step(x, **inputs | {"tau": tau + du})
        assert found.status == 0
        return np.concatenate([sarrus.difference(model, base.q, found.q), found.v])

    zero, none = np.zeros(2 * nv), np.zeros(nv)
    A = [slope(lambda t, e=e: after(t * e, none), H) for e in np.eye(2 * nv)]
    B = [slope(lambda t, e=e: after(zero, t * e), 1e2 * H) for e in np.eye(nv)]
    return np.stack(A, axis=1), np.stack(B, axis=1)


def check(simulation: Simulation, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> None:
    state = simulation.start(q, v)
    found = simulation.linearize(state, tau=tau)
    assert found.unique == 1.0
    by_x, by_u = differences(simulation, state, tau=tau)
    assert relative_error(found.A, by_x) < 1e-6
    assert relative_error(found.B, by_u) < 1e-6


def ball(friction: float = 0.5) -> sarrus.Model:
    builder = sarrus.ModelBuilder("ball")
    builder.add_body("ball", joint="free", mass=2.0, com=(0.0, 0.0, 0.02), inertia=np.diag([0.02, 0.03, 0.025]))
    builder.add_geometry("ball", Sphere(0.1), friction=friction)
    return builder.build().with_ground(friction=friction)


TURNED = np.array([0.1, -0.2, 0.3, 0.9273618495495704])


@pytest.mark.parametrize("options", [EXACT, ContactOptions(tolerance=1e-12, restitution=0.4)], ids=["rests", "bounces"])
@pytest.mark.parametrize("height", [0.0999, 0.10002], ids=["pressed", "about to close"])
@pytest.mark.parametrize("speed", [0.0, 1.0], ids=["stick", "slip"])
def test_a_ball(height, speed, options):
    simulation = Simulation(ball(), 1e-3, "semi_implicit_euler", contacts=options)
    q = np.array([0.1, 0.2, height, *TURNED / np.linalg.norm(TURNED)])
    v = np.array([speed, 0.3 * speed, -0.1, 0.1 + speed, 0.2, 0.3])
    check(simulation, q, v, np.array([0.1, 0.2, -3.0, 0.01, 0.02, 0.03]))


def test_in_flight_and_without_friction():
    q, v = np.array([0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0]), np.array([1.0, 0.3, 0.0, 0.1, 0.2, 0.3])
    check(Simulation(ball(), 1e-3, "semi_implicit_euler", contacts=EXACT), q, v, np.ones(6))
    q[2] = 0.0999
    smooth = Simulation(ball(0.0), 1e-3, "semi_implicit_euler", contacts=EXACT)
    check(smooth, q, v, np.ones(6))
    check(smooth, q, np.zeros(6), np.zeros(6))  # at rest, where what has friction would stick


def test_a_spring_and_a_damper_under_it():
    soft = ContactOptions(tolerance=1e-12, stiffness=2e4, damping=50.0)
    q, v = np.array([0.0, 0.0, 0.0995, 0.0, 0.0, 0.0, 1.0]), np.array([0.5, 0.3, 0.0, 0.1, 0.2, 0.3])
    check(Simulation(ball(), 1e-3, "semi_implicit_euler", contacts=soft), q, v, np.ones(6))


def hopper(upper: float = 0.6) -> sarrus.Model:
    """A trunk on a leg of two joints, whose knee has a limit, with a round foot."""
    builder = sarrus.ModelBuilder("hopper")
    builder.add_body("trunk", joint="free", mass=3.0, com=(0.0, 0.01, 0.0), inertia=0.05 * np.eye(3))
    leg = {"axis": (0.0, 1.0, 0.0), "inertia": 0.004 * np.eye(3), "mass": 0.5, "com": (0.0, 0.0, -0.1)}
    builder.add_body("thigh", "trunk", damping=0.1, **leg)
    builder.add_body("shank", "thigh", position=(0.0, 0.0, -0.2), lower=-1.5, upper=upper, **leg)
    builder.add_geometry("shank", Sphere(0.03), position=(0.0, 0.0, -0.2))
    return builder.build().with_ground(friction=0.6)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "implicit"])
@pytest.mark.parametrize("knee", [-0.4, 0.601], ids=["free", "held"])
def test_a_leg_and_its_limit(integrator, knee):
    model = hopper()
    simulation = Simulation(model, 1e-3, integrator, contacts=EXACT)
    q = sarrus.neutral(model)
    q[7:] = 0.2, knee
    foot = sarrus.forward_kinematics(model, q, frames=("shank",))
    low = foot.position[0][2] + (foot.rotation[0] @ [0.0, 0.0, -0.2])[2] - 0.03
    q[2] -= low + 1e-4  # pressed into the ground
    check(simulation, q, np.array([0.0, 0.0, -0.1, 0.0, 0.0, 0.0, 0.1, 0.4]), 0.5 * np.ones(8))


def test_four_corners_share_a_load():
    """More rows than a body has velocities: impulses are one choice of many, and what follows from them is not."""
    builder = sarrus.ModelBuilder("box")
    builder.add_body("box", joint="free", mass=2.0, inertia=0.02 * np.eye(3))
    builder.add_geometry("box", Box((0.2, 0.3, 0.1)))
    model = builder.build().with_ground(friction=0.7)
    simulation = Simulation(model, 1e-3, "semi_implicit_euler", contacts=ContactOptions(tolerance=1e-10))
    q = np.array([0.0, 0.0, 0.05 - 1e-4, 0.0, 0.0, 0.0, 1.0])
    found = simulation.linearize(simulation.start(q), tau=np.zeros(6))
    by_x, by_u = differences(simulation, simulation.start(q), tau=np.zeros(6))
    assert relative_error(found.B, by_u, 1.0) < 1e-9
    assert found.unique == 1.0
    assert relative_error(found.A, by_x) < 1e-5


def test_a_batch_and_what_is_on_the_edge():
    """A ball at rest, just closed: raised it falls in one step, pressed it is pushed out by and by."""
    simulation = Simulation(ball(), 1e-3, "semi_implicit_euler", contacts=EXACT)
    q = np.tile([0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0], (3, 1))
    q[1:, 2] += [-1e-4, 0.3]
    many = simulation.linearize(simulation.start(q), tau=np.zeros((3, 6)))
    assert many.unique.tolist() == [0.0, 1.0, 1.0]
    one = simulation.linearize(simulation.start(q[1]), tau=np.zeros(6))
    assert relative_error(many.A[1], one.A) < 1e-12


def test_sliding_that_is_about_to_begin_is_told():
    """Pulled by just as much as friction holds."""
    simulation = Simulation(ball(), 1e-3, "semi_implicit_euler", contacts=EXACT)
    q = np.array([0.0, 0.0, 0.0999, 0.0, 0.0, 0.0, 1.0])

    def at(force: float):
        return simulation.linearize(simulation.start(q), tau=np.array([force, 0.0, 0.0, 0.0, 0.0, 0.0]))

    def slips(force: float) -> bool:
        step = simulation.step(simulation.start(q), tau=np.array([force, 0.0, 0.0, 0.0, 0.0, 0.0]))
        *tangent, normal = step.contacts[8:11]  # on a horizontal ground
        return bool(np.linalg.norm(tangent) > 0.5 * normal * (1.0 - 1e-12))

    low, high = 0.0, 1e4
    assert slips(high)
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if slips(middle) else (middle, high)
    assert at(0.9 * low).unique == at(1.1 * high).unique == 1.0
    assert at(0.5 * (low + high)).unique == 0.0


def test_what_has_no_derivative_is_refused_in_words():
    grounded = zoo.geared_quadruped().with_ground()
    simulation = Simulation(grounded)
    start = simulation.start()
    with pytest.raises(UnsupportedError, match="loops and gears"):
        simulation.linearize(start)
    plain = Simulation(ball(), 1e-3)
    with pytest.raises(UnsupportedError, match="gradients of rollouts with contacts"):
        plain.vjp(plain.run(steps=2), np.zeros((3, 6)))
    relaxed = Simulation(ball(), 1e-3, contacts=ContactOptions(convex=True))
    with pytest.raises(UnsupportedError, match="the relaxed problem"):
        relaxed.linearize(relaxed.start())
    with pytest.raises(UnsupportedError, match="a Python function has no derivative"):
        Simulation(ball(), 1e-3, controller=lambda t, q, v: -v).linearize(plain.start())
    buried = Simulation(ball(), 1e-3)
    q = np.array([0.0, 0.0, np.nan, 0.0, 0.0, 0.0, 1.0])
    with pytest.raises(StateError):
        buried.linearize(State(0.0, q, np.zeros(6)))
