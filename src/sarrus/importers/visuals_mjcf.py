"""What bodies look like: MuJoCo's geoms.

Groups 0 to 2 are what MuJoCo's own viewer shows; the others count as there for contacts. What touches is another
matter: `geometries_mjcf.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sarrus.importers.mjcf_assets import AssetFiles, rotation_or_none
from sarrus.model.bodies import Placement
from sarrus.model.builder import ModelBuilder
from sarrus.model.visuals import Box, Capsule, Color, Cylinder, Ellipsoid, Shape, Sphere, Triangles
from sarrus.spatial.arrays import Array

_PLANE, _HFIELD, _SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER, _BOX, _MESH = range(8)  # mjtGeom
_SHOWN_GROUPS = 3
_GREY = (0.5, 0.5, 0.5, 1.0)  # MuJoCo's colour of what has none


def add_visuals(mj: Any, builder: ModelBuilder, bodies: Sequence[str], files: AssetFiles) -> None:
    """Every geom that has an extent. `bodies`: the names of MuJoCo's bodies in the model."""
    skipped = files.fitted
    for geom in range(mj.ngeom):
        placement = Placement(rotation_or_none(mj.geom_quat[geom]), mj.geom_pos[geom].copy())
        shape: Shape | None
        if mj.geom_type[geom] == _MESH:
            shape, placement = _mesh(mj, int(mj.geom_dataid[geom]), placement, files)
        else:
            shape = None if geom in skipped else primitive(int(mj.geom_type[geom]), mj.geom_size[geom])
        if shape is not None:
            builder.add_visual(
                bodies[int(mj.geom_bodyid[geom])], shape, position=placement.p, rotation=placement.R,
                color=_color(mj, geom), collision=bool(mj.geom_group[geom] >= _SHOWN_GROUPS),
            )  # fmt: skip


def primitive(kind: int, size: Array) -> Sphere | Capsule | Ellipsoid | Cylinder | Box | None:
    """The shape of a geom that needs no asset."""
    a, b, c = (float(x) for x in size)
    if kind == _SPHERE:
        return Sphere(a)
    if kind == _CAPSULE:
        return Capsule(a, 2.0 * b)
    if kind == _ELLIPSOID:
        return Ellipsoid((a, b, c))
    if kind == _CYLINDER:
        return Cylinder(a, 2.0 * b)
    return Box((2.0 * a, 2.0 * b, 2.0 * c)) if kind == _BOX else None  # planes and height fields have no end


def _mesh(mj: Any, mesh: int, placement: Placement, files: AssetFiles) -> tuple[Shape, Placement]:
    """The file, in the frame that MuJoCo moved to the mesh's middle; without one, the vertices that MuJoCo has."""
    found = files.find(bytes(mj.names)[mj.name_meshadr[mesh] :].split(b"\0", 1)[0].decode())
    if found is None:
        first, count = mj.mesh_vertadr[mesh], mj.mesh_vertnum[mesh]
        start, faces = mj.mesh_faceadr[mesh], mj.mesh_facenum[mesh]
        vertices = np.array(mj.mesh_vert[first : first + count], dtype=np.float32)
        return Triangles(vertices, np.array(mj.mesh_face[start : start + faces])), placement
    in_middle = Placement(rotation_or_none(mj.mesh_quat[mesh]), mj.mesh_pos[mesh])
    return found[0], placement @ in_middle.inverse @ found[1]


def _color(mj: Any, geom: int) -> Color | None:
    """The geom's own, else its material's."""
    r, g, b, a = (float(x) for x in mj.geom_rgba[geom])
    if np.allclose((r, g, b, a), _GREY):
        if mj.geom_matid[geom] < 0:
            return None
        r, g, b, a = (float(x) for x in mj.mat_rgba[mj.geom_matid[geom]])
    return (r, g, b, a)
