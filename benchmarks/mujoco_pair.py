"""One MJCF robot in Sarrus and in MuJoCo, from the same state on the loops.

Contacts, limits and dry friction are off: in MuJoCo these are soft constraints of their own kinds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import sarrus
from benchmarks.robots import shared_directory
from sarrus.importers.document import read_document
from sarrus.importers.mjcf import compile_mjcf
from sarrus.importers.mujoco_state import from_mujoco_state, to_mujoco_state
from sarrus.simulation.joint_forces import JointForces
from sarrus.spatial.arrays import Array

FORCES = JointForces(limits=False, effort=False, friction=False)  # damping and springs as the file has them


class Pair(NamedTuple):
    model: sarrus.Model
    peer: Any  # mujoco.MjModel
    q: Array  # on the loops
    motors: list[int]  # velocities that actuators drive

    def state(self, q: Array, v: Array) -> Array:
        """MuJoCo's full physics state, (B, nstate): time, positions, velocities, activations."""
        qpos, qvel = to_mujoco_state(self.model, q, v)
        return np.concatenate([np.zeros((len(q), 1)), qpos, qvel, np.zeros((len(q), self.peer.na))], axis=1)

    def from_state(self, state: Array) -> tuple[Array, Array]:
        nq, nv = self.peer.nq, self.peer.nv
        flat = state.reshape(-1, state.shape[-1])
        q, v = from_mujoco_state(self.model, flat[:, 1 : 1 + nq], flat[:, 1 + nq : 1 + nq + nv])
        return q.reshape(*state.shape[:-1], -1), v.reshape(*state.shape[:-1], -1)


def load_pair(file: str, dt: float) -> Pair | None:
    """None where the file is not to be had."""
    import mujoco

    path: Path = shared_directory() / "robots" / file
    if not path.is_file():
        return None
    model = sarrus.load(path)
    document = read_document(path)
    peer, _ = compile_mjcf(document)
    peer.opt.timestep = dt
    off = mujoco.mjtDisableBit
    peer.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_FRICTIONLOSS
    q = _posture(model, path)
    found = sarrus.project(model, q, np.zeros(model.nv))
    if found.error > 1e-10:
        raise RuntimeError(f"{file}: no posture on the loops found, error {found.error:.1e}")
    joints = [int(peer.actuator_trnid[k, 0]) for k in range(peer.nu)]
    return Pair(model, peer, found.q, [model.layout.v[j].start for j in joints])


def _posture(model: sarrus.Model, path: Path) -> Array:
    """The file's first keyframe, or where it shows the robot."""
    from lxml import etree

    key = etree.parse(str(path)).find(".//keyframe/key")
    if key is not None and key.get("qpos"):
        qpos = np.array([float(x) for x in key.get("qpos").split()])
        return from_mujoco_state(model, qpos, np.zeros(model.nv))[0]
    assert model.home is not None
    return model.home
