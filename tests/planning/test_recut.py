"""The same mechanism on another spanning tree: bodies accelerate alike, and states go there and back."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from benchmarks.robots import shared_directory
from sarrus import zoo
from sarrus.errors import StateError, UnknownNameError, UnsupportedError
from sarrus.planning.recut_savings import recut_notes
from tests.mechanisms import relative_error


def ball_chain():
    """A hinge, a ball joint, and a ball that closes the loop: cutting the hinge turns the ball joint round."""
    builder = sarrus.ModelBuilder("ball chain")
    inertia = np.diag([0.01, 0.02, 0.03])
    builder.add_body("a", joint="revolute", axis=(1.0, 2.0, 0.5), mass=1.0, com=(0.1, 0.2, 0.0), inertia=inertia)
    builder.add_body(
        "b", "a", joint="spherical", position=(0.4, 0.0, 0.1), mass=0.7, com=(0.0, 0.1, 0.2), inertia=inertia
    )
    builder.add_body(
        "c", "b", joint="revolute", axis=(0.0, 1.0, 0.3), position=(0.1, 0.3, 0.0), mass=0.5, inertia=inertia
    )
    builder.add_frame("tip", "b", position=(0.0, 0.2, 0.3))
    builder.add_frame("anchor", "world", position=(0.4, 0.2, 0.4))
    return builder.build().with_constraints(sarrus.connect("anchor", "tip", name="ball"))


def robot(name, file):
    path = shared_directory() / "robots" / name / file
    if not path.is_file():
        pytest.skip(f"{file} is not here")
    return sarrus.load(path)


CASES = {
    "coupler": (zoo.four_bar, {"coupler_rocker": "coupler_joint"}),
    "rocker": (zoo.four_bar, {"coupler_rocker": "rocker_joint"}),
    "crank, coupler reversed": (zoo.four_bar, {"coupler_rocker": "crank_joint"}),
    "ball joint reversed": (ball_chain, {"ball": "a_joint"}),
    "digit": (
        lambda: robot("digit", "digit-v3.xml"),
        {"left-achilles-rod": "left-achilles-rod", "right-toe-A-rod": "right-toe-A-rod"},
    ),
    "cassie": (lambda: robot("cassie", "cassie.xml"), {"connect_0": "left-plantar-rod"}),
}
# robot, body that becomes the floating base, cuts
BASES = {
    "a thigh": (lambda: zoo.biped(), "left_thigh", {}),
    "a foot of cassie, and a cut": (
        lambda: robot("cassie", "cassie.xml"), "left-tarsus", {"connect_2": "right-plantar-rod"}
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", [*CASES, *BASES])
def test_there_and_back(case):
    make, base, cuts = BASES[case] if case in BASES else (CASES[case][0], None, CASES[case][1])
    model = make()
    found = sarrus.recut(model, cuts, base=base)
    new = found.model
    assert base is None or new.bodies[0].name == base
    rng = np.random.default_rng(0)
    q, v = sarrus.random_state(model, 3)
    tau = rng.normal(size=model.nv)
    for cut in found.cuts:
        tau[model.layout.v_of(cut.joint)] = 0.0
    there = found.to_new(q, v)
    assert np.abs(sarrus.closure(new, *there).position).max() < 1e-10
    assert np.abs(sarrus.closure(new, *there).velocity).max() < 1e-9
    q_back, v_back = found.to_original(*there, near=q)
    assert np.abs(sarrus.difference(model, q, q_back)).max() < 1e-12
    assert np.abs(v - v_back).max() < 1e-12 * (1.0 + np.abs(v).max())
    before = sarrus.prox_ltl(model, q, v, tau)
    after = sarrus.prox_ltl(new, *there, found.tau_to_new(q, tau))
    assert before.status == after.status == 0
    frames = model.frame_names
    motion = sarrus.forward_kinematics(model, q, v, before.qdd, frames=frames)
    moved = sarrus.forward_kinematics(new, *there, after.qdd, frames=frames)
    for x, y in zip(motion, moved, strict=True):
        assert relative_error(y, x, 1.0) < 1e-9
    assert relative_error(sarrus.energy(new, *there).kinetic, sarrus.energy(model, q, v).kinetic) < 1e-12


def test_batches():
    found = sarrus.recut(zoo.four_bar(), {"coupler_rocker": "rocker_joint"})
    q, v = sarrus.random_state(found.original, 0, batch=3)
    there = found.to_new(q, v)
    back = found.to_original(*there, near=q)
    assert np.allclose(back[0], q, atol=1e-12)
    assert np.allclose(back[1], v, atol=1e-12)
    assert found.tau_to_new(q, np.zeros_like(v)).shape == v.shape


def test_what_cannot_be_cut_is_refused_in_words():
    model = zoo.four_bar()
    with pytest.raises(UnknownNameError, match="coupler_rocker"):
        sarrus.recut(model, {"nothing": "crank_joint"})
    with pytest.raises(UnsupportedError, match="not on the loop"):
        sarrus.recut(ball_chain(), {"ball": "c_joint"})
    with pytest.raises(UnsupportedError, match="embedded"):
        sarrus.recut(sarrus.embed(model), {"coupler_rocker": "crank_joint"})
    found = sarrus.recut(model, {"coupler_rocker": "crank_joint"})
    with pytest.raises(StateError, match="which is cut"):
        found.tau_to_new(sarrus.neutral(model), np.ones(model.nv))


def test_a_plan_says_what_it_would_save_and_does_nothing():
    model = zoo.four_bar()
    other = sarrus.recut(model, {"coupler_rocker": "rocker_joint"}).model  # where it costs more
    assert recut_notes(model) == ()
    (note,) = recut_notes(other)
    assert "would save" in note
    assert "sarrus.recut(model" in note
    assert note in sarrus.plan(other, cache=False, recuts=True).notes
    (hint,) = sarrus.plan(model, cache=False).notes
    assert "--recuts" in hint
    (nothing,) = sarrus.plan(model, cache=False, recuts=True).notes
    assert "no other joint" in nothing


def test_another_base():
    with pytest.raises(UnsupportedError, match="does not float"):
        sarrus.recut(zoo.four_bar(), base="coupler")
    builder = sarrus.ModelBuilder("snake")
    for k in range(7):
        parent, joint = (f"link_{k - 1}", "revolute") if k else ("world", "free")
        axis = None if not k else (0.0, 1.0, 0.0)
        builder.add_body(f"link_{k}", parent, joint=joint, axis=axis, position=(0.2 * bool(k), 0.0, 0.0), mass=1.0,
                         com=(0.1, 0.0, 0.0), inertia=0.01 * np.eye(3))  # fmt: skip
    snake = builder.build().with_constraints(sarrus.contact("link_6", 3))
    (note,) = recut_notes(snake)
    base = note.split("base='")[1].split("'")[0]
    assert "as the floating base would save" in note
    found = sarrus.recut(snake, base=base)
    assert found.bases == ("link_0", base)
    q, v = sarrus.random_state(snake, 0, batch=3)
    tau = np.random.default_rng(1).normal(size=v.shape)  # also on the free joint
    there = found.to_new(q, v)
    before, after = (
        sarrus.forward_dynamics(model, *x, method="constrained_aba")
        for model, x in ((snake, (q, v, tau)), (found.model, (*there, found.tau_to_new(q, tau))))
    )
    frames = snake.frame_names
    for k in range(3):
        x = sarrus.forward_kinematics(snake, q[k], v[k], before.qdd[k], frames=frames)
        y = sarrus.forward_kinematics(found.model, there[0][k], there[1][k], after.qdd[k], frames=frames)
        assert relative_error(y.acceleration, x.acceleration, 1.0) < 1e-9


def test_cuts_are_a_dictionary():
    with pytest.raises(StateError, match="cuts is 'coupler_rocker': expected a dictionary"):
        sarrus.recut(zoo.four_bar(), "coupler_rocker")  # type: ignore[arg-type]
