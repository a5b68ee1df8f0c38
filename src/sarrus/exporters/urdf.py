"""Models to URDF, with URDF+'s `<loop>` and Drake's `<frame>`."""

from __future__ import annotations

from os import PathLike
from typing import Any
from xml.etree import ElementTree

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.exporters.written import Report, Written, check_numeric, child, mass_center_inertia, numbers, rpy_of
from sarrus.model.bodies import WORLD, WORLD_NAME, Body, Placement
from sarrus.model.constraints import Constraint, Coupling, LoopClosure
from sarrus.model.geometries import ConvexMesh
from sarrus.model.model import Model
from sarrus.model.visuals import Box, Cylinder, Mesh, Sphere

_TYPES = {
    "revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "planar": "planar",
    "spherical": "spherical", "free": "floating",
}  # fmt: skip
_LOOPS = {"weld": "fixed", "connect": "spherical", "spherical": "spherical", "prismatic": "prismatic",
          "cylindrical": "cylindrical", "planar": "planar"}  # fmt: skip
_NO_LIMIT = 1e9  # of efforts and velocities: the format wants a number
_GRAVITY = (0.0, 0.0, -9.81)


def to_urdf(model: Model, path: str | PathLike[str] | None = None) -> Written:
    """The model as URDF, written to `path` if one is given.

    Loops and frames are URDF+ and Drake's; other readers skip these tags, and so read a robot with loops as a tree,
    which `lost_physics` says. A universal joint becomes two joints, a
    cylindrical one two, a translation three, on links without mass, with the same numbers in q. Errors: a helical
    joint, which URDF has not.

    >>> print(zoo.chain(1).to_urdf().report)
    """
    check_numeric(model, "to_urdf")
    return _Writer(model.spanning).write(path)


class _Writer:
    def __init__(self, model: Model) -> None:
        self.model, self.report = model, Report()
        self.root = ElementTree.Element("robot", {"name": model.name})
        self.links: dict[int, ElementTree.Element] = {WORLD: child(self.root, "link", name=WORLD_NAME)}

    def write(self, path: str | PathLike[str] | None) -> Written:
        for i, body in enumerate(self.model.bodies):
            self.links[i] = self._link(body)
        for body in self.model.bodies:
            self._joint(body)
        for frame in self.model.frames:
            if frame.name not in (WORLD_NAME, *self.model.body_names):
                child(self.root, "frame", name=frame.name, link=self._name(frame.body), **_pose(frame.placement))
        for constraint in self.model.constraints:
            self._constraint(constraint)
        if loops := len(self.root.findall("loop")):
            said = "1 loop, written as a <loop>" if loops == 1 else f"{loops} loops, each written as a <loop>"
            self.report.add(f"{said} of URDF+: readers that do not know these, Pinocchio's among them, skip them and "
                            "see a tree", lost=True)  # fmt: skip
        for visual in self.model.visuals:
            shown = visual.shape if isinstance(visual.shape, (Box, Sphere, Cylinder, Mesh)) else None
            if shown is None:
                self.report.add(f"visual shapes ({type(visual.shape).__name__}): not written")
            elif not visual.collision:
                _shape(child(self.links[visual.body], "visual"), visual.placement, shown)
        self._geometries()
        self._actuators()
        self._the_rest()
        self._order()
        return self.report.written(self.root, path)

    def _order(self) -> None:
        """Readers of URDF number joints depth first, siblings by the names of their joints."""
        carried: dict[int, list[int]] = {}
        for i, body in enumerate(self.model.bodies):
            carried.setdefault(body.parent, []).append(i)
        read, left = [], [WORLD]
        while left:
            i = left.pop()
            read += [self.model.bodies[i].joint.name] if i != WORLD else []
            left += sorted(carried.get(i, []), key=lambda k: self.model.bodies[k].joint.name.encode(), reverse=True)
        self.report.add_order(read, self.model.joint_names)

    def _name(self, body: int) -> str:
        return WORLD_NAME if body == WORLD else self.model.bodies[body].name

    def _link(self, body: Body) -> ElementTree.Element:
        link = child(self.root, "link", name=body.name)
        inertia = body.inertia
        if not inertia.is_zero:
            m, c, Ic = mass_center_inertia(float(inertia.mass), inertia.h, inertia.Io)
            inertial = child(link, "inertial")
            child(inertial, "origin", xyz=c)
            child(inertial, "mass", value=m)
            keys = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
            child(inertial, "inertia", **{key: Ic[at] for key, at in keys.items()})
        return link

    def _joint(self, body: Body) -> None:
        joint, kind, parent = body.joint, body.joint.type.name, self._name(body.parent)
        if kind in _TYPES:
            self._one(joint.name, _TYPES[kind], parent, body.name, body.placement, joint.axes, body, slice(None))
            return
        axes = {"cylindrical": [("continuous", joint.axes[0]), ("prismatic", joint.axes[0])] if joint.axes else [],
                "universal": [("continuous", axis) for axis in joint.axes],
                "translation": [("prismatic", axis) for axis in np.eye(3)]}.get(kind)  # fmt: skip
        if not axes:
            raise UnsupportedError(
                f"to_urdf: joint {joint.name!r} is {kind}, which URDF does not have. Valid: {', '.join(_TYPES)}, "
                f"cylindrical, universal, translation"
            )
        placement = body.placement
        for k, (one, axis) in enumerate(axes):
            last = k == len(axes) - 1
            below = body.name if last else f"{body.name}/{k}"
            if not last:
                child(self.root, "link", name=below)
            self._one(f"{joint.name}/{k}", one, parent, below, placement, (axis,), body, slice(k, k + 1))
            parent, placement = below, Placement.identity()
        self.report.add_split(joint.name, kind, len(axes))

    def _one(
        self, name: str, kind: str, parent: str, below: str, placement: Placement, axes: Any, body: Body, part: slice
    ) -> None:
        """A joint; part: which of the body's coordinates it has."""
        joint = body.joint
        lower, upper, effort, speed = (
            getattr(joint, key)[part] for key in ("lower", "upper", "effort_limit", "velocity_limit")
        )
        ranged = len(lower) == 1 and bool(np.isfinite([lower[0], upper[0]]).all())
        if kind in ("revolute", "continuous"):
            kind = "revolute" if ranged else "continuous"
        element = child(self.root, "joint", name=name, type=kind)
        child(element, "origin", **_pose(placement))
        child(element, "parent", link=parent)
        child(element, "child", link=below)
        if axes:
            child(element, "axis", xyz=axes[0])
        limits = {"effort": float(min(np.min(effort), _NO_LIMIT)), "velocity": float(min(np.min(speed), _NO_LIMIT))}
        if ranged:
            child(element, "limit", lower=lower, upper=upper, **limits)
        elif kind == "prismatic":  # the format's default would be a range of zero
            child(element, "limit", lower=-_NO_LIMIT, upper=_NO_LIMIT, **limits)
        elif np.isfinite([*effort, *speed]).any() and len(effort) == 1:
            child(element, "limit", **limits)
        if not ranged and np.isfinite([*lower, *upper]).any():
            self.report.add(f"joint {name!r}: limits of a {kind} joint: not written", lost=True)
        self._carried(name, element, joint, part)

    def _carried(self, name: str, element: ElementTree.Element, joint: Any, part: slice) -> None:
        damping, friction = joint.damping[part], joint.friction[part]
        if np.ptp(damping) == np.ptp(friction) == 0.0:
            if damping.any() or friction.any():
                child(element, "dynamics", damping=damping[0], friction=friction[0])
        else:
            self.report.add(f"joint {name!r}: damping or friction that differs by axis: not written", lost=True)
        for key in ("armature", "stiffness"):
            if getattr(joint, key)[part].any():
                self.report.add(f"joint {name!r}: {key}: URDF has none", lost=True)
        if joint.effort_lower is not None:
            self.report.add(f"joint {name!r}: the least effort {joint.effort_lower.tolist()}: not written", lost=True)

    def _constraint(self, constraint: Constraint) -> None:
        what, which = constraint.in_words()
        if isinstance(constraint, LoopClosure) and constraint.joint in _LOOPS and constraint.active:
            loop = child(self.root, "loop", name=constraint.name, type=_LOOPS[constraint.joint])
            for side, name in zip(("predecessor", "successor"), constraint.frames, strict=True):
                frame = self.model.frame(name)
                part = child(loop, side, link=self._name(frame.body))
                child(part, "origin", **_pose(frame.placement))
            if constraint.axis is not None:
                child(loop, "axis", xyz=constraint.axis)
            return
        if isinstance(constraint, Coupling) and self._mimic(constraint):
            return
        self.report.add(f"constraint {constraint.name!r} ({what} {which}): URDF has none", lost=constraint.active)

    def _mimic(self, coupling: Coupling) -> bool:
        """q_a = offset + ratio q_b, if that is all that it says."""
        if not coupling.active or not coupling.is_linear:
            return False
        terms, constant = dict(coupling.ratios), coupling.polynomial[0]
        if coupling.driver is not None:
            slope = coupling.polynomial[1] if len(coupling.polynomial) > 1 else 0.0
            terms[coupling.driver] = terms.get(coupling.driver, 0.0) - slope
        constant += sum(c * dict(coupling.references).get(j, 0.0) for j, c in terms.items())
        found = self.root.findall("joint")
        for name, other in (tuple(terms), tuple(terms)[::-1]) if len(terms) == 2 else ():
            element = next((e for e in found if e.get("name") == name and e.find("mimic") is None), None)
            if element is not None and terms[name] != 0.0 and other in {e.get("name") for e in found}:
                ratio, offset = -terms[other] / terms[name], constant / terms[name]
                child(element, "mimic", joint=other, multiplier=ratio, offset=offset)
                return True
        return False

    def _geometries(self) -> None:
        for geometry in self.model.geometries:
            shape = geometry.shape
            if isinstance(shape, ConvexMesh) and shape.path:
                shape = Mesh(shape.path)
            if isinstance(shape, (Box, Sphere, Cylinder, Mesh)):
                _shape(child(self.links[geometry.body], "collision", name=geometry.name), geometry.placement, shape)
            else:
                what = type(shape).__name__
                self.report.add(f"geometry {geometry.name!r} ({what}): URDF has none", lost=True)
        if any(g.friction.sliding != 1.0 or g.dimensions != 3 for g in self.model.geometries):
            self.report.add("friction of geometries: URDF has none", lost=True)
        if self.model.geometry_pairs or self.model.excluded_pairs:
            self.report.add("which geometries meet and which do not: not written", lost=True)

    def _actuators(self) -> None:
        if self.model.gravity_compensation.weights:
            self.report.add("gravity compensation: URDF has none", lost=True)
        for actuator in self.model.actuators:
            if actuator.kind != "motor" or len(actuator.joints) != 1 or actuator.gain[0] != 1.0:
                self.report.add(f"actuator {actuator.name!r} ({actuator.kind}): URDF has motors only", lost=True)
                continue
            if np.isfinite([*actuator.control_range, *actuator.force_range]).any():
                self.report.add(f"actuator {actuator.name!r}: its ranges: not written", lost=True)
            joint, coefficient = actuator.joints[0]
            element = child(self.root, "transmission", name=actuator.name, type="SimpleTransmission")
            child(element, "joint", name=joint)
            motor = child(element, "actuator", name=actuator.name)
            child(motor, "mechanicalReduction").text = numbers(actuator.gear * coefficient)

    def _the_rest(self) -> None:
        model = self.model
        if not np.array_equal(model.gravity, _GRAVITY):
            self.report.add(f"gravity {model.gravity.tolist()}: readers of URDF take {list(_GRAVITY)}", lost=True)
        if model.home is not None and len(model.home):
            self.report.add("the pose in which the robot is shown: not written")
        if model.keyframes:
            self.report.add(f"{len(model.keyframes)} keyframes: not written")


def _pose(placement: Placement) -> dict[str, Any]:
    return {"xyz": placement.p, "rpy": rpy_of(placement.R)}


def _shape(element: ElementTree.Element, placement: Placement, shape: Any) -> None:
    child(element, "origin", **_pose(placement))
    geometry = child(element, "geometry")
    if isinstance(shape, Box):
        child(geometry, "box", size=shape.size)
    elif isinstance(shape, Sphere):
        child(geometry, "sphere", radius=shape.radius)
    elif isinstance(shape, Cylinder):
        child(geometry, "cylinder", radius=shape.radius, length=shape.length)
    else:
        child(geometry, "mesh", filename=shape.path, scale=getattr(shape, "scale", (1.0, 1.0, 1.0)))
