"""The files that an MJCF names for its shapes, of which a model is compiled with stand-ins.

Files of meshes are looked for only when they are drawn, or when a geom that touches others has one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.importers.contact_assets import (
    UnreadableError,
    height_field_of,
    hull_of,
    mesh_frame,
    read_fitted,
    read_heights,
    read_hull,
)
from sarrus.importers.mujoco_fields import mesh_name, name_of, rotation_from_wxyz, stem
from sarrus.model.bodies import Placement
from sarrus.model.geometries import ConvexMesh, HeightField
from sarrus.model.visuals import Mesh
from sarrus.once import cached_property
from sarrus.spatial.arrays import Array

_MESH_GEOM = 7  # mjtGeom
_HULL_OPTIONS = ("scale", "refpos", "refquat", "maxhullvert")


class AssetFiles:
    """Files of a specification's meshes and height fields, by the names of these, and which of them are stand-ins."""

    def __init__(self) -> None:
        self._meshes: dict[str, tuple[Mesh, Placement]] = {}
        self._options: dict[str, dict[str, Any]] = {}  # of meshes that are compiled as stand-ins
        self._fields: dict[str, tuple[str, Array]] = {}
        self._refused: dict[str, str] = {}  # path: why it is not read
        self._fitted: list[tuple[Any, str, dict[str, Any]]] = []  # geoms, their meshes, how they are fitted
        self._hulls: dict[str, ConvexMesh] = {}

    def read(self, spec: Any, needed: Collection[str], why_not: Callable[[str], str]) -> None:
        """Before the files are replaced by stand-ins.

        needed   meshes that will not be replaced
        why_not  says of a file, as it is written, why it must not be read; "": it may
        """
        folder = Path(spec.modelfiledir) / (getattr(spec.compiler, "meshdir", "") or getattr(spec, "meshdir", ""))
        for mesh in spec.meshes:
            if not mesh.file:
                continue
            name, path = mesh_name(mesh), str(folder / mesh.file)
            scale = tuple(float(x) for x in mesh.scale)
            R = rotation_or_none(mesh.refquat).T
            placement = Placement(R, -(R @ mesh.refpos) * scale)
            self._meshes[name] = (Mesh(path, (scale[0], scale[1], scale[2])), placement)
            if name not in needed:
                self._options[name] = {key: np.copy(getattr(mesh, key)) for key in _HULL_OPTIONS[:3]}
                self._options[name]["maxhullvert"] = int(mesh.maxhullvert)
                self._refused[path] = why_not(mesh.file)
        for field in spec.hfields:
            if field.file:
                path = str(folder / field.file)
                self._fields[field.name or stem(field.file)] = (path, np.copy(field.size))
                self._refused[path] = why_not(field.file)
        self._fitted = [
            (
                g,
                g.meshname,
                {"kind": int(g.type), "fitscale": float(g.fitscale), "fitaabb": bool(spec.compiler.fitaabb)},
            )
            for g in spec.geoms
            if g.meshname in self._options and g.type != _MESH_GEOM
        ]

    def find(self, name: str) -> tuple[Mesh, Placement] | None:
        """The file of a mesh, and where its content lies in the mesh that is compiled."""
        return self._meshes.get(name)

    @cached_property
    def fitted(self) -> dict[int, tuple[str, dict[str, Any]]]:
        """Geoms whose size comes from a mesh that is a stand-in. Known after compiling."""
        return {int(geom.id): (mesh, how) for geom, mesh, how in self._fitted}

    def fit(self, geom: int, placement: Placement) -> tuple[int, Array, Placement]:
        """Kind, size and pose of a geom that is fitted to a mesh, where its stand-in has that `placement`."""
        mesh, how = self.fitted[geom]
        path = self._meshes[mesh][0].path
        self._check(path)
        size, in_file = read_fitted(path, **how, **self._options[mesh])
        return how["kind"], size, placement @ in_file

    def file_of(self, mj: Any, geom: int) -> str:
        """The file of a geom's mesh or height field, if it was replaced by a stand-in."""
        if geom in self.fitted:
            return self._meshes[self.fitted[geom][0]][0].path
        name = _asset_name(mj, geom)
        if name in self._fields:
            return self._fields[name][0]
        return self._meshes[name][0].path if name in self._options else ""

    def hull(self, mj: Any, geom: int, placement: Placement) -> tuple[ConvexMesh, Placement]:
        """The hull of a geom's mesh, and its pose, where the geom has that `placement`."""
        mesh, name = int(mj.geom_dataid[geom]), _asset_name(mj, geom)
        if name not in self._options:
            return ConvexMesh(hull_of(mj, mesh)), placement
        if name not in self._hulls:
            path = self._meshes[name][0].path
            self._check(path)
            self._hulls[name] = ConvexMesh(read_hull(path, **self._options[name]), path)
        return self._hulls[name], placement @ mesh_frame(mj, mesh).inverse

    def height_field(self, mj: Any, geom: int) -> HeightField:
        name = _asset_name(mj, geom)
        if name not in self._fields:
            return height_field_of(mj, int(mj.geom_dataid[geom]))
        path, size = self._fields[name]
        self._check(path)
        return read_heights(path, size)

    def _check(self, path: str) -> None:
        if self._refused[path]:
            raise UnreadableError(self._refused[path])


def rotation_or_none(wxyz: Array) -> Array:
    """The rotation of a quaternion of any length; none where there is no direction in it."""
    longest = np.abs(wxyz).max()
    if not 0.0 < longest < np.inf:
        return np.eye(3)  # nothing that could be drawn otherwise
    return rotation_from_wxyz(np.asarray(wxyz, float) / longest)  # squares of huge numbers are not finite


def _asset_name(mj: Any, geom: int) -> str:
    kind = "MESH" if mj.geom_type[geom] == _MESH_GEOM else "HFIELD"
    return name_of(mj, kind, int(mj.geom_dataid[geom]))
