"""What was written is read again: the same dynamics, by our own reader and by MuJoCo's; what cannot be said is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.errors import UnsupportedError
from sarrus.importers import to_mujoco_state
from sarrus.importers.load import example_robot, example_robots
from tests.importers.shared_robots import shared_file
from tests.mechanisms import relative_error

TOLERANCE = 1e-9


def by_name(one: sarrus.Model, other: sarrus.Model) -> tuple[np.ndarray, np.ndarray]:
    """Where the coordinates and velocities of `one` are in `other`: in another order, or of several joints for one."""
    names = [[x for x in other.joint_names if x == name or x.rpartition("/")[0] == name] for name in one.joint_names]
    q = [np.arange(other.nq)[other.layout.q_of(name)] for part in names for name in part]
    v = [np.arange(other.nv)[other.layout.v_of(name)] for part in names for name in part]
    return np.concatenate(q), np.concatenate(v)


def measured_there(model: sarrus.Model, again: sarrus.Model, q: np.ndarray) -> np.ndarray:
    """q with free joints as poses in the world, where the other model has them so."""
    out = q.copy()
    for body, s in zip(model.bodies, model.layout.q, strict=True):
        other = again.bodies[again.joint_index(body.joint.name)] if body.joint.name in again.joint_names else body
        if body.joint.type.name == "free" and not np.allclose(other.placement.p, body.placement.p):
            assert np.allclose(body.placement.R, np.eye(3))
            out[s][:3] += body.placement.p
    return out


def check_same(model: sarrus.Model, again: sarrus.Model) -> None:
    """Forward dynamics with constraints, and where frames are."""
    at_q, at_v = by_name(model, again)
    q, v = sarrus.random_state(model, 0)
    tau = np.random.default_rng(1).normal(size=model.nv)
    q2, v2, tau2 = np.empty(again.nq), np.empty(again.nv), np.empty(again.nv)
    q2[at_q], v2[at_v], tau2[at_v] = measured_there(model, again, q), v, tau
    assert again.n_rows == model.n_rows
    method = sarrus.prox_ltl if model.n_rows else sarrus.aba
    qdd, qdd2 = (
        x.qdd if model.n_rows else x for x in (method(model, q, v, tau), method(again, q2, v2, tau2))
    )  # fmt: skip
    assert relative_error(qdd2[at_v], qdd, 1.0) < TOLERANCE
    frames = [name for name in model.frame_names if name in again.frame_names]
    assert len(frames) >= 2
    here, there = (
        sarrus.forward_kinematics(m, x, y, frames=tuple(frames)) for m, x, y in ((model, q, v), (again, q2, v2))
    )
    assert all(np.allclose(a, b, atol=1e-11) for a, b in zip(here[:3], there[:3], strict=True))


ZOO = {
    "chain": lambda: zoo.chain(4), "stem": lambda: zoo.stem(2, 2), "four_bar": zoo.four_bar, "stewart": zoo.stewart,
    "biped": zoo.biped,
}  # fmt: skip


@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("form", ["urdf", "mjcf"])
def test_mechanisms_of_the_zoo(name, form):
    model = ZOO[name]()
    written = getattr(model, f"to_{form}")()
    again = sarrus.load(written.text)
    lost = [line for line in written.lost_physics if line.startswith("constraint")]
    if name == "four_bar":  # closed by a hinge, which neither format has
        assert len(lost) == 1
        model = model.without_constraints()
    else:
        assert not lost
    check_same(model, again)


@pytest.mark.skipif(not example_robots(), reason="example-robot-data is not installed")
@pytest.mark.parametrize(("name", "floating"), [("ur5_robot", False), ("solo12", True), ("panda", False)])
def test_published_robots(name, floating):
    model = sarrus.load(example_robot(name), floating)
    check_same(model, sarrus.load(model.to_mjcf().text))
    check_same(model, sarrus.load(model.to_urdf().text))


@pytest.mark.parametrize("path", ["cassie/cassie.xml", "go1/go1.xml"])
def test_mjcf_again(path):
    """With springs, armature, loops and several joints on a body; MuJoCo itself agrees, constraints off."""
    mujoco = pytest.importorskip("mujoco")
    model = sarrus.load(shared_file(path))
    written = model.to_mjcf()
    again = sarrus.load(written.text)
    check_same(model, again)
    mj = mujoco.MjModel.from_xml_string(written.text)
    data = mujoco.MjData(mj)
    q, v = sarrus.random_state(model, 3)
    data.qpos, data.qvel = to_mujoco_state(model, q, v)
    mj.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    mujoco.mj_forward(mj, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(mj, data, M) if mujoco.__version__ >= "3.13" else mujoco.mj_fullM(mj, M, data.qM)
    assert relative_error(np.sort(np.linalg.eigvalsh(M)), np.linalg.eigvalsh(sarrus.crba(model, q))) < TOLERANCE
    assert [a.name for a in again.actuators] == [a.name for a in model.actuators]
    controls = np.random.default_rng(0).normal(size=model.nu)
    assert np.allclose(*(sarrus.actuator_forces(m, q, v, controls) for m in (model, again)), atol=1e-10)
    assert set(again.keyframes) >= set(model.keyframes)


KINDS = ("revolute", "prismatic", "cylindrical", "universal", "translation", "spherical", "planar", "free", "helical")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["urdf", "mjcf"])
def test_every_joint_type_is_written_or_refused(kind, form):
    rng = np.random.default_rng(7)
    builder = sarrus.ModelBuilder("one")
    common = {"mass": 2.0, "com": rng.normal(size=3), "inertia": np.diag([0.3, 0.4, 0.5])}
    axis = {} if kind in ("universal", "translation", "spherical", "free") else {"axis": (0.6, 0.0, -0.8)}
    placed = {} if kind == "free" else {"position": rng.normal(size=3), "rotation": (0.3, np.pi / 2, 0.2)}
    pitch = {"pitch": 0.1} if kind == "helical" else {}
    builder.add_body("a", joint=kind, **axis, **pitch, **placed, **common)
    builder.add_body("b", "a", joint="revolute", axis=(0, 1, 0), position=(0.1, 0.2, 0.3), **common)
    model = builder.add_frame("tool", "b", position=(0, 0, 1)).build()
    refused = {"helical": True, "planar": form == "mjcf"}.get(kind, False)
    if refused:
        with pytest.raises(UnsupportedError, match=f"is {kind}, which"):
            getattr(model, f"to_{form}")()
        return
    again = sarrus.load(getattr(model, f"to_{form}")().text)
    q, v = sarrus.random_state(model, 0)
    tau = rng.normal(size=model.nv)
    assert relative_error(sarrus.aba(again, q, v, tau), sarrus.aba(model, q, v, tau), 1.0) < TOLERANCE
    here, there = (sarrus.forward_kinematics(m, q, v, frames=("tool",)) for m in (model, again))
    assert all(np.allclose(x, y, atol=1e-12) for x, y in zip(here[:3], there[:3], strict=True))


def test_couplings_come_back(tmp_path):
    builder = sarrus.ModelBuilder("geared")
    for name in "abc":
        builder.add_body(name, joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.5), inertia=0.1 * np.eye(3))
    two = sarrus.coupling({"a_joint": 1.0}, driver="b_joint", polynomial=(0.1, 2.0), references={"b_joint": 0.3})
    three = sarrus.coupling({"a_joint": 1.0, "b_joint": 2.0, "c_joint": -3.0}, polynomial=(0.4,), name="three")
    bent = sarrus.coupling({"c_joint": 2.0}, driver="b_joint", polynomial=(0.1, 0.2, 0.3), name="bent",
                           references={"b_joint": 0.5, "c_joint": 0.1})  # fmt: skip
    plain = builder.build()
    for constraint, forms in ((two, ("urdf", "mjcf")), (three, ("mjcf",)), (bent, ("mjcf",))):
        model = plain.with_constraints(constraint)
        for form in ("urdf", "mjcf"):
            written = getattr(model, f"to_{form}")(tmp_path / f"robot.{form}")
            assert (tmp_path / f"robot.{form}").read_text() == written.text
            again = sarrus.load(written.text)
            if form not in forms:
                assert "constraint" in written.lost_physics[0]
                continue
            q = np.array([0.2, -0.4, 0.7])
            mine, theirs = (sarrus.closure(m, q) for m in (model, again))
            factor = theirs.jacobian @ mine.jacobian.T / (mine.jacobian @ mine.jacobian.T)
            assert np.allclose(theirs.position, factor[0] * mine.position, atol=1e-12)
            assert np.allclose(theirs.jacobian, factor[0] * mine.jacobian, atol=1e-12)


def test_what_cannot_be_said_is_said():
    builder = sarrus.ModelBuilder("odd", gravity=(0, 0, -1.6))
    builder.add_body(
        "a",
        joint="revolute",
        axis=(0, 1, 0),
        mass=1.0,
        com=(0, 0, -0.5),
        inertia=np.eye(3),
        armature=0.1,
        stiffness=2.0,
    )
    model = builder.add_constraint(sarrus.distance("a", "world", 1.0)).build()
    lines = "\n".join(model.to_urdf().lost_physics)
    assert all(word in lines for word in ("armature", "stiffness", "gravity", "distance"))
    assert "distance" in "\n".join(model.to_mjcf().lost_physics)
    assert sarrus.load(model.to_mjcf().text).gravity[2] == -1.6


def test_folders_of_a_file_are_made(tmp_path):
    sarrus.zoo.chain(2).to_mjcf(tmp_path / "new" / "robot.xml")
    sarrus.zoo.chain(2).to_urdf(tmp_path / "newer" / "robot.urdf")
    assert sarrus.load(tmp_path / "new" / "robot.xml").nv == sarrus.load(tmp_path / "newer" / "robot.urdf").nv == 2


def test_what_mujoco_would_refuse_is_written_otherwise_and_said():
    link = """<link name="{}"><inertial><mass value="1"/><origin xyz="0 0 {}"/>
      <inertia ixx="{}" iyy="{}" izz="{}" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
    joint = """<joint name="{}" type="revolute"><parent link="{}"/><child link="{}"/><axis xyz="{}"/>
      <origin xyz="0 0 0.2"/><limit effort="{}" velocity="9" lower="-9" upper="9"/></joint>"""
    parts = [
        '<link name="base"/>',
        link.format("point", 0.1, 0, 0, 0),
        link.format("flat", 0, 0.1, 0.1, 0.5),
        joint.format("first", "base", "point", "0 1 0", 0),
        joint.format("second", "point", "flat", "1 0 0", 5),
    ]
    model = sarrus.load(f'<robot name="odd">{"".join(parts)}</robot>')
    written = model.to_mjcf()
    assert any("'point': MuJoCo refuses" in line for line in written.lost_physics)
    assert any("'flat': MuJoCo refuses" in line for line in written.lost_physics)
    assert any("motors that can do nothing" in line for line in written.report)
    again = sarrus.load(written.text)
    q = v = np.array([0.3, 0.2])
    moment = sarrus.crba(again, q) - sarrus.crba(model, q)
    assert moment[1, 1] == pytest.approx(0.3, rel=1e-5)  # what was added about each axis: 0.5 - 0.1 - 0.1
    assert (
        np.abs(sarrus.simulate(again, q, v, controller=sarrus.pd(1.0, 0.0, q), duration=0.01).tau[:, 0]).max() < 1e-11
    )


def test_another_order_of_joints_is_said():
    builder = sarrus.ModelBuilder("fork")
    for name in ("zeta", "alpha"):
        builder.add_body(name, axis=(0, 1, 0), mass=1.0, com=(0, 0, 0.1), inertia=0.01 * np.eye(3))
    written = builder.build().to_urdf()
    assert any("'alpha_joint' comes before 'zeta_joint'" in line for line in written.report)
    assert sarrus.load(written.text).joint_names == ("alpha_joint", "zeta_joint")
    assert not any("order" in line for line in sarrus.zoo.chain(3).to_urdf().report)


def test_who_skips_loops_is_said_and_pinocchio_does():
    """A robot that others read as a tree moves otherwise: that is lost physics, although we read the loops again."""
    pin = pytest.importorskip("pinocchio", exc_type=ImportError)
    biped = zoo.biped()
    written = biped.to_urdf()
    told = [line for line in written.lost_physics if "loops" in line]
    assert len(told) == 1
    assert told[0].startswith(f"{len(biped.constraints)} loops")
    assert pin.buildModelFromXML(written.text).nv == biped.nv  # which reads it without a word about loops
    assert len(sarrus.load(written.text).constraints) == len(biped.constraints)
    assert not any("loop" in line for line in biped.without_constraints().to_urdf().report)


@pytest.mark.parametrize("form", ["urdf", "mjcf"])
def test_joints_that_become_several_are_said(form):
    biped = zoo.biped()
    written = getattr(biped, f"to_{form}")()
    split = [b.joint.name for b in biped.bodies if b.joint.type.name == "universal"]
    for name in split:
        assert f"joint {name!r}: universal, written as 2 joints {name}/0, ..." in written.report
    assert len(sarrus.load(written.text).joint_names) == len(biped.joint_names) + len(split)


def test_mjcf_of_interleaved_branches_says_the_order_and_keyframes_follow():
    """MuJoCo numbers joints branch by branch; what was joint 'late' of ours is the second one there."""
    arm = sarrus.attach(zoo.chain(2), zoo.chain(1), "world", prefix="other_")
    robot = sarrus.attach(arm, zoo.chain(1), "tip", prefix="late_")
    home = np.array([0.1, 0.2, 0.3, 0.4])
    written = replace(robot, home=home).to_mjcf()
    again = sarrus.load(written.text)
    assert again.joint_names != robot.joint_names
    assert set(again.joint_names) == set(robot.joint_names)
    assert any("the order of joints" in line for line in written.report)
    at_q, _ = by_name(robot, again)
    assert np.array_equal(again.keyframes["home"].q[at_q], home)
    assert not any("the order" in line for line in zoo.chain(3).to_mjcf().report)
