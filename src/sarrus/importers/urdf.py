"""URDF files to models.

Bodies are in the order of a depth-first walk in which the joints below a link are sorted by name, as in Pinocchio.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from sarrus.errors import InertiaError, listed
from sarrus.importers.document import Document, Source, read_document, reading
from sarrus.importers.geometries_urdf import add_geometries
from sarrus.importers.urdf_extension import Extension, read_extension
from sarrus.importers.urdf_plus import TreeEdge, add_couplings, add_frames, add_loops, add_transmissions
from sarrus.importers.urdf_reader import (
    JOINT_KINDS,
    UrdfJoint,
    check_mimics,
    check_names,
    check_tree,
    read_inertials,
    read_joints,
)
from sarrus.importers.urdf_vocabulary import check_expanded, check_numbers, lost_lines, report_lines
from sarrus.importers.visuals_urdf import add_visuals
from sarrus.model.bodies import WORLD_NAME
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import Coupling
from sarrus.model.joints import JOINT_TYPES
from sarrus.model.model import Model

ROOT_JOINT = "root_joint"  # as Pinocchio calls it

_ROUNDING = 1e-9  # of the largest moment: files print few digits
_POINT = 1e-6  # metres: a radius of gyration below which a body is a point, and its moments are rounding


def load_urdf(
    source: Source,
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

    source             a path, or the text itself
    returns            a `Model`
    errors             `ImportFileError`: a missing or broken file; `InertiaError`, `ModelError`: an impossible
                       robot

    >>> stone = "<link name='stone'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>"
    >>> sarrus.load_urdf(f"<robot name='stone'>{stone}</robot>", floating_base=True).nv
    6
    """
    extension = Extension("") if extended is None else read_extension(extended)
    document = read_document(source)
    with reading(document.name):
        document.check_root("robot", "URDF")
        leftovers = list(check_expanded(document))
        check_names(document)
        check_numbers(document)
        below, root = check_tree(document)
        builder = ModelBuilder(document.root.get("name"))
        for line in (*leftovers, *lost_lines(document)):
            builder.report(line, lost=True)
        for line in report_lines(document):
            builder.report(line)
        _Tree(document, builder, extension).add(root, below, bool(floating_base))
        model = builder.build(allow_ill_posed=True)
        if not allow_nonphysical:
            _refuse_nonphysical(model)
        return model


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

    def __init__(self, document: Document, builder: ModelBuilder, extension: Extension) -> None:
        self.document, self.builder, self.extension = document, builder, extension
        self.inertials = read_inertials(document)
        self.joints = read_joints(document)
        self.body_of: dict[str, str] = {}  # link to the name it has in the model
        self.edges: dict[str, TreeEdge] = {}

    def add(self, root: str, below: dict[str, list[str]], floating_base: bool) -> None:
        self.extension.report_unknown(self.builder, self.joints)
        self._add_root(root, below[root], floating_base)
        stack = list(reversed(below[root]))
        while stack:
            joint = self.joints[stack.pop()]
            self._add_link(joint)
            stack.extend(reversed(below[joint.child]))
        self._add_mimics()
        add_frames(self.document, self.builder, self.body_of)
        add_couplings(self.document, self.builder, self.edges, self.body_of)
        add_loops(self.document, self.builder, self.body_of)
        moved = {edge.joint: self.body_of[link] for link, edge in self.edges.items()}
        self.extension.add_loops(self.builder, moved | self.body_of)
        add_transmissions(self.document, self.builder, {edge.joint: edge.nv for edge in self.edges.values()})
        add_visuals(self.document, self.builder, self.body_of)
        heavy = [link for link, inertial in self.inertials.items() if inertial["mass"] > 0.0]
        add_geometries(self.document, self.builder, self.body_of, self.edges, heavy)

    def _add_root(self, root: str, joints: list[str], floating_base: bool) -> None:
        own = len(joints) == 1 and JOINT_KINDS[self.joints[joints[0]].type] == "free"
        if floating_base and not own:
            self.body_of[root] = self._body_name(root)
            self.builder.add_body(self.body_of[root], joint="free", joint_name=ROOT_JOINT, **self._inertial(root))
        elif root == WORLD_NAME:
            self.body_of[root] = WORLD_NAME  # its inertia, if any, does not move
        else:
            self.body_of[root] = root
            self.builder.add_body(root, joint="fixed", joint_name=f"{root} to {WORLD_NAME}", **self._inertial(root))

    def _add_link(self, joint: UrdfJoint) -> None:
        kind, axes = self.extension.joint(joint.name) or (JOINT_KINDS[joint.type], {"axis": joint.axis})
        joint_type = JOINT_TYPES.get(kind)  # None: fixed
        if joint_type is None or joint_type.n_axes == 0:
            axes = {}
        self.body_of[joint.child] = self._body_name(joint.child)
        self.edges[joint.child] = TreeEdge(joint.name, joint.parent, 0 if joint_type is None else joint_type.nv)
        carried = {} if joint_type is None else self._carried(joint, kind)
        if joint.independent is not None and joint_type is not None:
            carried["independent"] = joint.independent
        self.builder.add_body(
            self.body_of[joint.child], self.body_of[joint.parent], joint=kind, joint_name=joint.name,
            position=joint.position, rotation=joint.rotation, **axes, **self._inertial(joint.child), **carried,
        )  # fmt: skip

    def _body_name(self, link: str) -> str:
        if link != WORLD_NAME:
            return link
        name = f"{WORLD_NAME}_link"
        links = {element.get("name") for element in self.document.root.iterchildren("link")}
        while name in links:
            name += "_"
        self.builder.report(f"link {link!r} is called {name!r}: {WORLD_NAME!r} is the ground")
        return name

    def _inertial(self, link: str) -> dict[str, Any]:
        """Arguments of `add_body`.

        The builder keeps any inertia and reports its flaws, which are common in files: what counts is the body that
        links on fixed joints make up together.
        """
        inertial = self.inertials.get(link)
        if inertial is None:
            return {}
        if inertial["inertia"] is None and inertial["mass"] > 0.0:
            self.builder.report(f"link {link!r} has a mass but no <inertia>: it is a point", lost=True)
        return inertial | {"allow_nonphysical": True}

    def _carried(self, joint: UrdfJoint, kind: str) -> dict[str, Any]:
        """Limits, damping and friction."""
        carried: dict[str, Any] = {}
        limit = joint.limit or {}
        for key, value in (
            ("damping", joint.dynamics.get("damping")), ("friction", joint.dynamics.get("friction")),
            ("velocity_limit", limit.get("velocity")), ("effort_limit", limit.get("effort")),
        ):  # fmt: skip
            if value is not None and value >= 0.0:
                carried[key] = value
            elif value is not None:
                self._lose(joint, f"{key} {value:g} must not be negative: ignored")
        if joint.limit is not None and kind in ("revolute", "prismatic"):
            lower, upper = limit.get("lower", 0.0), limit.get("upper", 0.0)  # URDF's default
            if not {"lower", "upper"} & limit.keys():  # which would lock the joint: nobody means that
                self.builder.report(f"joint {joint.name!r}: <limit> has no lower and no upper: taken as unlimited")
            elif lower <= upper and lower < np.inf and upper > -np.inf:
                carried |= {"lower": lower, "upper": upper}
            else:
                self._lose(joint, f"its lower limit {lower:g} exceeds {upper:g}: ignored")
        elif "lower" in limit or "upper" in limit:
            self.builder.report(f"joint {joint.name!r}: position limits of a {joint.type} joint: ignored")
        return carried

    def _lose(self, joint: UrdfJoint, what: str) -> None:
        self.builder.report(f"joint {joint.name!r}: {what}", lost=True)

    def _add_mimics(self) -> None:
        nv = {edge.joint: edge.nv for edge in self.edges.values()}
        ignored, drivers = [], {}
        for joint in self.joints.values():
            if joint.mimic is None:
                continue
            driver, multiplier, offset = joint.mimic
            if driver not in nv:
                self._lose(joint, f"it mimics {driver!r}, which does not exist: ignored")
            elif nv[joint.name] != 1 or nv[driver] != 1:
                ignored.append(f"{joint.name} of {driver}")
            else:
                drivers[joint.name] = driver
                name, ratios = f"{joint.name}_mimic", ((joint.name, 1.0),)
                self.builder.add_constraint(Coupling(name, ratios, driver, (offset, multiplier), source="URDF <mimic>"))
        check_mimics(self.document, drivers)
        if ignored:
            self.builder.report(
                f"{len(ignored)} <mimic> with a joint that has not one dof ({listed(ignored)}): ignored", lost=True
            )
