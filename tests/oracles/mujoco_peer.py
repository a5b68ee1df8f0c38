"""The same mechanism in MuJoCo, as MJCF text from the declared data of the dense oracle's links."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles.dense import SIZES, Dense, Link

mujoco = pytest.importorskip("mujoco", exc_type=ImportError)

KINDS = ("revolute", "continuous", "prismatic", "spherical", "fixed")  # and free, for roots
_TAG = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide", "spherical": "ball", "free": "free"}


class MujocoPeer:
    """Takes and returns the library's states.

    MuJoCo's free joint has its quaternion as wxyz and its linear velocity in the world's axes: u = T v with
    T = diag(R, 1), so du/dt = T a + R (w x v_linear).
    """

    def __init__(self, dense: Dense) -> None:
        self.dense = dense
        self.model = mujoco.MjModel.from_xml_string(_mjcf(dense))
        self.data = mujoco.MjData(self.model)
        # MuJoCo numbers bodies depth first; the library in the order of addition.
        self.body = [self.model.body(link.name).id for link in dense.links]
        self.moving = [i for i, link in enumerate(dense.links) if link.kind != "fixed"]
        self.dof = np.concatenate(
            [
                np.zeros(0, int),
                *(
                    self.model.body(dense.links[i].name).dofadr[0] + np.arange(SIZES[dense.links[i].kind][1])
                    for i in self.moving
                ),
            ]
        )

    def set_state(self, q: np.ndarray, v: np.ndarray) -> None:
        u, _ = self._to_mixed(q, v)
        qpos = np.zeros(self.model.nq)
        for i in self.moving:
            link = self.dense.links[i]
            x = q[self.dense.q_at[i]].copy()
            if link.kind in ("spherical", "free"):
                x[-4:] = np.roll(x[-4:], 1)
            at = self.model.jnt_qposadr[self.model.body(link.name).jntadr[0]]
            qpos[at : at + len(x)] = x
        self.data.qpos[:] = qpos
        self.data.qvel[self.dof] = u
        mujoco.mj_forward(self.model, self.data)

    def mass_matrix(self) -> np.ndarray:
        """In MuJoCo's velocities, in the library's order."""
        M = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, M)
        return M[np.ix_(self.dof, self.dof)]

    def crba(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        self.set_state(q, v)
        T = self._to_mixed(q, v)[1]
        return T.T @ self.mass_matrix() @ T

    def rnea(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        self.set_state(q, v)
        T = self._to_mixed(q, v)[1]
        acceleration = T @ a + self._turning(q, v)
        return T.T @ (self.mass_matrix() @ acceleration + self.data.qfrc_bias[self.dof])

    def jacobian(self, q: np.ndarray, v: np.ndarray, name: str) -> np.ndarray:
        """Of a body's origin, in the world's axes."""
        self.set_state(q, v)
        linear, angular = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        mujoco.mj_jacBody(self.model, self.data, linear, angular, self.model.body(name).id)
        return np.vstack([linear, angular])[:, self.dof] @ self._to_mixed(q, v)[1]

    def energy(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        self.set_state(q, v)
        potential, kinetic = self.data.energy
        return float(kinetic), float(potential)

    def center_of_mass(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Position, velocity, angular momentum of everything, links that stand still included."""
        self.set_state(q, v)
        mujoco.mj_subtreeVel(self.model, self.data)
        return self.data.subtree_com[0].copy(), self.data.subtree_linvel[0].copy(), self.data.subtree_angmom[0].copy()

    def _to_mixed(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        T = np.eye(len(v))
        for i in self.moving:
            if self.dense.links[i].kind == "free":
                at = self.dense.v_at[i].start
                T[at : at + 3, at : at + 3] = _rotation(q[self.dense.q_at[i]][3:])
        return T @ v, T

    def _turning(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        out = np.zeros(len(v))
        for i in self.moving:
            if self.dense.links[i].kind == "free":
                at = self.dense.v_at[i].start
                out[at : at + 3] = _rotation(q[self.dense.q_at[i]][3:]) @ np.cross(v[at + 3 : at + 6], v[at : at + 3])
        return out


def _rotation(xyzw: np.ndarray) -> np.ndarray:
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, np.roll(xyzw, 1))
    return R.reshape(3, 3)


def _numbers(x: np.ndarray) -> str:
    return " ".join(repr(float(value)) for value in np.ravel(x))


def _mjcf(dense: Dense) -> str:
    children: dict[int, list[int]] = {}
    for i, link in enumerate(dense.links):
        children.setdefault(link.parent, []).append(i)

    def body(i: int) -> str:
        link = dense.links[i]
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(link.placement[:3, :3]).ravel())
        inside = _joint(link) + _inertial(link) + "".join(body(k) for k in children.get(i, []))
        pose = f'pos="{_numbers(link.placement[:3, 3])}" quat="{_numbers(quaternion)}"'
        return f'<body name="{link.name}" {pose}>{inside}</body>'

    bodies = "".join(body(i) for i in children.get(-1, []))
    return (
        f'<mujoco><compiler angle="radian"/><option gravity="{_numbers(dense.gravity)}">'
        f'<flag energy="enable" contact="disable"/></option><worldbody>{bodies}</worldbody></mujoco>'
    )


def _joint(link: Link) -> str:
    if link.kind == "fixed":
        return ""
    axis = f' axis="{_numbers(link.axes[0])}"' if link.axes else ""
    return f'<joint type="{_TAG[link.kind]}"{axis} armature="{float(link.armature[0])!r}"/>'


def _inertial(link: Link) -> str:
    I = link.Ic
    full = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
    return f'<inertial mass="{link.mass!r}" pos="{_numbers(link.com)}" fullinertia="{_numbers(np.array(full))}"/>'
