"""What MuJoCo computes of the bare tree, with our conventions.

Its robot is what `to_mjcf` writes, so any file will do. The velocity of its free joints is in the axes of the world,
and their acceleration is that of a point; ours are in the axes of the body, and spatial.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sarrus.cli.peer import Peer
from sarrus.errors import UnsupportedError
from sarrus.importers.mujoco_state import to_mujoco_state
from sarrus.model.gravity_compensation import NOTHING_BORNE
from sarrus.model.keyframes import Keyframes
from sarrus.model.model import Model
from sarrus.registry.table import find


class _Twin:
    """The robot in MuJoCo, at state 0."""

    def __init__(self, model: Model, q: np.ndarray, v: np.ndarray) -> None:
        import mujoco

        _check_in_world(model)
        self.mujoco: Any = mujoco
        written = _bare(model).to_mjcf()
        try:
            self.model: Any = self.mujoco.MjModel.from_xml_string(written.text)
        except ValueError as error:
            raise UnsupportedError(str(error).splitlines()[0]) from None
        named = range(self.model.njnt)
        if tuple(self.model.joint(i).name for i in named) != model.joint_names:
            raise UnsupportedError("it has other joints, or in another order: it numbers them branch by branch")
        flags = mujoco.mjtDisableBit
        self.model.opt.disableflags |= flags.mjDSBL_CONSTRAINT | flags.mjDSBL_CONTACT | flags.mjDSBL_ACTUATION
        self.model.dof_damping[:] = 0.0
        self.model.jnt_stiffness[:] = 0.0
        self.doubts = written.lost_physics
        self.data: Any = mujoco.MjData(self.model)
        self.data.qpos[:], self.data.qvel[:] = to_mujoco_state(model, q, v)
        # Its velocities are T v. Its accelerations are T (a + extra); its forces turn as velocities do.
        units = np.eye(model.nv)
        self.T = np.array([to_mujoco_state(model, q, unit)[1] for unit in units]).reshape(model.nv, self.model.nv).T
        self.extra = np.zeros(model.nv)
        for body, s in zip(model.bodies, model.layout.v, strict=True):
            if body.joint.type.name == "free":
                self.extra[s][:3] = np.cross(v[s][3:], v[s][:3])
        self.full = np.zeros((self.model.nv, self.model.nv))

    def mass_matrix(self) -> np.ndarray:
        mujoco = self.mujoco
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        composite = mujoco.mj_makeM if hasattr(mujoco, "mj_makeM") else mujoco.mj_crb  # before MuJoCo 3.3
        composite(self.model, self.data)
        if tuple(map(int, mujoco.__version__.split(".")[:2])) >= (3, 13):  # since then, with other arguments
            mujoco.mj_fullM(self.model, self.data, self.full)
        else:
            mujoco.mj_fullM(self.model, self.full, self.data.qM)
        return self.full

    def bias(self) -> np.ndarray:
        mujoco = self.mujoco
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_comVel(self.model, self.data)
        mujoco.mj_rne(self.model, self.data, 0, self.data.qfrc_bias)
        return self.data.qfrc_bias

    def forward(self) -> np.ndarray:
        self.mujoco.mj_forward(self.model, self.data)
        return self.data.qacc

    def inverse(self) -> np.ndarray:
        self.mujoco.mj_inverse(self.model, self.data)
        return self.data.qfrc_inverse


def _aba(twin: _Twin, tau: np.ndarray) -> tuple[Callable[[], Any], np.ndarray]:
    twin.data.qfrc_applied[:] = twin.T @ tau
    return twin.forward, np.linalg.solve(twin.T, twin.forward()) - twin.extra


def _rnea(twin: _Twin, a: np.ndarray) -> tuple[Callable[[], Any], np.ndarray]:
    twin.data.qacc[:] = twin.T @ (a + twin.extra)
    return twin.inverse, twin.T.T @ twin.inverse()


def _crba(twin: _Twin) -> tuple[Callable[[], Any], np.ndarray]:
    return twin.mass_matrix, twin.T.T @ twin.mass_matrix() @ twin.T


def _bias_forces(twin: _Twin) -> tuple[Callable[[], Any], np.ndarray]:
    """Its bias is the force at which free joints have zero acceleration as points, not as spatial ones."""
    bias = np.array(twin.bias())
    return twin.bias, twin.T.T @ (bias + twin.mass_matrix() @ twin.T @ twin.extra)


_METHODS: dict[str, tuple[str, Callable[..., tuple[Callable[[], Any], np.ndarray]]]] = {
    "aba": ("mj_forward", _aba),
    "bias_forces": ("mj_rne", _bias_forces),
    "crba": ("mj_fullM", _crba),
    "rnea": ("mj_inverse", _rnea),
}


def mujoco_peer(model: Model, method: str, arrays: list[np.ndarray]) -> Peer | str:
    """MuJoCo on the same robot and states, or why not."""
    if method not in _METHODS:
        return f"MuJoCo: no counterpart of {method}"
    name, make = _METHODS[method]
    q, *others = (x[0] for x in arrays)
    v, others = (others[0], others[1:]) if others else (np.zeros(model.nv), others)
    try:
        twin = _Twin(model, q, v)
    except UnsupportedError as error:
        return f"MuJoCo: {error}"
    single, first = make(twin, *others)
    return Peer(f"MuJoCo ({name})", single, None, {find(method).output_names[0]: first}, doubts=twin.doubts)


def _check_in_world(model: Model) -> None:
    for body in model.bodies:
        placed = np.abs(body.placement.p).max() > 0.0 or np.abs(body.placement.R - np.eye(3)).max() > 0.0
        if body.joint.type.name == "free" and placed:
            raise UnsupportedError(
                f"the q of its free joints is a pose in the world, and that of {body.joint.name!r} is not"
            )


def _bare(model: Model) -> Model:
    """The tree alone: whatever else there is does not act here, and might be more than MuJoCo takes."""
    return replace(
        model.without_constraints(), geometries=(), geometry_pairs=(), excluded_pairs=(), visuals=(), actuators=(),
        gravity_compensation=NOTHING_BORNE, keyframes=Keyframes(), home=None,
    )  # fmt: skip
