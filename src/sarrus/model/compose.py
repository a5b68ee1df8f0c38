"""One robot out of two: `attach` a gripper to an arm."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from sarrus.errors import ModelError, NameClashError
from sarrus.model.actuators import Actuator
from sarrus.model.bodies import WORLD, WORLD_NAME, Body, Frame, Placement
from sarrus.model.constraints import CenterOfMass, Constraint
from sarrus.model.embedding import Embedding
from sarrus.model.model import Model, check_actuators, check_constraint_names
from sarrus.model.state import neutral
from sarrus.spatial.arrays import Array

_NAMES = ("name", "frame", "frame_a", "frame_b", "driver")  # fields of constraints that hold one name
_LISTS = ("ratios", "references", "coefficients")  # ... and those that hold (name, number) pairs


def attach(model: Model, other: Model, frame: str, prefix: str = "") -> Model:
    """`model` with `other` mounted on one of its frames: what was fixed to other's world is then fixed to that frame.

    prefix  put before every name of `other` (bodies, joints, frames, constraints, actuators); its world becomes the
            frame `prefix + "world"`

    `other` keeps its constraints; gravity is the model's. Its bodies follow those of `model`, so q and v are joined
    in that order. What is embedded in `model` stays so; `other` must not be embedded.
    """
    mount = model.frame(frame)
    if other.embedding is not None:
        raise ModelError(
            f"attach: {other.name!r} has embedded constraints. Attach `other.spanning` and then embed what is joined"
        )

    def home(body: int, placement: Placement) -> tuple[int, Placement]:
        return (mount.body, mount.placement @ placement) if body == WORLD else (body + model.nb, placement)

    def named(name: str) -> str:
        return f"{prefix}{name}" if name != WORLD_NAME or prefix else f"{other.name}_world"

    bodies = []
    for body in other.bodies:
        parent, placement = home(body.parent, body.placement)
        joint = replace(body.joint, name=named(body.joint.name))
        bodies.append(Body(named(body.name), parent, joint, placement, body.inertia))
    frames = [Frame(named(f.name), *home(f.body, f.placement)) for f in other.frames]
    clashes = {f.name for f in frames} & set(model.frame_names) | {b.joint.name for b in bodies} & set(
        model.joint_names
    )
    if clashes:
        raise NameClashError(f"both robots have {', '.join(sorted(map(repr, clashes)))}: give `attach` a prefix")
    for constraint in (*model.constraints, *other.constraints):
        if isinstance(constraint, CenterOfMass):
            raise ModelError(
                f"attach: constraint {constraint.name!r} is of the centre of mass of one robot; joined they have "
                f"another. Declare it afterwards"
            )
    joined = replace(
        model,
        name=f"{model.name}_{prefix}{other.name}",
        bodies=(*model.bodies, *bodies),
        frames=(*model.frames, *frames),
        constraints=(*model.constraints, *(_renamed(c, named) for c in other.constraints)),
        import_report=_joined_report(model, other),
        lost_physics=(*model.lost_physics, *other.lost_physics),
        home=_joined_home(model, other),
        embedding=_joined_embedding(model, other),
        visuals=(*model.visuals, *(v.moved(*home(v.body, Placement.identity())) for v in other.visuals)),
        actuators=(*model.actuators, *(_renamed_actuator(a, named) for a in other.actuators)),
    )
    check_constraint_names(joined)
    check_actuators(joined)
    return joined


def _joined_home(model: Model, other: Model) -> Array | None:
    if model.home is None and other.home is None:
        return None
    return np.concatenate([neutral(part) if part.home is None else part.home for part in (model, other)])


def _joined_embedding(model: Model, other: Model) -> Embedding | None:
    """That of `model`, whose bodies and velocities keep their numbers."""
    if model.embedding is None:
        return None
    rest = neutral(other) if other.home is None else other.home
    return replace(model.embedding, samples=tuple(np.concatenate([q, rest]) for q in model.embedding.samples))


def _renamed(constraint: Constraint, named: Any) -> Constraint:
    changes: dict[str, Any] = {}
    for field in fields(constraint):
        value = getattr(constraint, field.name)
        if field.name in _NAMES and value is not None:
            changes[field.name] = named(value)
        elif field.name in _LISTS:
            changes[field.name] = tuple((named(name), number) for name, number in value or ())
    return replace(constraint, **changes)


def _renamed_actuator(actuator: Actuator, named: Any) -> Actuator:
    return replace(actuator, name=named(actuator.name), joints=tuple((named(j), c) for j, c in actuator.joints))


def _joined_report(model: Model, other: Model) -> tuple[str, ...]:
    """What is lost comes first."""
    lost = (*model.lost_physics, *other.lost_physics)
    return (*lost, *(line for line in (*model.import_report, *other.import_report) if line not in lost))
