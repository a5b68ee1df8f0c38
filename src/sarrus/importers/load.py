"""`load`: a robot from a file of either format, or from several; and the robots of the package example-robot-data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, distribution
from os import PathLike
from pathlib import Path

from sarrus.errors import ImportFileError, MissingDependencyError, NameClashError, check_name
from sarrus.importers.document import read_document
from sarrus.importers.mjcf import load_mjcf
from sarrus.importers.urdf import load_urdf
from sarrus.model.bodies import WORLD_NAME
from sarrus.model.compose import attach
from sarrus.model.model import Model

_PACKAGE = "example-robot-data"
EXAMPLE = "example:"  # before the name of one of its robots, here as on the command line


def load(
    source: str | PathLike[str] | Sequence[str | PathLike[str]],
    floating_base: bool | None = None,
    *,
    extended: str | PathLike[str] | None = None,
    allow_nonphysical: bool = False,
    allow_outside: bool = False,
) -> Model:
    """Read a robot from a URDF or MJCF file (a path), from a string of XML, or from `example:NAME`, a robot of the
    package example-robot-data. The root tag determines the format.

    source             a path or a string; several of them make one world, in which each robot stands as its file says.
                       Clashing names get the later robot's name and a slash as a prefix (`attach`)
    floating_base      True: the root moves freely; False: it is fixed; None: as the file says
    extended           a YAML file of example-parallel-robots, which names the frames of a URDF that close loops
    allow_nonphysical  keep inertias that are not positive semidefinite (they are reported) instead of refusing them
                       (URDF; MuJoCo never accepts them)
    allow_outside      allow an MJCF file to read files outside its own folder

    What the model does not represent is listed in `model.import_report`, lost physics (`model.lost_physics`) first.

    returns            a `Model`
    errors             `ImportFileError`: a missing or broken file; `InertiaError`, `ModelError`: an impossible
                       robot; `MissingDependencyError`: example-robot-data is not installed

    >>> stone = "<link name='stone'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>"
    >>> sarrus.load(f"<robot name='stone'>{stone}</robot>", floating_base=True).nv
    6
    """
    if isinstance(source, (list, tuple)):
        if extended is not None:
            raise ImportFileError(
                "load: `extended` describes a single URDF. Load that file alone, and add the others with "
                "`sarrus.attach`"
            )
        one = partial(load, floating_base=floating_base, allow_nonphysical=allow_nonphysical)
        return _one_world([one(x, allow_outside=allow_outside) for x in source])
    if isinstance(source, str) and source.startswith(EXAMPLE):
        source = example_robot(source.removeprefix(EXAMPLE))
    document = read_document(source)  # type: ignore[arg-type]
    if document.tag == "robot":
        return load_urdf(document, floating_base, extended=extended, allow_nonphysical=allow_nonphysical)
    if extended is not None:
        raise document.error("`extended` is for URDF files; this one says its loops itself", document.root)
    if document.tag == "mujoco":
        return load_mjcf(document, floating_base, allow_outside=allow_outside)
    raise document.error(f"unknown root tag <{document.tag}>. Valid: <robot> (URDF), <mujoco> (MJCF)", document.root)


def _one_world(robots: list[Model]) -> Model:
    """The first, with the others beside it."""
    if not robots:
        raise ImportFileError("load: no file was given")
    world = robots[0]
    for robot in robots[1:]:
        try:
            world = attach(world, robot, WORLD_NAME)
        except NameClashError:
            world = attach(world, robot, WORLD_NAME, f"{robot.name}/")
    return world


def example_robots() -> dict[str, Path]:
    """URDF files of example-robot-data: name to path. Empty when the package is not installed.

    The name is the file's stem; where several files share one, `folder/stem`.
    """
    try:
        package = distribution(_PACKAGE)
    except PackageNotFoundError:
        return {}
    files = (Path(str(package.locate_file(file))) for file in package.files or [] if file.suffix == ".urdf")
    found = sorted(path for path in files if path.is_file())
    count = Counter(path.stem for path in found)
    return {path.stem if count[path.stem] == 1 else f"{path.parents[1].name}/{path.stem}": path for path in found}


def example_robot(name: str) -> Path:
    """The path of one of them, e.g. `example_robot("talos_full_v2")`."""
    robots = example_robots()
    if not robots:
        raise MissingDependencyError(f"robot {name!r} is in the package {_PACKAGE}: pip install {_PACKAGE}")
    check_name("example robot", name, robots)
    return robots[name]
