"""`recut`: the same mechanism on another spanning tree: loops opened at other joints, another body as floating base.

The joint that closed a loop becomes a joint of the tree, and what hung between it and the new cut hangs the other way
round; likewise what is between a new floating base and the old one. A body that was turned round has its frame where
its new joint is; frames, constraints, shapes and inertias stay where they are in the world. Reversed joints keep their
coordinates (their axes are turned round), so that actuators, limits and springs of joints stay as they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sarrus.algorithms.tree.forward_kinematics import forward_kinematics
from sarrus.algorithms.tree.frame_jacobian import frame_jacobian
from sarrus.errors import StateError, UnsupportedError, check_name
from sarrus.model.actuators import actuated_joints
from sarrus.model.bodies import WORLD, Body, Frame, Joint, Placement
from sarrus.model.constraints import LoopClosure, of_type
from sarrus.model.keyframes import Keyframe, Keyframes
from sarrus.model.make_joint import make_joint
from sarrus.model.model import Model
from sarrus.model.state import home_or_neutral
from sarrus.spatial.arrays import Array

_ALONG_AXIS = ("revolute", "continuous", "prismatic", "helical")
_AS_TREE_JOINT = {"revolute": "revolute", "connect": "spherical", "spherical": "spherical", "prismatic": "prismatic"}
_AS_CLOSURE = {"revolute": "revolute", "continuous": "revolute", "spherical": "connect", "prismatic": "prismatic"}


@dataclass(frozen=True)
class Cut:
    """A loop closure that became a joint of the tree, and a joint that became a loop closure."""

    closure: str
    joint: str
    new_joint: str
    new_closure: str
    from_b: bool  # whether frame a of the closure now hangs on frame b


@dataclass(frozen=True, eq=False)
class Recut:
    """A model on another spanning tree, with conversions both ways. Loops must be closed, because positions are
    converted through them.

    near: a configuration of the target model. The angles of a cut joint are known up to full turns, and quaternions up
    to their sign; default: nearest to home

    >>> loops = sarrus.zoo.four_bar()
    >>> other = sarrus.recut(loops, {loops.constraints[0].name: loops.joint_names[1]})
    >>> other.model.nv
    3
    """

    original: Model  # as it was
    model: Model  # on the other spanning tree
    cuts: tuple[Cut, ...]  # which joint became a loop closure, and which closure a joint
    reversed_joints: tuple[str, ...]  # whose parent and child changed places
    bases: tuple[str, str] | None = None  # the floating body of the original, and that of `model`, if they differ

    def to_new(self, q: Any, v: Any = None, near: Any = None) -> tuple[Array, Array]:
        """q and v of the original as q and v of `model`.

        q, v     (nq,) and (nv,), or (B, nq) and (B, nv): rad, m, rad/s, m/s; default of v: zero
        near     (nq,) or (B, nq) of `model`, to which angles and quaternions of cut joints are nearest; default: home
        returns  q and v
        errors   `StateError`: arrays of the wrong shape

        >>> loops = sarrus.zoo.four_bar()
        >>> other = sarrus.recut(loops, {loops.constraints[0].name: loops.joint_names[1]})
        >>> q, v = other.to_new(np.zeros(3))
        >>> q.shape, v
        ((3,), array([0., 0., 0.]))
        """
        new = {cut.new_joint: (cut.closure, cut.from_b) for cut in self.cuts}
        return self._converted(self.original, self.model, q, v, near, new)

    def to_original(self, q: Any, v: Any = None, near: Any = None) -> tuple[Array, Array]:
        """q and v of `model` as those of the original.

        q, v     (nq,) and (nv,), or (B, nq) and (B, nv): rad, m, rad/s, m/s; default of v: zero
        near     (nq,) or (B, nq) of the original, to which angles and quaternions of cut joints are nearest; default:
                 home
        returns  q and v
        errors   `StateError`: arrays of the wrong shape
        """
        new = {cut.joint: (cut.new_closure, False) for cut in self.cuts}
        return self._converted(self.model, self.original, q, v, near, new)

    @property
    def _common(self) -> set[str]:
        """Joints that both models have."""
        changed = {name for cut in self.cuts for name in (cut.joint, cut.new_joint)}
        return (set(self.original.joint_names) & set(self.model.joint_names)) - changed - {self._floating}

    @property
    def _floating(self) -> str:
        """The free joint, where it has moved; "": it has not."""
        return "" if self.bases is None else self.original.bodies[self.original.body_index(self.bases[0])].joint.name

    def tau_to_new(self, q: Any, tau: Any) -> Array:
        """Joint forces of the original as those of `model`; what was cut cannot have any.

        q        (nq,) or (B, nq) of the original
        tau      (nv,) or (B, nv) of the original: N m, N
        returns  (nv,) or (B, nv) of `model`
        errors   `StateError`: a force on a joint that is cut
        """
        q, tau = np.asarray(q, dtype=float), np.asarray(tau, dtype=float)
        if tau.ndim > 1:
            return np.array(
                [self.tau_to_new(*x) for x in zip(np.broadcast_to(q, (len(tau), q.shape[-1])), tau, strict=True)]
            )
        for cut in self.cuts:
            if tau[self.original.layout.v_of(cut.joint)].any():
                raise StateError(f"tau on joint {cut.joint!r}, which is cut: it has no coordinate in the new model")
        out = np.zeros(self.model.nv)
        for name in self._common:
            mine = self.original.layout
            out[self.model.layout.v_of(name)] = self._turned(name, q[mine.q_of(name)], tau[mine.v_of(name)])
        if self.bases is not None:  # what acted on the old base still does
            wrench = tau[self.original.layout.v_of(self._floating)]
            out += frame_jacobian.text(self.model, self.to_new(q)[0], self.bases[0]).astype(float).T @ wrench
        return out

    def _turned(self, name: str, q: Array, v: Array) -> Array:
        """The velocity (or force) of a ball joint that is seen from its other side."""
        if name not in self.reversed_joints or len(q) == len(v):
            return v
        return -(_rotation(q) @ v)

    def _converted(
        self, source: Model, target: Model, q: Any, v: Any, near: Any, new: dict[str, tuple[str, bool]]
    ) -> tuple[Array, Array]:
        """new: joints of the target, each with its closure in the source, and whether frames change places."""
        q = np.asarray(q, dtype=float)
        v = np.zeros((*q.shape[:-1], source.nv)) if v is None else np.asarray(v, dtype=float)
        if q.ndim > 1:
            each = np.broadcast_to(home_or_neutral(target) if near is None else near, (len(q), target.nq))
            pairs = [self._converted(source, target, *x, new) for x in zip(q, v, each, strict=True)]
            return np.array([x for x, _ in pairs]), np.array([x for _, x in pairs])
        if q.shape != (source.nq,) or v.shape != (source.nv,):
            raise StateError(
                f"expected q ({source.nq},) and v ({source.nv},) of {source.name!r}, got {q.shape}, {v.shape}"
            )
        out_q, out_v = np.array(home_or_neutral(target) if near is None else near, dtype=float), np.zeros(target.nv)
        for name in self._common:
            mine = q[source.layout.q_of(name)]
            turned = name in self.reversed_joints and len(mine) == 4
            out_q[target.layout.q_of(name)] = mine * np.array([-1.0, -1.0, -1.0, 1.0]) if turned else mine
            out_v[target.layout.v_of(name)] = self._turned(name, mine, v[source.layout.v_of(name)])
        closures = {c.name: c for c in of_type(source.constraints, LoopClosure)}
        for name, (closed_by, swapped) in new.items():
            closure = closures[closed_by]
            frames = closure.frames[::-1] if swapped else closure.frames
            at, rate = _through(source, q, v, closure, frames, out_q[target.layout.q_of(name)])
            out_q[target.layout.q_of(name)], out_v[target.layout.v_of(name)] = at, rate
        if self.bases is not None:
            base, at = self.bases[target is not self.original], target.layout.q_of(self._floating)
            out_q[at], out_v[target.layout.v_of(self._floating)] = _floating_state(
                source, target, q, v, base, out_q[at]
            )
        return out_q, out_v


def _floating_state(source: Model, target: Model, q: Array, v: Array, base: str, near: Array) -> tuple[Array, Array]:
    """Pose and velocity of a body as those of its free joint in another model."""
    found = forward_kinematics.text(source, q, v, frames=(base,))
    body = Placement(found.rotation[0].astype(float), found.position[0].astype(float))
    pose = target.bodies[target.body_index(base)].placement.inverse @ body
    return np.concatenate([pose.p, _quaternion(pose.R, near[3:])]), found.velocity[0].astype(float)


def _through(
    model: Model, q: Array, v: Array, closure: LoopClosure, frames: tuple[str, ...], near: Array
) -> tuple[Array, Array]:
    """Coordinates and velocities of a closed joint, as those of a joint from the first frame to the other."""
    a, b = (forward_kinematics.text(model, q, v, frames=(name,)) for name in frames)
    R = np.asarray(a.rotation[0].T @ b.rotation[0], dtype=float)
    u = closure.basis[0]
    turning = b.velocity[0][3:] - R.T @ a.velocity[0][3:]  # in frame b
    if closure.joint in ("connect", "spherical"):
        return _quaternion(R, near), np.asarray(turning, dtype=float)
    if closure.joint == "revolute":
        sine = 0.5 * u @ np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
        angle = np.arctan2(sine, 0.5 * (np.trace(R) - 1.0))
        return np.array([angle + 2.0 * np.pi * np.round((near[0] - angle) / (2.0 * np.pi))]), np.array([u @ turning])
    apart = a.rotation[0].T @ (b.position[0] - a.position[0])
    # b's origin seen from a: that of b less that of a's point there.
    moving = R @ b.velocity[0][:3] - (a.velocity[0][:3] + np.cross(a.velocity[0][3:], apart))
    return np.array([u @ apart]), np.array([u @ moving])


def _rotation(q: Array) -> Array:
    x, y, z, w = q
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def _quaternion(R: Array, near: Array) -> Array:
    """Of a rotation, by its largest part; the sign that is nearer to another one."""
    K = np.array([
        [R[0, 0] - R[1, 1] - R[2, 2], R[1, 0] + R[0, 1], R[2, 0] + R[0, 2], R[2, 1] - R[1, 2]],
        [R[1, 0] + R[0, 1], R[1, 1] - R[0, 0] - R[2, 2], R[2, 1] + R[1, 2], R[0, 2] - R[2, 0]],
        [R[2, 0] + R[0, 2], R[2, 1] + R[1, 2], R[2, 2] - R[0, 0] - R[1, 1], R[1, 0] - R[0, 1]],
        [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], np.trace(R)],
    ])  # fmt: skip
    q = K[np.argmax(np.diagonal(K))] + np.eye(4)[np.argmax(np.diagonal(K))]
    q = q / np.linalg.norm(q)
    return q if q @ near >= 0.0 else -q


def recut(model: Model, cuts: Mapping[str, str] | None = None, *, base: str | None = None) -> Recut:
    """The same mechanism with its loops opened elsewhere, and functions that convert q and v both ways.

    cuts  for each loop closure that is to become a joint of the tree: the joint to cut instead, which must be on its
          loop
    base  for a floating mechanism: the body that its free joint is to move; the chain between it and the old base is
          reversed

    Body accelerations, forces of other constraints and energies are those of the original. A joint that is cut must not
    have an actuator or armature; its damping, friction, springs and limits are lost, and reported as lost physics.
    External forces are in body frames, and those of reversed bodies have moved: frames with their old names are where
    they were.

    returns  a `Recut`: `model`, and functions that convert states both ways
    errors   `UnknownNameError`: no such loop or joint; `UnsupportedError`: a joint that is not on the loop, or that has
             an actuator or armature

    >>> loops = sarrus.zoo.four_bar()
    >>> sarrus.recut(loops, {loops.constraints[0].name: loops.joint_names[1]}).cuts[0].joint
    '...'
    """
    if model.embedding is not None:
        raise UnsupportedError("recut: the model has embedded constraints: use `model.spanning`")
    if not model.is_numeric:
        raise UnsupportedError(f"recut: model {model.name!r} contains symbols")
    if not isinstance(cuts, Mapping | None):
        raise StateError(f"recut: cuts is {cuts!r}: expected a dictionary, the joint to cut by loop closure")
    found = Recut(model, model, (), ()) if base is None else _on_another_base(model, base)
    for closure, joint in (cuts or {}).items():
        one = _recut_once(found.model, closure, joint)
        turned = set(found.reversed_joints) ^ set(one.reversed_joints)
        found = Recut(model, one.model, (*found.cuts, *one.cuts), tuple(sorted(turned)), found.bases)
    changed = found.model
    home, _ = found.to_new(home_or_neutral(model))
    keyframes = {name: Keyframe(*found.to_new(x.q, x.v), x.controls, x.time) for name, x in model.keyframes.items()}
    final = replace(changed, home=home, keyframes=Keyframes(keyframes))
    return replace(found, model=final)


def _recut_once(model: Model, name: str, joint: str) -> Recut:
    closures = {c.name: c for c in of_type(model.active_constraints, LoopClosure)}
    check_name("loop closure to become a joint:", name, closures)
    closure, cut = closures[name], model.joint_index(joint)
    if closure.joint not in _AS_TREE_JOINT:
        valid = ", ".join(sorted(_AS_TREE_JOINT))
        raise UnsupportedError(
            f"recut: {name!r} is a {closure.joint} closure, which makes no joint of a tree. Valid: {valid}"
        )
    _check_passive(model, cut)
    a, b = (model.frame(frame) for frame in closure.frames)
    sides = [_path(model, frame.body, cut) for frame in (a, b)]
    if (sides[0] is None) == (sides[1] is None):
        raise UnsupportedError(f"recut: joint {joint!r} is not on the loop that {name!r} closes")
    base, moved, path = (a, b, sides[1]) if sides[1] is not None else (b, a, sides[0])
    assert path is not None
    _check_reversible(model, path[:-1])
    return _rehung(model, closure, cut, base, moved, path)


def _on_another_base(model: Model, base: str) -> Recut:
    """The free joint moves another body."""
    check_name("body to become the floating base:", base, model.body_names)
    path = [model.body_index(base)]
    while model.parents[path[-1]] != WORLD:
        path.append(model.parents[path[-1]])
    floating = model.bodies[path[-1]]
    if floating.joint.type.name != "free":
        kind = floating.joint.type.name
        raise UnsupportedError(f"recut: {base!r} hangs on {floating.name!r}, which does not float: its joint is {kind}")
    if len(path) == 1:
        return Recut(model, model, (), ())
    _check_reversible(model, path[:-1])
    hung = _turned_round(model, path, Placement.identity(), WORLD, floating.joint, floating.placement)
    turned = tuple(sorted(model.bodies[i].joint.name for i in path[:-1]))
    return Recut(model, hung, (), turned, (floating.name, base))


def _check_reversible(model: Model, path: list[int]) -> None:
    for joint in (model.bodies[i].joint for i in path):
        if joint.type.name not in (*_ALONG_AXIS, "spherical"):
            raise UnsupportedError(f"recut: {joint.name!r} would be reversed, and is a {joint.type.name} joint")


def _path(model: Model, body: int, last: int) -> list[int] | None:
    """From a body up to `last`; None if that is no ancestor of it."""
    path = [body]
    while path[-1] not in (last, WORLD):
        path.append(model.parents[path[-1]])
    return path if path[-1] == last else None


def _check_passive(model: Model, body: int) -> None:
    joint = model.bodies[body].joint
    if joint.type.name not in _AS_CLOSURE:
        valid = ", ".join(sorted(_AS_CLOSURE))
        raise UnsupportedError(
            f"recut: {joint.name!r} is a {joint.type.name} joint, which cannot be cut. Valid: {valid}"
        )
    if joint.armature.any():
        raise UnsupportedError(f"recut: {joint.name!r} has armature, which needs its coordinate: cut another joint")
    if model.actuators and joint.name in actuated_joints(model.actuators):
        raise UnsupportedError(f"recut: {joint.name!r} has an actuator, which needs its coordinate: cut another joint")


def _rehung(model: Model, closure: LoopClosure, cut: int, base: Frame, moved: Frame, path: list[int]) -> Recut:
    """`moved` hangs on `base`, and the bodies on the path from there to the cut hang the other way round."""
    kind = _AS_TREE_JOINT[closure.joint]
    axis = None if kind == "spherical" else tuple(closure.basis[0])
    taken = {*model.joint_names, model.bodies[cut].joint.name}
    new_joint = closure.name if closure.name not in taken else f"{closure.name}_closed"
    made = make_joint(new_joint, kind, axis, None, 0.0, {})
    assert made is not None
    joint, placement = model.bodies[cut].joint, model.bodies[cut].placement
    ends = (f"{joint.name}_cut_a", f"{joint.name}_cut_b")
    opened = Frame(ends[0], model.bodies[cut].parent, placement), Frame(ends[1], cut, Placement.identity())
    x, y, z = (0.0, 0.0, 1.0) if joint.type.name == "spherical" else map(float, joint.axes[0])
    kept = tuple(c for c in model.constraints if c.name != closure.name)
    new_closure = joint.name if joint.name not in {c.name for c in model.constraints} else f"{joint.name}_cut"
    cut_closure = LoopClosure(new_closure, *ends, _AS_CLOSURE[joint.type.name], (x, y, z))
    acts = [what for what in ("damping", "friction", "stiffness") if getattr(joint, what).any()]
    acts += ["limits"] if np.isfinite(joint.lower).any() or np.isfinite(joint.upper).any() else []
    lost = tuple(f"joint {joint.name!r} is cut: its {what} does not act" for what in acts)
    before = replace(model, frames=(*model.frames, *opened), constraints=kept, home=None, keyframes=Keyframes())
    new = _turned_round(before, path, moved.placement, base.body, made, base.placement)
    new = replace(
        new, constraints=(*kept, cut_closure), import_report=(*lost, *model.import_report),
        lost_physics=(*model.lost_physics, *lost),
    )  # fmt: skip
    turned = tuple(model.bodies[i].joint.name for i in path[:-1])
    made_cut = Cut(closure.name, joint.name, new_joint, new_closure, from_b=base.name != closure.frame_a)
    return Recut(model, new, (made_cut,), turned)


def _turned_round(
    model: Model, path: list[int], at: Placement, parent: int, joint: Joint, placement: Placement
) -> Model:
    """The bodies on a path hang the other way round: its first one on `parent`, by a joint that is placed there.

    at  where the first body's new frame, that of its new joint, lies in its old one
    """
    shift = {i: Placement.identity() for i in (WORLD, *range(model.nb))}  # where a body's new frame is in its old one
    shift[path[0]] = at
    for child, body in itertools.pairwise(path):
        shift[body] = model.bodies[child].placement
    bodies: dict[int, Body] = {}
    for i, body in enumerate(model.bodies):
        inertia = body.inertia.transformed(shift[i].inverse.transform)
        hung = body.parent, body.joint, shift[body.parent].inverse @ body.placement
        if i == path[0]:
            hung = parent, joint, shift[parent].inverse @ placement
        elif i in path:
            child = path[path.index(i) - 1]
            hung = child, _reversed(model.bodies[child].joint), shift[child].inverse
        bodies[i] = Body(body.name, *hung, inertia)
    order = _parents_first({i: body.parent for i, body in bodies.items()})
    number = {old: new for new, old in enumerate(order)} | {WORLD: WORLD}

    def moved(things: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(replace(x, body=number[x.body], placement=shift[x.body].inverse @ x.placement) for x in things)

    return replace(
        model, bodies=tuple(replace(bodies[i], parent=number[bodies[i].parent]) for i in order),
        frames=moved(model.frames), visuals=moved(model.visuals), geometries=moved(model.geometries),
        home=None, keyframes=Keyframes(),
    )  # fmt: skip


def _reversed(joint: Any) -> Any:
    """The joint seen from its other side: about the opposite axis its coordinate stays what it is."""
    return joint if joint.type.name == "spherical" else replace(joint, axes=tuple(-axis for axis in joint.axes))


def _parents_first(parents: dict[int, int]) -> list[int]:
    order: list[int] = []
    waiting = sorted(parents)
    while waiting:
        i = next(i for i in waiting if parents[i] == WORLD or parents[i] in order)
        order.append(i)
        waiting.remove(i)
    return order
