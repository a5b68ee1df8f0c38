"""Models to MJCF: bodies, joints, sites. What acts between them is in `mjcf_equalities.py`.

MuJoCo moves no body without mass. A body without mass that carries one other is therefore no body in the file: its
joint stands in the one that it carries, which may have several.
"""

from __future__ import annotations

from os import PathLike
from typing import Any
from xml.etree import ElementTree

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.exporters.mjcf_equalities import add_actuators, add_equalities
from sarrus.exporters.written import Report, Written, check_numeric, child, mass_center_inertia
from sarrus.model.bodies import WORLD, WORLD_NAME, Body, Joint, Placement
from sarrus.model.geometries import ConvexMesh, Geometry, Plane
from sarrus.model.model import Model
from sarrus.model.visuals import Box, Capsule, Cylinder, Ellipsoid, Sphere
from sarrus.spatial.arrays import Array
from sarrus.spatial.rotations import quaternion_from_rotation, rotation_from_quaternion

_LEAST_MOMENT = 1e-13  # kg m^2: MuJoCo takes less for zero
_LEAST_EFFORT = 1e-12
_ROUNDING = 1e-9  # of an inertia, that need not be mentioned
_NEUTRAL = 1e-12  # radians or metres
_INTEGRATORS = {"semi_implicit_euler": "Euler", "implicit": "implicitfast", "rk4": "RK4"}


def to_mjcf(model: Model, path: str | PathLike[str] | None = None) -> Written:
    """The model as MJCF, written to `path` if one is given.

    Joints keep their names and numbers. A joint of several coordinates that MuJoCo has not becomes several, `name/0`,
    `name/1`, ... The q of a free joint is its pose in the world. Errors: a helical or planar joint, a body without mass
    that moves and carries none or several others.

    >>> print(zoo.chain(1).to_mjcf().report)
    """
    check_numeric(model, "to_mjcf")
    return _Writer(model.spanning).write(path)


class _Writer:
    def __init__(self, model: Model) -> None:
        self.model, self.report = model, Report()
        self.root = ElementTree.Element("mujoco", {"model": model.name})
        child(
            self.root, "compiler", angle="radian", inertiafromgeom="false", autolimits="false", balanceinertia="false"
        )
        hint = _INTEGRATORS.get(model.integrator_hint or "")
        child(self.root, "option", gravity=model.gravity, timestep=model.time_step, integrator=hint)
        self.assets = child(self.root, "asset")
        self.joints: dict[str, list[str]] = {}  # what each is called in the file
        self.elements = {WORLD: child(self.root, "worldbody")}
        self.poses = {WORLD: Placement.identity()}  # of a body in the element that it is part of

    def write(self, path: str | PathLike[str] | None) -> Written:
        folded: dict[int, list[int]] = {}  # bodies without mass whose joints stand in another
        for i, body in enumerate(self.model.bodies):
            before = folded.pop(body.parent, None)
            chain = [*(before or ()), i]
            if float(body.inertia.mass) == 0.0 and body.inertia.is_zero:
                self._check_carries_one(i, body)
                folded[i] = chain
            else:
                self._body(chain)
        self.report.add_order(self._order(), self.model.joint_names)
        for frame in self.model.frames:
            if frame.name not in (WORLD_NAME, *self.model.body_names):
                self._site(frame.name, frame.body, frame.placement)
        for geometry in self.model.geometries:
            self._geom(geometry)
        if self.model.visuals:
            self.report.add("visual shapes: not written")
        add_equalities(self.model, self.root, self.joints, self.report, self._named_frame)
        add_actuators(self.model, self.root, self.joints, self.report)
        if self.model.gravity_compensation.weights:
            self.report.add("gravity compensation: not written", lost=True)
        self._contacts()
        self._keyframes()
        return self.report.written(self.root, path)

    def _order(self) -> list[str]:
        """Our names of joints, in the order of the file, in which MuJoCo numbers them: branch by branch."""
        ours = {name: joint for joint, names in self.joints.items() for name in names}
        found = (ours[element.get("name", "")] for element in self.elements[WORLD].iter("joint"))
        return list(dict.fromkeys(found))

    def _check_carries_one(self, i: int, body: Body) -> None:
        carried = [b.name for b in self.model.bodies if b.parent == i]
        if len(carried) != 1:
            raise UnsupportedError(
                f"to_mjcf: body {body.name!r} has no mass, moves, and carries {len(carried)} bodies; MuJoCo does not "
                f"move bodies without mass. Give it a mass, or use `model.lock({body.joint.name!r})`"
            )

    def _body(self, chain: list[int]) -> None:
        """The last of these bodies, with the joints of all."""
        bodies = [self.model.bodies[i] for i in chain]
        last, parent = bodies[-1], bodies[0].parent
        pose = self.poses[parent]
        for body in bodies:
            pose = pose @ body.placement
        if last.joint.type.name == "free":
            self._check_free(last, pose)
        element = child(self.elements[parent], "body", name=last.name, **_pose(pose))
        m, c, Ic = mass_center_inertia(float(last.inertia.mass), last.inertia.h, last.inertia.Io)
        Ic = self._accepted(last, Ic)
        full = (Ic[0, 0], Ic[1, 1], Ic[2, 2], Ic[0, 1], Ic[0, 2], Ic[1, 2])
        child(element, "inertial", pos=c, mass=m, fullinertia=np.array(full))
        here = Placement.identity()  # of a body of the chain, in the last one where all joints are neutral
        for k in range(len(chain) - 1, -1, -1):
            self.poses[chain[k]], self.elements[chain[k]] = here, element
            here = here @ bodies[k].placement.inverse
        for k, body in enumerate(bodies):
            self._joints(element, body, self.poses[chain[k]])
            if k < len(chain) - 1:
                self.report.add(f"body {body.name!r} has no mass: its joint is one of {last.name!r}")
        self.poses[chain[-1]] = Placement.identity()

    def _accepted(self, body: Body, Ic: Array) -> Array:
        """A rotational inertia that MuJoCo takes: positive, and no principal moment larger than the other two."""
        small, middle, large = np.linalg.eigvalsh(Ic)
        lacking = max(large - middle - small, _LEAST_MOMENT - small, 0.0)  # added to all three, it lets both hold
        if lacking > _ROUNDING * large:
            moments = f"{small:.3g}, {middle:.3g}, {large:.3g}"
            self.report.add(
                f"body {body.name!r}: MuJoCo refuses its principal moments {moments} (positive, and none larger "
                f"than the other two together, are valid): written with {lacking:.3g} kg m^2 more about every axis",
                lost=True,
            )
        return Ic + lacking * (1.0 + 1e-6) * np.eye(3)

    def _check_free(self, body: Body, pose: Placement) -> None:
        if body.parent != WORLD:
            raise UnsupportedError(
                f"to_mjcf: {body.joint.name!r} is a free joint on a moving body; in MuJoCo, free joints belong to "
                "children of the world"
            )
        if np.abs(pose.p).max() > _NEUTRAL or np.abs(pose.R - np.eye(3)).max() > _NEUTRAL:
            self.report.add(
                f"free joint {body.joint.name!r}: its q is a pose in a frame of its own, MuJoCo's is one in the world"
            )

    def _joints(self, element: ElementTree.Element, body: Body, at: Placement) -> None:
        """at: where the body is in the element, all joints neutral."""
        joint, kind = body.joint, body.joint.type.name
        axes = [at.R @ axis for axis in (joint.axes or np.eye(3))]
        parts: list[tuple[str, Array | None, slice]]
        if kind in ("revolute", "continuous", "prismatic"):
            parts = [("slide" if kind == "prismatic" else "hinge", axes[0], slice(0, 1))]
        elif kind in ("spherical", "free"):
            parts = [("ball" if kind == "spherical" else "free", None, slice(None))]
        elif kind == "cylindrical":
            parts = [("hinge", axes[0], slice(0, 1)), ("slide", axes[0], slice(1, 2))]
        elif kind == "universal":
            parts = [("hinge", axis, slice(k, k + 1)) for k, axis in enumerate(axes)]
        elif kind == "translation":
            parts = [("slide", axis, slice(k, k + 1)) for k, axis in enumerate(axes)]
        else:
            raise UnsupportedError(
                f"to_mjcf: joint {joint.name!r} is {kind}, which MuJoCo does not have. Valid: revolute, continuous, "
                f"prismatic, cylindrical, universal, translation, spherical, free"
            )
        names = [joint.name] if len(parts) == 1 else [f"{joint.name}/{k}" for k in range(len(parts))]
        self.joints[joint.name] = names
        if len(names) > 1:
            self.report.add_split(joint.name, kind, len(names))
        for name, (word, axis, part) in zip(names, parts, strict=True):
            where = {} if word == "free" else {"pos": at.p, "axis": axis}
            child(element, "joint", name=name, type=word, **where, **self._carried(name, word, joint, part))

    def _carried(self, name: str, word: str, joint: Joint, part: slice) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, said in (("armature", "armature"), ("damping", "damping"), ("friction", "frictionloss"),
                          ("stiffness", "stiffness")):  # fmt: skip
            values = getattr(joint, key)[part]
            if np.ptp(values) > 0.0:
                self.report.add(f"joint {name!r}: {key} that differs by axis: not written", lost=True)
            elif values.any():
                out[said] = values[0]
        if word in ("ball", "free"):
            if "stiffness" in out and np.abs(joint.rest - joint.type.neutral()).max() > 0.0:
                self.report.add(f"joint {name!r}: where its spring rests: not written", lost=True)
            if np.isfinite(joint.effort_limit).any():
                self.report.add(f"joint {name!r}: effort limits: not written", lost=True)
            return out
        if "stiffness" in out:
            out["springref"] = joint.rest[part]
        lower, upper, effort = joint.lower[part][0], joint.upper[part][0], joint.effort_limit[part][0]
        if np.isfinite(lower) and np.isfinite(upper) and lower < upper:
            out |= {"limited": "true", "range": np.array([lower, upper])}
        elif np.isfinite([lower, upper]).any() and lower < upper:
            self.report.add(f"joint {name!r}: a limit on one side: not written", lost=True)
        if np.isfinite(effort):
            least = -effort if joint.effort_lower is None else joint.effort_lower[part][0]
            if least >= effort:
                self.report.add(f"joint {name!r}: motors that can do nothing, written as {_LEAST_EFFORT:g} N or Nm")
                least, effort = least - _LEAST_EFFORT, effort + _LEAST_EFFORT
            out |= {"actuatorfrclimited": "true", "actuatorfrcrange": np.array([least, effort])}
        if np.isfinite(joint.velocity_limit[part]).any():
            self.report.add("velocity limits of joints: MuJoCo has none")
        return out

    def _site(self, name: str, body: int, placement: Placement) -> None:
        child(self.elements[body], "site", name=name, **_pose(self.poses[body] @ placement))

    def _named_frame(self, name: str) -> str:
        """A site where that frame is."""
        frame = self.model.frame(name)
        if all(site.get("name") != name for site in self.root.iter("site")):
            self._site(name, frame.body, frame.placement)
        return name

    def _geom(self, geometry: Geometry) -> None:
        shape, size = geometry.shape, {}
        if isinstance(shape, Plane):
            size = {"type": "plane", "size": (0.0, 0.0, 1.0)}
        elif isinstance(shape, Sphere):
            size = {"type": "sphere", "size": shape.radius}
        elif isinstance(shape, (Capsule, Cylinder)):
            size = {"type": type(shape).__name__.lower(), "size": (shape.radius, 0.5 * shape.length)}
        elif isinstance(shape, Box):
            size = {"type": "box", "size": 0.5 * np.array(shape.size)}
        elif isinstance(shape, Ellipsoid):
            size = {"type": "ellipsoid", "size": shape.radii}
        elif isinstance(shape, ConvexMesh):
            child(self.assets, "mesh", name=geometry.name, vertex=shape.vertices)
            size = {"type": "mesh", "mesh": geometry.name}
        else:
            self.report.add(f"geometry {geometry.name!r} ({type(shape).__name__}): not written", lost=True)
            return
        friction = geometry.friction
        child(
            self.elements[geometry.body], "geom", name=geometry.name, mass="0", **size,
            **_pose(self.poses[geometry.body] @ geometry.placement), margin=geometry.margin,
            condim=str(geometry.dimensions), contype=str(geometry.category), conaffinity=str(geometry.collides_with),
            priority=str(geometry.priority), friction=(friction.sliding, friction.torsional, friction.rolling),
        )  # fmt: skip

    def _contacts(self) -> None:
        contact, model = child(self.root, "contact"), self.model
        for pair in model.geometry_pairs:
            size = None if pair.dimensions is None else str(pair.dimensions)
            friction = None
            if pair.friction is not None:
                f = pair.friction
                friction = (f.sliding, f.sliding, f.torsional, f.rolling, f.rolling)
            child(contact, "pair", geom1=pair.a, geom2=pair.b, condim=size, friction=friction, margin=pair.margin)
        bodies = {WORLD_NAME, *(e.get("name") for e in self.root.iter("body"))}
        for a, b in model.excluded_pairs:
            if {a, b} <= bodies:
                child(contact, "exclude", body1=a, body2=b)
            else:
                self.report.add(f"{a!r} and {b!r} never meet: not written, one is part of another body", lost=True)

    def _keyframes(self) -> None:
        keys = child(self.root, "keyframe")
        states = {name: (key.q, key.v, key.controls, key.time) for name, key in self.model.keyframes.items()}
        if self.model.home is not None and "home" not in states and len(self.model.home):
            states["home"] = (self.model.home, np.zeros(self.model.nv), np.zeros(self.model.nu), 0.0)
        for name, (q, v, controls, time) in states.items():
            qpos, qvel = np.array(q), np.array(v)
            for body, sq, sv in zip(self.model.bodies, self.model.layout.q, self.model.layout.v, strict=True):
                if body.joint.type.quaternion_at is not None:
                    x, y, z, w = q[sq][-4:]
                    qpos[sq.stop - 4 : sq.stop] = [w, x, y, z]
                if body.joint.type.name == "free":
                    qpos[sq] = _in_world(body.placement, q[sq])
                    qvel[sv.start : sv.start + 3] = body.placement.R @ rotation_from_quaternion(q[sq][3:]) @ v[sv][:3]
            controlled = controls if self.model.nu else None
            layout, order = self.model.layout, self._order()
            qpos = np.concatenate([np.zeros(0), *(qpos[layout.q_of(name)] for name in order)])
            qvel = np.concatenate([np.zeros(0), *(qvel[layout.v_of(name)] for name in order)])
            child(keys, "key", name=name, time=time, qpos=qpos, qvel=qvel, ctrl=controlled)


def _in_world(placement: Placement, q: Array) -> Array:
    """A free joint's position as MuJoCo has it."""
    pose = placement @ Placement(rotation_from_quaternion(q[3:]), q[:3])
    x, y, z, w = quaternion_from_rotation(pose.R)
    return np.array([*pose.p, w, x, y, z])


def _pose(placement: Placement) -> dict[str, Any]:
    x, y, z, w = quaternion_from_rotation(placement.R)
    return {"pos": placement.p, "quat": (w, x, y, z)}
