"""Inverse dynamics of a robot that touches: which torques and contact forces a motion takes.

    M a + h = S tau + J^T f,        every force f within its cone of friction

Joints without motors (a floating base above all) need contacts to move as they should. Forces are not determined by
that alone; those are taken whose torques are smallest. That is a convex problem on the cones, hence one for the solver
of contacts without De Saxce's term:

    min  |tau|^2 / 2 + |e|^2 / (2 eps),     tau = h_A - J_A^T f,     e = h_U - J_U^T f

with multipliers for the rows U of joints without motors, so that e goes to zero where forces can do it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.codegen.runtime.compile import compile
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.errors import UnsupportedError, unknown_name
from sarrus.mechanics.bodies import world_poses
from sarrus.mechanics.contact.contact_rows import contact_jacobian
from sarrus.mechanics.contact.problem import ContactProblem
from sarrus.mechanics.contact.solve import solve
from sarrus.mechanics.mechanism import mechanism
from sarrus.model.actuators import actuated_joints
from sarrus.model.model import Model
from sarrus.model.per_model import per_model
from sarrus.model.state import as_state_array, check_configuration
from sarrus.model.tree import tree_of
from sarrus.registry.table import find
from sarrus.simulation.contact.contact_motion import NEAR
from sarrus.simulation.contact.record import ContactRecord
from sarrus.simulation.contact.settings import ContactOptions, ContactSettings, contact_settings
from sarrus.simulation.contact.slots import contacts_in_slots
from sarrus.simulation.step import kernel_algorithm, scalar
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.norms import if_finite
from sarrus.status import Status

_STIFF = 1e3  # how much more an unmet row costs than a torque
_ROUNDS = 4  # of multipliers, each of which makes what is unmet smaller by about that
_MET = 1e-6  # of the weight: what may be left of rows without motors


class InverseDynamicsResult(NamedTuple):
    """Torques and contact forces of a motion, of one state or of a batch."""

    tau: Array  # (nv,) or (B, nv); of joints without motors, what is left unmet
    contacts: ContactRecord
    status: Any  # `sarrus.Status`: INFEASIBLE where contact forces cannot make the motion


def inverse_dynamics(
    model: Model, q: Any, v: Any, a: Any, contacts: ContactOptions | None = None, motors: Any = None
) -> InverseDynamicsResult:
    """The smallest torques, and contact forces within friction, that make a motion: M a + h = tau + J^T f.

    q, v, a  (n,) or (B, n)
    motors   names of joints with motors; None: those of the model's actuators, or all but free joints

    Contacts are what touches at q, within 2 mm. Without anything to touch, or loops: `sarrus.rnea`.

    contacts  how things touch; None: as a simulation does by default
    returns   `tau` (N m, N; of joints without motors what is left unmet), `contacts`, `status`
    errors    `UnsupportedError`: nothing can touch, or loops; `UnknownNameError`: no such joint

    >>> ball = "<body pos='0 0 .1'><freejoint/><geom size='.1'/></body>"
    >>> robot = sarrus.load(f"<mujoco><worldbody><geom type='plane' size='1 1 1'/>{ball}</worldbody></mujoco>")
    >>> result = sarrus.inverse_dynamics(robot, robot.home, np.zeros(6), np.zeros(6))
    >>> np.allclose(result.contacts.total_force, [0.0, 0.0, 9.81 * robot.mass], atol=1e-6)
    True
    """
    settings = contact_settings(model, contacts or ContactOptions())
    if settings is None:
        raise UnsupportedError("inverse_dynamics: nothing can touch; without contacts, it is `sarrus.rnea`")
    if model.n_rows or model.embedding is not None:
        raise UnsupportedError("inverse_dynamics with contacts does not know loops and couplings yet")
    driven = _driven(model, motors)
    q = check_configuration(model, q)
    v, a = as_state_array("v", v, model.nv), as_state_array("a", a, model.nv)
    found: Any = _kernel(model, settings, driven)(q, v, a)
    names = [settings.contacts.pair_of(number).names for number in range(settings.contacts.count)]
    return InverseDynamicsResult(found.tau, ContactRecord.of(found.contacts, names), found.status)


def _driven(model: Model, motors: Any) -> tuple[int, ...]:
    """Velocities that a motor acts on."""
    if motors is None:
        free = {body.joint.name for body in model.bodies if body.joint.type.name == "free"}
        motors = actuated_joints(model.actuators) or set(model.joint_names) - free
    for name in motors:
        if name not in model.joint_names:
            raise unknown_name("joint", name, model.joint_names)
    return tuple(sorted(k for name in motors for k in range(model.nv)[model.layout.v_of(name)]))


@per_model
def _kernels(model: Model) -> dict[str, Kernel]:
    return {}


def _kernel(model: Model, settings: ContactSettings, driven: tuple[int, ...]) -> Kernel:
    known, key = _kernels(model), repr((settings, driven))
    if key not in known:
        algorithm = kernel_algorithm(required_forces, dict.fromkeys(("q", "v", "a")), ("settings", "driven"))
        known[key] = compile(model, algorithm, settings=settings, driven=driven)
    return known[key]


class RequiredForces(NamedTuple):
    """See `InverseDynamicsResult`."""

    tau: Array
    contacts: Array  # (11 s,)
    status: Array


def required_forces(
    model: Model, settings: ContactSettings, driven: tuple[int, ...], q: Array, v: Array, a: Array
) -> RequiredForces:
    """The text of `inverse_dynamics`. Forces are in units of the robot's weight, so that all numbers are about 1."""
    contacts = settings.contacts
    weight = float(model.mass) * max(float(np.linalg.norm(model.gravity)), 1.0)
    needed = find("rnea").text(model, q=q, v=v, a=a) * (1.0 / weight)
    at = mechanism(model, q)
    poses = world_poses(tree_of(model), at.joints)
    found = contacts.candidates(poses)
    gaps, straight = [c.gap for c in found], [0.0] * len(found)
    touching = contacts_in_slots(found, gaps, straight, model.parents, NEAR, contacts.slots)
    J, _ = contact_jacobian(at, poses, [c.at for c in touching])
    J = np.stack([choose(0.5, touching[k // 3].active, 1.0, 0.0) * row for k, row in enumerate(J)])
    undriven = [k for k in range(model.nv) if k not in driven]
    J_A, J_U = J[:, list(driven)], J[:, undriven]
    h_A, h_U = needed[list(driven)], needed[undriven]
    frictions, active = vector(*(c.friction for c in touching)), vector(*(c.active for c in touching))
    Q = J_A @ J_A.T + _STIFF * (J_U @ J_U.T)
    f, multipliers, unmet = np.zeros(len(J)), np.zeros(len(undriven)), h_U
    for _ in range(_ROUNDS):
        c = -(J_A @ h_A) - J_U @ (_STIFF * h_U + multipliers)
        f = solve(ContactProblem(Q, c, np.zeros(0), frictions, active, None), f, 1e-9, convex=True).impulses
        unmet = h_U - J_U.T @ f
        multipliers = multipliers + _STIFF * unmet
    left: Scalar = sum((abs(x) for x in unmet), 0.0)
    status = if_finite(choose(left, _MET, Status.OK, Status.INFEASIBLE), Status.NOT_FINITE, f)
    forces = weight * f
    rows: list[Scalar] = []
    for k, contact in enumerate(touching):
        number = choose(0.5, contact.active, contact.number, -1.0)
        directions = contact.at.directions
        rows += [number, contact.gap, *contact.at.point, *directions[2], *(directions.T @ forces[3 * k : 3 * k + 3])]
    return RequiredForces(weight * (needed - J.T @ f), vector(*rows), scalar(status))
