"""Whether a file means the same to Pinocchio (URDF) or MuJoCo (MJCF): mass matrix and bias forces of one state."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from lxml import etree

from benchmarks.validate_import import velocity_map
from sarrus.algorithms.tree.crba import crba
from sarrus.algorithms.tree.rnea import rnea
from sarrus.errors import UnsupportedError
from sarrus.importers.document import plain_numbers
from sarrus.importers.mujoco_state import to_mujoco_state
from sarrus.importers.pinocchio_model import to_pinocchio_configuration
from sarrus.model.model import Model
from sarrus.model.state import random_state
from sarrus.simulation.joint_forces import JointForces, joint_force_parameters, joint_forces
from sarrus.simulation.trajectory import Trajectory

TOLERANCE = 1e-7
ROUNDING = 1e-13
_PARSER = etree.XMLParser(recover=True)
AGREES, UNKNOWN = "agrees", "no answer of the peer"


def compare_urdf(model: Model, text: str, rng: np.random.Generator) -> str:
    """`AGREES`, `UNKNOWN`, or the difference in words."""
    import pinocchio as pin

    try:
        peer = pin.buildModelFromXML(text)
    except Exception:
        return UNKNOWN
    if any(_misread(joint) for joint in etree.fromstring(text.lstrip("\ufeff \n").encode(), _PARSER).iter("joint")):
        return UNKNOWN
    if model.joint_names != tuple(peer.names[1:]):
        return f"joints {model.joint_names}, Pinocchio's {tuple(peer.names[1:])}"
    if not model.nv:
        return AGREES  # Pinocchio's crba crashes on a robot that cannot move
    q, v = _state(model, rng)
    a = rng.normal(size=model.nv)
    data, q_peer = peer.createData(), to_pinocchio_configuration(model, q)
    M = np.triu(pin.crba(peer, data, q_peer))
    pairs = {
        "crba": (crba(model, q), M + np.triu(M, 1).T),
        "rnea": (rnea(model, q, v, a), np.array(pin.rnea(peer, data, q_peer, v, a))),
    }
    return _judge(pairs, _scale(model))


def _misread(joint: Any) -> bool:
    """What Pinocchio is known not to read: the normal of a plane that is not z, axes whose squares are no numbers."""
    axis = joint.find("axis")
    xyz = () if axis is None else plain_numbers(axis.get("xyz"), 3) or ()
    if joint.get("type") == "planar" and not (xyz and xyz[0] == xyz[1] == 0.0 < xyz[2]):
        return True
    return bool(xyz) and not 1e-100 < max(map(abs, xyz)) < 1e100


def compare_mjcf(model: Model, text: str, rng: np.random.Generator) -> str:
    import mujoco

    try:
        peer = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(peer)
    except Exception:
        return UNKNOWN
    if (model.nq, model.nv) != (peer.nq, peer.nv):
        return f"nq, nv {model.nq}, {model.nv}; MuJoCo's {peer.nq}, {peer.nv}"
    if not model.nv:
        return AGREES
    q, v = _state(model, rng)
    data.qpos[:], data.qvel[:] = to_mujoco_state(model, q, v)
    peer.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    mujoco.mj_forward(peer, data)
    M = np.zeros((peer.nv, peer.nv))
    for column, unit in zip(M, np.eye(peer.nv), strict=True):
        mujoco.mj_mulM(peer, data, column, unit)
    T, drift = velocity_map(model, q, v)
    pairs = {
        "crba": (T.T @ crba(model, q) @ T, M),
        "bias": (T.T @ rnea(model, q, v, drift), data.qfrc_bias.copy()),
    }
    try:
        numbers = joint_force_parameters(model, JointForces(friction=False, limits=False, effort=False), 1e-3)
        pairs["passive"] = (T.T @ joint_forces(model, numbers, q, v), data.qfrc_passive.copy())
    except UnsupportedError:
        pass  # a spring on a free joint: refused in words where it would act
    return _judge(pairs, _scale(model, peer.jnt_pos))


def compare_npz(trajectory: Trajectory, content: bytes) -> str:
    """NumPy reads the same numbers."""
    with np.load(io.BytesIO(content), allow_pickle=False) as peer:
        for name, x in {"time": trajectory.time, **trajectory.arrays}.items():
            if not np.array_equal(x, np.asarray(peer[name], float), equal_nan=True):
                return f"{name} differs"
    return AGREES


def _state(model: Model, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Limits do not matter to the dynamics, and may be anything: coordinates are of the order of one."""
    q, v = random_state(model, rng)
    for body, s in zip(model.bodies, model.layout.q, strict=True):
        if body.joint.type.nq == 1:
            q[s] = rng.uniform(-1.0, 1.0)
    return q, rng.uniform(-1.0, 1.0, size=len(v))


def _scale(model: Model, anchors: Any = ()) -> float:
    """What rounding is relative to: masses, times the squares of lengths (those of the peer too), and moments."""
    reach = (
        np.float64(1.0) + np.abs(anchors).sum() + sum(float(np.abs(body.placement.p).sum()) for body in model.bodies)
    )
    total = 0.0
    for body in model.bodies:
        total += float(body.inertia.mass) * reach**2 + float(np.abs(body.inertia.Io).sum() + body.joint.armature.sum())
        total += float(np.abs(body.inertia.h).sum()) * reach
    return total * (1.0 + float(np.abs(model.gravity).sum()))


def _judge(pairs: dict[str, tuple[Any, Any]], scale: float) -> str:
    for name, (ours, theirs) in pairs.items():
        if not np.isfinite(theirs).all():
            return UNKNOWN
        difference = np.abs(np.asarray(ours) - theirs).max(initial=0.0)
        if not difference <= TOLERANCE * np.abs(theirs).max(initial=0.0) + ROUNDING * scale:
            return f"{name} differs by {difference:.2g} of {np.abs(theirs).max(initial=0.0):.2g}"
    return AGREES
