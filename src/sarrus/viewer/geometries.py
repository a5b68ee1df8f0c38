"""What touches, as shapes that can be drawn. Planes have no end: they are grids (`scene.py`)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sarrus.errors import optional_package
from sarrus.model.geometries import ConvexMesh, Geometry, HeightField, Plane
from sarrus.model.model import Model
from sarrus.model.visuals import Shape, Triangles, Visual
from sarrus.spatial.rotations import rotation_from_quaternion

_SOIL = (0.62, 0.60, 0.55, 1.0)


def touching_shapes(model: Model) -> list[Visual]:
    """The model's geometries, without planes and height fields."""
    return list(_drawn(geometry for geometry in model.geometries if not isinstance(geometry.shape, HeightField)))


def hills(model: Model) -> list[Visual]:
    """The model's height fields."""
    return [
        Visual(g.body, g.placement, height_surface(g.shape), _SOIL)
        for g in model.geometries
        if isinstance(g.shape, HeightField)
    ]


def planes(model: Model) -> list[Geometry]:
    return [geometry for geometry in model.geometries if isinstance(geometry.shape, Plane)]


def height_surface(field: HeightField) -> Triangles:
    """Two triangles to a cell."""
    rows, columns = field.heights.shape
    x, y = np.meshgrid(np.linspace(-1.0, 1.0, columns), np.linspace(-1.0, 1.0, rows))
    vertices = np.stack([field.size[0] * x, field.size[1] * y, field.heights], axis=-1).reshape(-1, 3)
    number = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = (x.ravel() for x in (number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]))
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return Triangles(vertices.astype(np.float32), faces)


def hull_surface(mesh: ConvexMesh) -> Triangles:
    """The triangles of a convex hull, found by MuJoCo."""
    mujoco = optional_package("mujoco", "drawing convex meshes needs mujoco", "mujoco")
    spec = mujoco.MjSpec()
    spec.add_mesh(name="mesh", uservert=np.ravel(mesh.vertices))  # without faces: it takes those of the hull
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="mesh")
    found = spec.compile()
    w, x, y, z = found.mesh_quat[0]  # of the frame that MuJoCo moved to the mesh's middle
    R, p = rotation_from_quaternion(np.array([x, y, z, w])), found.mesh_pos[0]
    return Triangles(np.array(found.mesh_vert, dtype=float) @ R.T + p, np.array(found.mesh_face))


def _drawn(geometries: Iterator[Geometry]) -> Iterator[Visual]:
    for geometry in geometries:
        shape: Shape
        if isinstance(geometry.shape, ConvexMesh):
            try:
                shape = hull_surface(geometry.shape)
            except ValueError:  # points in a plane have no hull; the others are still drawn
                continue
        elif isinstance(geometry.shape, Plane | HeightField):
            continue
        else:
            shape = geometry.shape
        yield Visual(geometry.body, geometry.placement, shape, collision=True)
