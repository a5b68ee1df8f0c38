"""`load`: a robot from a file of either format; and the robots of the PyPI package example-robot-data, by name."""

from __future__ import annotations

from collections import Counter
from importlib.metadata import PackageNotFoundError, distribution
from os import PathLike
from pathlib import Path

from sarrus.errors import MissingDependencyError, check_name
from sarrus.importers.document import read_document
from sarrus.importers.mjcf import load_mjcf
from sarrus.importers.urdf import load_urdf
from sarrus.model.model import Model

_PACKAGE = "example-robot-data"


def load(
    source: str | PathLike[str],
    floating_base: bool | None = None,
    *,
    allow_nonphysical: bool = False,
    allow_outside: bool = False,
) -> Model:
    """Read a robot from a URDF or MJCF file (a path), or from a string of XML. The root tag tells which.

    floating_base      True: the root moves freely; False: it is fixed; None: what the file says
    allow_nonphysical  keep inertias that are not positive semidefinite (they are reported) instead of refusing them
                       (URDF; MuJoCo never accepts them)
    allow_outside      read files that an MJCF names also where they are not in its folder

    What the model does not represent is listed in `model.import_report`, physics that is lost (`model.lost_physics`)
    first.
    """
    document = read_document(source)
    if document.tag == "robot":
        return load_urdf(document, floating_base, allow_nonphysical=allow_nonphysical)
    if document.tag == "mujoco":
        return load_mjcf(document, floating_base, allow_outside=allow_outside)
    raise document.error(f"unknown root tag <{document.tag}>. Valid: <robot> (URDF), <mujoco> (MJCF)", document.root)


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
