"""What touches: `<collision>` of URDF. Links that a joint connects never meet.

Nothing here refuses a file: a shape that cannot be had is a line of the import report.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from sarrus.errors import ModelError, listed
from sarrus.importers.contact_assets import UnreadableError, read_hull
from sarrus.importers.document import Document
from sarrus.importers.names import Names
from sarrus.importers.urdf_plus import TreeEdge
from sarrus.importers.visuals_urdf import MeshPaths, ShapeError, read_pose, read_shape
from sarrus.model.builder import ModelBuilder
from sarrus.model.geometries import ContactShape, ConvexMesh
from sarrus.model.visuals import Mesh

_FREE = 6  # velocities of a joint that connects nothing


def add_geometries(
    document: Document,
    builder: ModelBuilder,
    body_of: Mapping[str, str],
    edges: Mapping[str, TreeEdge],
    heavy: Collection[str],
) -> None:
    """Shapes of every link, and which of the links that are fixed to the world never meet which others.

    body_of  the name of every link in the model
    edges    the joint above every link but the root
    heavy    links with a mass
    """
    solid = _add_shapes(document, builder, body_of)
    root = next(link for link in body_of if link not in edges)
    if not builder.is_fixed(body_of[root]):
        return
    for link, moving in _neighbours_of_the_base(root, edges, solid, {*solid, *heavy}):
        builder.exclude_pair(body_of[link], body_of[moving])


def _add_shapes(document: Document, builder: ModelBuilder, body_of: Mapping[str, str]) -> dict[str, None]:
    """The result: links with shapes, in the file's order."""
    names, files = Names(), _Hulls(document)
    lost: dict[str, list[tuple[str, str]]] = {}  # why: (link, file)
    solid: dict[str, None] = {}
    for link in document.root.findall("link"):
        body = body_of[link.get("name")]
        for k, element in enumerate(link.findall("collision")):
            name = names.claim(element.get("name") or f"{body}_geometry_{k}")
            try:
                position, rotation = read_pose(element)
                shape = files.shape(element)
                builder.add_geometry(body, shape, name=name, position=position, rotation=rotation)
            except (ShapeError, UnreadableError, ModelError) as why:
                path = why.path if isinstance(why, UnreadableError) else ""
                lost.setdefault(str(why), []).append((link.get("name"), path))
                continue
            solid[link.get("name")] = None
    for why, found in lost.items():
        links = listed(list(dict.fromkeys(repr(link) for link, _ in found)))
        paths = listed(list(dict.fromkeys(path for _, path in found if path)))
        builder.report(f"{len(found)} <collision> of link {links} touch nothing: {f'{paths} {why}'.strip()}", lost=True)
    return solid


class _Hulls:
    """Meshes of a file, each read once."""

    def __init__(self, document: Document) -> None:
        self.paths = MeshPaths(document.path)
        self._found: dict[Mesh, ConvexMesh] = {}

    def shape(self, element: Any) -> ContactShape:
        shape = read_shape(element.find("geometry"), self.paths)
        if not isinstance(shape, Mesh):
            return shape
        if shape not in self._found:
            try:
                self._found[shape] = ConvexMesh(read_hull(shape.path, scale=shape.scale), shape.path)
            except UnreadableError as why:
                raise UnreadableError(str(why), shape.path) from None
        return self._found[shape]


def _neighbours_of_the_base(
    root: str, edges: Mapping[str, TreeEdge], solid: Collection[str], counted: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Links that are fixed to the world, each with those that hang on it by one joint.

    The world is nobody's parent where pairs are filtered. A link that is not counted, as it has neither mass nor shape,
    is passed over; what moves freely hangs on nothing.
    """
    group = {root: root}  # of every link: the first of those that are fixed to each other
    for link in _outward(root, edges):
        group[link] = link if edges[link].nv else group[edges[link].parent]
    some = {group[link] for link in counted}
    hang_on_base = {root}
    for link in group:
        if link == root or group[link] != link or edges[link].nv == _FREE:
            continue
        above = group[edges[link].parent]
        if above == root or (above in hang_on_base and above not in some):
            hang_on_base.add(link)
    on_base = [link for link in solid if group[link] == root]
    for link in solid:
        if group[link] != root and group[link] in hang_on_base:
            for fixed in on_base:
                yield fixed, link


def _outward(root: str, edges: Mapping[str, TreeEdge]) -> Iterator[str]:
    """All links but the root, parents first."""
    below: dict[str, list[str]] = {}
    for link, edge in edges.items():
        below.setdefault(edge.parent, []).append(link)
    found = [root]
    for link in found:  # it grows
        found += below.get(link, [])
    yield from found[1:]
