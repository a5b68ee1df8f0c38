"""Geared rotors as reflected inertia: approximations of a robot, by name, beside the exact one that `embed` makes.

What a rotor that turns r = A yd beside its carrier does, exactly, is three things: its mass and its inertia ride on the
carrier; it resists its own spin, by A^T J A on the links' joints; and it exchanges momentum with the carrier (a moment
J A ydd on it, gyroscopic moments, and the carrier's acceleration felt at the joint). Every approximation keeps the
first and leaves out the last.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sarrus.algorithms.position.closure import closure
from sarrus.errors import ModelError, UnsupportedError, check_name
from sarrus.model.actuators import Actuator
from sarrus.model.bodies import WORLD, Body
from sarrus.model.cluster_tree import unseen_rotors
from sarrus.model.constraints import Coupling, of_type
from sarrus.model.model import Model
from sarrus.model.state import home_or_neutral
from sarrus.planning.embedding import embed
from sarrus.planning.lock import lock
from sarrus.spatial.arrays import Array
from sarrus.spatial.inertia import Inertia

NONE, DIAGONAL, BLOCK_DIAGONAL = "none", "diagonal", "block_diagonal"


def without_rotors(model: Model, reflected_inertia: str = DIAGONAL) -> Model:
    """An approximation of a geared robot whose rotors do not spin; their inertia is reflected to other joints.

    reflected_inertia  "none": rotors are merged into their carriers, which gives a tree; "diagonal": the same, with the
                       diagonal of A^T J A as armature of the joints that they drive; "block_diagonal": all of A^T J A,
                       as an embedded model (for `ce_aba` and the like), in which each rotor is a massless body whose
                       joint has armature
    returns            a `Model`
    errors             `UnknownNameError`: no such approximation; `UnsupportedError`: no rotors; `ModelError`: the model
                       is embedded

    J holds the rotors' moments of inertia about their axes, A their speeds per speed of the other joints. The
    approximation neglects how rotors and their carriers accelerate each other, and gyroscopic moments;
    `sarrus.embed(model)` neglects nothing. Only couplings with a rotor are removed. Motors, damping and dry friction of
    rotors act through the gears.

    A rotor is a body that turns about an axis of symmetry, carries nothing, and is constrained only by linear
    couplings.

    >>> sarrus.without_rotors(sarrus.zoo.link_and_rotor()).nv
    1
    """
    check_name("reflected_inertia", reflected_inertia, (NONE, DIAGONAL, BLOCK_DIAGONAL))
    gears = _gears(model)
    if reflected_inertia == BLOCK_DIAGONAL:
        return _with_armatures(model, gears)
    bodies = list(model.bodies)
    rotors = [model.bodies[model.joint_index(name)].joint for name in gears.rotors]
    armature = gears.J @ gears.A**2 if reflected_inertia == DIAGONAL else np.zeros(len(gears.links))
    damping = np.array([rotor.damping[0] for rotor in rotors]) @ gears.A**2
    friction = np.array([rotor.friction[0] for rotor in rotors]) @ np.abs(gears.A)
    for name, *more in zip(gears.links, armature, damping, friction, strict=True):
        i = model.joint_index(name)
        joint = bodies[i].joint
        changed = dict(zip(("armature", "damping", "friction"), more, strict=True))
        joint = replace(joint, **{field: getattr(joint, field) + x for field, x in changed.items()})
        bodies[i] = replace(bodies[i], joint=joint)
    rest = tuple(c for c in model.constraints if c.name not in gears.couplings)
    actuators = tuple(_behind_gears(actuator, gears) for actuator in model.actuators)
    return lock(replace(model, bodies=tuple(bodies), constraints=rest, actuators=actuators), gears.rotors)


class _Gears(NamedTuple):
    """Rotors by joint, and the joints that they drive: q of rotors = A q of links + offset."""

    rotors: tuple[str, ...]
    links: tuple[str, ...]
    couplings: tuple[str, ...]
    J: Array  # (rotors,)
    A: Array  # (rotors, links)
    offset: Array  # (rotors,)


def _gears(model: Model) -> _Gears:
    if model.embedding is not None:
        raise ModelError(f"model {model.name!r} has embedded constraints: use `model.spanning`")
    linear = [c for c in of_type(model.active_constraints, Coupling) if c.is_linear]
    rotors = unseen_rotors(embed(model, [c.name for c in linear])) if linear else []
    names = tuple(model.bodies[i].joint.name for i in rotors)
    driven = [c for c in linear if set(c.joints) & set(names)]
    if not rotors:
        raise UnsupportedError(
            f"model {model.name!r} has no rotors: bodies that turn about an axis, round about it, carrying nothing, in "
            f"linear couplings only"
        )
    if any(model.bodies[i].joint.stiffness.any() for i in rotors):
        raise UnsupportedError(f"model {model.name!r}: a rotor has a spring: put it at the joint behind the gear")
    links = tuple(dict.fromkeys(joint for c in driven for joint in c.joints if joint not in names))
    q = home_or_neutral(model)
    K = closure.text(replace(model, constraints=tuple(driven)), q).jacobian.astype(float)
    columns = {name: model.layout.v_of(name).start for name in (*names, *links)}
    K_rotors, K_links = (K[:, [columns[x] for x in of]] for of in (names, links))
    A, *_ = np.linalg.lstsq(K_rotors, -K_links, rcond=None)
    if np.linalg.matrix_rank(K_rotors) < len(names) or len(driven) > len(names):
        raise UnsupportedError(
            f"model {model.name!r}: {len(driven)} couplings of {len(names)} rotors do not say how fast each turns with "
            f"the other joints alone"
        )
    at = [q[[model.layout.q_of(x).start for x in of]] for of in (names, links)]
    J = np.array([_about_axis(model.bodies[i]) for i in rotors])
    return _Gears(names, links, tuple(c.name for c in driven), J, A, at[0] - A @ at[1])


def _about_axis(body: Body) -> float:
    (axis,) = body.joint.axes
    return float(axis @ body.inertia.Io @ axis + body.joint.armature[0])


def _with_armatures(model: Model, gears: _Gears) -> Model:
    """Rotors that ride on their carriers and weigh nothing themselves, but resist their spin."""
    bodies = list(model.bodies)
    for name, J in zip(gears.rotors, gears.J, strict=True):
        i = model.joint_index(name)
        rotor = bodies[i]
        if rotor.parent != WORLD:
            carrier = bodies[rotor.parent]
            riding = rotor.inertia.transformed(rotor.placement.transform)
            bodies[rotor.parent] = replace(carrier, inertia=carrier.inertia + riding)
        bodies[i] = replace(rotor, inertia=Inertia.zero(), joint=replace(rotor.joint, armature=np.array([J])))
    return embed(replace(model, bodies=tuple(bodies)), gears.couplings, independent=gears.links)


def _behind_gears(actuator: Actuator, gears: _Gears) -> Actuator:
    """The same motor on the joints that its rotors drive."""
    joints: dict[str, float] = {}
    length = 0.0
    for name, ratio in actuator.joints:
        if name not in gears.rotors:
            joints[name] = joints.get(name, 0.0) + ratio
            continue
        rotor = gears.rotors.index(name)
        length += actuator.gear * ratio * gears.offset[rotor]
        for link, speed in zip(gears.links, gears.A[rotor], strict=True):
            if speed != 0.0:
                joints[link] = joints.get(link, 0.0) + ratio * float(speed)
    gain, bias = ((x[0] + x[1] * length, x[1], x[2]) for x in (actuator.gain, actuator.bias))
    return replace(actuator, joints=tuple(joints.items()), gain=gain, bias=bias)
