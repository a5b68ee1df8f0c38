"""What is asked of a compiled MuJoCo model everywhere: names, flags, quaternions, fields that not all versions have.

And what such a model has that a model here does not represent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.model.builder import ModelBuilder
from sarrus.spatial.arrays import Array
from sarrus.spatial.product import direction
from sarrus.spatial.rotations import rotation_from_quaternion

_OPTIONS = (
    "wind", "magnetic", "impratio", "cone", "solver", "iterations", "tolerance",
    "noslip_iterations",
)  # fmt: skip
INTEGRATORS = {0: "semi_implicit_euler", 1: "rk4", 2: "implicit", 3: "implicit"}  # mjtIntegrator, the last one "fast"


def name_of(mj: Any, kind: str, k: int) -> str:
    """The name of a BODY, JOINT, ACTUATOR, ...; empty if it has none."""
    import mujoco

    return mujoco.mj_id2name(mj, getattr(mujoco.mjtObj, f"mjOBJ_{kind}"), k) or ""


def field_of(mj: Any, field: str, k: int) -> Any:
    """Element k of a field; 0 where this version of MuJoCo has no such field."""
    values = getattr(mj, field, None)
    return 0 if values is None else values[k]


def mesh_name(mesh: Any) -> str:
    """The name of a mesh of a specification; MuJoCo calls one without a name as its file."""
    return mesh.name or stem(mesh.file)


def stem(file: str) -> str:
    """The name that MuJoCo gives to an asset without one."""
    return file.replace("\\", "/").rsplit("/", 1)[-1].rsplit(".", 1)[0]


def word(value: Any) -> str:
    """What one of MuJoCo's enumerated values is called in a file: mjGAIN_AFFINE is "affine"."""
    return value.name.partition("_")[2].lower()


def disabled(mj: Any, part: str) -> bool:
    """Whether the file's `<flag>` turns a kind of force off: SPRING, DAMPER, FRICTIONLOSS, LIMIT, CONTACT, ..."""
    import mujoco

    names = [part]
    if part in ("FRICTIONLOSS", "LIMIT", "EQUALITY", "CONTACT"):
        names.append("CONSTRAINT")
    if part in ("SPRING", "DAMPER"):
        names.append("PASSIVE")  # in older versions, both
    bits = (getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}", 0) for name in names)
    return any(int(mj.opt.disableflags) & int(bit) for bit in bits)


def rotation_from_wxyz(quaternion: Array) -> Array:
    """The rotation matrix of a quaternion in MuJoCo's order, of any length."""
    w, x, y, z = direction(np.asarray(quaternion, float))
    return rotation_from_quaternion(np.array([x, y, z, w]))


def report_the_rest(mj: Any, builder: ModelBuilder) -> None:
    """What nobody else has reported: counts of things, options of MuJoCo's solver."""
    for count, what in (
        (mj.nsensor, "sensors"), (mj.ncam, "cameras"), (mj.nlight, "lights"), (mj.ntex, "textures"),
        (mj.nmat, "materials"), (mj.nskin, "skins"),
        (mj.nnumeric + mj.ntext + mj.ntuple, "custom fields"),
        (mj.nmocap, "mocap bodies: they are fixed to the world where the file has them; their motion"),
    ):  # fmt: skip
        if count:
            builder.report(f"{count} {what}: not represented")
    for count, what in ((mj.nflex, "flexes"), (mj.nplugin, "plugins")):
        if count:
            builder.report(f"{count} {what}: not represented", lost=True)
    if mj.opt.density or mj.opt.viscosity:
        builder.report("a fluid (density, viscosity): not represented", lost=True)
    changed = _options(mj.opt)
    if changed:
        builder.report(f"<option> {', '.join(changed)}: not represented")


def _options(options: Any) -> list[str]:
    """What a file asks of MuJoCo's solver and integrator."""
    import mujoco

    usual, said = mujoco.MjOption(), []
    if int(options.integrator) not in INTEGRATORS:
        said.append(f"integrator {int(options.integrator)}")
    for key in _OPTIONS:
        value = getattr(options, key, None)
        if value is not None and not np.array_equal(value, getattr(usual, key)):
            said.append(f"{key} {' '.join(f'{x:g}' for x in np.atleast_1d(value))}")
    return said
