"""The same algorithm by Pinocchio and MuJoCo, where they are installed and can load the file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sarrus.importers.document import read_document
from sarrus.importers.load import example_robot
from sarrus.importers.mjcf import compile_mjcf
from sarrus.importers.mujoco_state import from_mujoco_state, to_mujoco_state
from sarrus.importers.pinocchio_model import to_pinocchio_configuration
from sarrus.model.model import Model

_PINOCCHIO_DERIVATIVES = {"aba_derivatives": "computeABADerivatives", "rnea_derivatives": "computeRNEADerivatives"}
_PINOCCHIO_BATCH = {"aba": "abaInParallel", "rnea": "rneaInParallel"}


class Peer(NamedTuple):
    """`single()` computes state 0 and returns it; `batch()` computes all states (None: it has no batch call)."""

    name: str
    single: Callable[[], Any]
    batch: Callable[[], Any] | None
    first: np.ndarray  # the peer's result for state 0, to validate against


def robot_file(robot: str) -> Path | None:
    """The file behind a robot argument, if it is one."""
    kind, _, rest = robot.partition(":")
    if kind == "example":
        return example_robot(rest)
    path = Path(robot)
    return path if kind != "zoo" and path.is_file() else None


def pinocchio_peer(robot: str, model: Model, method: str, arrays: list[np.ndarray]) -> Peer | str:
    """Pinocchio on the same states, or why not."""
    if method not in ("aba", "rnea", "crba", *_PINOCCHIO_DERIVATIVES):
        return f"Pinocchio: no counterpart of {method}"
    built = _built(robot_file(robot), model)
    if isinstance(built, str):
        return built
    if method in _PINOCCHIO_DERIVATIVES:
        return _pinocchio_derivatives(built, model, method, arrays)
    import pinocchio as pin

    data = built.createData()
    q = to_pinocchio_configuration(model, arrays[0])
    rest = arrays[1:]
    first = [np.ascontiguousarray(x[0]) for x in (q, *rest)]
    single, batch = partial(getattr(pin, method), built, data, *first), None
    if method in _PINOCCHIO_BATCH and hasattr(pin, "ModelPool"):
        columns = [np.asfortranarray(x.T) for x in (q, *rest)]
        out = np.zeros_like(columns[1])
        batch = partial(getattr(pin, _PINOCCHIO_BATCH[method]), 1, pin.ModelPool(built, 1), *columns, out)
    reference = np.array(single())
    if method == "crba":
        reference = np.triu(reference) + np.triu(reference, 1).T
    return Peer("Pinocchio", single, batch, reference)


def _built(path: Path | None, model: Model) -> Any:
    """Pinocchio's model of the file, or why there is none."""
    if path is None or path.suffix != ".urdf":
        return "Pinocchio: it can only be compared on a URDF file"
    try:
        import pinocchio as pin
    except ImportError:
        return "Pinocchio: not installed (pip install pin)"
    floating = any(body.joint.name == "root_joint" and body.joint.type.name == "free" for body in model.bodies)
    built = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if floating else []))
    if list(built.names)[1:] != list(model.joint_names):
        return "Pinocchio: it orders the joints of this file differently"
    return built


def _pinocchio_derivatives(built: Any, model: Model, method: str, arrays: list[np.ndarray]) -> Peer:
    """Of forward or inverse dynamics, in the order of our results."""
    import pinocchio as pin

    data = built.createData()
    q, v, x = (np.ascontiguousarray(a[0]) for a in (to_pinocchio_configuration(model, arrays[0]), *arrays[1:3]))
    single = partial(getattr(pin, _PINOCCHIO_DERIVATIVES[method]), built, data, q, v, x)
    by = [np.array(part) for part in single()]
    by[2] = np.triu(by[2]) + np.triu(by[2], 1).T  # Pinocchio fills half of what is symmetric
    value = pin.aba(built, built.createData(), q, v, x) if method == "aba_derivatives" else data.tau
    first = np.concatenate([np.ravel(value), *(np.ravel(part) for part in by)])
    return Peer("Pinocchio", single, None, first)


def mujoco_peer(robot: str, model: Model, method: str, arrays: list[np.ndarray]) -> Peer | str:
    """MuJoCo's forward dynamics of the bare tree on the same states, or why not."""
    path = robot_file(robot)
    if method != "aba":
        return f"MuJoCo: no counterpart of {method}"
    if path is None or path.suffix != ".xml":
        return "MuJoCo: it can only be compared on an MJCF file"
    import mujoco

    built, _ = compile_mjcf(read_document(path), allow_outside=True)
    flags = mujoco.mjtDisableBit
    built.opt.disableflags |= flags.mjDSBL_CONSTRAINT | flags.mjDSBL_CONTACT | flags.mjDSBL_ACTUATION
    built.dof_damping[:] = 0.0
    built.jnt_stiffness[:] = 0.0
    data = mujoco.MjData(built)
    q, v, tau = (x[0] for x in arrays)
    data.qpos[:], data.qvel[:] = to_mujoco_state(model, q, v)
    _, data.qfrc_applied[:] = to_mujoco_state(model, q, tau)  # forces turn as velocities do

    def single() -> Any:
        mujoco.mj_forward(built, data)
        return data.qacc

    single()
    _, first = from_mujoco_state(model, data.qpos, data.qacc)
    for body, s in zip(model.bodies, model.layout.v, strict=True):
        if body.joint.type.name == "free":  # as a spatial acceleration
            first[s][:3] -= np.cross(v[s][3:], v[s][:3])
    return Peer("MuJoCo (mj_forward)", single, None, first)
