"""The oracle: rigid-body dynamics by dense 4x4 matrices, in plain NumPy. It shares no code with `sarrus`.

Uicker's formulation, not the 6-vectors of the library. A body is its pseudo-inertia J = integral of [r; 1] [r; 1]^T dm,
a pose is a 4x4 matrix T, and d'Alembert's principle for the points [r; 1] of all bodies reads

    M_jk  = sum tr(dT/dv_j J dT/dv_k^T)             the Hessian of the kinetic energy
    tau_k = sum tr(dT/dv_k J (d2T/dt2 - G)^T)       G takes every point to the acceleration of gravity

Poses are products of exponentials. Their time derivatives along the path with joint velocity v and acceleration a come
from second-order Taylor polynomials ("jets") of these products: exact, no differencing. A joint moves its body by

    L(t) = L(q) exp(t Xi(v) + t^2/2 Xi(a) + O(t^3))

with twists Xi that are constant in the moved frame; a universal joint is two such factors. This is right for quasi-
velocities (free, spherical, planar) too, whose Boltzmann-Hamel terms therefore need no thought.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

EX, EY, EZ = np.eye(3)
ZERO = np.zeros(3)


@dataclass(frozen=True)
class Link:
    """A body as a user describes it. `kind` "fixed" has no coordinates."""

    name: str
    parent: int  # an earlier link, or -1
    kind: str
    axes: tuple[np.ndarray, ...]
    pitch: float
    placement: np.ndarray  # (4, 4) joint frame in the parent
    mass: float
    com: np.ndarray
    Ic: np.ndarray
    armature: np.ndarray


class Jet(NamedTuple):
    """A matrix with its first and second time derivative."""

    value: np.ndarray
    rate: np.ndarray
    second: np.ndarray

    def __matmul__(self, other: Jet) -> Jet:
        return Jet(
            self.value @ other.value,
            self.rate @ other.value + self.value @ other.rate,
            self.second @ other.value + 2.0 * self.rate @ other.rate + self.value @ other.second,
        )


# --- SE(3) as matrices -----------------------------------------------------------------------------------


def hat(w: np.ndarray) -> np.ndarray:
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def unhat(W: np.ndarray) -> np.ndarray:
    """The axial vector of the antisymmetric part."""
    return 0.5 * np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]])


def twist(linear: np.ndarray, angular: np.ndarray) -> np.ndarray:
    out = np.zeros((4, 4))
    out[:3, :3], out[:3, 3] = hat(angular), linear
    return out


def untwist(X: np.ndarray) -> np.ndarray:
    """[linear; angular] of a 4x4 twist."""
    return np.concatenate([X[:3, 3], unhat(X[:3, :3])])


def exponential(X: np.ndarray) -> np.ndarray:
    """exp of a 4x4 twist: with theta the angle, X^4 = -theta^2 X^2 closes the series."""
    theta = np.linalg.norm(unhat(X[:3, :3]))
    if theta == 0.0:
        return np.eye(4) + X
    X2 = X @ X
    return np.eye(4) + X + 2.0 * (np.sin(0.5 * theta) / theta) ** 2 * X2 + (theta - np.sin(theta)) / theta**3 * (X2 @ X)


def turn(axis: np.ndarray, angle: float) -> np.ndarray:
    """The rotation matrix about a unit axis (Rodrigues)."""
    return exponential(twist(ZERO, axis * angle))[:3, :3]


def placed(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = R, p
    return out


def rotation_from_quaternion(xyzw: np.ndarray) -> np.ndarray:
    """By the exponential of the rotation vector."""
    u, w = np.asarray(xyzw[:3], float), float(xyzw[3])
    length = np.linalg.norm(u)
    if length == 0.0:
        return np.eye(3)
    return turn(u / length, 2.0 * np.arctan2(length, w))


def rotation_from_any(rotation: Any) -> np.ndarray:
    """What `ModelBuilder` accepts: nothing, a matrix, a quaternion xyzw, or fixed-axis roll, pitch, yaw."""
    if rotation is None:
        return np.eye(3)
    array = np.asarray(rotation, float)
    if array.size == 9:
        return array.reshape(3, 3)
    if array.size == 4:
        return rotation_from_quaternion(array)
    roll, pitch, yaw = array
    return turn(EZ, yaw) @ turn(EY, pitch) @ turn(EX, roll)


def plane_axes(normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The x and y directions of a planar joint with that unit normal.

    A coordinate axis: the other two in cyclic order. In the yz plane: x stays. Otherwise: z is tipped about y, then
    turned about z.
    """
    nonzero = np.flatnonzero(np.abs(normal) > 1e-15)
    if len(nonzero) == 1:
        k = nonzero[0]
        x = np.eye(3)[(k + 1) % 3]
    elif abs(normal[0]) <= 1e-15:
        x = EX
    else:
        about_y, about_z = np.arctan2(np.hypot(normal[0], normal[1]), normal[2]), np.arctan2(normal[1], normal[0])
        if abs(normal[1]) <= 1e-15:
            about_y, about_z = np.arctan2(normal[0], normal[2]), 0.0
        x = turn(EZ, about_z) @ turn(EY, about_y) @ EX
    return x, np.cross(normal, x)


# --- joints ----------------------------------------------------------------------------------------------


class Factor(NamedTuple):
    """One exponential factor of a joint: L(q), and the twist in the moved frame of each of its velocities."""

    pose: np.ndarray  # (4, 4)
    twists: list[np.ndarray]  # (4, 4) each


SIZES = {
    "fixed": (0, 0), "revolute": (1, 1), "continuous": (1, 1), "prismatic": (1, 1), "helical": (1, 1),
    "cylindrical": (2, 2), "universal": (2, 2), "planar": (3, 3), "translation": (3, 3), "spherical": (4, 3),
    "free": (7, 6),
}  # fmt: skip


def factors(link: Link, q: np.ndarray) -> list[Factor]:
    kind = link.kind
    if kind == "fixed":
        return []
    if kind in ("revolute", "continuous", "helical"):
        u = link.axes[0]
        screw = twist(link.pitch * u, u)
        return [Factor(exponential(screw * q[0]), [screw])]
    if kind == "prismatic":
        screw = twist(link.axes[0], ZERO)
        return [Factor(exponential(screw * q[0]), [screw])]
    if kind == "cylindrical":
        about, along = twist(ZERO, link.axes[0]), twist(link.axes[0], ZERO)
        return [Factor(exponential(about * q[0] + along * q[1]), [about, along])]
    if kind == "universal":
        first, second = (twist(ZERO, u) for u in link.axes)
        return [Factor(exponential(first * q[0]), [first]), Factor(exponential(second * q[1]), [second])]
    if kind == "planar":
        normal = link.axes[0]
        x, y = plane_axes(normal)
        pose = placed(turn(normal, q[2]), q[0] * x + q[1] * y)
        return [Factor(pose, [twist(x, ZERO), twist(y, ZERO), twist(ZERO, normal)])]
    linear, angular = [twist(e, ZERO) for e in np.eye(3)], [twist(ZERO, e) for e in np.eye(3)]
    if kind == "translation":
        return [Factor(placed(np.eye(3), q), linear)]
    if kind == "spherical":
        return [Factor(placed(rotation_from_quaternion(q), ZERO), angular)]
    if kind == "free":
        return [Factor(placed(rotation_from_quaternion(q[3:]), q[:3]), linear + angular)]
    raise NotImplementedError(kind)


# --- the oracle ------------------------------------------------------------------------------------------


class Dense:
    """Dynamics of a tree of links, fixed joints included as they are."""

    def __init__(self, links: Sequence[Link], gravity: Sequence[float] = (0.0, 0.0, -9.81)) -> None:
        self.links = tuple(links)
        self.gravity = np.asarray(gravity, float)
        self.q_at, self.v_at, self.nq, self.nv = [], [], 0, 0
        for link in self.links:
            nq, nv = SIZES[link.kind]
            self.q_at.append(slice(self.nq, self.nq + nq))
            self.v_at.append(slice(self.nv, self.nv + nv))
            self.nq, self.nv = self.nq + nq, self.nv + nv
        self.armature = np.concatenate([np.zeros(0), *(link.armature for link in self.links)])
        self.moves = [self._moves(i) for i in range(len(self.links))]
        self.inertia = [pseudo_inertia(link) for link in self.links]
        self.index = {link.name: i for i, link in enumerate(self.links)}

    def _moves(self, i: int) -> bool:
        link = self.links[i]
        return link.kind != "fixed" or (link.parent >= 0 and self._moves(link.parent))

    @property
    def mass(self) -> float:
        return sum((link.mass for link, moves in zip(self.links, self.moves, strict=True) if moves), 0.0)

    # Kinematics

    def motion(self, q: np.ndarray, v: np.ndarray | None = None, a: np.ndarray | None = None) -> list[Jet]:
        """Pose, velocity and acceleration matrices of all links in the world."""
        v = np.zeros(self.nv) if v is None else v
        a = np.zeros(self.nv) if a is None else a
        jets: list[Jet] = []
        for i, link in enumerate(self.links):
            jet = Jet(link.placement, np.zeros((4, 4)), np.zeros((4, 4)))
            if link.parent >= 0:
                jet = jets[link.parent] @ jet
            at = self.v_at[i].start
            for pose, twists in factors(link, q[self.q_at[i]]):
                Xv, Xa = np.zeros((4, 4)), np.zeros((4, 4))
                for k, xi in enumerate(twists):
                    Xv, Xa = Xv + xi * v[at + k], Xa + xi * a[at + k]
                at += len(twists)
                jet = jet @ Jet(pose, pose @ Xv, pose @ (Xv @ Xv + Xa))
            jets.append(jet)
        return jets

    def partials(self, q: np.ndarray) -> np.ndarray:
        """dT_i/dv_k: (links, nv, 4, 4). All first derivatives of the same products at once."""
        poses: list[np.ndarray] = []
        out = np.zeros((len(self.links), self.nv, 4, 4))
        for i, link in enumerate(self.links):
            T, rates = link.placement, np.zeros((self.nv, 4, 4))
            if link.parent >= 0:
                T, rates = poses[link.parent] @ T, out[link.parent] @ T
            at = self.v_at[i].start
            for pose, twists in factors(link, q[self.q_at[i]]):
                T, rates = T @ pose, rates @ pose
                for k, xi in enumerate(twists):
                    rates[at + k] = T @ xi
                at += len(twists)
            poses.append(T)
            out[i] = rates
        return out

    def frame_motion(
        self, link: str, placement: np.ndarray, q: np.ndarray, v: np.ndarray | None = None, a: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(T, velocity, spatial acceleration) of a frame on a link or on "world", [linear; angular] in its axes."""
        if link == "world":
            return placement, np.zeros(6), np.zeros(6)
        jet = self.motion(q, v, a)[self.index[link]]
        T, rate, second = (M @ placement for M in jet)
        V = np.linalg.inv(T) @ rate
        return T, untwist(V), untwist(np.linalg.inv(T) @ second - V @ V)

    def frame_jacobian(self, link: str, placement: np.ndarray, q: np.ndarray) -> np.ndarray:
        """(6, nv): the frame's velocity per joint velocity, in its own axes."""
        if link == "world":
            return np.zeros((6, self.nv))
        inverse = np.linalg.inv(self.motion(q)[self.index[link]].value @ placement)
        columns = [untwist(inverse @ rate @ placement) for rate in self.partials(q)[self.index[link]]]
        return np.array(columns).reshape(self.nv, 6).T

    # Dynamics

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        T = self.partials(q)
        M = np.diag(self.armature)
        for i, J in enumerate(self.inertia):
            M = M + np.einsum("jab,bc,kac->jk", T[i], J, T[i])
        return M

    def inverse_dynamics(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, external_forces: dict[str, np.ndarray] | None = None
    ) -> np.ndarray:
        """tau = M a + c - J^T f; external forces by name of a link: [force; moment about its origin], in its frame."""
        T = self.partials(q)
        G = np.zeros((4, 4))
        G[:3, 3] = self.gravity
        motion = self.motion(q, v, a)
        tau = self.armature * a
        for i, J in enumerate(self.inertia):
            tau = tau + np.einsum("kab,bc,ac->k", T[i], J, motion[i].second - G)
        for name, force in (external_forces or {}).items():
            tau = tau - self.frame_jacobian(name, np.eye(4), q).T @ force
        return tau

    def bias(self, q: np.ndarray, v: np.ndarray, external_forces: dict[str, np.ndarray] | None = None) -> np.ndarray:
        return self.inverse_dynamics(q, v, np.zeros(self.nv), external_forces)

    def forward_dynamics(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, external_forces: dict[str, np.ndarray] | None = None
    ) -> np.ndarray:
        return np.linalg.solve(self.mass_matrix(q), tau - self.bias(q, v, external_forces))

    # Totals

    def energy(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """(kinetic with armature, potential of gravity with its zero at the world's origin)."""
        kinetic, potential = 0.5 * float(self.armature @ v**2), 0.0
        for jet, J, moves in zip(self.motion(q, v), self.inertia, self.moves, strict=True):
            if moves:
                kinetic += 0.5 * float(np.trace(jet.rate @ J @ jet.rate.T))
                potential -= float(self.gravity @ (jet.value @ J)[:3, 3])
        return kinetic, potential

    def center_of_mass(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        moving = [x for x in zip(self.motion(q, v), self.inertia, self.moves, strict=True) if x[2]]
        position = sum((jet.value @ J)[:3, 3] for jet, J, _ in moving) / self.mass
        velocity = sum((jet.rate @ J)[:3, 3] for jet, J, _ in moving) / self.mass
        return position, velocity

    def centroidal_momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """[linear; angular about the centre of mass], in the world's axes."""
        com, velocity = self.center_of_mass(q, v)
        linear = self.mass * velocity
        angular = np.zeros(3)
        for jet, J in zip(self.motion(q, v), self.inertia, strict=True):
            angular = angular + 2.0 * unhat((jet.rate @ J @ jet.value.T)[:3, :3])  # integral of p x dp/dt dm
        return np.concatenate([linear, angular - np.cross(com, linear)])


def pseudo_inertia(link: Link) -> np.ndarray:
    """Integral of [r; 1] [r; 1]^T dm."""
    about_com = 0.5 * np.trace(link.Ic) * np.eye(3) - link.Ic
    J = np.zeros((4, 4))
    J[:3, :3] = about_com + link.mass * np.outer(link.com, link.com)
    J[:3, 3] = J[3, :3] = link.mass * link.com
    J[3, 3] = link.mass
    return J


# --- from what a user writes, and from a model's declared data -------------------------------------------


def oracle_of_arguments(bodies: Sequence[dict[str, Any]], gravity: Sequence[float]) -> Dense:
    """From the keyword arguments of `ModelBuilder.add_body`, parents first: the builder is checked as well."""
    numbers = {"world": -1} | {body["name"]: i for i, body in enumerate(bodies)}
    links = []
    for body in bodies:
        kind = body.get("joint", "revolute")
        axes = _unit_axes(kind, body.get("axis"), body.get("second_axis"))
        nv = SIZES[kind][1]
        links.append(
            Link(
                name=body["name"],
                parent=numbers[body.get("parent", "world")],
                kind=kind,
                axes=axes,
                pitch=float(body.get("pitch", 0.0)) if kind == "helical" else 0.0,
                placement=placed(
                    rotation_from_any(body.get("rotation")), np.asarray(body.get("position", ZERO), float)
                ),
                mass=float(body.get("mass", 0.0)),
                com=np.asarray(body.get("com", ZERO), float),
                Ic=np.asarray(body.get("inertia", np.zeros((3, 3))), float),
                armature=np.zeros(nv) + np.asarray(body.get("armature", 0.0), float) if nv else np.zeros(0),
            )
        )
    return Dense(links, gravity)


def _unit_axes(kind: str, axis: Any, second: Any) -> tuple[np.ndarray, ...]:
    if kind in ("fixed", "translation", "spherical", "free"):
        return ()
    chosen = [EX, EY] if kind == "universal" else [EZ]
    for k, given in enumerate((axis, second)[: len(chosen)]):
        if given is not None:
            chosen[k] = np.asarray(given, float) / np.linalg.norm(given)
    return tuple(chosen)


def oracle_of_model(model: Any) -> Dense:
    """From the declared data of a built model (bodies, placements, inertias; nothing computed)."""
    links = []
    for body in model.bodies:
        mass = float(body.inertia.mass)
        h, Sigma = np.asarray(body.inertia.h, float), np.asarray(body.inertia.Sigma, float)
        com = h / mass if mass else ZERO
        about_com = Sigma - np.outer(h, com)
        joint = body.joint
        links.append(
            Link(
                name=body.name,
                parent=body.parent,
                kind=joint.type.name,
                axes=tuple(np.asarray(axis, float) for axis in joint.axes),
                pitch=float(joint.type.constants[0]) if joint.type.name == "helical" else 0.0,
                placement=placed(body.placement.R, body.placement.p),
                mass=mass,
                com=com,
                Ic=np.trace(about_com) * np.eye(3) - about_com,
                armature=np.asarray(joint.armature, float),
            )
        )
    return Dense(links, model.gravity)
