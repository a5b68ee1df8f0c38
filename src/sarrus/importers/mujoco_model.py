"""MuJoCo's compiled models to models.

Bodies and joints are in MuJoCo's order, which is depth-first; q has the numbers of qpos, but quaternions are x y z w.
A MuJoCo body may have several joints, each anywhere in the body; here a body has one joint, at its origin. So every
joint but the last, and the last if it is not at the body's origin, moves a body of its own that is called "body/joint";
the frame that has the MuJoCo body's name is always where MuJoCo has that body.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sarrus.errors import ModelError, listed, optional_package
from sarrus.importers.geometries_mjcf import add_geometries
from sarrus.importers.mjcf_assets import AssetFiles
from sarrus.importers.mujoco_actuators import add_actuators
from sarrus.importers.mujoco_constraints import add_constraints
from sarrus.importers.mujoco_fields import (
    INTEGRATORS,
    disabled,
    field_of,
    name_of,
    report_the_rest,
    rotation_from_wxyz,
)
from sarrus.importers.mujoco_keyframes import Key, fitting, keyframes, keys_of_model
from sarrus.importers.mujoco_state import from_mujoco_state
from sarrus.importers.names import Names, first_free
from sarrus.importers.visuals_mjcf import add_visuals
from sarrus.model.bodies import WORLD_NAME
from sarrus.model.builder import ModelBuilder
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array
from sarrus.spatial.product import product
from sarrus.spatial.rotations import rotation_about

_FREE, _BALL, _SLIDE, _HINGE = range(4)  # mjtJoint
_TYPES = {_FREE: "free", _BALL: "spherical", _SLIDE: "prismatic", _HINGE: "revolute"}
_UNIT = 1e-6
_FAR = 1e9  # radians or metres beyond which a position is rounding
_FINITE = {
    "body": ("body_mass", "body_pos", "body_quat", "body_ipos", "body_iquat", "body_inertia"),
    "joint": ("jnt_pos", "jnt_axis"), "site": ("site_pos", "site_quat"),
    "geom": ("geom_pos", "geom_quat", "geom_size", "geom_friction", "geom_margin"),
}  # fmt: skip
_WIDTHS = {_FREE: (7, 6), _BALL: (4, 3), _SLIDE: (1, 1), _HINGE: (1, 1)}  # nq, nv


def from_mujoco(mj_model: Any) -> Model:
    """A model from a `mujoco.MjModel`. The import report lists what is not represented, such as sensors.

    mj_model  a compiled model
    returns   a `Model`
    errors    `UnsupportedError`: something that a `Model` cannot represent

    >>> import mujoco
    >>> text = "<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>"
    >>> sarrus.from_mujoco(mujoco.MjModel.from_xml_string(text)).nv
    1
    """
    return import_mujoco(mj_model, (), AssetFiles())


def import_mujoco(mj_model: Any, notes: Iterable[str], files: AssetFiles, keys: Sequence[Key] | None = None) -> Model:
    """As `from_mujoco`, with lines for the import report, the files of what is a stand-in, and keyframes.

    keys  None: those of the compiled model
    """
    importer = _Importer(mj_model, files, keys)
    for note in notes:
        importer.builder.report(note)
    return importer.model()


def _rotation(quaternion: Array) -> Array:
    length = np.linalg.norm(quaternion)
    if not abs(length - 1.0) < _UNIT:  # MuJoCo makes them unit ones, if it can
        raise ModelError(
            f"a quaternion of MuJoCo is {np.asarray(quaternion).tolist()}, of length {length:g}, expected 1"
        )
    return rotation_from_wxyz(quaternion)


def _nonlinear(mj: Any, joint: int, v: slice) -> bool:
    """Whether a joint has what only newer versions of MuJoCo have: polynomial damping or stiffness, plasticity."""
    polynomials = getattr(mj, "dof_dampingpoly", np.zeros(1))[v], field_of(mj, "jnt_stiffnesspoly", joint)
    plastic = getattr(mj, "jnt_plasticadr", None)
    return any(np.any(x) for x in polynomials) or (plastic is not None and bool(plastic[joint] >= 0))


class _Importer:
    def __init__(self, mj: Any, files: AssetFiles, keys: Sequence[Key] | None) -> None:
        mujoco = optional_package("mujoco", "MuJoCo models need mujoco", "mujoco")
        self.mj, self.files = mj, files
        self.keys = keys_of_model(mj) if keys is None else keys
        name = bytes(mj.names).split(b"\0")[0].decode() or "robot"
        off = mj.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
        self.builder = ModelBuilder(name, gravity=(0.0, 0.0, 0.0) if off else mj.opt.gravity)
        self.bodies = [WORLD_NAME]
        self.joints: list[str] = []

    def model(self) -> Model:
        self._check_finite()
        self._name_everything()
        for body in range(1, self.mj.nbody):
            self._add_body(body)
        sites = self._add_sites()
        add_constraints(self.mj, self.builder, self.bodies, self.joints, sites)
        controls = add_actuators(self.mj, self.builder, self.joints)
        self._bear_weights()
        add_visuals(self.mj, self.builder, self.bodies, self.files)
        add_geometries(self.mj, self.builder, self.bodies, self.files)
        keys = fitting(self.mj, self.keys)
        if len(keys) < len(self.keys):
            named = [(key.name or f"number {k}", key) for k, key in enumerate(self.keys)]
            unfit = [name for name, key in named if not any(key is kept for kept in keys)]
            self.builder.report(f"{len(unfit)} keyframes ({listed(unfit)}) do not fit the robot: not represented")
        report_the_rest(self.mj, self.builder)
        model = self.builder.build(allow_ill_posed=True)
        home, _ = from_mujoco_state(model, self.mj.qpos0, np.zeros(model.nv))
        return replace(
            model,
            home=home,
            keyframes=keyframes(model, self.mj, keys, controls),
            time_step=float(self.mj.opt.timestep),
            integrator_hint=INTEGRATORS.get(int(self.mj.opt.integrator)),
        )

    def _check_finite(self) -> None:
        """MuJoCo lets infinite numbers pass, and makes others of them."""
        for kind, fields in _FINITE.items():
            for field in fields:
                values = getattr(self.mj, field)
                bad = [k for k, value in enumerate(values) if not np.isfinite(value).all()]
                if bad:
                    name = name_of(self.mj, kind.upper(), bad[0])
                    what = field.partition("_")[2]
                    raise ModelError(f"{kind} {name or bad[0]!r}: its {what} is {values[bad[0]].tolist()}: not finite")
        for key in ("qpos0", "qpos_spring"):
            if not (np.abs(getattr(self.mj, key)) < _FAR).all():
                raise ModelError(f"{key} (ref, springref, pos of a free body) has numbers beyond {_FAR:g}")

    def _name_everything(self) -> None:
        """MuJoCo's names, or made-up ones that are free."""
        mj = self.mj
        given = [name_of(mj, "BODY", i) for i in range(mj.nbody)]
        names = Names(given)
        self.bodies += [given[i] or names.claim(f"body_{i}") for i in range(1, mj.nbody)]
        given = [name_of(mj, "JOINT", i) for i in range(mj.njnt)]
        names = Names(given)
        self.joints = [name or names.claim(f"{self.bodies[mj.jnt_bodyid[i]]}_joint") for i, name in enumerate(given)]

    def _add_body(self, body: int) -> None:
        mj = self.mj
        R_inertia = _rotation(mj.body_iquat[body])
        inertial = {
            "mass": float(mj.body_mass[body]),
            "com": mj.body_ipos[body].copy(),
            "inertia": product(R_inertia * mj.body_inertia[body], R_inertia.T),
            "allow_nonphysical": True,
        }
        parent = self.bodies[mj.body_parentid[body]]
        name = self.bodies[body]
        R, p = _rotation(mj.body_quat[body]), mj.body_pos[body].copy()  # of what comes next, in `parent`
        joints = range(mj.body_jntadr[body], mj.body_jntadr[body] + mj.body_jntnum[body])
        anchor = np.zeros(3)  # of the joint before, in the MuJoCo body
        for joint in joints:
            before, anchor = anchor, self._anchor(joint)
            p = p + product(R, anchor - before)
            if mj.jnt_type[joint] == _FREE:  # MuJoCo's free joints are poses in the world
                R, p = np.eye(3), np.zeros(3)
            last = joint == joints[-1] and not anchor.any()
            moved = name if last else first_free(f"{name}/{self.joints[joint]}", self.builder.has_name)
            turn, shift = self._reference(joint)
            self.builder.add_body(
                moved, parent, joint=_TYPES[mj.jnt_type[joint]], joint_name=self.joints[joint],
                position=p + product(R, shift), rotation=product(R, turn), **self._joint(joint),
                **(inertial if last else {}),
            )  # fmt: skip
            parent, R, p = moved, np.eye(3), np.zeros(3)
        if not len(joints) or anchor.any():
            joint_name = f"{name} to {parent}"
            self.builder.add_body(
                name, parent, joint="fixed", joint_name=joint_name, position=p - product(R, anchor), rotation=R,
                **inertial,
            )  # fmt: skip

    def _bear_weights(self) -> None:
        """Gravity compensation of bodies; where motors do it, they do nothing where there are none (as in MuJoCo)."""
        mj = self.mj
        for body in np.flatnonzero(mj.body_gravcomp):
            self.builder.bear_weight(
                self.bodies[body], float(mj.body_gravcomp[body] * mj.body_mass[body]), mj.body_ipos[body]
            )  # fmt: skip
        if mj.body_gravcomp.any():
            self.builder.motors_bear_weight(*(self.joints[k] for k in np.flatnonzero(mj.jnt_actgravcomp)))

    def _anchor(self, joint: int) -> Array:
        """Where the joint's motion is centred, in the MuJoCo body. Only the distance from a hinge's axis matters."""
        p, axis = self.mj.jnt_pos[joint].copy(), self.mj.jnt_axis[joint]
        if self.mj.jnt_type[joint] == _BALL:
            return p
        if self.mj.jnt_type[joint] == _HINGE and np.cross(axis, p).any():
            return p
        return np.zeros(3)

    def _reference(self, joint: int) -> tuple[Array, Array]:
        """Turn and shift of the joint frame that make the body's pose in the file that of q = ref."""
        kind, axis = self.mj.jnt_type[joint], self.mj.jnt_axis[joint]
        ref = self.mj.qpos0[self.mj.jnt_qposadr[joint]]
        if kind == _HINGE and ref != 0.0:
            return rotation_about(axis, -ref), np.zeros(3)
        return np.eye(3), -ref * axis if kind == _SLIDE else np.zeros(3)

    def _joint(self, joint: int) -> dict[str, Any]:
        """Axis, limits and what else the joint carries."""
        mj = self.mj
        kind, name = mj.jnt_type[joint], self.joints[joint]
        nq, nv = _WIDTHS[kind]
        q = slice(mj.jnt_qposadr[joint], mj.jnt_qposadr[joint] + nq)
        v = slice(mj.jnt_dofadr[joint], mj.jnt_dofadr[joint] + nv)
        rest = mj.qpos_spring[q].copy()
        if nq > 1:
            rest[-4:] = rest[[-3, -2, -1, -4]]
        carried: dict[str, Any] = {
            "armature": mj.dof_armature[v].copy(),
            "damping": mj.dof_damping[v] * (not disabled(mj, "DAMPER")),
            "friction": mj.dof_frictionloss[v] * (not disabled(mj, "FRICTIONLOSS")),
            "stiffness": np.full(nv, mj.jnt_stiffness[joint] * (not disabled(mj, "SPRING"))),
            "rest": rest,
        }
        if kind in (_HINGE, _SLIDE):
            carried["axis"] = mj.jnt_axis[joint].copy()
        limited = mj.jnt_limited[joint] and not disabled(mj, "LIMIT")
        if limited and kind in (_HINGE, _SLIDE):
            carried["lower"], carried["upper"] = (float(x) for x in mj.jnt_range[joint])
        elif limited:
            self.builder.report(f"joint {name!r}: the limit of a ball joint's angle: not represented", lost=True)
        if mj.jnt_actfrclimited[joint]:
            low, high = (float(x) for x in mj.jnt_actfrcrange[joint])
            if high >= 0.0:
                carried["effort_limit"], carried["effort_lower"] = high, None if low == -high else low
            else:
                self.builder.report(f"joint {name!r}: force range {low:g} to {high:g}: not represented", lost=True)
        if _nonlinear(mj, joint, v):
            self.builder.report(f"joint {name!r}: nonlinear damping or spring: only its linear part is kept", lost=True)
        return carried

    def _add_sites(self) -> dict[int, str]:
        """Sites are frames."""
        mj, unnamed, names = self.mj, 0, {}
        for site in range(mj.nsite):
            given = name_of(mj, "SITE", site)
            if not given:
                unnamed += 1
                continue
            names[site] = first_free(given, self.builder.has_name)
            if names[site] != given:
                self.builder.report(f"site {given!r} is the frame {names[site]!r}: a body or frame has its name")
            body = self.bodies[mj.site_bodyid[site]]
            p, R = mj.site_pos[site].copy(), _rotation(mj.site_quat[site])
            self.builder.add_frame(names[site], body, position=p, rotation=R)
        if unnamed:
            self.builder.report(f"{unnamed} sites without a name: not represented")
        return names
