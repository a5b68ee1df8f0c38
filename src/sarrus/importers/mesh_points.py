"""Vertices of meshes that MuJoCo does not read: COLLADA files, STL files of text or of very many triangles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.importers.document import read_bytes, read_document
from sarrus.spatial.arrays import Array
from sarrus.spatial.rotations import rotation_about

_MOST_TRIANGLES = 200_000  # that MuJoCo takes of an STL file
_HEAD, _TRIANGLE = 84, 50  # bytes of a binary STL file: at its beginning, and per triangle
_VERTEX = re.compile(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)")
_FACES = ("triangles", "polylist", "polygons", "tristrips", "trifans")
_MOST_NODES = 100_000  # of a scene, with those that it has several times


def points_of(path: Path) -> Array | None:
    """(n, 3) vertices of a mesh; None: MuJoCo reads it itself. Numbers that are none are a ValueError."""
    suffix = path.suffix.lower()
    if suffix == ".dae":
        return np.unique(np.concatenate(list(_collada(read_document(path).root))), axis=0)
    return _stl(read_bytes(path)) if suffix == ".stl" else None


def _stl(content: bytes) -> Array | None:
    count = int.from_bytes(content[_HEAD - 4 : _HEAD], "little")
    if len(content) == _HEAD + _TRIANGLE * count:
        if count <= _MOST_TRIANGLES:
            return None
        rows = np.frombuffer(content, np.uint8, offset=_HEAD).reshape(count, _TRIANGLE)
        corners = rows[:, 12:48].copy().view("<f4")  # after the normal
        return np.unique(corners.reshape(-1, 3).astype(float), axis=0)
    if not content.lstrip().startswith(b"solid"):
        return None
    found = [[float(x) for x in words] for words in _VERTEX.findall(content)]
    return np.unique(np.array(found), axis=0) if found else None


# --- COLLADA -------------------------------------------------------------------------------------------


def _collada(root: Any) -> Iterator[Array]:
    """Vertices of every geometry, wherever the scene has it, in metres. As in other readers of URDF, the axis that is
    said to point upwards does not matter."""
    by_id = {element.get("id"): element for element in root.iter("{*}geometry", "{*}node", "{*}source", "{*}vertices")}
    unit = root.find("{*}asset/{*}unit")
    meter = float(unit.get("meter", 1.0)) if unit is not None else 1.0
    nodes = root.findall("{*}library_visual_scenes/{*}visual_scene/{*}node")
    stack = [(node, meter * np.eye(3), np.zeros(3)) for node in nodes]
    for _ in range(_MOST_NODES):
        if not stack:
            return
        node, A, b = stack.pop()
        for element in node:
            tag = str(element.tag).rpartition("}")[2]
            if tag == "node":
                stack.append((element, A, b))
            elif tag == "instance_node":
                stack.append((by_id[element.get("url", "").lstrip("#")], A, b))
            elif tag == "instance_geometry":
                for positions in _positions(by_id[element.get("url", "").lstrip("#")], by_id):
                    yield positions @ A.T + b
            else:
                inner, offset = _transform(tag, element)
                A, b = A @ inner, b + A @ offset
    raise ValueError(f"its scene has more than {_MOST_NODES:,} nodes")


def _positions(geometry: Any, by_id: dict[str, Any]) -> Iterator[Array]:
    """Those of vertices that belong to a face: exporters leave others behind."""
    for faces in geometry.iterfind("{*}mesh/*"):
        if str(faces.tag).rpartition("}")[2] not in _FACES:
            continue
        inputs = faces.findall("{*}input")
        stride = 1 + max(int(part.get("offset", 0)) for part in inputs)
        vertex = _with_semantic(inputs, "VERTEX")
        first = int(vertex.get("offset", 0))
        indices = [np.array((p.text or "").split(), int)[first::stride] for p in faces.iter("{*}p")]
        position = _with_semantic(_source(vertex, by_id).findall("{*}input"), "POSITION")
        numbers = _source(position, by_id).findtext("{*}float_array") or ""
        used = np.unique(np.concatenate([*indices, np.zeros(0, int)]))
        yield np.array(numbers.split(), float).reshape(-1, 3)[used]


def _with_semantic(inputs: list[Any], semantic: str) -> Any:
    return {part.get("semantic"): part for part in inputs}[semantic]


def _source(element: Any, by_id: dict[str, Any]) -> Any:
    return by_id[element.get("source", "").lstrip("#")]


def _transform(tag: str, element: Any) -> tuple[Array, Array]:
    """What a child of a node does to what comes after it: x to A x + b."""
    if tag not in ("matrix", "translate", "rotate", "scale"):
        return np.eye(3), np.zeros(3)
    numbers = np.array((element.text or "").split(), float)
    if tag == "matrix":
        numbers = numbers.reshape(4, 4)
        return numbers[:3, :3], numbers[:3, 3]
    if tag == "translate":
        return np.eye(3), numbers
    if tag == "scale":
        return np.diag(numbers), np.zeros(3)
    axis = numbers[:3] / np.linalg.norm(numbers[:3])
    return rotation_about(axis, np.radians(numbers[3])), np.zeros(3)
