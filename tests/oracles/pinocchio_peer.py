"""The same mechanism in Pinocchio, from the declared data of the dense oracle's links."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.oracles.dense import Dense, Link, plane_axes

pin = pytest.importorskip("pinocchio", exc_type=ImportError)

KINDS = (
    "revolute", "continuous", "prismatic", "helical", "cylindrical", "universal", "planar", "translation", "spherical",
    "free", "fixed",
)  # fmt: skip


class PinocchioPeer:
    """Takes and returns the library's states, velocities and body forces."""

    def __init__(self, dense: Dense) -> None:
        self.links = dense.links
        self.model = pin.Model()
        self.model.gravity.linear[:] = dense.gravity
        self.joint: list[int] = []  # per link: the joint that carries it
        self.on_joint: list[Any] = []  # per link: its frame in that joint's frame
        armature = []
        for i, link in enumerate(self.links):
            parent, base = (
                (0, pin.SE3.Identity()) if link.parent < 0 else (self.joint[link.parent], self.on_joint[link.parent])
            )
            placement = base * pin.SE3(link.placement[:3, :3], link.placement[:3, 3])
            turned = pin.SE3(_plane(link), np.zeros(3))
            inertia = pin.Inertia(link.mass, link.com, link.Ic)
            if link.kind == "fixed":
                self.joint.append(parent)
                self.on_joint.append(placement)
            else:
                self.joint.append(self.model.addJoint(parent, _joint(link), placement * turned, f"j{i}"))
                self.on_joint.append(turned.inverse())
                armature.append(link.armature)
            if self.joint[i]:
                self.model.appendBodyToJoint(self.joint[i], inertia, self.on_joint[i])
            self.model.addFrame(pin.Frame(link.name, self.joint[i], 0, self.on_joint[i], pin.FrameType.OP_FRAME))
        self.armature = np.concatenate([np.zeros(0), *armature])
        self.model.armature = self.armature
        self.data = self.model.createData()

    def configuration(self, q: np.ndarray) -> np.ndarray:
        """Planar angles become cosine and sine."""
        out, at = [], 0
        for link in self.links:
            nq = _NQ[link.kind]
            x = q[at : at + nq]
            out.append([x[0], x[1], np.cos(x[2]), np.sin(x[2])] if link.kind == "planar" else x)
            at += nq
        return np.concatenate([np.zeros(0), *out])

    def forces(self, by_link: dict[str, np.ndarray]) -> Any:
        total = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for i, link in enumerate(self.links):
            if link.name in by_link and self.joint[i]:
                total[self.joint[i]] += self.on_joint[i].act(pin.Force(by_link[link.name]))
        out = pin.StdVec_Force()
        out.extend(total)
        return out

    def aba(self, q, v, tau, forces) -> np.ndarray:
        return pin.aba(self.model, self.data, self.configuration(q), v, tau, self.forces(forces)).copy()

    def rnea(self, q, v, a, forces) -> np.ndarray:
        return pin.rnea(self.model, self.data, self.configuration(q), v, a, self.forces(forces)).copy()

    def rnea_derivatives(self, q, v, a, forces) -> tuple[np.ndarray, ...]:
        """dtau/dq, dtau/dv, M."""
        dq, dv, M = pin.computeRNEADerivatives(self.model, self.data, self.configuration(q), v, a, self.forces(forces))
        return dq, dv, np.triu(M) + np.triu(M, 1).T

    def aba_derivatives(self, q, v, tau, forces) -> tuple[np.ndarray, ...]:
        """dqdd/dq, dqdd/dv, M^-1."""
        dq, dv, Minv = pin.computeABADerivatives(
            self.model, self.data, self.configuration(q), v, tau, self.forces(forces)
        )
        return dq, dv, np.triu(Minv) + np.triu(Minv, 1).T

    def crba(self, q) -> np.ndarray:
        M = np.triu(pin.crba(self.model, self.data, self.configuration(q)))
        return M + np.triu(M, 1).T

    def frame_jacobian(self, q, name: str, reference: str) -> np.ndarray:
        kinds = {"local": pin.LOCAL, "world": pin.WORLD, "local_world_aligned": pin.LOCAL_WORLD_ALIGNED}
        frame = self.model.getFrameId(name)
        return pin.computeFrameJacobian(self.model, self.data, self.configuration(q), frame, kinds[reference]).reshape(
            6, -1
        )

    def frame_bias(self, q, v, name: str, reference: str) -> np.ndarray:
        """Acceleration at zero joint acceleration: spatial, but classical for local_world_aligned."""
        zero = np.zeros(self.model.nv)
        pin.forwardKinematics(self.model, self.data, self.configuration(q), v, zero)
        frame = self.model.getFrameId(name)
        if reference == "local_world_aligned":
            return pin.getFrameClassicalAcceleration(
                self.model, self.data, frame, pin.LOCAL_WORLD_ALIGNED
            ).vector.copy()
        kind = pin.LOCAL if reference == "local" else pin.WORLD
        return pin.getFrameAcceleration(self.model, self.data, frame, kind).vector.copy()

    def frame_derivatives(self, q, v, a, name: str, reference: str) -> tuple[np.ndarray, ...]:
        """Of the velocity (q, v), of the spatial acceleration (q, v, a), and of the Jacobian in time."""
        kinds = {"local": pin.LOCAL, "world": pin.WORLD, "local_world_aligned": pin.LOCAL_WORLD_ALIGNED}
        frame, at = self.model.getFrameId(name), self.configuration(q)
        pin.computeForwardKinematicsDerivatives(self.model, self.data, at, v, a)
        velocity = pin.getFrameVelocityDerivatives(self.model, self.data, frame, kinds[reference])
        acceleration = pin.getFrameAccelerationDerivatives(self.model, self.data, frame, kinds[reference])[1:]
        pin.computeJointJacobiansTimeVariation(self.model, self.data, at, v)
        J_t = pin.getFrameJacobianTimeVariation(self.model, self.data, frame, kinds[reference])
        return tuple(x.reshape(6, -1) for x in (*velocity, *acceleration, J_t))

    def momentum_derivatives(self, q, v) -> tuple[np.ndarray, ...]:
        """Of the centre of mass (q), of its velocity (q), and of the momentum about it (q)."""
        at, zero = self.configuration(q), np.zeros(self.model.nv)
        J = pin.jacobianCenterOfMass(self.model, self.data, at).copy()
        momentum = pin.computeCentroidalDynamicsDerivatives(self.model, self.data, at, v, zero)[0].copy()
        pin.computeForwardKinematicsDerivatives(self.model, self.data, at, v, zero)
        pin.centerOfMass(self.model, self.data, at, v)
        velocity = pin.getCenterOfMassVelocityDerivatives(self.model, self.data)
        return J.reshape(3, -1), velocity.reshape(3, -1), momentum.reshape(6, -1)

    def kinetic_energy(self, q, v) -> float:
        return float(pin.computeKineticEnergy(self.model, self.data, self.configuration(q), v))

    def potential_energy(self, q) -> float:
        return float(pin.computePotentialEnergy(self.model, self.data, self.configuration(q)))

    def center_of_mass(self, q, v) -> tuple[np.ndarray, np.ndarray]:
        pin.centerOfMass(self.model, self.data, self.configuration(q), v)
        return self.data.com[0].copy(), self.data.vcom[0].copy()

    def centroidal_momentum(self, q, v) -> np.ndarray:
        return pin.computeCentroidalMomentum(self.model, self.data, self.configuration(q), v).vector.copy()

    def centroidal_momentum_matrix(self, q) -> np.ndarray:
        return pin.computeCentroidalMap(self.model, self.data, self.configuration(q)).reshape(6, -1)


_NQ = {
    "fixed": 0, "revolute": 1, "continuous": 1, "prismatic": 1, "helical": 1, "cylindrical": 2, "universal": 2,
    "planar": 3, "translation": 3, "spherical": 4, "free": 7,
}  # fmt: skip


def _plane(link: Link) -> np.ndarray:
    """Pinocchio's planar joint has its normal along z."""
    if link.kind != "planar":
        return np.eye(3)
    return np.column_stack([*plane_axes(link.axes[0]), link.axes[0]])


def _joint(link: Link) -> Any:
    kind = link.kind
    if kind in ("revolute", "continuous"):
        return pin.JointModelRevoluteUnaligned(*link.axes[0])
    if kind == "prismatic":
        return pin.JointModelPrismaticUnaligned(*link.axes[0])
    if kind == "helical":
        return pin.JointModelHelicalUnaligned(*link.axes[0], link.pitch)
    if kind == "cylindrical":
        composite = pin.JointModelComposite(2)
        composite.addJoint(pin.JointModelRevoluteUnaligned(*link.axes[0]))
        composite.addJoint(pin.JointModelPrismaticUnaligned(*link.axes[0]))
        return composite
    if kind == "universal":
        return pin.JointModelUniversal(link.axes[0], link.axes[1])
    simple = {
        "planar": pin.JointModelPlanar, "translation": pin.JointModelTranslation, "spherical": pin.JointModelSpherical,
        "free": pin.JointModelFreeFlyer,
    }  # fmt: skip
    return simple[kind]()
