"""What a MuJoCo model has that a model does not represent, and that nobody else has reported."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.model.builder import ModelBuilder

_OPTIONS = (
    "timestep", "integrator", "wind", "magnetic", "impratio", "cone", "solver", "iterations", "tolerance",
    "noslip_iterations",
)  # fmt: skip


def report_the_rest(mj: Any, builder: ModelBuilder) -> None:
    """Counts of things, options of MuJoCo's solver."""
    moving = mj.body_weldid[mj.geom_bodyid] != 0
    for count, what in (
        (int(np.sum(moving)), "geoms of moving bodies (their inertia is kept)"),
        (int(np.sum(~moving)), "geoms of the world"),
        (mj.nsensor, "sensors"), (mj.nkey, "keyframes"), (mj.npair, "contact pairs"),
        (mj.nexclude, "contact exclusions"), (mj.ncam, "cameras"), (mj.nlight, "lights"), (mj.nmesh, "meshes"),
        (mj.nhfield, "height fields"), (mj.ntex, "textures"), (mj.nmat, "materials"), (mj.nskin, "skins"),
        (mj.nnumeric + mj.ntext + mj.ntuple, "custom fields"),
        (mj.nmocap, "mocap bodies: they are fixed to the world where the file has them; their motion"),
    ):  # fmt: skip
        if count:
            builder.report(f"{count} {what}: not represented")
    for count, what in (
        (mj.nflex, "flexes"), (mj.nplugin, "plugins"),
        (int(np.count_nonzero(mj.body_gravcomp)), "bodies with gravity compensation"),
    ):  # fmt: skip
        if count:
            builder.report(f"{count} {what}: not represented", lost=True)
    if mj.opt.density or mj.opt.viscosity:
        builder.report("a fluid (density, viscosity): not represented", lost=True)
    changed = _options(mj.opt)
    if changed:
        builder.report(f"<option> {', '.join(changed)}: not represented; `simulate` takes `dt` and `integrator`")


def _options(options: Any) -> list[str]:
    """What a file asks of MuJoCo's solver and integrator."""
    import mujoco

    usual, said = mujoco.MjOption(), []
    for key in _OPTIONS:
        value = getattr(options, key, None)
        if value is not None and not np.array_equal(value, getattr(usual, key)):
            said.append(f"{key} {' '.join(f'{x:g}' for x in np.atleast_1d(value))}")
    return said
