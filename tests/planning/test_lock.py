"""`model.lock`: the reduced robot moves as the whole one does with those joints held."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.errors import ModelError, StateError, UnknownNameError, UnsupportedError
from tests.mechanisms import relative_error
from tests.oracles.dense import oracle_of_model

KINDS = (
    "revolute", "prismatic", "helical", "cylindrical", "universal", "planar", "translation", "spherical", "free",
)  # fmt: skip


def robot(kind: str, first: bool) -> sarrus.Model:
    """Three bodies in a row and a branch; the second, or the first, moves on such a joint about an oblique axis."""
    rng = np.random.default_rng(len(kind))
    builder = sarrus.ModelBuilder("arm")
    pitch = {"pitch": 0.05} if kind == "helical" else {}
    oblique = {} if kind in ("translation", "spherical", "free", "universal") else {"axis": (0.6, 0.0, 0.8)}
    for k, parent in enumerate(("world", "b0", "b1", "b1")):
        special = k == (0 if first else 1)
        extra = {"joint": kind, **oblique, **pitch} if special else {"joint": "revolute", "axis": (0, 1, 0)}
        builder.add_body(
            f"b{k}", parent, position=rng.normal(size=3), rotation=rng.normal(size=3), mass=1.0 + k,
            com=0.1 * rng.normal(size=3), inertia=np.diag([0.2, 0.3, 0.4]), **extra,
        )  # fmt: skip
    return builder.add_frame("tool", "b3", position=(0.1, 0.2, 0.3)).build()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", [True, False])
def test_the_reduced_robot_is_the_whole_one_with_held_joints(kind, first):
    """M and c of the oracle, without the rows and columns of the joint; and where the tool is."""
    model = robot(kind, first)
    name = f"b{0 if first else 1}_joint"
    q, v = sarrus.random_state(model, 1)
    small = model.lock({name: q[model.layout.q_of(name)]})
    free_q, free_v = np.ones(model.nq, bool), np.ones(model.nv, bool)
    free_q[model.layout.q_of(name)], free_v[model.layout.v_of(name)] = False, False
    v = v * free_v
    oracle = oracle_of_model(model)
    M, c = oracle.mass_matrix(q)[np.ix_(free_v, free_v)], oracle.bias(q, v)[free_v]
    assert relative_error(sarrus.crba(small, q[free_q]), M) < 1e-12
    assert relative_error(sarrus.bias_forces(small, q[free_q], v[free_v]), c, 1.0) < 1e-11
    for frame in ("tool", "b1", "b0"):
        there = sarrus.forward_kinematics(model, q, v, frames=(frame,))
        here = sarrus.forward_kinematics(small, q[free_q], v[free_v], frames=(frame,))
        assert all(np.allclose(a, b, atol=1e-12) for a, b in zip(here[:3], there[:3], strict=True))


def test_loops_are_kept():
    """A five-bar with one crank locked is a four-bar: its accelerations are those of the whole with that crank held."""
    model = zoo.five_bar()
    q, v = sarrus.random_state(model, 2)
    small = model.lock({"left_crank_joint": q[model.layout.q_of("left_crank_joint")]})
    assert [c.name for c in small.constraints] == [c.name for c in model.constraints]
    held = model.with_constraints(sarrus.coupling({"left_crank_joint": 1.0}, polynomial=(float(q[0]),), name="held"))
    free = np.arange(model.nv) != model.layout.v_of("left_crank_joint").start
    v = sarrus.project(held, q, v).v
    expected = sarrus.prox_ltl(held, q, v, np.zeros(model.nv)).qdd
    got = sarrus.forward_dynamics(small, q[free], v[free], np.zeros(small.nv))
    assert got.status == 0
    assert relative_error(got.qdd, expected[free], 1.0) < 1e-9


def test_a_constraint_of_which_nothing_moves_must_hold():
    model = zoo.four_bar()
    closed = sarrus.assemble(model, {"crank_joint": 0.4}).q
    everything = dict(zip(model.joint_names, closed, strict=True))
    still = model.lock(everything)
    assert (still.nv, still.constraints) == (0, ())
    assert any("left out" in line for line in still.import_report)
    with pytest.raises(ModelError, match="cannot hold"):
        model.lock(everything | {"crank_joint": 1.4})


def test_couplings_tendons_motors_and_keyframes_keep_what_is_left():
    builder = sarrus.ModelBuilder("geared")
    for name in "abc":
        builder.add_body(name, joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.5), inertia=0.1 * np.eye(3))
    builder.add_constraint(sarrus.coupling({"a_joint": 1.0, "b_joint": -2.0, "c_joint": 0.5}, polynomial=(0.3,)))
    builder.add_actuator("sum", {"a_joint": 1.0, "b_joint": 2.0}, gear=3.0, gain=5.0, bias=(0.1, -5.0, -0.2))
    builder.add_actuator("lost", "b_joint")
    model = builder.build()
    small = model.lock({"b_joint": 0.7})
    (kept,) = small.constraints
    assert kept.ratios == (("a_joint", 1.0), ("c_joint", 0.5))
    assert np.isclose(kept.polynomial[0], 0.3 + 2.0 * 0.7)
    q, v = np.array([0.2, 0.7, 0.3]), np.array([0.5, 0.0, -0.1])
    whole = sarrus.actuator_forces(model, q, v, [0.4, 0.0])
    assert np.allclose(sarrus.actuator_forces(small, q[[0, 2]], v[[0, 2]], [0.4]), whole[[0, 2]])
    driven = model.without_constraints().with_constraints(
        sarrus.coupling({"b_joint": 1.0}, driver="a_joint", polynomial=(0.1, 0.0, 2.0))
    )
    (square,) = driven.lock({"b_joint": 0.6}).constraints  # 0.6 = 0.1 + 2 a^2: a is held where that is true
    at = np.sqrt(0.25)
    alone = driven.lock({"b_joint": 0.6})
    assert np.allclose(sarrus.closure(alone, [at, 0.0]).position, 0.0, atol=1e-12)
    assert square.driver == "a_joint"
    assert [c.polynomial for c in driven.lock({"a_joint": 0.5}).constraints] == [(0.6,)]


def test_names_positions_and_embedded_models_are_checked():
    model = zoo.chain(3)
    assert model.lock(model.joint_names[1]).nv == 2
    with pytest.raises(UnknownNameError, match="Valid"):
        model.lock("elbow")
    with pytest.raises(StateError, match="expected names of joints"):
        sarrus.zoo.chain(3).lock(3)
    with pytest.raises(StateError, match="1 coordinates"):
        model.lock({model.joint_names[0]: [0.0, 1.0]})
    with pytest.raises(UnsupportedError, match="spanning"):
        sarrus.embed(zoo.four_bar()).lock("crank_joint")
    assert model.lock([]).nv == 3


def with_light_fingers() -> sarrus.Model:
    """A file with a finger without inertia, as those of Romeo are."""
    return sarrus.load(
        """<robot name="hand">
  <link name="base"/> <link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
  <link name="finger"/>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
  <joint name="knuckle" type="continuous"><parent link="arm"/><child link="finger"/><axis xyz="0 1 0"/></joint>
</robot>"""
    )


def test_without_its_massless_joints_a_robot_is_well_posed():
    """The file's verdict was kept, so `aba` was refused for a joint that was no longer there."""
    whole = with_light_fingers()
    assert "knuckle" in whole.ill_posed
    assert any("knuckle" in line for line in whole.import_report)
    arm = whole.lock(["knuckle"])
    assert not arm.ill_posed
    assert not any("acceleration is undefined" in line for line in arm.import_report)
    assert np.isfinite(sarrus.aba(arm, np.zeros(1), np.zeros(1), np.zeros(1))).all()
    assert "knuckle" in whole.lock(["shoulder"]).ill_posed


def test_an_error_names_all_joints_to_lock():
    """One was named at a time, of 24 that Romeo's hands have."""
    builder = sarrus.ModelBuilder("hand").add_body("arm", axis=(0, 1, 0), mass=1.0, inertia=np.eye(3))
    for name, parent in (("finger", "arm"), ("tip", "finger"), ("thumb", "arm")):
        builder.add_body(name, parent, joint="revolute", axis=(0, 1, 0))
    model = builder.build(allow_ill_posed=True)
    words = "`model.lock(['finger_joint', 'tip_joint', 'thumb_joint'])`"
    assert words in model.ill_posed
    assert not model.lock(["finger_joint", "tip_joint", "thumb_joint"]).ill_posed


def test_what_is_attached_decides_whether_a_joint_moves_inertia():
    whole = with_light_fingers()
    builder = sarrus.ModelBuilder("weight")
    builder.add_body("tip", joint="revolute", axis=(0, 1, 0), position=(1, 0, 0), mass=1.0, inertia=np.eye(3))
    assert not sarrus.attach(whole, builder.build(), "finger").ill_posed
    assert "knuckle" in sarrus.attach(zoo.chain(2), whole, "tip").ill_posed
