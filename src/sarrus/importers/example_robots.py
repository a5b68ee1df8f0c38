"""Robots of the PyPI package example-robot-data, by name."""

from __future__ import annotations

from collections import Counter
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from sarrus.errors import MissingDependencyError, unknown_name

_PACKAGE = "example-robot-data"


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
    if name not in robots:
        raise unknown_name("example robot", name, robots)
    return robots[name]
