"""Contact problems by sweeps over the tree: the same Newton step and motion as with a matrix, and who decides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sarrus
from benchmarks.contact_operators import counts_of, step_tape
from sarrus.errors import SarrusError
from sarrus.mechanics.bodies import world_poses
from sarrus.mechanics.contact.contact_rows import node_twists
from sarrus.mechanics.contact.contact_set import Bound
from sarrus.mechanics.contact.newton import natural_map, pieces
from sarrus.mechanics.contact.operator_choice import Shape, work_of
from sarrus.mechanics.contact.problem import scaled
from sarrus.mechanics.contact.solve import solve
from sarrus.mechanics.contact.tree_delassus import TreeDelassus
from sarrus.mechanics.mechanism import mechanism
from sarrus.model.geometries import Plane
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.model.visuals import Box, Capsule, Sphere
from sarrus.simulation.contact import operators
from sarrus.simulation.contact.contact_motion import contacts_where_it_stands
from sarrus.simulation.contact.contact_problem import ContactProblemAtState
from sarrus.simulation.contact.free_motion import free_motion
from sarrus.simulation.contact.limits import limits_in_slots, limits_of
from sarrus.simulation.contact.operators import operator_notes
from sarrus.simulation.contact.options import ContactOptions
from sarrus.simulation.contact.settings import ContactSettings, contact_settings
from sarrus.simulation.contact.slots import STRAIGHT, contacts_in_slots

DT = 1e-3
FAR = 1e3  # metres: every slot is taken


def snake(links: int, shape: Box | Capsule | Sphere, limit: float | None = None) -> Model:
    """A chain that lies on the ground, all of it."""
    builder = sarrus.ModelBuilder("snake")
    builder.add_geometry("world", Plane(), name="ground", friction=0.6)
    bounds = {} if limit is None else {"lower": -limit, "upper": limit}
    for k in range(links):
        joint = {"joint": "free"} if k == 0 else {"parent": f"link{k - 1}", "position": (0.12, 0.0, 0.0), **bounds}
        if k:
            joint |= {"joint": "revolute", "axis": (0.0, 0.0, 1.0) if k % 2 else (0.0, 1.0, 0.0)}
        builder.add_body(f"link{k}", mass=0.3, inertia=np.diag([1e-4, 4e-4, 4e-4]), **joint)
        turned = {"rotation": (0.0, np.pi / 2, 0.0)} if isinstance(shape, Capsule) else {}
        builder.add_geometry(f"link{k}", shape, name=f"shape{k}", friction=0.6, **turned)
    return builder.build()


def wrist() -> Model:
    """A fixed arm whose joints have several freedoms, and armature."""
    builder = sarrus.ModelBuilder("wrist")
    builder.add_geometry("world", Plane(), name="ground", friction=0.6)
    inertia = np.diag([2e-3, 3e-3, 1e-3])
    builder.add_body("upper", joint="universal", position=(0, 0, 0.4), mass=1.0, inertia=inertia, com=(0.1, 0, 0.02))
    builder.add_body(
        "slide", parent="upper", joint="cylindrical", axis=(1, 0, 0), position=(0.2, 0, 0), mass=0.5, inertia=inertia
    )
    builder.add_body("hand", parent="slide", joint="spherical", position=(0.1, 0, -0.1), mass=0.3, inertia=inertia)
    builder.add_geometry("slide", Sphere(0.05), name="elbow")
    builder.add_geometry("hand", Box((0.1, 0.08, 0.06)), name="palm")
    return builder.build()


def geared() -> Model:
    return sarrus.embed(sarrus.zoo.geared_quadruped().with_ground(friction=0.8))


def biped() -> Model:
    """With four-bars, all embedded: some bodies that touch are inside of clusters."""
    return sarrus.embed(sarrus.zoo.biped().with_ground(friction=0.8))


MODELS = {
    "snake": lambda: snake(5, Capsule(0.025, 0.06)),
    "boxes": lambda: snake(3, Box((0.1, 0.06, 0.05))),
    "limits": lambda: snake(4, Sphere(0.03), limit=0.5),
    "several freedoms": wrist,
    "embedded gears": geared,
    "embedded loops": biped,
}


def problem_at(model: Model, settings: ContactSettings, seed: int, all_contacts: bool, far: float = 0.0):
    """A problem at a random state: with the usual contacts, or with slots."""
    rng = np.random.default_rng(seed)
    q, v = sarrus.random_state(model, rng)
    if model.bodies[0].joint.type.name == "free":
        q[:3] = [far, -far, 0.1]
    added = rng.uniform(0.0, 1e-3, model.nv)
    free = free_motion(mechanism(model, q, v, rng.normal(size=model.nv)), added, DT)
    poses = world_poses(tree_of(model), free.at.joints)
    at = ContactProblemAtState(model, settings, free, poses, v, v + DT * free.qdd, DT)
    twists = node_twists(free.at, poses, at.v_free)
    if not all_contacts:
        contacts = contacts_where_it_stands(at, settings.contacts, twists)
    else:
        found = settings.contacts.candidates(poses)
        ahead = [Bound(c.gap, c.closing(twists), c.a).after(DT) for c in found]
        slots = settings.contacts.slots
        contacts = contacts_in_slots(found, ahead, [STRAIGHT] * len(found), model.parents, FAR, slots)
    contacts = [c._replace(active=1.0, gap=-1e-3 * k) for k, c in enumerate(contacts)]
    limits = limits_in_slots(limits_of(model), q, v, DT, settings.limit_slots)
    return at, contacts, [limit._replace(active=1.0) for limit in limits]


@pytest.mark.parametrize("all_contacts", [False, True], ids=["usual", "slots"])
@pytest.mark.parametrize("name", MODELS)
def test_the_same_problem_and_the_same_newton_step(name, all_contacts):
    model = MODELS[name]()
    settings = contact_settings(model, ContactOptions())
    assert settings is not None
    if not settings.contacts.usual and not all_contacts:
        settings = replace(
            settings, contacts=replace(settings.contacts, usual=tuple(range(settings.contacts.count))[:6])
        )
    for seed in range(2):
        at, contacts, limits = problem_at(model, settings, seed, all_contacts)
        dense, sweeps = (
            at._replace(settings=replace(settings, operator=x)).posed(contacts, limits) for x in ("dense", "sweeps")
        )
        (one, by_matrix), (other, by_sweeps) = dense, sweeps
        assert isinstance(other.G, TreeDelassus)
        assert not isinstance(one.G, TreeDelassus)
        rng = np.random.default_rng(seed)
        x = rng.normal(size=len(one.g))
        np.testing.assert_allclose(other.g, one.g, rtol=1e-9, atol=1e-9)
        size = np.abs(one.G @ x).max()
        np.testing.assert_allclose(other.G @ x, one.G @ x, atol=1e-10 * size)
        moved = [f(p.G.wrenches(x)) for p, f in ((one, by_matrix), (other, by_sweeps))]
        for other_way, way in zip(*reversed(moved), strict=True):  # velocities, and impulses of loops
            np.testing.assert_allclose(other_way, way, atol=1e-10 * np.abs(way).max(initial=0.0))
        p, r = scaled(one), scaled(other)
        np.testing.assert_allclose(r.w, p.w, rtol=1e-9)
        for a, b in zip(p.blocks, r.blocks, strict=True):
            np.testing.assert_allclose(b, a, atol=1e-9)
        np.testing.assert_allclose(
            r.G.solve_shifted(0.1, x), p.G.solve_shifted(0.1, x), atol=1e-8 * np.abs(x).max() * 10
        )
        for rows in (*(slice(i, i + 1) for i in range(p.first)), *p.contacts):
            there = [G.along_rows(G.response(rows, x[rows])) for G in (p.G, r.G)]
            np.testing.assert_allclose(there[1], there[0], atol=1e-9 * (1.0 + np.abs(there[0]).max()))
            np.testing.assert_allclose(r.G.along(rows, r.G.response(rows, x[rows])), there[1][rows], atol=1e-12)
        c = p.G @ x + p.g
        F = natural_map(p, x, c, 3.0, np.zeros(len(x)))
        d, e = (
            y.G.newton_direction(pieces(y, x, c, 3.0, 1.0 - 3e-4, np.zeros(len(x))), 3.0, 1.0 - 3e-4, F) for y in (p, r)
        )
        np.testing.assert_allclose(e, d, atol=1e-6 * np.abs(d).max())  # eps = 1e-4 multiplies rounding
        answers = [solve(problem, tolerance=1e-8) for problem in (one, other)]
        assert float(answers[1].status) == float(answers[0].status) == 0.0


def test_far_from_the_origin_of_the_world():
    """The tree's own origin is at its base."""
    model = snake(4, Capsule(0.025, 0.06))
    settings = contact_settings(model, ContactOptions())
    assert settings is not None
    at, contacts, limits = problem_at(model, settings, 1, False, far=1e5)
    one, other = (
        at._replace(settings=replace(settings, operator=x)).posed(contacts, limits)[0] for x in ("dense", "sweeps")
    )
    x = np.random.default_rng(0).normal(size=len(one.g))
    np.testing.assert_allclose(other.G @ x, one.G @ x, rtol=1e-6)
    np.testing.assert_allclose(scaled(other).w, scaled(one).w, rtol=1e-6)


def test_what_nothing_moves_is_told():
    """A turntable whose axis passes through the ball below it: no impulse there moves anything."""
    builder = sarrus.ModelBuilder("turntable")
    builder.add_geometry("world", Plane(), name="ground", friction=0.6)
    builder.add_body("plate", joint="revolute", axis=(0, 0, 1), position=(0.3, 0.7, 0.049), mass=1.0, inertia=np.eye(3))
    builder.add_geometry("plate", Sphere(0.05), name="ball")
    builder.add_geometry("plate", Sphere(0.05), name="rim", position=(0.2, 0.1, 0.0))
    model = builder.build()
    for operator in ("dense", "sweeps"):
        settings = contact_settings(model, ContactOptions(operator=operator))
        assert settings is not None
        at, contacts, limits = problem_at(model, settings, 0, True)
        p = scaled(at.posed(contacts, limits)[0])
        for k, contact in enumerate(contacts):
            on_axis = np.allclose(np.asarray(contact.at.point, float)[:2], [0.3, 0.7])
            assert (float(p.inverse[3 * k]) == 0.0) == on_axis


def drop(model: Model, operator: str | None, batch: int = 6) -> sarrus.Trajectory:
    """States that fall a little, turned a little."""
    rng = np.random.default_rng(0)
    q = np.tile(sarrus.put_down(model, sarrus.neutral(model) if model.home is None else model.home), (batch, 1))
    q[:, 2] += 0.02 * rng.uniform(size=batch)
    options = ContactOptions(operator=operator)
    simulation = sarrus.Simulation(model, DT, contacts=options, record=("status", "iterations", "contacts"), threads=1)
    return simulation.run(q, np.zeros((batch, model.nv)), steps=120)


def test_the_same_motion_in_as_many_steps():
    model = snake(4, Capsule(0.025, 0.06), limit=0.3)
    matrix, sweeps = (drop(model, operator) for operator in ("dense", "sweeps"))
    assert np.all(np.asarray(sweeps.status) == 0)
    np.testing.assert_allclose(sweeps.q, matrix.q, atol=2e-5)
    assert np.asarray(sweeps.iterations).mean() <= np.asarray(matrix.iterations).mean() + 0.2


@pytest.mark.parametrize(
    ("model", "usual", "everything"),
    [
        (lambda: geared(), "a matrix", "sweeps"),
        (lambda: snake(8, Box((0.1, 0.06, 0.05))), "sweeps", "sweeps"),
        (lambda: sarrus.zoo.geared_quadruped().with_ground(), "a matrix: loops or gears", "a matrix: loops or gears"),
    ],
    ids=["few contacts", "many", "gears as rows"],
)
def test_who_decides(model, usual, everything):
    simulation = sarrus.Simulation(model(), DT)
    lines = simulation.contact_operators
    assert simulation.notes[-2:] == lines
    assert f"by {usual}" in lines[0]
    assert f"by {everything}" in lines[1]


def test_bodies_that_touch_each_other_take_a_matrix():
    builder = sarrus.ModelBuilder("two boxes")
    builder.add_geometry("world", Plane(), name="ground")
    for name in ("lower", "upper"):
        builder.add_body(name, joint="free", mass=1.0, inertia=np.eye(3) / 60)
        builder.add_geometry(name, Box((0.1, 0.1, 0.1)), name=f"{name} box")
    model = builder.build()
    settings = contact_settings(model, ContactOptions(operator="sweeps"))
    assert settings is not None
    assert "a matrix: bodies may touch each other" in operator_notes(model, settings)[-1]
    with pytest.raises(SarrusError, match="dense"):
        ContactOptions(operator="banana")


@pytest.mark.parametrize("name", ["snake", "boxes", "limits", "embedded gears"])
def test_the_estimate_is_near_what_is_traced(name, monkeypatch):
    """Of Newton's steps, of the problem where it stands and of that with slots."""
    model, shapes, original = MODELS[name](), list[Shape](), operators._shape
    for operator in ("dense", "sweeps"):
        tape = step_tape(sarrus.Simulation(model, DT, contacts=ContactOptions(operator=operator)))
        counted = counts_of(tape).newton
        shapes.clear()
        monkeypatch.setattr(operators, "_shape", lambda *given: shapes.append(original(*given)) or shapes[-1])
        sarrus.Simulation(model, DT, contacts=ContactOptions(operator=operator)).notes  # noqa: B018
        expected = [work_of(shape, operator).newton for shape in (shapes[0], shapes[-1])]
        np.testing.assert_allclose(expected, [counted[0], counted[-1]], rtol=0.15)
