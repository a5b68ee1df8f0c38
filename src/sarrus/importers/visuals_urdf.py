"""What links look like: `<visual>` and `<collision>` of URDF.

Nothing here refuses a file: what cannot be drawn is a line of the import report, and files of meshes are looked for
only when they are drawn.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sarrus.importers.document import Document, expected, plain_numbers
from sarrus.model.builder import ModelBuilder
from sarrus.model.visuals import Box, Capsule, Color, Cylinder, Mesh, Sphere


class ShapeError(Exception):
    """Why not, in words."""


def add_visuals(document: Document, builder: ModelBuilder, body_of: Mapping[str, str]) -> None:
    """Shapes of every link, with the colours of their materials."""
    colors = {m.get("name"): _rgba(m) for m in document.root.findall("material")}
    colors |= {m.get("name"): _rgba(m) for m in document.root.iterfind("link/visual/material") if _rgba(m) is not None}
    files = MeshPaths(document.path)
    for link in document.root.findall("link"):
        for element in link:
            if element.tag not in ("visual", "collision"):
                continue
            material = element.find("material")
            try:
                position, rotation = read_pose(element)
                builder.add_visual(
                    body_of[link.get("name")],
                    read_shape(element.find("geometry"), files),
                    position=position,
                    rotation=rotation,
                    color=None if material is None else _rgba(material) or colors.get(material.get("name")),
                    collision=element.tag == "collision",
                )
            except ShapeError as why:
                if element.tag == "visual":  # what touches is reported in `geometries_urdf.py`
                    builder.report(f"a <visual> of link {link.get('name')!r}: {why}: not drawn")


class MeshPaths:
    """Where a URDF's meshes are: `package://NAME/...` is looked for in the folders above the file."""

    def __init__(self, file: Path | None) -> None:
        self.folder = Path.cwd() if file is None else file.resolve().parent
        self._packages: dict[str, Path | None] = {}

    def resolve(self, name: str) -> str:
        """A path, if one can be told; else the name as it is written."""
        scheme, separator, rest = name.partition("://")
        if not separator:
            return str(self.folder / name)
        if scheme == "file":
            return rest
        if scheme not in ("package", "model"):
            return name
        package, _, inside = rest.lstrip("/").partition("/")
        if package not in self._packages:
            self._packages[package] = self._find(package)
        root = self._packages[package]
        return name if root is None else str(root / inside)

    def _find(self, package: str) -> Path | None:
        """The folder of that name above the file, or beside a folder above it, or on ROS's search path."""
        above = [self.folder, *self.folder.parents]
        searched = [Path(p) for p in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if p]
        for folder in above:
            if folder.name == package:
                return folder
        return next((folder / package for folder in [*above, *searched] if (folder / package).is_dir()), None)


def read_pose(element: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Position, and roll, pitch and yaw, of a `<visual>` or `<collision>`."""
    origin = element.find("origin")
    return _numbers(origin, "xyz", 3, (0.0, 0.0, 0.0)), _numbers(origin, "rpy", 3, (0.0, 0.0, 0.0))


def read_shape(geometry: Any, files: MeshPaths) -> Box | Sphere | Cylinder | Capsule | Mesh:
    """What is in a `<geometry>`."""
    part = None if geometry is None else next(iter(geometry), None)
    if part is None:
        raise ShapeError("it has no geometry")
    if part.tag == "box":
        return Box(_three(part, "size"))
    if part.tag == "sphere":
        return Sphere(_number(part, "radius"))
    if part.tag in ("cylinder", "capsule"):
        kind = Cylinder if part.tag == "cylinder" else Capsule
        return kind(_number(part, "radius"), _number(part, "length"))
    if part.tag == "mesh":
        if not part.get("filename"):
            raise ShapeError("its <mesh> has no 'filename'")
        return Mesh(files.resolve(part.get("filename")), _three(part, "scale", (1.0, 1.0, 1.0)))
    raise ShapeError(f"its geometry is <{part.tag}>. Valid: box, sphere, cylinder, capsule, mesh")


def _three(element: Any, name: str, default: Any = None) -> tuple[float, float, float]:
    values = _numbers(element, name, 3, default)
    return (values[0], values[1], values[2])


def _number(element: Any, name: str) -> float:
    return _numbers(element, name, 1)[0]


def _numbers(element: Any, name: str, count: int, default: Any = None) -> tuple[float, ...]:
    text = None if element is None else element.get(name)
    if text is None and default is not None:
        return default
    values = plain_numbers(text, count)
    if values is None and default == (1.0, 1.0, 1.0):  # some files write one number for all three scales
        values = 3 * (plain_numbers(text, 1) or ()) or None
    if values is None:
        raise ShapeError(f"{name}={text!r}, expected {expected(count)}")
    return values


def _rgba(material: Any) -> Color | None:
    try:
        r, g, b, a = _numbers(material.find("color"), "rgba", 4)
    except ShapeError:
        return None
    return (r, g, b, a)
