"""A and B of steps on the ground, where contacts stick, slip, open, and limits hold: against differences of steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sarrus
from sarrus import ContactOptions, Simulation
from sarrus.errors import StateError, UnsupportedError
from sarrus.model.geometries import Friction
from sarrus.model.visuals import Box, Sphere
from sarrus.simulation.contact.put_down import put_down
from sarrus.simulation.step_call import StepResult
from sarrus.simulation.trajectory import State
from tests.derivatives.differences import slope
from tests.mechanisms import relative_error
from tests.simulation.contact.exact_steps import exact_slopes

EXACT = ContactOptions(tolerance=1e-12)  # so that differences see no iterations
H = 2e-6  # far less than gaps, so that nothing opens or closes on the way


def differences(
    simulation: Simulation, state: State, force: float = 1e2 * H, **inputs
) -> tuple[np.ndarray, np.ndarray]:
    """By tau; force: by how much that varies. Where all sticks, rows are linear in it."""
    model, base = simulation.model, simulation.step(state, **inputs)
    nv, tau = model.nv, inputs["tau"]

    def after(dx: np.ndarray, du: np.ndarray) -> np.ndarray:
        x = State(state.time, sarrus.integrate(model, state.q, dx[:nv]), state.v + dx[nv:])
        found = simulation.step(x, **inputs | {"tau": tau + du})
        assert found.status == 0
        return np.concatenate([sarrus.difference(model, base.q, found.q), found.v])

    zero, none = np.zeros(2 * nv), np.zeros(nv)
    A = [slope(lambda t, e=e: after(t * e, none), H) for e in np.eye(2 * nv)]
    B = [slope(lambda t, e=e: after(zero, t * e), force) for e in np.eye(nv)]
    return np.stack(A, axis=1), np.stack(B, axis=1)


def check(simulation: Simulation, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> None:
    """Beside differences of steps, of which rounding and tolerance leave six digits, and beside exact ones."""
    state = simulation.start(q, v)
    found = simulation.linearize(state, tau=tau)
    assert found.unique == 1.0
    by_x, by_u = differences(simulation, state, tau=tau)
    assert relative_error(found.A, by_x) < 1e-6
    assert relative_error(found.B, by_u) < 1e-6
    check_exactly(simulation, state, tau)


def check_exactly(simulation: Simulation, state: State | StepResult, tau: np.ndarray) -> None:
    """Without a projection. The effect of forces over 1 ms is small; a robot that sticks everywhere has none."""
    found, exact = simulation.linearize(state, tau=tau), exact_slopes(simulation, state, tau)
    assert found.unique == 1.0
    assert relative_error(found.A, exact.A) < 1e-10
    assert relative_error(found.B, exact.B, 1e-6) < 1e-9


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


def box() -> sarrus.Model:
    builder = sarrus.ModelBuilder("box")
    builder.add_body("box", joint="free", mass=2.0, inertia=0.02 * np.eye(3))
    builder.add_geometry("box", Box((0.2, 0.3, 0.1)))
    return builder.build().with_ground(friction=0.7)


ON_THE_GROUND = np.array([0.0, 0.0, 0.05 - 1e-4, 0.0, 0.0, 0.0, 1.0])


def test_four_corners_share_a_load():
    """More rows than a body has velocities: impulses are one choice of many, and what follows from them is not."""
    simulation, q = Simulation(box(), 1e-3, "semi_implicit_euler", contacts=EXACT), ON_THE_GROUND
    found = simulation.linearize(simulation.start(q), tau=np.zeros(6))
    by_x, by_u = differences(simulation, simulation.start(q), force=0.1, tau=np.zeros(6))
    assert relative_error(found.B, by_u, 1.0) < 1e-9  # all sticks: forces move nothing
    assert relative_error(found.A, by_x) < 1e-6
    exact = exact_slopes(simulation, simulation.start(q), np.zeros(6))
    assert found.unique == 1.0
    assert np.abs(found.B - exact.B).max() < 1e-12


def test_what_may_rest_on_its_corners_in_several_ways_that_brake_it_differently():
    """A box that slides on four corners: its normal forces are one choice of many, and with it how a spin is braked.
    Without friction, or on three corners, there is no such choice.
    """
    q, slides = ON_THE_GROUND, np.array([1.0, 0.2, 0.0, 0.0, 0.0, 0.0])
    spins = slides + np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.3])
    simulation = Simulation(box(), 1e-3, "semi_implicit_euler", contacts=EXACT)
    found = simulation.linearize(simulation.start(np.stack([q, q, q]), np.stack([slides, spins, np.zeros(6)])))
    assert found.unique.tolist() == [0.0, 0.0, 1.0]
    tilted = sarrus.integrate(box(), q, np.array([0.0, 0.0, 0.0, 0.0, 1e-2, 0.0]))
    tilted[2] += 0.1 * np.sin(1e-2)  # on two corners
    check(simulation, tilted, spins, np.zeros(6))
    smooth = replace(box(), geometries=tuple(replace(g, friction=Friction(0.0)) for g in box().geometries))
    found = Simulation(smooth, 1e-3, "semi_implicit_euler", contacts=EXACT).linearize(simulation.start(q, spins))
    assert found.unique == 1.0


def test_a_batch_of_steps_that_looked_further_and_that_did_not():
    """A leg that whips around is looked at more closely, wherever it is."""
    model = hopper(upper=3.0)
    simulation = Simulation(model, 1e-3, "semi_implicit_euler", contacts=EXACT)
    assert simulation._contact is not None
    q = sarrus.neutral(model)
    q[7:] = 0.2, -0.4
    q = put_down(model, simulation._contact.contacts, q[None], -1e-4)[0]
    slow = np.array([0.0, 0.0, -0.1, 0.0, 0.0, 0.0, 0.1, 0.4])
    fast = np.array([0.3, 0.0, -0.1, 0.1, 0.2, 0.3, -2.0, 25.0])
    many = simulation.linearize(simulation.start(np.stack([q, q]), np.stack([slow, fast])))
    for k, v in enumerate((slow, fast)):
        one = simulation.linearize(simulation.start(q, v))
        assert relative_error(many.A[k], one.A) < 1e-12
        check_exactly(simulation, simulation.start(q, v), np.zeros(model.nv))
    # The impact of the fast one changes its velocity products.
    assert any(way.struck for x in simulation._linearizers.values() for _, way in x._kernels)


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


def leg(kind: str, friction: float = 0.0) -> sarrus.Model:
    """A trunk on a leg, whose knee is moved by a rotor, by a rod in a plane, or by one on balls; joints that rub."""
    builder = sarrus.ModelBuilder(kind)
    builder.add_body("trunk", joint="free", mass=3.0, com=(0.0, 0.01, 0.0), inertia=0.05 * np.eye(3))
    link = {"axis": (0.0, 1.0, 0.0), "inertia": 0.004 * np.eye(3), "mass": 0.5, "com": (0.0, 0.0, -0.1)}
    builder.add_body("thigh", "trunk", damping=0.1, friction=friction, **link)
    builder.add_body("shank", "thigh", position=(0.0, 0.0, -0.2), friction=friction, **link)
    builder.add_geometry("shank", Sphere(0.03), position=(0.0, 0.0, -0.2))
    small = {"mass": 0.1, "inertia": 1e-4 * np.eye(3)}
    constraint: list = []
    if kind == "gear":
        builder.add_body("rotor", "thigh", position=(0.0, 0.05, 0.0), axis=(0.0, 1.0, 0.0), **small)
        constraint = [sarrus.coupling({"rotor_joint": 1.0, "shank_joint": -9.0})]
    elif kind != "free":
        builder.add_body(
            "crank", "trunk", position=(0.1, 0.0, 0.0), axis=(0.0, 1.0, 0.0), com=(0.0, 0.0, -0.1), **small
        )
        joint = {"axis": (0.0, 1.0, 0.0)} if kind == "plane" else {"joint": "spherical"}
        builder.add_body("rod", "crank", position=(0.0, 0.0, -0.2), com=(-0.05, 0.0, 0.0), **joint, **small)
        builder.add_frame("rod_end", "rod", position=(-0.1, 0.0, 0.0))
        builder.add_frame("knee", "shank", position=(0.0, 0.0, 0.0))
        pin = sarrus.loop("rod_end", "knee", "revolute", axis=(0.0, 1.0, 0.0))
        constraint = [pin if kind == "plane" else sarrus.connect("rod_end", "knee")]
    return builder.build().with_constraints(*constraint).with_ground(friction=0.6)


def on_its_foot(simulation: Simulation, deep: float = 1e-4) -> tuple[np.ndarray, np.ndarray]:
    """Moving, with loops closed, and with its foot a little in the ground."""
    model, rng = simulation.model, np.random.default_rng(0)
    change = np.concatenate([np.zeros(3), 0.2 * rng.normal(size=model.nv - 3)])
    at = sarrus.project(model, sarrus.integrate(model, sarrus.neutral(model), change))
    assert simulation._contact is not None
    q = put_down(model, simulation._contact.contacts, at.q[None], -deep)[0]
    return q, sarrus.project(model, q, 0.3 * rng.normal(size=model.nv) - 0.1 * np.eye(model.nv)[2]).v


@pytest.mark.parametrize("is_embedded", [False, True], ids=["rows", "embedded"])
@pytest.mark.parametrize("kind", ["gear", "balls"])
def test_gears_and_loops(kind, is_embedded):
    model = sarrus.embed(leg(kind)) if is_embedded else leg(kind)
    simulation = Simulation(model, 1e-3, "semi_implicit_euler", contacts=EXACT, project_every=None)
    check_exactly(simulation, simulation.start(*on_its_foot(simulation)), 0.3 * np.ones(model.nv))


def test_loops_that_are_redundant_while_closed():
    """As without contacts, A takes of a change what keeps them closed. Embedded, nothing is redundant."""
    model = leg("plane")
    simulation = Simulation(model, 1e-3, "semi_implicit_euler", contacts=EXACT, project_every=None)
    q, v = on_its_foot(simulation)
    state, tau = simulation.start(q, v), 0.3 * np.ones(model.nv)
    found, exact = simulation.linearize(state, tau=tau), exact_slopes(simulation, state, tau)
    linearizer = simulation._contact_steps(state, 1, tau, None, None)[0]
    closed = linearizer.projection.along(q[None], v[None], np.eye(2 * model.nv)[None])[0]
    assert relative_error(found.A, exact.A @ closed) < 1e-8
    assert relative_error(found.B, exact.B, 1e-6) < 1e-9
    plane = sarrus.embed(model)
    check_exactly(Simulation(plane, 1e-3, "semi_implicit_euler", contacts=EXACT, project_every=None), state, tau)


def test_a_projection_belongs_to_its_step():
    """Beside differences of steps, along motions that keep loops closed."""
    model = leg("balls")
    simulation = Simulation(model, 1e-3, "semi_implicit_euler", contacts=EXACT, project_every=1)
    q, v = on_its_foot(simulation)
    state, tau = simulation.start(q, v), 0.3 * np.ones(model.nv)
    found = simulation.linearize(state, tau=tau)
    by_x, by_u = differences(simulation, state, tau=tau)
    linearizer = simulation._contact_steps(state, 1, tau, None, None)[0]
    closed = linearizer.projection.along(q[None], v[None], np.eye(2 * model.nv)[None])[0]
    assert relative_error(found.A @ closed, by_x @ closed) < 1e-6
    assert relative_error(found.B, by_u) < 1e-6


@pytest.mark.parametrize("exact", [False, True], ids=["a step late", "exact"])
@pytest.mark.parametrize("size", [0.05, 5.0], ids=["slips", "sticks"])
@pytest.mark.parametrize("kind", ["free", "gear"])
def test_dry_friction(kind, size, exact):
    """At first, and where steps before have left friction that holds joints."""
    model = leg(kind, size)
    options = ContactOptions(tolerance=1e-12, exact_friction=exact)
    simulation = Simulation(model, 1e-3, "semi_implicit_euler", contacts=options, project_every=None)
    state, tau = simulation.start(*on_its_foot(simulation)), 0.3 * np.ones(model.nv)
    check_exactly(simulation, state, tau)
    for _ in range(3):
        state = simulation.step(state, tau=tau)
    check_exactly(simulation, state, tau)


@pytest.mark.parametrize("v", [np.zeros(6), np.array([1.0, 0.2, -0.1, 0.1, 0.2, 0.3])], ids=["sticks", "slips"])
def test_the_relaxed_problem_what_resists_turning_and_corners_on_which_nothing_stands(v):
    tau = np.array([0.1, 0.2, -0.3, 0.001, 0.002, 0.001])
    relaxed = Simulation(ball(), 1e-3, "semi_implicit_euler", contacts=ContactOptions(tolerance=1e-12, convex=True))
    q = np.array([0.1, 0.2, 0.0999, *TURNED / np.linalg.norm(TURNED)])
    check_exactly(relaxed, relaxed.start(q, v), tau)
    geom = "condim='6' friction='.8 .02 .01'"
    rough = sarrus.load(
        f"<mujoco><worldbody><geom type='plane' size='1 1 1' {geom}/><body pos='0 0 .0999'><freejoint/>"
        f"<geom size='.1' mass='2' {geom}/></body></worldbody></mujoco>"
    )
    options = ContactOptions(tolerance=1e-12, turning=True)
    turning = Simulation(rough, 1e-3, "semi_implicit_euler", contacts=options)
    check_exactly(turning, turning.start(rough.home, v), tau)
    builder = sarrus.ModelBuilder("dumbbell")
    builder.add_body("dumbbell", joint="free", mass=2.0, inertia=0.02 * np.eye(3))
    for z in (-0.2, 0.2):
        builder.add_geometry("dumbbell", Sphere(0.05), position=(0.0, 0.0, z))
    dumbbell = builder.build().with_ground(friction=0.7)
    tumbling = Simulation(dumbbell, 1e-3, "semi_implicit_euler", contacts=EXACT)
    assert tumbling._contact is not None
    head_first = sarrus.integrate(dumbbell, sarrus.neutral(dumbbell), np.array([0.0, 0.0, 0.0, 2.9, 0.3, 0.0]))
    q = put_down(dumbbell, tumbling._contact.contacts, head_first[None], -1e-4)[0]
    touching = tumbling.step(tumbling.start(q)).warm[:2]
    assert max(touching) >= 0.0
    assert set(touching).isdisjoint(tumbling._contact.contacts.usual)
    check_exactly(tumbling, tumbling.start(q, v), tau)


def test_a_knee_that_touches_while_the_leg_moves():
    """Steps that look at every contact take account of paths that bend into the ground, and so does the derivative."""
    builder = sarrus.ModelBuilder("kneels")
    builder.add_body("trunk", joint="free", mass=3.0, inertia=0.05 * np.eye(3))
    link = {"axis": (0.0, 1.0, 0.0), "inertia": 0.004 * np.eye(3), "mass": 0.5, "com": (0.0, 0.0, -0.1)}
    builder.add_body("thigh", "trunk", **link)
    builder.add_body("shank", "thigh", position=(0.0, 0.0, -0.2), **link)
    for z in (-0.2, 0.0):
        builder.add_geometry("shank", Sphere(0.03), position=(0.0, 0.0, z))
    model = builder.build().with_ground(friction=0.6)
    simulation = Simulation(model, 1e-3, "semi_implicit_euler", contacts=EXACT)
    assert simulation._contact is not None
    q = sarrus.neutral(model)
    q[7:] = 0.4, -2.6
    q = put_down(model, simulation._contact.contacts, q[None], -1e-4)[0]
    for v in (
        np.array([0.3, 0.0, -0.1, 0.1, 0.2, 0.3, 2.0, -3.0]),
        np.array([0.3, 0.0, -0.1, 0.1, 0.2, 0.3, -2.0, 8.0]),
    ):
        check_exactly(simulation, simulation.start(q, v), 0.1 * np.ones(8))


def test_clamps_and_the_speed_below_which_nothing_bounces_are_edges():
    simulation = Simulation(ball(), 1e-3, "semi_implicit_euler", contacts=EXACT)
    deepest = 2e-4 + 0.5 * 1e-3  # of which all but 0.2 mm is undone at 0.5 m/s
    deep = 2.475970508e-4  # of which as much is undone as of what is not deep: 0.2 d^2 / (d + 1e-5) = d - 0.2 mm

    def unique(simulation: Simulation, gap: float, speed: float = 0.0) -> float:
        q, v = np.array([0.0, 0.0, 0.1 + gap, 0.0, 0.0, 0.0, 1.0]), np.array([0.0, 0.0, speed, 0.0, 0.0, 0.0])
        return float(simulation.linearize(simulation.start(q, v), tau=np.zeros(6)).unique)

    for edge in (deep, deepest):
        assert [unique(simulation, -x * edge) for x in (0.99, 1.0, 1.01)] == [1.0, 0.0, 1.0]
    gentle = 2e-3 * 1e-3 / 0.2  # up to which velocities undo a fifth
    assert [unique(simulation, -x) for x in (1e-6, gentle, 1e-4)] == [1.0, 0.0, 1.0]
    # What opens by itself, by as much as is undone, and by velocities.
    raised = 0.2 * 2e-4**2 / 2.1e-4 / 1e-3 + 9.81e-3 + 2e-3
    assert [unique(simulation, -2e-4, x * raised) for x in (0.99, 1.0, 1.01)] == [1.0, 0.0, 1.0]
    bouncing = ContactOptions(tolerance=1e-12, restitution=0.5)
    simulation = Simulation(ball(), 1e-3, "semi_implicit_euler", contacts=bouncing)
    assert [unique(simulation, -2e-5, -x) for x in (0.009, 0.01, 0.011)] == [1.0, 0.0, 1.0]
    assert [unique(simulation, 1e-4, -x) for x in (0.099, 0.1, 0.101)] == [1.0, 0.0, 1.0]  # hits within the step or not


def test_what_has_no_derivative_is_refused_in_words():
    plain = Simulation(ball(), 1e-3)
    with pytest.raises(UnsupportedError, match="a Python function has no derivative"):
        Simulation(ball(), 1e-3, controller=lambda t, q, v: -v).linearize(plain.start())
    buried = Simulation(ball(), 1e-3)
    q = np.array([0.0, 0.0, np.nan, 0.0, 0.0, 0.0, 1.0])
    with pytest.raises(StateError):
        buried.linearize(State(0.0, q, np.zeros(6)))
