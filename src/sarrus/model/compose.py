"""One robot out of two: `attach` a gripper to an arm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sarrus.errors import ModelError, NameClashError, listed
from sarrus.model.actuators import Actuator
from sarrus.model.bodies import WORLD, WORLD_NAME, Frame, Placement
from sarrus.model.constraints import Kind
from sarrus.model.embedding import Embedding
from sarrus.model.geometries import GROUND, Geometry
from sarrus.model.keyframes import Keyframe, Keyframes
from sarrus.model.model import Model
from sarrus.model.state import home_or_neutral
from sarrus.model.well_posed import noted_ill_posed
from sarrus.spatial.arrays import Array


def attach(model: Model, other: Model, frame: str, prefix: str = "") -> Model:
    """`model` with `other` mounted on one of its frames, which takes the place of the world of `other`.

    prefix  put before every name of `other` (bodies, joints, frames, constraints, actuators, geometries); its world
            becomes the frame `prefix + "world"`

    `other` keeps its constraints; gravity and time step are those of `model`. The bodies of `other` follow those of
    `model`, and q and v are joined in that order. What is embedded in `model` stays embedded; `other` must not be
    embedded. Keyframes with the same name are joined; a robot without a keyframe of that name is at home. Planes and
    height fields of `other` are left out if it is mounted on a moving body (and reported).

    other    the robot to mount
    frame    the name of the frame of `model` on which it is mounted
    returns  the `Model` of both
    errors   `NameClashError`: both use the same name; `UnknownNameError`: no such frame; `ModelError`: `other` is
             embedded

    >>> both = sarrus.attach(sarrus.zoo.chain(3), sarrus.zoo.chain(2), "tip", prefix="hand_")
    >>> both.nv
    5
    """
    mount = model.frame(frame)
    if other.embedding is not None:
        raise ModelError(
            f"attach: {other.name!r} has embedded constraints. Attach `other.spanning`, then embed the result"
        )

    def mounted(body: int, placement: Placement) -> tuple[int, Placement]:
        return (mount.body, mount.placement @ placement) if body == WORLD else (body + model.nb, placement)

    def named(name: str) -> str:
        return f"{prefix}{name}" if name != WORLD_NAME or prefix else f"{other.name}_world"

    bodies = []
    for body in other.bodies:
        parent, placement = mounted(body.parent, body.placement)
        joint = replace(body.joint, name=named(body.joint.name))
        bodies.append(replace(body, name=named(body.name), parent=parent, joint=joint, placement=placement))
    frames = [Frame(named(f.name), *mounted(f.body, f.placement)) for f in other.frames]
    clashes = {f.name for f in frames} & set(model.frame_names)
    clashes |= {b.joint.name for b in bodies} & set(model.joint_names)
    clashes |= {named(g.name) for g in other.geometries} & {g.name for g in model.geometries}
    if clashes:
        raise NameClashError(f"both robots have {', '.join(sorted(map(repr, clashes)))}: pass prefix=... to `attach`")
    for constraint in (*model.constraints, *other.constraints):
        if constraint.kind is Kind.CENTER_OF_MASS:
            raise ModelError(
                f"attach: constraint {constraint.name!r} is of the centre of mass of one robot; joined they have "
                f"another. Declare it afterwards"
            )
    ground = [g for g in other.geometries if isinstance(g.shape, GROUND) and mount.body != WORLD]
    geometries = [
        _renamed_geometry(g, named).moved(*mounted(g.body, Placement.identity()))
        for g in other.geometries
        if g not in ground
    ]
    left_out = {g.name for g in ground}
    pairs = [
        replace(pair, a=named(pair.a), b=named(pair.b))
        for pair in other.geometry_pairs
        if not {pair.a, pair.b} & left_out
    ]
    joined = replace(
        model,
        name=f"{model.name}_{prefix}{other.name}",
        bodies=(*model.bodies, *bodies),
        frames=(*model.frames, *frames),
        constraints=(*model.constraints, *(c.renamed(named) for c in other.constraints)),
        import_report=(*_joined_report(model, other), *_about_ground(ground, other, mount)),
        lost_physics=(*model.lost_physics, *other.lost_physics),
        home=_joined_home(model, other),
        embedding=_joined_embedding(model, other),
        visuals=(*model.visuals, *(v.moved(*mounted(v.body, Placement.identity())) for v in other.visuals)),
        actuators=(*model.actuators, *(_renamed_actuator(a, named) for a in other.actuators)),
        gravity_compensation=model.gravity_compensation + other.gravity_compensation.renamed(named),
        geometries=(*model.geometries, *geometries),
        geometry_pairs=(*model.geometry_pairs, *pairs),
        excluded_pairs=(*model.excluded_pairs, *((named(a), named(b)) for a, b in other.excluded_pairs)),
        keyframes=Keyframes(_joined_keyframes(model, other)),
    )
    return noted_ill_posed(joined)  # what is attached may be the only inertia that a joint moves, or have none itself


def _renamed_geometry(geometry: Geometry, named: Any) -> Geometry:
    return replace(geometry, name=named(geometry.name), link=named(geometry.link))


def _about_ground(ground: list[Geometry], other: Model, mount: Frame) -> list[str]:
    if not ground:
        return []
    names = listed([geometry.name for geometry in ground])
    return [f"{len(ground)} planes or height fields of {other.name} ({names}): left out, as {mount.name!r} moves"]


def _joined_keyframes(model: Model, other: Model) -> Iterator[tuple[str, Keyframe]]:
    for name in dict.fromkeys((*model.keyframes, *other.keyframes)):
        first, second = (_keyframe_or_home(part, name) for part in (model, other))
        yield (
            name,
            Keyframe(
                np.concatenate([first.q, second.q]),
                np.concatenate([first.v, second.v]),
                np.concatenate([first.controls, second.controls]),
                max(first.time, second.time),
            ),
        )


def _keyframe_or_home(model: Model, name: str) -> Keyframe:
    if name in model.keyframes:
        return model.keyframes[name]
    return Keyframe(home_or_neutral(model), np.zeros(model.nv), np.zeros(model.nu))


def _joined_home(model: Model, other: Model) -> Array | None:
    if model.home is None and other.home is None:
        return None
    return np.concatenate([home_or_neutral(model), home_or_neutral(other)])


def _joined_embedding(model: Model, other: Model) -> Embedding | None:
    """That of `model`, whose bodies and velocities keep their numbers."""
    if model.embedding is None:
        return None
    rest = home_or_neutral(other)
    return replace(model.embedding, samples=tuple(np.concatenate([q, rest]) for q in model.embedding.samples))


def _renamed_actuator(actuator: Actuator, named: Any) -> Actuator:
    return replace(actuator, name=named(actuator.name), joints=tuple((named(j), c) for j, c in actuator.joints))


def _joined_report(model: Model, other: Model) -> tuple[str, ...]:
    """What is lost comes first."""
    lost = (*model.lost_physics, *other.lost_physics)
    return (*lost, *(line for line in (*model.import_report, *other.import_report) if line not in lost))
