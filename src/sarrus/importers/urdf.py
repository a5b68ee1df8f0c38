"""URDF files to models.

yourdfpy reads the numbers; it drops URDF+ and everything it does not know, so the tags themselves are looked at here.
Bodies are in the order of a depth-first walk in which the joints below a link are sorted by name, as in Pinocchio.
"""

from __future__ import annotations

from copy import deepcopy
from io import BytesIO
from os import PathLike
from typing import Any

import numpy as np

from sarrus.errors import InertiaError, MissingDependencyError, unknown_name
from sarrus.importers.document import Document, check_root, errors_naming, read_document
from sarrus.importers.urdf_plus import Extension, TreeEdge, add_couplings, add_frames, add_loops, read_extension
from sarrus.importers.urdf_transmissions import add_transmissions
from sarrus.importers.urdf_vocabulary import VOCABULARY, check_numbers, report_lines
from sarrus.importers.visuals_urdf import add_visuals
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import Coupling
from sarrus.model.joints import JOINT_TYPES
from sarrus.model.model import WORLD_NAME, Model

ROOT_JOINT = "root_joint"  # as Pinocchio calls it

_JOINTS = {
    "revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "fixed": "fixed", "floating": "free",
    "planar": "planar", "spherical": "spherical",
}  # fmt: skip
_ROUNDING = 1e-9  # of the largest moment: files print few digits
_POINT = 1e-6  # metres: a radius of gyration below which a body is a point, and its moments are rounding


def load_urdf(
    source: str | PathLike[str],
    floating_base: bool | None = None,
    *,
    extended: str | PathLike[str] | None = None,
    allow_nonphysical: bool = False,
) -> Model:
    """Read a URDF file, or a string of URDF.

    floating_base      True: a free joint "root_joint" moves the root link (unless the file's own `floating` joint
                       is the only one there); else the root link is fixed to the world
    extended           a YAML file of example-parallel-robots that names the frames which close loops
    allow_nonphysical  keep inertias that are not positive semidefinite (they are reported) instead of refusing them

    `mimic`, and URDF+'s `<loop>` and `<coupling>`, become declared constraints; the joints stay ordinary ones.
    A simple `<transmission>` becomes a motor with a gear (`model.actuators`).
    """
    extension = None if extended is None else read_extension(extended)
    return load_urdf_document(read_document(source), floating_base, extension, allow_nonphysical=allow_nonphysical)


def load_urdf_document(
    document: Document,
    floating_base: bool | None = None,
    extension: Extension | None = None,
    *,
    allow_nonphysical: bool = False,
) -> Model:
    check_root(document, "robot", "URDF")
    _check_names(document)
    check_numbers(document)
    links, joints = _read(document)
    below, root = _check_tree(document)
    builder = ModelBuilder(document.root.get("name"))
    for line in report_lines(document):
        builder.report(line)
    with errors_naming(document):
        _Tree(document, builder, links, joints, extension or Extension("")).add(root, below, bool(floating_base))
        model = builder.build(allow_ill_posed=True)
        if not allow_nonphysical:
            _refuse_nonphysical(model)
        return model


# --- the file ----------------------------------------------------------------------------------------


def _check_names(document: Document) -> None:
    root = document.root
    if any(element.prefix == "xacro" or str(element.tag).startswith("xacro:") for element in root.iter()):
        raise document.error("this is a xacro file: turn it into a URDF with `xacro FILE > robot.urdf`", root)
    if not root.get("name"):
        raise document.error("<robot> has no 'name'", root)
    for tag in ("link", "joint", "loop", "coupling"):
        seen: dict[str, Any] = {}
        for element in root.findall(tag):
            name = element.get("name")
            if not name:
                raise document.error(f"<{tag}> has no 'name'", element)
            if name in seen:
                other = seen[name].sourceline
                raise document.error(f"two {tag}s are called {name!r}: the other is in line {other}", element)
            seen[name] = element
    if root.find("link") is None:
        raise document.error("<robot> has no <link>", root)
    names = [element.get("name") for element in root.findall("link")]
    for element in root.findall("joint"):
        name, kind = element.get("name"), element.get("type")
        if kind not in _JOINTS:
            raise document.error(f"type of joint {name!r}: {kind!r}. Valid: {', '.join(_JOINTS)}", element)
        for side in ("parent", "child"):
            part = element.find(side)
            if part is None or part.get("link") is None:
                raise document.error(f'joint {name!r} has no <{side} link="...">', element)
            if part.get("link") not in names:
                raise document.error(f"{side} of joint {name!r}: {unknown_name('link', part.get('link'), names)}", part)


def _read(document: Document) -> tuple[dict[str, Any], dict[str, Any]]:
    """yourdfpy's links and joints by name, from a copy without what it need not read."""
    try:
        from yourdfpy import URDF
    except ImportError:
        raise MissingDependencyError("reading URDF needs yourdfpy: pip install yourdfpy") from None
    from lxml import etree

    plain = deepcopy(document.root)
    for element in [plain, *plain.findall("link"), *plain.findall("joint")]:
        for child in list(element):
            if child.tag not in VOCABULARY[element.tag].children:
                element.remove(child)
    robot = URDF.load(
        BytesIO(etree.tostring(plain)),
        build_scene_graph=False,
        build_collision_scene_graph=False,
        load_meshes=False,
        load_collision_meshes=False,
    ).robot
    return {link.name: link for link in robot.links}, {joint.name: joint for joint in robot.joints}


def _check_tree(document: Document) -> tuple[dict[str, list[str]], str]:
    """Joints below each link, sorted by name, and the root; errors if it is not one tree."""
    links = [element.get("name") for element in document.root.findall("link")]
    below: dict[str, list[str]] = {link: [] for link in links}
    above: dict[str, tuple[str, str]] = {}
    for element in sorted(document.root.findall("joint"), key=lambda e: e.get("name").encode()):
        name, parent, child = element.get("name"), element.find("parent").get("link"), element.find("child").get("link")
        if child in above:
            raise document.error(
                f"link {child!r} is the child of joints {above[child][1]!r} and {name!r}. "
                f"Close a loop by URDF+'s <loop> instead",
                element,
            )
        above[child] = (parent, name)
        below[parent].append(name)
    roots = [link for link in links if link not in above]
    if len(roots) > 1:
        raise document.error(f"links {', '.join(map(repr, roots))} have no parent: a URDF has one root")
    reached = set(roots)
    stack = list(roots)
    parents = {child: parent for child, (parent, _) in above.items()}
    while stack:
        link = stack.pop()
        for child, parent in parents.items():
            if parent == link:
                reached.add(child)
                stack.append(child)
    stuck = [link for link in links if link not in reached]
    if stuck:
        cycle = [stuck[0]]
        while parents[cycle[-1]] not in cycle:
            cycle.append(parents[cycle[-1]])
        cycle = cycle[cycle.index(parents[cycle[-1]]) :]
        raise document.error(f"cyclic parents: {' <- '.join(map(repr, [*cycle, cycle[0]]))}")
    return below, roots[0]


# --- the model ---------------------------------------------------------------------------------------


def _refuse_nonphysical(model: Model) -> None:
    """An inertia with a negative principal moment has motions of negative energy. Lesser flaws are only reported."""
    for body in model.bodies:
        mass, h = body.inertia.mass, body.inertia.h
        shift = np.outer(h, h) / mass if mass > 0.0 else np.zeros((3, 3))
        Sigma = body.inertia.Sigma - shift
        principal = np.linalg.eigvalsh(np.trace(Sigma) * np.eye(3) - Sigma)
        if principal[0] < -max(_ROUNDING * np.abs(principal).max(), mass * _POINT**2):
            raise InertiaError(
                f"body {body.name!r} (with what is fixed to it): its inertia matrix is not positive semidefinite "
                f"(principal moments {', '.join(f'{x:.3g}' for x in principal)}). "
                f"`allow_nonphysical=True` loads it as it is"
            )


class _Tree:
    """Walks the links of one file into one builder."""

    def __init__(
        self,
        document: Document,
        builder: ModelBuilder,
        links: dict[str, Any],
        joints: dict[str, Any],
        extension: Extension,
    ) -> None:
        self.document, self.builder, self.links, self.joints = document, builder, links, joints
        self.extension = extension
        self.elements = {element.get("name"): element for element in document.root.findall("joint")}
        self.body_of: dict[str, str] = {}  # link to the name it has in the model
        self.edges: dict[str, TreeEdge] = {}

    def add(self, root: str, below: dict[str, list[str]], floating_base: bool) -> None:
        self._add_root(root, below[root], floating_base)
        stack = list(reversed(below[root]))
        while stack:
            joint = self.joints[stack.pop()]
            self._add_link(joint)
            stack.extend(reversed(below[joint.child]))
        self._add_mimics([joint for joint in self.joints.values() if joint.mimic is not None])
        add_frames(self.document, self.builder, self.body_of)
        add_couplings(self.document, self.builder, self.edges, self.body_of)
        add_loops(self.document, self.builder, self.body_of)
        moved = {edge.joint: self.body_of[link] for link, edge in self.edges.items()}
        self.extension.add_loops(self.builder, moved | self.body_of)
        add_transmissions(self.document, self.builder, {edge.joint: edge.nv for edge in self.edges.values()})
        add_visuals(self.document, self.builder, self.body_of)

    def _add_root(self, root: str, joints: list[str], floating_base: bool) -> None:
        own = len(joints) == 1 and _JOINTS[self.joints[joints[0]].type] == "free"
        if floating_base and not own:
            self.body_of[root] = self._body_name(root)
            self.builder.add_body(self.body_of[root], joint="free", joint_name=ROOT_JOINT, **self._inertial(root))
        elif root == WORLD_NAME:
            self.body_of[root] = WORLD_NAME  # its inertia, if any, does not move
        else:
            self.body_of[root] = root
            self.builder.add_body(root, joint="fixed", joint_name=f"{root} to {WORLD_NAME}", **self._inertial(root))

    def _add_link(self, joint: Any) -> None:
        element = self.elements[joint.name]
        kind, axes = self.extension.joint(joint.name) or (_JOINTS[joint.type], {"axis": joint.axis})
        joint_type = JOINT_TYPES.get(kind)  # None: fixed
        if joint_type is None or joint_type.n_axes == 0:
            axes = {}
        origin = np.eye(4) if joint.origin is None else joint.origin
        self.body_of[joint.child] = self._body_name(joint.child)
        self.edges[joint.child] = TreeEdge(joint.name, joint.parent, 0 if joint_type is None else joint_type.nv)
        flag = element.get("independent")
        independent: dict[str, Any] = {}
        if flag is not None and joint_type is not None:
            independent["independent"] = flag.lower() in ("true", "1")
        self.builder.add_body(
            self.body_of[joint.child],
            self.body_of[joint.parent],
            joint=kind,
            joint_name=joint.name,
            position=origin[:3, 3],
            rotation=origin[:3, :3],
            **axes,
            **self._inertial(joint.child),
            **({} if joint_type is None else self._carried(joint, kind)),
            **independent,
        )

    def _body_name(self, link: str) -> str:
        if link != WORLD_NAME:
            return link
        name = f"{WORLD_NAME}_link"
        while name in self.links:
            name += "_"
        self.builder.report(f"link {link!r} is called {name!r}: {WORLD_NAME!r} is the ground")
        return name

    def _inertial(self, link: str) -> dict[str, Any]:
        inertial = self.links[link].inertial
        if inertial is None:
            return {}
        origin = np.eye(4) if inertial.origin is None else inertial.origin
        R = origin[:3, :3]
        moments = np.zeros((3, 3)) if inertial.inertia is None else inertial.inertia
        # The builder keeps any inertia and reports its flaws, which are common in files: what counts is the body that
        # links on fixed joints make up together.
        return {
            "mass": inertial.mass or 0.0, "com": origin[:3, 3], "inertia": R @ moments @ R.T, "allow_nonphysical": True,
        }  # fmt: skip

    def _carried(self, joint: Any, kind: str) -> dict[str, Any]:
        """Limits, damping and friction."""
        carried: dict[str, Any] = {}
        if joint.dynamics is not None:
            for key, value in (("damping", joint.dynamics.damping), ("friction", joint.dynamics.friction)):
                self._carry(carried, joint.name, key, value)
        if joint.limit is not None:
            self._carry(carried, joint.name, "velocity_limit", joint.limit.velocity)
            self._carry(carried, joint.name, "effort_limit", joint.limit.effort)
            if kind in ("revolute", "prismatic"):
                lower, upper = joint.limit.lower or 0.0, joint.limit.upper or 0.0  # URDF's default
                if lower <= upper:
                    carried |= {"lower": lower, "upper": upper}
                else:
                    self.builder.report(f"joint {joint.name!r}: its lower limit {lower:g} exceeds {upper:g}: ignored")
            elif joint.limit.lower is not None or joint.limit.upper is not None:
                self.builder.report(f"joint {joint.name!r}: position limits of a {joint.type} joint: ignored")
        return carried

    def _carry(self, carried: dict[str, Any], joint: str, key: str, value: Any) -> None:
        if value is None:
            return
        number = float(value)
        if number >= 0.0:
            carried[key] = number
        else:
            self.builder.report(f"joint {joint!r}: {key} {number:g} must not be negative: ignored")

    def _add_mimics(self, joints: list[Any]) -> None:
        nv = {edge.joint: edge.nv for edge in self.edges.values()}
        ignored = []
        for joint in joints:
            driver, offset, multiplier = joint.mimic.joint, joint.mimic.offset, joint.mimic.multiplier
            if driver not in nv:
                self.builder.report(f"joint {joint.name!r}: it mimics {driver!r}, which does not exist: ignored")
            elif nv[joint.name] != 1 or nv[driver] != 1:
                ignored.append(f"{joint.name} of {driver}")
            else:
                name, ratios = f"{joint.name}_mimic", ((joint.name, 1.0),)
                self.builder.add_constraint(Coupling(name, ratios, driver, (offset, multiplier), source="URDF <mimic>"))
        if ignored:
            names = ", ".join(ignored)
            self.builder.report(f"{len(ignored)} <mimic> with a joint that has not one dof ({names}): ignored")
