"""MJCF files to models: MuJoCo reads and compiles them.

Meshes, height fields and textures are compiled only where a moving body has no explicit inertia. All others are
replaced by stand-ins before, so that a file loads fast, and loads at all without them; those of geoms that touch are
read one by one (`mjcf_assets.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from sarrus.errors import ImportFileError, optional_package
from sarrus.importers.document import Document, Source, read_document, reading
from sarrus.importers.mjcf_assets import AssetFiles
from sarrus.importers.mjcf_checks import MjcfChecks
from sarrus.importers.mujoco_fields import mesh_name, stem
from sarrus.importers.mujoco_keyframes import Key, keys_of_specification
from sarrus.importers.mujoco_model import import_mujoco
from sarrus.importers.urdf import ROOT_JOINT
from sarrus.model.model import Model

_TETRAHEDRON = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]
_FACES = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]
_INERTIA_FROM_GEOMS = 1  # compiler/inertiafromgeom="true"


def load_mjcf(source: Source, floating_base: bool | None = None, *, allow_outside: bool = False) -> Model:
    """Read an MJCF file, or a string of MJCF (which may refer to files in the current folder).

    floating_base  None: as the file says; True: the one body in the world gets a free joint "root_joint" if it has no
                   joint; False: its free joint is removed
    allow_outside  allow it to read files outside its own folder, such as `<include file="../arm.xml">`
    source         a path, or the text itself
    returns        a `Model`
    errors         `ImportFileError`: a missing or broken file; `ModelError`: an impossible robot

    >>> text = "<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>"
    >>> sarrus.load_mjcf(text).nv
    1
    """
    document, files, keys = read_document(source), AssetFiles(), []
    compiled, notes = compile_mjcf(document, floating_base, files, keys, allow_outside=allow_outside)
    with reading(document.name):
        return import_mujoco(compiled, notes, files, keys)


def compile_mjcf(
    document: Document,
    floating_base: bool | None = None,
    files: AssetFiles | None = None,
    keys: list[Key] | None = None,
    *,
    allow_outside: bool = False,
) -> tuple[Any, list[str]]:
    """The `mujoco.MjModel` of a file, with stand-ins for its assets and without keyframes, and what was left out.

    files  learns which files the stand-ins stand for
    keys   gets the keyframes
    """
    with reading(document.name):
        document.check_root("mujoco", "MJCF")
        checks = MjcfChecks(document, allow_outside).run()
        mujoco = optional_package("mujoco", "reading MJCF needs mujoco", "mujoco")
        needed: dict[str, str] = {}
        try:
            spec = _specification(mujoco, document)
            if keys is not None:
                keys += keys_of_specification(spec)
            notes = _without_extras(spec)
            if floating_base is not None:
                _set_base(document, spec, floating_base)
            needed |= _meshes_with_mass(spec)
            if files is not None:
                files.read(spec, needed, checks.why_not)
            _use_stand_ins(mujoco, spec, needed)
            for mesh in spec.meshes:
                if mesh.file:
                    checks.check_asset(mesh.file, f"mesh {mesh.file!r}, which body {needed[mesh_name(mesh)]!r} needs,")
            return spec.compile(), notes
        except ImportFileError:
            raise
        except (ValueError, RuntimeError) as error:  # MuJoCo's own words
            hint = "".join(
                f". Body {body!r} has no <inertial>: its inertia comes from mesh {mesh!r}"
                for mesh, body in needed.items()
            )
            raise document.error(f"{' '.join(str(error).split())}{hint}") from error


def _specification(mujoco: Any, document: Document) -> Any:
    from lxml import etree

    if document.path is None:
        return mujoco.MjSpec.from_string(etree.tostring(document.root, encoding="unicode"))
    return mujoco.MjSpec.from_file(str(document.path))


def _without_extras(spec: Any) -> list[str]:
    """Take out what may not fit, and would not be represented; the result says what."""
    notes = []
    spec.compiler.fusestatic = False  # it would lose names
    spec.memory = -1  # of MuJoCo's own simulation, which it tries out: as much as the robot needs
    if len(spec.skins):
        notes.append(f"{len(spec.skins)} skins: not represented")
    for elements in (spec.keys, spec.skins):  # keyframes of another base do not fit
        _delete(spec, elements)
    return notes


def _set_base(document: Document, spec: Any, floating: bool) -> None:
    import mujoco

    bodies = list(spec.worldbody.bodies)
    if len(bodies) != 1:
        names = ", ".join(repr(body.name) for body in bodies)
        raise document.error(f"floating_base={floating}: which of the {len(bodies)} bodies of the world ({names})?")
    joints = list(bodies[0].joints)
    free = [joint for joint in joints if joint.type == mujoco.mjtJoint.mjJNT_FREE]
    if floating == bool(free):
        return
    if floating and joints:
        raise document.error(f"floating_base=True: body {bodies[0].name!r} has a joint {joints[0].name!r} already")
    if floating:
        bodies[0].add_freejoint(name=ROOT_JOINT)
    _delete(spec, free)


def _use_stand_ins(mujoco: Any, spec: Any, needed: Collection[str]) -> None:
    """Replace the files that do not matter: those of all but the meshes that are needed."""
    replaced = {mesh_name(mesh) for mesh in spec.meshes if mesh.file} - set(needed)
    for mesh in spec.meshes:
        if mesh_name(mesh) in replaced:
            mesh.name = mesh_name(mesh)
            mesh.file = ""
            mesh.uservert, mesh.userface = _TETRAHEDRON, _FACES
            mesh.usernormal, mesh.usertexcoord = [], []
    for geom in spec.geoms:
        if geom.type != mujoco.mjtGeom.mjGEOM_MESH and geom.meshname in replaced:
            geom.meshname = ""  # a primitive about a mesh: there is none about a stand-in (a cube holds no capsule)
            geom.type, geom.size = mujoco.mjtGeom.mjGEOM_SPHERE, [1e-3, 0.0, 0.0]
    for field in spec.hfields:
        if field.file:
            field.name = field.name or stem(field.file)
            field.file = ""
            field.nrow, field.ncol, field.userdata = 2, 2, [0.0, 0.0, 0.0, 0.0]
    for texture in spec.textures:
        if texture.file or any(texture.cubefiles):
            texture.name = texture.name or stem(texture.file)
            texture.file = ""
            texture.cubefiles = [""] * 6
            texture.builtin = mujoco.mjtBuiltin.mjBUILTIN_FLAT
            texture.width = texture.height = 1


def _meshes_with_mass(spec: Any) -> dict[str, str]:
    """Meshes that give a moving body its inertia, and that body."""
    needed: dict[str, str] = {}
    all_count = spec.compiler.settotalmass > 0.0  # the masses of what does not move are part of the total
    stack = [(body, all_count) for body in spec.worldbody.bodies]
    low, high = spec.compiler.inertiagrouprange
    while stack:
        body, moving = stack.pop()
        moving = moving or bool(list(body.joints))
        stack.extend((child, moving) for child in body.bodies)
        explicit = body.explicitinertial and spec.compiler.inertiafromgeom != _INERTIA_FROM_GEOMS
        if not moving or explicit:
            continue
        for geom in body.geoms:
            massless = geom.mass == 0.0 or (np.isnan(geom.mass) and geom.density == 0.0)
            if geom.meshname and not massless and low <= geom.group <= high:
                needed.setdefault(geom.meshname, body.name)
    return needed


def _delete(spec: Any, elements: Iterable[Any]) -> None:
    for element in list(elements):
        spec.delete(element)
