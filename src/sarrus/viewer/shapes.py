"""Shapes as nodes of viser's scene."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sarrus.importers.document import read_document
from sarrus.model.visuals import Box, Capsule, Color, Cylinder, Ellipsoid, Mesh, Sphere, Triangles, Visual
from sarrus.spatial.rotations import quaternion_from_rotation

PALETTE = (
    (0.30, 0.47, 0.66), (0.95, 0.56, 0.17), (0.46, 0.72, 0.70), (0.88, 0.34, 0.35),
    (0.35, 0.63, 0.31), (0.69, 0.48, 0.63), (0.93, 0.79, 0.28), (0.61, 0.46, 0.37),
)  # fmt: skip
_PLAIN = (0.72, 0.74, 0.78, 1.0)  # of a mesh without colour
_COLLISION = (0.85, 0.35, 0.25, 0.35)
_KEEPS_ITS_COLORS = (".dae", ".glb", ".gltf", ".obj")


class MeshLibrary:
    """Meshes from files, each read once. What cannot be read is remembered, in words, and never raised."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}
        self.missing: dict[str, str] = {}

    def find(self, path: str) -> Any:
        """A `trimesh.Scene`, or None."""
        if path not in self._loaded:
            self._loaded[path] = self._read(path)
        return self._loaded[path]

    def _read(self, path: str) -> Any:
        if not Path(path).is_file():
            self.missing[path] = "there is no such file"
            return None
        import trimesh

        try:
            if Path(path).suffix.lower() == ".dae":
                read_document(Path(path))  # whose limits (size, entities) its reader does not have
            scene = trimesh.load_scene(path)
        except Exception as error:  # whatever a reader of a third-party format raises: the others are still drawn
            self.missing[path] = f"cannot be read: {error}"
            return None
        if not scene.geometry:
            self.missing[path] = "has no triangles"
            return None
        return scene


def wxyz(R: np.ndarray) -> np.ndarray:
    """viser's quaternion of a rotation."""
    x, y, z, w = quaternion_from_rotation(R)
    return np.array([w, x, y, z])


def add_visual(scene: Any, name: str, visual: Visual, meshes: MeshLibrary, *, visible: bool = True) -> Any:
    """Add one shape to viser's scene; None if its mesh is not there."""
    shape, pose = visual.shape, {"position": visual.placement.p, "wxyz": wxyz(visual.placement.R)}
    color = _color(visual)
    look: dict[str, Any] = {"color": color[:3], "opacity": None if color[3] >= 1.0 else color[3], "visible": visible}
    if isinstance(shape, Box):
        return scene.add_box(name, dimensions=shape.size, **look, **pose)
    if isinstance(shape, Sphere):
        return scene.add_icosphere(name, radius=shape.radius, subdivisions=3, **look, **pose)
    if isinstance(shape, Ellipsoid):
        return scene.add_icosphere(name, radius=1.0, subdivisions=3, scale=shape.radii, **look, **pose)
    if isinstance(shape, Cylinder):
        return scene.add_cylinder(name, radius=shape.radius, height=shape.length, **look, **pose)
    if isinstance(shape, Capsule):
        vertices, faces = capsule_surface(shape.radius, shape.length)
        return scene.add_mesh_simple(name, vertices, faces, **look, **pose)
    if isinstance(shape, Triangles):
        return scene.add_mesh_simple(
            name, shape.vertices, shape.faces, flat_shading=True, side="double", **look, **pose
        )
    return _add_mesh(scene, name, visual, shape, meshes, look, pose)


def _add_mesh(
    scene: Any, name: str, visual: Visual, shape: Mesh, meshes: MeshLibrary, look: dict[str, Any], pose: dict[str, Any]
) -> Any:
    found = meshes.find(shape.path)
    if found is None:
        return None
    if Path(shape.path).suffix.lower() in _KEEPS_ITS_COLORS and not visual.collision and min(shape.scale) > 0.0:
        glb = found.export(file_type="glb")
        return scene.add_glb(name, glb, scale=shape.scale, visible=look["visible"], **pose)
    mesh = found.to_mesh()
    vertices = np.asarray(mesh.vertices) * shape.scale
    faces = np.asarray(mesh.faces)
    if np.prod(shape.scale) < 0.0:  # a mirror turns surfaces inside out
        faces = faces[:, ::-1]
    return scene.add_mesh_simple(name, vertices, faces, flat_shading=True, side="double", **look, **pose)


def corners(visual: Visual, meshes: MeshLibrary) -> np.ndarray:
    """Of a box around a shape, (8, 3), in the body's frame."""
    shape = visual.shape
    if isinstance(shape, Mesh):
        found = meshes.find(shape.path)
        low, high = np.zeros((2, 3)) if found is None else np.sort(found.bounds * shape.scale, axis=0)
    elif isinstance(shape, Triangles):
        low, high = shape.vertices.min(axis=0), shape.vertices.max(axis=0)
    else:
        high = 0.5 * np.array(_extent(shape))
        low = -high
    signs = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, 8).T
    return np.where(signs == 0, low, high) @ visual.placement.R.T + visual.placement.p


def _extent(shape: Box | Sphere | Ellipsoid | Cylinder | Capsule) -> tuple[float, float, float]:
    if isinstance(shape, Box):
        return shape.size
    if isinstance(shape, Ellipsoid):
        return (2.0 * shape.radii[0], 2.0 * shape.radii[1], 2.0 * shape.radii[2])
    width = 2.0 * shape.radius
    along = width if isinstance(shape, Sphere) else shape.length + (width if isinstance(shape, Capsule) else 0.0)
    return (width, width, along)


def _color(visual: Visual) -> Color:
    if visual.collision:
        return _COLLISION
    if visual.color is not None:
        return visual.color
    if isinstance(visual.shape, (Mesh, Triangles)):
        return _PLAIN
    return (*PALETTE[visual.body % len(PALETTE)], 1.0)


def capsule_surface(radius: float, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of a capsule along z, about the origin."""
    import trimesh

    mesh = trimesh.creation.capsule(height=length, radius=radius, count=(12, 24))
    return mesh.vertices - mesh.bounds.mean(axis=0), mesh.faces
