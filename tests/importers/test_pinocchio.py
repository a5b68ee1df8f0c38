"""What a Pinocchio model becomes, and that the URDF importer agrees with Pinocchio's."""

import numpy as np
import pytest

import sarrus
from sarrus.errors import UnsupportedError
from sarrus.importers import from_pinocchio_configuration, to_pinocchio_configuration
from tests.importers.test_urdf import joint, link, robot

pin = pytest.importorskip("pinocchio", exc_type=ImportError)

AXIS = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)


def composite():
    inner = pin.JointModelComposite()
    inner.addJoint(pin.JointModelRX(), pin.SE3.Random())
    inner.addJoint(pin.JointModelPY(), pin.SE3.Random())
    return inner


JOINTS = {
    **{name: getattr(pin, f"JointModel{name}") for name in (
        "RX", "RY", "RZ", "RUBX", "RUBZ", "PX", "PY", "PZ", "Planar", "Translation", "Spherical", "FreeFlyer",
        "SphericalZYX",
    )},
    "HY": lambda: pin.JointModelHY(0.3),
    "RevoluteUnaligned": lambda: pin.JointModelRevoluteUnaligned(AXIS),
    "PrismaticUnaligned": lambda: pin.JointModelPrismaticUnaligned(AXIS),
    "HelicalUnaligned": lambda: pin.JointModelHelicalUnaligned(AXIS, 0.4),
    "Universal": lambda: pin.JointModelUniversal(np.eye(3)[2], np.eye(3)[0]),
    "Composite": composite,
}  # fmt: skip


def chain(*kinds):
    """A chain of joints, each with a body, in random poses."""
    pin.seed(1)
    model, parent = pin.Model(), 0
    model.gravity.linear[:] = [1.0, 2.0, -9.0]
    for k, kind in enumerate(kinds):
        parent = model.addJoint(parent, JOINTS[kind](), pin.SE3.Random(), f"j{k}")
        model.appendBodyToJoint(parent, pin.Inertia.Random(), pin.SE3.Identity())
        model.addBodyFrame(f"b{k}", parent, pin.SE3.Identity(), 0)
    return model


@pytest.mark.parametrize("kind", JOINTS)
def test_every_joint_moves_as_pinocchios(kind):
    peer = chain("RX", kind, "RZ")
    peer.armature[:] = np.linspace(0.1, 0.2, peer.nv)
    model = sarrus.from_pinocchio(peer)
    data = peer.createData()
    rng = np.random.default_rng(0)
    q, v = sarrus.random_state(model, rng)
    a = rng.normal(size=model.nv)
    q_peer = to_pinocchio_configuration(model, q)
    assert q_peer.shape == (peer.nq,)
    np.testing.assert_allclose(from_pinocchio_configuration(model, q_peer), q, atol=1e-14)
    np.testing.assert_allclose(sarrus.rnea(model, q, v, a), pin.rnea(peer, data, q_peer, v, a), atol=1e-12)
    M = pin.crba(peer, data, q_peer)
    np.testing.assert_allclose(np.triu(sarrus.crba(model, q)), np.triu(M), atol=1e-12)


def test_chains_of_one_joint_have_numbered_names():
    model = sarrus.from_pinocchio(chain("SphericalZYX", "Composite"))
    assert model.joint_names == ("j0/1", "j0/2", "j0/3", "j1/1", "j1/2")
    assert model.body_names == ("b0/1", "b0/2", "b0", "b1/1", "b1")


@pytest.mark.parametrize("kind", ["Mimic", "Ellipsoid"])
def test_joints_without_a_counterpart_are_refused_in_words(kind):
    peer = chain("RX", "RX")
    try:
        if kind == "Mimic":
            peer = pin.transformJointIntoMimic(peer, 1, 2, 2.0, 0.1)
        else:
            peer.addJoint(0, pin.JointModelEllipsoid(1.0, 1.0, 1.0), pin.SE3.Identity(), "odd")
    except (AttributeError, TypeError):
        pytest.skip(f"this Pinocchio has no {kind} joint")
    with pytest.raises(UnsupportedError, match=r"has no counterpart here\. Valid: RX, RY"):
        sarrus.from_pinocchio(peer)


def test_limits_damping_frames_and_rotors():
    peer = chain("RX", "FreeFlyer")
    peer.lowerPositionLimit[0], peer.upperPositionLimit[0] = -1.0, 2.0
    peer.damping[0] = 0.5
    peer.rotorInertia[0] = 0.1
    kind = pin.FrameType
    peer.addFrame(pin.Frame("tool", 1, pin.SE3.Random(), kind.OP_FRAME))
    peer.addFrame(pin.Frame("b1", 1, pin.SE3.Random(), kind.OP_FRAME))
    model = sarrus.from_pinocchio(peer)
    first = model.bodies[0].joint
    assert [float(x[0]) for x in (first.lower, first.upper, first.damping)] == [-1.0, 2.0, 0.5]
    assert np.isinf(model.bodies[1].joint.lower).all()
    np.testing.assert_allclose(
        model.frame("tool").placement.p, peer.frames[peer.getFrameId("tool")].placement.translation
    )
    np.testing.assert_allclose(model.gravity, [1, 2, -9])
    assert any("b1" in line and "frames whose name another has" in line for line in model.import_report)
    assert any("rotorInertia" in line for line in model.import_report)


def test_a_joint_without_a_body_frame_gives_its_name():
    peer = pin.Model()
    peer.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "only")
    peer.appendBodyToJoint(1, pin.Inertia.Random(), pin.SE3.Identity())
    assert sarrus.from_pinocchio(peer).body_names == ("only",)


def test_an_empty_configuration_converts():
    model = sarrus.ModelBuilder().build()
    assert to_pinocchio_configuration(model, np.zeros(0)).shape == (0,)
    assert from_pinocchio_configuration(model, np.zeros((2, 0))).shape == (2, 0)


# --- the URDF importer -------------------------------------------------------------------------------

LIMIT = '<limit lower="-1" upper="1" velocity="1" effort="1"/>'
URDF = robot(
    link("base"), link("b"), link("a"), link("c"), link("d"), link("e"), link("f"),
    joint("z", "base", "a", content='<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0.5 0.5 0.1"/>' + LIMIT),
    joint("Y", "base", "b", "continuous", '<origin rpy="1 0 0"/><axis xyz="0 0 1"/>'),
    joint("y", "base", "c", "fixed", '<origin xyz="0 0 1"/>'),
    joint("w", "c", "d", "prismatic", '<axis xyz="0 -1 0"/>' + LIMIT),
    joint("x", "a", "e", "planar", '<axis xyz="0 0 1"/>'),
    joint("v", "a", "f", "continuous", '<axis xyz="1 1 0"/>'),
)  # fmt: skip


@pytest.mark.parametrize("floating", [False, True])
def test_a_urdf_is_read_as_pinocchio_does(floating):
    peer = pin.buildModelFromXML(URDF, *((pin.JointModelFreeFlyer(),) if floating else ()))
    model = sarrus.load_urdf(URDF, floating)
    assert model.joint_names == tuple(peer.names[1:])
    assert abs(float(model.mass) - pin.computeTotalMass(peer)) < 1e-12
    data = peer.createData()
    rng = np.random.default_rng(0)
    q, v = sarrus.random_state(model, rng)
    tau = rng.normal(size=model.nv)
    q_peer = to_pinocchio_configuration(model, q)
    expected = pin.aba(peer, data, q_peer, v, tau)
    for ours in (model, sarrus.from_pinocchio(peer)):
        np.testing.assert_allclose(sarrus.aba(ours, q, v, tau), expected, rtol=1e-10, atol=1e-10)
    pin.framesForwardKinematics(peer, data, q_peer)
    found = sarrus.forward_kinematics(model, q, frames=tuple("abcdef"))
    places = [data.oMf[peer.getFrameId(name)].translation for name in "abcdef"]
    np.testing.assert_allclose(found.position, places, atol=1e-12)
