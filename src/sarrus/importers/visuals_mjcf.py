"""What bodies look like: MuJoCo's geoms.

Groups 0 to 2 are what MuJoCo's own viewer shows; the others count as there for contacts. Files of meshes are looked for
only when they are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.importers.mujoco_fields import mesh_name, rotation_from_wxyz
from sarrus.model.bodies import Placement
from sarrus.model.builder import ModelBuilder
from sarrus.model.visuals import Box, Capsule, Color, Cylinder, Ellipsoid, Mesh, Shape, Sphere, Triangles
from sarrus.spatial.arrays import Array

_PLANE, _HFIELD, _SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER, _BOX, _MESH = range(8)  # mjtGeom
_SHOWN_GROUPS = 3
_GREY = (0.5, 0.5, 0.5, 1.0)  # MuJoCo's colour of what has none


class MeshFiles:
    """The files of a specification's meshes, by name, and where their content lies in the mesh that is compiled."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[Mesh, Placement]] = {}
        self._fitted: Any = ()

    def read(self, spec: Any) -> None:
        """Before the files are replaced by stand-ins."""
        for mesh in spec.meshes:
            if not mesh.file:
                continue
            folder = Path(spec.modelfiledir) / (getattr(spec.compiler, "meshdir", "") or getattr(spec, "meshdir", ""))
            scale = tuple(float(x) for x in mesh.scale)
            R = _rotation(mesh.refquat).T
            placement = Placement(R, -(R @ mesh.refpos) * scale)
            self._files[mesh_name(mesh)] = (Mesh(str(folder / mesh.file), (scale[0], scale[1], scale[2])), placement)
        self._fitted = [g for g in spec.geoms if g.meshname and g.type != _MESH]  # primitives about a mesh

    def find(self, name: str) -> tuple[Mesh, Placement] | None:
        return self._files.get(name)

    def fitted(self) -> set[int]:
        """Geoms whose size comes from a mesh, and so from a stand-in. Known after compiling."""
        return {int(geom.id) for geom in self._fitted}


def add_visuals(mj: Any, builder: ModelBuilder, bodies: Sequence[str], meshes: MeshFiles) -> None:
    """Every geom that has an extent. `bodies`: the names of MuJoCo's bodies in the model."""
    skipped = meshes.fitted()
    for geom in range(mj.ngeom):
        placement = Placement(_rotation(mj.geom_quat[geom]), mj.geom_pos[geom].copy())
        shape: Shape | None
        if mj.geom_type[geom] == _MESH:
            shape, placement = _mesh(mj, int(mj.geom_dataid[geom]), placement, meshes)
        else:
            shape = None if geom in skipped else _primitive(int(mj.geom_type[geom]), mj.geom_size[geom])
        if shape is not None:
            builder.add_visual(
                bodies[int(mj.geom_bodyid[geom])], shape, position=placement.p, rotation=placement.R,
                color=_color(mj, geom), collision=bool(mj.geom_group[geom] >= _SHOWN_GROUPS),
            )  # fmt: skip


def _primitive(kind: int, size: Array) -> Shape | None:
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


def _mesh(mj: Any, mesh: int, placement: Placement, meshes: MeshFiles) -> tuple[Shape, Placement]:
    """The file, in the frame that MuJoCo moved to the mesh's middle; without one, the vertices that MuJoCo has."""
    found = meshes.find(bytes(mj.names)[mj.name_meshadr[mesh] :].split(b"\0", 1)[0].decode())
    if found is None:
        first, count = mj.mesh_vertadr[mesh], mj.mesh_vertnum[mesh]
        start, faces = mj.mesh_faceadr[mesh], mj.mesh_facenum[mesh]
        vertices = np.array(mj.mesh_vert[first : first + count], dtype=np.float32)
        return Triangles(vertices, np.array(mj.mesh_face[start : start + faces])), placement
    in_middle = Placement(_rotation(mj.mesh_quat[mesh]), mj.mesh_pos[mesh])
    return found[0], placement @ in_middle.inverse @ found[1]


def _color(mj: Any, geom: int) -> Color | None:
    """The geom's own, else its material's."""
    r, g, b, a = (float(x) for x in mj.geom_rgba[geom])
    if np.allclose((r, g, b, a), _GREY):
        if mj.geom_matid[geom] < 0:
            return None
        r, g, b, a = (float(x) for x in mj.mat_rgba[mj.geom_matid[geom]])
    return (r, g, b, a)


def _rotation(wxyz: Array) -> Array:
    longest = np.abs(wxyz).max()
    if not 0.0 < longest < np.inf:
        return np.eye(3)  # nothing that could be drawn otherwise
    return rotation_from_wxyz(np.asarray(wxyz, float) / longest)  # squares of huge numbers are not finite
