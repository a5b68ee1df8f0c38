"""`ModelBuilder`: the only mutable thing. It collects, checks, merges fixed joints and makes a `Model`."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sarrus.errors import IllPosedError, InertiaError, ModelError, NameClashError, unknown_name
from sarrus.model.actuators import Actuator, actuator
from sarrus.model.bodies import WORLD, WORLD_NAME, Body, Frame, Joint, Placement
from sarrus.model.constraints import Constraint
from sarrus.model.joints import JOINT_TYPES, AbstractJointType, Helical
from sarrus.model.model import Model, as_gravity, check_actuators, check_constraint_names
from sarrus.model.visuals import Color, Shape, Visual
from sarrus.model.well_posed import check_well_posed
from sarrus.spatial.arrays import Array, Scalar, as_field, is_numeric
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.rotations import rotation_from_quaternion, rotation_from_rpy

FIXED = "fixed"
_LARGEST = 1e50  # of a mass, a length, a moment of inertia: products of six of them are numbers yet
_ROUNDING = 1e-9  # relative slack of the physical checks: files print few digits


@dataclass(frozen=True, eq=False)
class _Link:
    name: str
    parent: str
    joint: Joint | None  # None: fixed
    placement: Placement
    inertia: Inertia


class ModelBuilder:
    """Collect bodies, frames, constraints and actuators in any order, then `build()`.

    >>> builder = ModelBuilder("pendulum")
    >>> builder.add_body("bob", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.5), inertia=0.01 * np.eye(3))
    >>> model = builder.build()
    """

    def __init__(self, name: str = "robot", *, gravity: Sequence[float] = (0.0, 0.0, -9.81)) -> None:
        self.name = name
        self.gravity = as_gravity(gravity)
        self._links: dict[str, _Link] = {}
        self._frames: dict[str, tuple[str, Placement]] = {}
        self._constraints: dict[str, Constraint] = {}
        self._joint_names: set[str] = set()
        self._actuators: dict[str, Actuator] = {}
        self._visuals: list[tuple[str, Visual]] = []
        self._report: dict[str, bool] = {}  # line: whether it is about physics that is lost

    def add_body(
        self,
        name: str,
        parent: str = WORLD_NAME,
        *,
        joint: str = "revolute",
        joint_name: str | None = None,
        axis: Sequence[float] | None = None,
        second_axis: Sequence[float] | None = None,
        pitch: Scalar = 0.0,
        position: Any = (0.0, 0.0, 0.0),
        rotation: Any = None,
        mass: Scalar = 0.0,
        com: Any = (0.0, 0.0, 0.0),
        inertia: Any = None,
        allow_nonphysical: bool = False,
        **carried: Any,
    ) -> ModelBuilder:
        """Add a body and the joint that connects it to `parent` (a body's name, or "world").

        position, rotation  pose of the joint frame in the parent body; rotation is a 3x3 matrix, a quaternion xyzw or
                            roll-pitch-yaw. At q = 0 the body frame lies on the joint frame.
        joint               fixed, revolute, continuous, prismatic, helical, cylindrical, universal, planar,
                            translation, spherical or free
        axis, second_axis   in the joint frame; default z (universal: x, then y)
        mass, com, inertia  in the body frame; `inertia` is the 3x3 matrix about the centre of mass
        allow_nonphysical   keep an inertia that no mass distribution has (it goes into the import report)
        carried             armature, damping, friction, stiffness, rest, lower, upper, velocity_limit,
                            effort_limit (numbers or arrays), independent

        Masses, lengths and inertias may be CasADi symbols.
        """
        if name == WORLD_NAME:
            raise NameClashError(f"a body cannot be called {WORLD_NAME!r}: that is the name of the ground")
        if name in self._links or name in self._frames:
            raise NameClashError(f"there is a body or frame {name!r} already")
        joint_name = joint_name or f"{name}_joint"
        if joint_name in self._joint_names:
            raise NameClashError(f"there is a joint {joint_name!r} already")
        made = _make_joint(joint_name, joint, axis, second_axis, pitch, carried)
        placement = Placement(
            _rotation(rotation, joint_name), _field(position, (3,), f"position of joint {joint_name!r}")
        )
        body_inertia = self._inertia(name, mass, com, inertia, allow_nonphysical)
        self._joint_names.add(joint_name)
        self._links[name] = _Link(name, parent, made, placement, body_inertia)
        return self

    def add_frame(self, name: str, body: str, *, position: Any = (0.0, 0.0, 0.0), rotation: Any = None) -> ModelBuilder:
        """Name a pose on a body (or on "world")."""
        if name in self._links or name in self._frames or name == WORLD_NAME:
            raise NameClashError(f"there is a body or frame {name!r} already")
        self._frames[name] = (
            body,
            Placement(_rotation(rotation, name), _field(position, (3,), f"position of {name!r}")),
        )
        return self

    def add_constraint(self, constraint: Constraint) -> ModelBuilder:
        """Declare a constraint; its names are checked by `build`."""
        if constraint.name in self._constraints:
            raise NameClashError(f"there is a constraint {constraint.name!r} already")
        self._constraints[constraint.name] = constraint
        return self

    def add_actuator(
        self,
        name: str,
        joint: str | Mapping[str, float],
        *,
        gear: float = 1.0,
        gain: Any = 1.0,
        bias: Any = (0.0, 0.0, 0.0),
        control_range: Any = None,
        force_range: Any = None,
    ) -> ModelBuilder:
        """Put a motor or servo on a joint of one velocity, or on a sum of some ({name: coefficient}).

        gear           how far the motor moves per joint; its force is multiplied by it
        gain, bias     force = gain u + bias, each one number or three: constant, per length, per speed, both at the
                       motor. A position servo has gain kp and bias (0, -kp, -kv), a velocity servo kv and (0, 0, -kv).
        control_range  (low, high) to which controls are cut; None: any
        force_range    likewise of the force, before the gear
        """
        if name in self._actuators:
            raise NameClashError(f"there is an actuator {name!r} already")
        self._actuators[name] = actuator(
            name, joint, gear=gear, gain=gain, bias=bias, control_range=control_range, force_range=force_range
        )
        return self

    def add_visual(
        self,
        body: str,
        shape: Shape,
        *,
        position: Any = (0.0, 0.0, 0.0),
        rotation: Any = None,
        color: Color | None = None,
        collision: bool = False,
    ) -> ModelBuilder:
        """Draw a shape of `sarrus.model.visuals` on a body, a frame, or "world".

        color      red, green, blue and opacity, from 0 to 1
        collision  whether it is there for contacts rather than for the eye
        """
        owner = f"a visual of {body}"
        placement = Placement(_rotation(rotation, owner), _field(position, (3,), f"position of {owner!r}"))
        self._visuals.append((body, Visual(WORLD, placement, shape, color, collision)))
        return self

    def report(self, line: str, *, lost: bool = False) -> ModelBuilder:
        """Note something that the model does not represent; it is shown as `model.import_report`.

        lost  it makes the robot move otherwise than its file says: in `model.lost_physics`, and first in the report
        """
        self._report[line] = lost or self._report.get(line, False)
        return self

    def has_name(self, name: str) -> bool:
        """Whether a body or frame of that name was added."""
        return name in self._links or name in self._frames or name == WORLD_NAME

    def build(self, *, allow_ill_posed: bool = False) -> Model:
        """Check everything, merge fixed joints, put parents first and make the model.

        allow_ill_posed  put a joint that moves no inertia into the import report instead of refusing the model: robot
                         files have such joints, and everything but their acceleration is well defined
        """
        order = self._sorted_links()
        bodies: list[Body] = []
        frames: list[Frame] = [Frame(WORLD_NAME, WORLD, Placement.identity())]
        home: dict[str, tuple[int, Placement]] = {WORLD_NAME: (WORLD, Placement.identity())}
        for link in order:
            parent, on_parent = home[link.parent]
            placement = on_parent @ link.placement
            if link.joint is None:
                home[link.name] = (parent, placement)
                if parent != WORLD:  # what is fixed to the ground does not move: its inertia has no effect
                    carrier = bodies[parent]
                    merged = carrier.inertia + link.inertia.transformed(placement.transform)
                    bodies[parent] = Body(carrier.name, carrier.parent, carrier.joint, carrier.placement, merged)
            else:
                home[link.name] = (len(bodies), Placement.identity())
                bodies.append(Body(link.name, parent, link.joint, placement, link.inertia))
            frames.append(Frame(link.name, *home[link.name]))
        for name, (body, placement) in self._frames.items():
            if body not in home:
                raise unknown_name("body", body, home)
            carrier_index, on_carrier = home[body]
            frames.append(Frame(name, carrier_index, on_carrier @ placement))
            home[name] = (carrier_index, on_carrier @ placement)
        for body, _ in self._visuals:
            if body not in home:
                raise unknown_name("body", body, home)
        model = Model(
            self.name,
            tuple(bodies),
            tuple(frames),
            tuple(self._constraints.values()),
            self.gravity,
            (
                *(line for line, lost in self._report.items() if lost),
                *(x for x, lost in self._report.items() if not lost),
            ),
            lost_physics=tuple(line for line, lost in self._report.items() if lost),
            visuals=tuple(visual.moved(*home[body]) for body, visual in self._visuals),
            actuators=tuple(self._actuators.values()),
        )
        check_constraint_names(model)
        check_actuators(model)
        try:
            check_well_posed(model)
        except IllPosedError as error:
            if not allow_ill_posed:
                raise
            return replace(model, import_report=(*model.import_report, str(error)), ill_posed=str(error))
        return model

    def _sorted_links(self) -> list[_Link]:
        """Parents first; otherwise in the order of addition."""
        number = {name: k for k, name in enumerate(self._links)}
        children: dict[str, list[str]] = {}
        for link in self._links.values():
            if link.parent != WORLD_NAME and link.parent not in self._links:
                raise unknown_name(f"parent of body {link.name!r}:", link.parent, [WORLD_NAME, *self._links])
            children.setdefault(link.parent, []).append(link.name)
        ready = [number[name] for name in children.get(WORLD_NAME, [])]
        heapq.heapify(ready)
        names, order = list(self._links), []
        while ready:
            link = self._links[names[heapq.heappop(ready)]]
            order.append(link)
            for child in children.get(link.name, []):
                heapq.heappush(ready, number[child])
        if len(order) < len(names):
            placed = {link.name for link in order}
            stuck = [name for name in names if name not in placed]
            raise ModelError(
                f"cyclic parents: {_cycle(self._links, stuck[0])}. Break the cycle by a constraint "
                f"(a loop closure) instead of a joint"
            )
        return order

    def _inertia(self, name: str, mass: Scalar, com: Any, inertia: Any, allow_nonphysical: bool) -> Inertia:
        m = _field(mass, (1,), f"mass of body {name!r}")[0]
        c = _field(com, (3,), f"com of body {name!r}")
        Ic = _field(np.zeros((3, 3)) if inertia is None else inertia, (3, 3), f"inertia of body {name!r}")
        if isinstance(m, (float, np.floating)) and m < 0.0:
            raise InertiaError(f"body {name!r} has mass {m:g}: a mass is not negative")
        if is_numeric(Ic):
            problem = nonphysical(Ic, m)
            if problem and not allow_nonphysical:
                raise InertiaError(f"body {name!r}: {problem}")
            if problem:
                self.report(f"body {name!r}: {problem}; kept as given")
            Ic = 0.5 * (Ic + Ic.T)
        return Inertia.from_com(m, c, Ic)


def nonphysical(Ic: Array, mass: Scalar = 1.0) -> str | None:
    """What is wrong with an inertia matrix about the centre of mass, in words, or None."""
    scale = float(np.abs(Ic).max())
    if not np.allclose(Ic, Ic.T, rtol=0.0, atol=_ROUNDING * scale):
        return "its inertia matrix is not symmetric"
    a, b, c = np.linalg.eigvalsh(0.5 * (Ic + Ic.T))
    if a < -_ROUNDING * scale:
        return f"its inertia matrix is not positive semidefinite (principal moments {a:.3g}, {b:.3g}, {c:.3g})"
    if c > (a + b) + _ROUNDING * scale:
        return (
            f"its principal moments {a:.3g}, {b:.3g}, {c:.3g} violate the triangle inequality "
            f"(the largest exceeds the sum of the others)"
        )
    if isinstance(mass, (float, np.floating)) and mass == 0.0 and scale > 0.0:
        return "it has inertia but no mass"
    return None


def _make_joint(
    name: str, kind: str, axis: Any, second_axis: Any, pitch: Scalar, carried: dict[str, Any]
) -> Joint | None:
    if kind == FIXED:
        return None
    if kind not in JOINT_TYPES:
        raise unknown_name(f"type of joint {name!r}:", kind, [FIXED, *JOINT_TYPES])
    joint_type: AbstractJointType
    if kind == "helical":
        joint_type = Helical(_field(pitch, (1,), f"pitch of joint {name!r}")[0])
    else:
        joint_type = JOINT_TYPES[kind]()
    nq, nv, inf = joint_type.nq, joint_type.nv, np.inf
    defaults = {
        "armature": (nv, 0.0), "damping": (nv, 0.0), "friction": (nv, 0.0), "stiffness": (nv, 0.0),
        "velocity_limit": (nv, inf), "effort_limit": (nv, inf), "lower": (nq, -inf), "upper": (nq, inf),
    }  # fmt: skip
    valid = [*defaults, "rest", "independent"]
    for key in carried:
        if key not in valid:
            raise unknown_name(f"property of joint {name!r}:", key, valid)
    fields = {
        key: _broadcast_field(carried.get(key, default), size, f"{key} of joint {name!r}")
        for key, (size, default) in defaults.items()
    }
    for key in ("armature", "damping", "friction", "stiffness", "velocity_limit", "effort_limit"):
        if is_numeric(fields[key]) and (np.isnan(fields[key]).any() or (fields[key] < 0.0).any()):
            raise ModelError(f"{key} of joint {name!r} is {fields[key].tolist()}: it must not be negative")
        if is_numeric(fields[key]) and not key.endswith("limit") and not np.isfinite(fields[key]).all():
            raise ModelError(f"{key} of joint {name!r} is {fields[key].tolist()}: it must be finite")
        if is_numeric(fields[key]) and not key.endswith("limit") and (fields[key] > _LARGEST).any():
            raise ModelError(
                f"{key} of joint {name!r} is {fields[key].tolist()}: numbers beyond {_LARGEST:g} are not computed with"
            )
    if np.isnan(fields["lower"]).any() or np.isnan(fields["upper"]).any() or (fields["lower"] > fields["upper"]).any():
        raise ModelError(
            f"limits of joint {name!r}: lower {fields['lower'].tolist()} exceeds upper {fields['upper'].tolist()}"
        )
    if (fields["lower"] > _LARGEST).any() or (fields["upper"] < -_LARGEST).any():
        raise ModelError(f"limits of joint {name!r}: between them are only numbers beyond {_LARGEST:g}")
    rest = _broadcast_field(carried.get("rest", joint_type.neutral()), nq, f"rest of joint {name!r}")
    axes = _axes(name, joint_type, axis, second_axis)
    return Joint(name, joint_type, axes, rest=rest, independent=carried.get("independent"), **fields)


def _axes(name: str, joint_type: AbstractJointType, axis: Any, second_axis: Any) -> tuple[Array, ...]:
    if joint_type.n_axes == 0:
        return ()
    first_default = (1.0, 0.0, 0.0) if joint_type.n_axes == 2 else (0.0, 0.0, 1.0)
    first = _unit(name, first_default if axis is None else axis)
    if joint_type.n_axes == 1:
        return (first,)
    second = _unit(name, (0.0, 1.0, 0.0) if second_axis is None else second_axis)
    if abs(first @ second) > _ROUNDING:
        raise ModelError(
            f"joint {name!r}: the axes of a universal joint are perpendicular, but {first.tolist()} and "
            f"{second.tolist()} "
            f"are not. Use two revolute joints with a massless body between them"
        )
    return (first, second)


def _unit(name: str, axis: Any) -> Array:
    try:
        array = np.array(axis, dtype=float).reshape(3)
    except (TypeError, ValueError):
        raise ModelError(
            f"joint {name!r}: an axis is three numbers, got {axis!r} (a symbolic direction goes into `rotation`)"
        ) from None
    longest = float(np.abs(array).max())
    if not np.isfinite(longest) or longest == 0.0:
        raise ModelError(f"joint {name!r}: the axis {array.tolist()} has no direction")
    scaled = array / longest  # squares of tiny and of huge numbers are not exact, or not finite
    return scaled / np.linalg.norm(scaled)


def _rotation(rotation: Any, owner: str) -> Array:
    if rotation is None:
        return np.eye(3)
    size = np.size(rotation) if not hasattr(rotation, "numel") else rotation.numel()
    if size == 9:
        R = _field(rotation, (3, 3), f"rotation of {owner!r}")
    elif size == 4:
        quaternion = _field(rotation, (4,), f"rotation of {owner!r}")
        if is_numeric(quaternion):
            norm = np.linalg.norm(quaternion)
            if abs(norm - 1.0) > 1e-6:
                raise ModelError(f"rotation of {owner!r}: the quaternion (x y z w) has length {norm:.6g}, expected 1")
            quaternion = quaternion / norm
        return rotation_from_quaternion(quaternion)
    elif size == 3:
        return rotation_from_rpy(*_field(rotation, (3,), f"rotation of {owner!r}"))
    else:
        raise ModelError(f"rotation of {owner!r}: expected a 3x3 matrix, a quaternion xyzw or roll-pitch-yaw")
    if is_numeric(R) and not (np.allclose(R @ R.T, np.eye(3), atol=1e-6) and np.linalg.det(R) > 0):
        raise ModelError(f"rotation of {owner!r}: the matrix is not a rotation")
    return R


def _field(value: Any, shape: tuple[int, ...], what: str) -> Array:
    try:
        array = as_field(value, shape)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{what}: expected shape {shape}: {error}") from None
    if is_numeric(array) and not np.isfinite(array).all():
        raise ModelError(f"{what} is {array.tolist()}: every number must be finite")
    if is_numeric(array) and np.abs(array).max(initial=0.0) > _LARGEST:
        raise ModelError(f"{what} is {array.tolist()}: numbers beyond {_LARGEST:g} cannot be computed with")
    return array


def _broadcast_field(value: Any, size: int, what: str) -> Array:
    if isinstance(value, (int, float)):
        value = np.full(size, float(value))
    try:
        return as_field(value, (size,))
    except (TypeError, ValueError) as error:
        raise ModelError(f"{what}: expected {size} numbers: {error}") from None


def _cycle(links: dict[str, _Link], start: str) -> str:
    seen, name = [], start
    while name not in seen:
        seen.append(name)
        name = links[name].parent
    loop = [*seen[seen.index(name) :], name]
    return " <- ".join(repr(x) for x in loop)
