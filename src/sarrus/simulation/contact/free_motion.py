"""A robot's motion without contacts over a step, and what impulses on contacts change of it.

In joint space: M = L^T D L with the tree's sparsity, and Y = J L^-1 for the rows J of whatever acts. Loops that are not
embedded are eliminated by a Schur complement. Their rows may be redundant, in a step also by very little, so that the
complement is that of slightly soft rows; what is left of them is solved for once more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.tree.crba import composite_bodies
from sarrus.algorithms.tree.rnea import inward_forces
from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.contact.joint_rows import AbstractInertia
from sarrus.mechanics.mechanism import Mechanism, rows_of
from sarrus.mechanics.solvers.joint_space import Ltdl, delassus_of, ltdl, solve_forward, solve_transposed
from sarrus.mechanics.solvers.loop_jacobian import loop_jacobian
from sarrus.simulation.contact.loops_in_steps import OPEN, opening, rows_in_step
from sarrus.simulation.contact.straight_motion import acceleration_in_fixed_axes
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import choose
from sarrus.spatial.linear_algebra import Ldl, ldl, ldl_forward, ldl_solve, symmetric_product
from sarrus.spatial.norms import dot, size
from sarrus.spatial.orthogonal import is_structurally_zero
from sarrus.spatial.stages import stage
from sarrus.status import Status

SOFTNESS = 1e-9  # of loops, relative to the mean of their Delassus matrix's diagonal
_REFINEMENTS = 2
MET = 1e-6  # of the accelerations that loops take away: what may be left of them
REDUNDANT = 1e-8  # Rayleigh quotient, relative to the same mean, of rows that depend on each other but for drift
_DRIFT = 1e-3  # of the accelerations that loops take away: what may be left in such directions


class LoopRows(NamedTuple):
    """The rows of loops in joint space, and the factor of their (slightly soft) Delassus matrix."""

    rows: list[Rows]
    J: Array  # (m, n)
    Y: Array  # (m, n)
    G: Array  # (m, m)
    softness: Scalar
    factor: Ldl


class FreeMotion(NamedTuple):
    """The accelerations without contacts, and how impulses change velocities. n: independent velocities."""

    at: Mechanism
    M: Array  # (n, n) with what was added
    factor: Ltdl
    loops: LoopRows | None
    qdd: Array  # (nv,)
    forces: Array  # (m,) of loops
    least_forces: Array  # (m,) the same without those that hold each other where rows are redundant
    residual: Array  # (m,) of loops
    status: Scalar  # whether they are met
    added: Array  # (n, n) to the inertia of joints, which M has
    turning: Array  # (nv,) the velocities of which it has the products
    load: Array  # (n,) what acts on the joints of the mechanism, less what these products take

    def velocity(self, v: Array, dt: Scalar) -> Array:
        """(nv,) at the end of a step that begins with v, in axes that stay as they were (`straight_motion.py`)."""
        return v + dt * acceleration_in_fixed_axes(self.at.model, self.turning, self.qdd)

    def with_products_of(self, there: Mechanism) -> FreeMotion:
        """The same with the velocity products of a mechanism that has other velocities and is else the same."""
        load = _load(there)
        moved = JointInertia(self).all_moved_by(load - self.load)
        return self._replace(
            qdd=self.qdd + moved.velocity, forces=self.forces + moved.loops,
            least_forces=self.least_forces + moved.loops, turning=there.v, load=load,
        )  # fmt: skip

    def declared(self, forces: Array) -> tuple[Array, Array]:
        """Forces of loops, and what is left of their accelerations, in the axes in which they were declared."""
        rows, none = [] if self.loops is None else self.loops.rows, np.zeros(0)
        on_links = np.concatenate([none, *(r.declared_force(forces[r.span]) for r in rows)])
        return on_links, np.concatenate([none, *(r.declared_residual(-self.residual[r.span]) for r in rows)])

    def independent(self, J: Array) -> Array:
        """Rows on all velocities as rows on the independent ones."""
        e = self.at.embedded
        J = J.astype(np.result_type(J, self.factor.L, self.factor.d_inv))
        return J if e is None else np.stack([e.reduce_force(row) for row in J]) if len(J) else J[:, : self.at.tree.nv]

    def response(self, J: Array) -> Response:
        """What impulses along the rows J (m, n) do."""
        factor = self.factor
        supports = [_support(factor, row) for row in J]
        G, Y = delassus_of(factor, J, supports)
        if self.loops is None or not len(J):
            return Response(self, Y, G, None)
        with stage("loops"):
            cross = (self.loops.Y * factor.d_inv) @ Y.T
            held = ldl_forward(self.loops.factor, cross)
            G = G - (held.T * self.loops.factor.d_inv) @ held
        return Response(self, Y, G, cross)


class Moved(NamedTuple):
    """What impulses do."""

    velocity: Array  # (nv,) that they add to all joints
    loops: Array  # (m,) impulses of loops that they call forth


class Response(NamedTuple):
    """Of a robot, to impulses along rows."""

    free: FreeMotion
    Y: Array  # (m, n)
    G: Array  # (m, m) the Delassus matrix
    cross: Array | None  # (loops, m)

    def moved_by(self, impulses: Array) -> Moved:
        loops, held = self.free.loops, np.zeros(len(self.free.forces))
        with stage("impulses"):
            z = self.Y.T @ impulses
            if loops is not None and self.cross is not None:
                held = -ldl_solve(loops.factor, self.cross @ impulses)
                z = z + loops.Y.T @ held
            return Moved(_spanning(self.free, z), held)


class JointInertia(AbstractInertia):
    """M of the independent velocities. Loops as soft as they are in the complement are K^T K / softness in it."""

    def __init__(self, free: FreeMotion) -> None:
        self.free, loops = free, free.loops
        closed = 0.0 if loops is None else symmetric_product(loops.J.T * (1.0 / loops.softness), loops.J)
        self.matrix = free.M + closed

    def moved_by(self, impulses: Array) -> Array:
        factor = self.free.factor
        return solve_forward(factor, factor.d_inv * self._pushed(impulses)[0])

    def delassus(self, J: Array) -> Array:
        return self.free.response(J).G

    def all_moved_by(self, impulses: Array) -> Moved:
        """What impulses (n,) on the independent velocities do."""
        with stage("impulses"):
            z, held = self._pushed(impulses)
            return Moved(_spanning(self.free, z), held)

    def _pushed(self, impulses: Array) -> tuple[Array, Array]:
        """L^-T impulses with those of loops, and the latter."""
        factor, loops = self.free.factor, self.free.loops
        z = solve_transposed(factor, impulses)
        if loops is None:
            return z, np.zeros(0)
        held = -ldl_solve(loops.factor, loops.Y @ (factor.d_inv * z))
        return z + loops.Y.T @ held, held


def _spanning(free: FreeMotion, z: Array) -> Array:
    """(nv,) velocities of all joints by L^-T impulses."""
    change = solve_forward(free.factor, free.factor.d_inv * z)
    return change if free.at.embedded is None else free.at.embedded.expand(change)


def free_motion(
    at: Mechanism,
    added: Array,
    dt: Scalar | None = None,
    forces: Array | None = None,
    midway: Mechanism | None = None,
) -> FreeMotion:
    """Of a mechanism with everything that acts on it but contacts.

    added   (nv,) to the inertia of joints
    dt      of the step that follows, so that loops are closed after it; None: an acceleration at this instant
    forces  (nv,) on joints beside those of the mechanism
    midway  the mechanism with the velocities that it has in the middle of the step, whose products count; None: as now
    """
    more = _added_inertia(at, added)
    M = composite_bodies(at.nodes) + more
    factor = ltdl(at.nodes, M)
    turning = at if midway is None else midway
    acting = load = _load(turning)
    if forces is not None:
        load = load + (forces if at.embedded is None else at.embedded.reduce_force(forces))
    rows = rows_of(at, None, "contact") if dt is None else rows_in_step(at, dt)
    with stage("free motion"):
        z = solve_transposed(factor, load)
        if not rows:
            ydd = solve_forward(factor, factor.d_inv * z)
            none = np.zeros(0)
            qdd = _expanded(at, ydd)
            return FreeMotion(at, M, factor, None, qdd, none, none, none, Status.OK, more, turning.v, acting)
        J, supports = loop_jacobian(at, rows)
        k = np.concatenate([r.k for r in rows])
        G, Y = delassus_of(factor, J, supports)
        mean = sum((G[i, i] for i in range(len(G))), 0.0) * (SOFTNESS / len(G))
        loops = LoopRows(rows, J, Y, G, mean, ldl(G + mean * np.eye(len(G))))
        rest = k - Y @ (factor.d_inv * z)
        last = forces = ldl_solve(loops.factor, rest)
        for _ in range(_REFINEMENTS):
            last = ldl_solve(loops.factor, rest - G @ forces)
            forces = forces + last
        # Along redundant rows all of these were the same, rest over softness, however little contradicts itself there.
        # Along others the last was next to nothing.
        least = forces - (1.0 + _REFINEMENTS) * last
        residual = rest - G @ forces
        met = choose(opening(at), OPEN, _met(residual, G, rest), Status.CONSTRAINTS_NOT_MET)
        ydd = solve_forward(factor, factor.d_inv * (z + Y.T @ forces))
    qdd = _expanded(at, ydd)
    return FreeMotion(at, M, factor, loops, qdd, forces, least, residual, met, more, turning.v, acting)


def _load(at: Mechanism) -> Array:
    """(n,) what acts on the joints of the tree, less what the bias motion takes."""
    tau = np.concatenate([np.zeros(0), *(node.tau for node in at.nodes)])
    return tau - inward_forces(at.tree, at.nodes, [node.f for node in at.nodes])


def _met(residual: Array, G: Array, rest: Array) -> Scalar:
    """Whether what is left of the loops' accelerations is nothing.

    Loops that are open by a little between two projections make rows contradict each other that depend on each other
    where they are closed. Along such directions forces do nothing, and what is left is of the order of the drift.
    """
    mean = sum((G[i, i] for i in range(len(G))), 0.0) * (REDUNDANT / len(G))
    felt = dot(residual, G @ residual)
    allowed = choose(felt, mean * dot(residual, residual), _DRIFT, MET)
    return choose(size(residual), allowed * (1.0 + size(rest)), Status.OK, Status.CONSTRAINTS_NOT_MET)


def _added_inertia(at: Mechanism, added: Array) -> Array:
    """(n, n) of the independent velocities: within clusters, G^T diag(added) G."""
    if at.embedded is None:
        return np.diag(added)
    M = np.zeros((at.tree.nv, at.tree.nv), dtype=np.result_type(added, float))
    for number, node in enumerate(at.embedded.tree.nodes):
        motion = at.embedded.motions.get(number)
        if motion is None:
            M[node.v, node.v] = np.diag(added[at.model.layout.v[node.ports[0]]])
        else:
            M[node.v, node.v] = motion.G.T @ (added[list(motion.velocities)][:, None] * motion.G)
    return M


def _expanded(at: Mechanism, ydd: Array) -> Array:
    return ydd if at.embedded is None else at.embedded.expand(ydd, bias=True)


def _support(factor: Ltdl, row: Array) -> list[int]:
    """The velocities that a row of Y may depend on: those of the row, and their ancestors."""
    found: set[int] = set()
    for k, x in enumerate(row):
        if k not in found and not is_structurally_zero(x):
            found |= {k, *factor.ancestors[k]}
    return sorted(found)
