"""Inverse dynamics of a robot that touches: which torques and contact forces a motion takes.

    M a + h = S tau + J^T f + K^T lam,        every contact force f as Coulomb's law allows it at these velocities

What rests pushes with any force within its cone of friction. What slides along t is braked by all of its friction, so
that its force is a multiple of one direction, f = f_n (n - mu t). What parts does not push. So f = E x, where E follows
from the velocity, and x is within a cone: that of friction, or x_n >= 0 and x_T = 0. Below, J stands for E^T J.

Joints without motors (a floating base above all) need contacts to move as they should, and the rows K of loops, gears
and welds push with any lam. Forces are not determined by that alone; those are taken whose torques are smallest:

    min  |tau|^2 / 2 + |e|^2 / (2 eps),     tau = (M a + h - J^T f - K^T lam)_A,     e = the same on the rows U

with multipliers y for the rows U of joints without motors, so that e goes to zero where forces can do it. With
W = 1 on A and 1 / eps on U, lam is what makes the rest smallest,

    K W K^T lam = K W (M a + h - J^T f) + K_U y

which leaves a convex problem on the cones, hence one for the solver of contacts without De Saxce's term. K may have
redundant rows: then lam is one of many, and everything else is not touched by that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sarrus.errors import UnsupportedError, check_name
from sarrus.mechanics.bodies import world_poses
from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.contact.cone import tiny
from sarrus.mechanics.contact.contact_rows import contact_jacobian
from sarrus.mechanics.contact.problem import ContactProblem
from sarrus.mechanics.contact.solve import solve
from sarrus.mechanics.mechanism import Mechanism, mechanism, rows_of
from sarrus.mechanics.solvers.loop_jacobian import loop_jacobian
from sarrus.mechanics.solvers.result import joined
from sarrus.model.actuators import actuated_joints
from sarrus.model.arguments import names_of, positive_number
from sarrus.model.model import Model, check_is_model
from sarrus.model.state import as_state_array, check_configuration
from sarrus.model.tree import tree_of
from sarrus.registry.table import find
from sarrus.simulation.contact.contact_motion import NEAR
from sarrus.simulation.contact.contact_problem import slot_numbers
from sarrus.simulation.contact.kernels import kernel_of
from sarrus.simulation.contact.loops_in_steps import OPEN, opening
from sarrus.simulation.contact.motion import Contacts
from sarrus.simulation.contact.options import ContactOptions, check_rigid, options_for
from sarrus.simulation.contact.record import ContactRecord
from sarrus.simulation.contact.settings import ContactSettings, contact_settings
from sarrus.simulation.contact.slots import STRAIGHT, Contact, contacts_in_slots
from sarrus.simulation.step import scalar, worse
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import larger
from sarrus.spatial.linear_algebra import ldl_semidefinite, ldl_solve
from sarrus.spatial.norms import dot, if_finite, root, size
from sarrus.status import Status

CREEP = 1e-3  # m/s: what a robot that stands may move by in measurements and in motions that were planned
_STIFF = 1e3  # 1 / eps: how much more an unmet row costs than a torque
_ROUNDS = 4  # of multipliers, each of which makes what is unmet smaller by about that
_MET = 1e-6  # of the weight: what may be left of rows without motors; of accelerations: what may be left of loops


class InverseDynamicsResult(NamedTuple):
    """Torques and contact forces of a motion, of one state or of a batch."""

    tau: Array  # (nv,) or (B, nv); of joints without motors, what is left unmet
    contacts: ContactRecord
    status: Any  # `sarrus.Status`: INFEASIBLE where contact forces cannot make the motion, CONSTRAINTS_NOT_MET: loops
    forces: Array  # (m,) or (B, m) of loops, gears and welds, those that are embedded included; see `forward_dynamics`


def inverse_dynamics(
    model: Model,
    q: Any,
    v: Any,
    a: Any,
    contacts: ContactOptions | None = None,
    motors: Any = None,
    creep: float = CREEP,
) -> InverseDynamicsResult:
    """The smallest torques, with contact forces within friction, of a motion: M a + h = tau + J^T f + K^T forces.

    q, v, a  (n,) or (B, n); with loops, gears or welds, the motion must respect them, otherwise the status says so
    motors   names of joints with motors; None: those of the model's actuators, or all but free joints

    Contacts are whatever touches at q, within 2 mm. What rests there pushes with any force within its cone of friction;
    what slides is braked by the whole of its friction; what parts does not push. If there is nothing to touch, use
    `sarrus.rnea` or `sarrus.ce_rnea`.

    contacts  how things touch; None: as in a simulation by default
    creep     m/s: what is slower than that rests. Velocities that are known less well need more
    returns   `tau` (N m, N; for joints without motors, the remainder), `contacts`, `forces` of constraints, `status`
    errors    `UnsupportedError`: nothing can touch; `UnknownNameError`: no such joint; `StateError`: contacts that give
              way, whose forces follow from q and v

    >>> ball = "<body pos='0 0 .1'><freejoint/><geom size='.1'/></body>"
    >>> robot = sarrus.load(f"<mujoco><worldbody><geom type='plane' size='1 1 1'/>{ball}</worldbody></mujoco>")
    >>> result = sarrus.inverse_dynamics(robot, robot.home, np.zeros(6), np.zeros(6))
    >>> np.allclose(result.contacts.total_force, [0.0, 0.0, 9.81 * robot.mass], atol=1e-6)
    True
    """
    check_is_model("inverse_dynamics", model)
    model = model.spanning
    options, creep = options_for("inverse_dynamics", contacts), positive_number("creep", creep, least=0.0)
    check_rigid("inverse_dynamics", options, "forces of contacts that give way follow from q and v")
    settings = contact_settings(model, replace(options, turning=False))
    if settings is None:
        raise UnsupportedError(
            "inverse_dynamics: this model has nothing that can touch. Without contacts, use `sarrus.rnea`"
        )
    driven = _driven(model, motors)
    q = check_configuration(model, q)
    v, a = as_state_array("v", v, model.nv), as_state_array("a", a, model.nv)
    kernel = kernel_of(model, required_forces, ("q", "v", "a"), settings=settings, driven=driven, creep=creep)
    found: Any = kernel(q, v, a)
    names = [settings.contacts.pair_of(number).names for number in range(settings.contacts.count)]
    return InverseDynamicsResult(found.tau, ContactRecord.of(found.contacts, names), found.status, found.forces)


def _driven(model: Model, motors: Any) -> tuple[int, ...]:
    """Velocities that a motor acts on."""
    if motors is None:
        free = {body.joint.name for body in model.bodies if body.joint.type.name == "free"}
        motors = actuated_joints(model.actuators) or set(model.joint_names) - free
    motors = names_of("motors", motors)
    for name in motors:
        check_name("joint", name, model.joint_names)
    return tuple(sorted(k for name in motors for k in range(model.nv)[model.layout.v_of(name)]))


class RequiredForces(NamedTuple):
    """See `InverseDynamicsResult`."""

    tau: Array
    contacts: Array  # (18 s + 1,)
    status: Array
    forces: Array


def required_forces(
    model: Model, settings: ContactSettings, driven: tuple[int, ...], creep: float, q: Array, v: Array, a: Array
) -> RequiredForces:
    """The text of `inverse_dynamics`. Forces are in units of the robot's weight, so that all numbers are about 1."""
    contacts = settings.contacts
    weight = float(model.mass) * max(float(np.linalg.norm(model.gravity)), 1.0)
    needed = find("rnea").text(model, q=q, v=v, a=a) * (1.0 / weight)
    at = mechanism(model, q, v, np.zeros(model.nv))
    poses = world_poses(tree_of(model), at.joints)
    found = contacts.candidates(poses)
    gaps, straight = [c.gap for c in found], [STRAIGHT] * len(found)
    touching = contacts_in_slots(found, gaps, straight, model.parents, NEAR, contacts.slots)
    moving, _ = contact_jacobian(at, poses, [c.at for c in touching])
    velocities = (moving @ v).reshape(-1, 3)
    allowed = [_allowed(c, velocity, creep) for c, velocity in zip(touching, velocities, strict=True)]
    J = np.concatenate([E.T @ rows for (E, _), rows in zip(allowed, np.split(moving, len(allowed)), strict=True)])
    rows = rows_of(at, None, "inverse_dynamics", declared=True)
    K, _ = loop_jacobian(at, rows)
    undriven = np.array([0.0 if k in driven else 1.0 for k in range(model.nv)])
    W = np.where(undriven, _STIFF, 1.0)
    factor = ldl_semidefinite((K * W) @ K.T)
    cross = (K * W) @ J.T
    Q = (J * W) @ J.T - cross.T @ ldl_solve(factor, cross)
    frictions, active = vector(*(mu for _, mu in allowed)), vector(*(c.active for c in touching))
    f, lam, unmet = np.zeros(len(J)), np.zeros(len(K)), needed
    y = np.zeros(model.nv)  # of joints without motors
    for _ in range(_ROUNDS):
        wanted = W * needed + y
        c = cross.T @ ldl_solve(factor, K @ wanted) - J @ wanted
        f = solve(ContactProblem(Q, c, np.zeros(0), frictions, active, None), f, 1e-9, convex=True).impulses
        lam = ldl_solve(factor, K @ wanted - cross @ f)
        unmet = needed - J.T @ f - K.T @ lam
        y = y + _STIFF * undriven * unmet
    left = size(undriven * unmet)
    status = worse(choose(left, _MET, Status.OK, Status.INFEASIBLE), _loops_keep_closed(at, rows, K, a))
    status = if_finite(status, Status.NOT_FINITE, f, lam)
    acting = Contacts(
        numbers=vector(*(choose(0.5, c.active, c.number, -1.0) for c in touching)),
        impulses=weight * np.stack([E @ x for (E, _), x in zip(allowed, f.reshape(-1, 3), strict=True)]),
        points=np.stack([c.at.point for c in touching]),
        directions=np.stack([c.at.directions for c in touching]),
        turns=np.zeros((len(touching), 0, 3)),
        gaps=vector(*(c.gap for c in touching)),
        velocities=velocities,
        frictions=vector(*(c.friction for c in touching)),
    )
    forces = joined([r.declared_force(weight * lam[r.span]) for r in rows])
    return RequiredForces(weight * unmet, slot_numbers(acting, 1.0), scalar(status), forces)


def _allowed(contact: Contact, velocity: Array, creep: float) -> tuple[Array, Scalar]:
    """Which forces a contact may have, along two tangents and the normal: E x with x in a cone, whose coefficient of
    friction comes second.

    velocity  along the same
    """
    speed = root(dot(velocity[:2], velocity[:2]))
    slides, over = choose(creep, speed, 1.0, 0.0), choose(creep, speed, 1.0 / larger(speed, tiny()), 0.0)
    first, second = (-contact.friction * over) * velocity[:2]
    rests = 1.0 - slides
    E = np.stack([vector(rests, 0.0, first), vector(0.0, rests, second), vector(0.0, 0.0, 1.0)])
    pushes = choose(creep, velocity[2], 0.0, choose(0.5, contact.active, 1.0, 0.0))
    return pushes * E, rests * contact.friction


def _loops_keep_closed(at: Mechanism, rows: list[Rows], K: Array, a: Array) -> Scalar:
    """Whether a motion is one that loops, gears and welds allow."""
    if not rows:
        return Status.OK
    k = joined([r.k for r in rows])
    met = choose(size(K @ a - k), _MET * (1.0 + size(a) + size(k)), Status.OK, Status.CONSTRAINTS_NOT_MET)
    return choose(opening(at), OPEN, met, Status.CONSTRAINTS_NOT_MET)
