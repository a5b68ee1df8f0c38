"""Files of meshes and height fields, as shapes that touch. MuJoCo reads most of them, and finds convex hulls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sarrus.errors import ImportFileError, MissingDependencyError, optional_package
from sarrus.importers.document import BYTES, CELLS
from sarrus.importers.mesh_points import points_of
from sarrus.importers.mujoco_fields import rotation_from_wxyz
from sarrus.model.bodies import Placement
from sarrus.model.geometries import HeightField
from sarrus.spatial.arrays import Array
from sarrus.spatial.product import product

_MESHES = (".stl", ".obj", ".dae", ".msh")
_PNG = b"\x89PNG"


class UnreadableError(Exception):
    """Why a file gives no shape, in words that follow its name; `path`: that name, where it is known."""

    def __init__(self, why: str, path: str = "") -> None:
        super().__init__(why)
        self.path = path


def read_hull(path: str, **options: Any) -> Array:
    """(n, 3) vertices of the convex hull of a mesh, in the file's frame.

    options  of a mesh in MJCF, by their names in `mujoco.MjsMesh`: scale, refpos, refquat, maxhullvert
    """
    _check_file(path)
    if Path(path).suffix.lower() not in _MESHES:
        raise UnreadableError(f"is not one of {', '.join(_MESHES)}")
    mujoco = _mujoco()
    spec, mesh = _with_mesh(mujoco, path, options)
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL  # any surface has one; only the hull is of interest
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="mesh")
    mj = _compiled(spec)
    in_middle = mesh_frame(mj, 0)
    return product(hull_of(mj, 0), in_middle.R.T) + in_middle.p


def read_fitted(path: str, kind: int, fitscale: float, fitaabb: bool, **options: Any) -> tuple[Array, Placement]:
    """Size and pose of a primitive, one of MuJoCo's kinds of geoms, that MuJoCo fits to a mesh."""
    _check_file(path)
    mujoco = _mujoco()
    spec, _ = _with_mesh(mujoco, path, options)
    spec.compiler.fitaabb = fitaabb
    spec.worldbody.add_geom(type=mujoco.mjtGeom(kind), meshname="mesh", fitscale=fitscale)
    mj = _compiled(spec)
    return mj.geom_size[0].copy(), Placement(rotation_from_wxyz(mj.geom_quat[0]), mj.geom_pos[0].copy())


def _with_mesh(mujoco: Any, path: str, options: dict[str, Any]) -> tuple[Any, Any]:
    """A specification with one mesh, and that mesh."""
    spec, points = mujoco.MjSpec(), _points(path)
    if points is None:
        mesh = spec.add_mesh(name="mesh", file=str(Path(path).resolve()))
    else:
        mesh = spec.add_mesh(name="mesh", uservert=points.ravel())  # without faces: it takes those of the hull
    for key, value in options.items():
        setattr(mesh, key, value)
    return spec, mesh


def _points(path: str) -> Array | None:
    """Vertices that MuJoCo could not read from the file itself."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            points = points_of(Path(path))
    except (ImportFileError, ValueError, LookupError) as error:
        raise UnreadableError(f"cannot be read: {error}") from None
    if points is not None and not np.isfinite(points).all():
        raise UnreadableError("cannot be read: a vertex is not finite")
    return points


def hull_of(mj: Any, mesh: int) -> Array:
    """(n, 3) vertices of the convex hull of a compiled mesh, in the frame that MuJoCo moved to its middle."""
    first, count = int(mj.mesh_vertadr[mesh]), int(mj.mesh_vertnum[mesh])
    vertices = np.array(mj.mesh_vert[first : first + count], dtype=float)
    start = int(mj.mesh_graphadr[mesh])
    if start < 0:  # MuJoCo needed no hull of it
        return vertices
    on_hull = int(mj.mesh_graph[start])
    numbers = mj.mesh_graph[start + 2 + on_hull : start + 2 + 2 * on_hull]  # after the counts, and where edges begin
    return vertices[numbers]


def mesh_frame(mj: Any, mesh: int) -> Placement:
    """The frame that MuJoCo moved to a mesh's middle, in that of the mesh's file."""
    return Placement(rotation_from_wxyz(mj.mesh_quat[mesh]), np.array(mj.mesh_pos[mesh], dtype=float))


def read_heights(path: str, size: Array) -> HeightField:
    """A height field from a PNG or a file of MuJoCo's own format; size: as in MJCF."""
    _check_file(path)
    _check_cells(path)
    mujoco = _mujoco()
    spec = mujoco.MjSpec()
    spec.add_hfield(name="field", file=str(Path(path).resolve()), size=size)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname="field")
    return height_field_of(_compiled(spec), 0)


def height_field_of(mj: Any, k: int) -> HeightField:
    """A compiled height field. MuJoCo's elevations are from 0 to 1."""
    rows, columns, first = int(mj.hfield_nrow[k]), int(mj.hfield_ncol[k]), int(mj.hfield_adr[k])
    x, y, elevation, _ = (float(value) for value in mj.hfield_size[k])
    heights = elevation * np.array(mj.hfield_data[first : first + rows * columns], dtype=float)
    return HeightField(heights.reshape(rows, columns), (x, y))


def _check_file(path: str) -> None:
    try:
        found = Path(path)
        if not found.is_file():  # a pipe would wait, a device may have no end
            raise UnreadableError("is not there")
        if found.stat().st_size > BYTES:
            raise UnreadableError(f"is larger than {BYTES:,} bytes")
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot be read: {error}") from None


def _check_cells(path: str) -> None:
    """The head of a PNG, or of MuJoCo's format, says how many cells there are: a small file may hold very many."""
    with Path(path).open("rb") as file:
        head = file.read(24)
    rows, columns = (
        np.frombuffer(head[16:24], ">u4") if head.startswith(_PNG) and len(head) == 24
        else np.frombuffer(head[:8].ljust(8, b"\0"), "<u4")
    )  # fmt: skip
    if int(rows) * int(columns) > CELLS:
        raise UnreadableError(f"has more than {CELLS:,} cells")


def _mujoco() -> Any:
    try:
        return optional_package("mujoco", "needs mujoco to be read", "mujoco")
    except MissingDependencyError as error:
        raise UnreadableError(str(error)) from None


def _compiled(spec: Any) -> Any:
    try:
        return spec.compile()
    except (ValueError, RuntimeError) as error:  # MuJoCo's own words
        raise UnreadableError(f"cannot be read: {' '.join(str(error).split())}") from None
