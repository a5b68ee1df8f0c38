"""Robot files for benchmarks: example-robot-data from PyPI, and third-party files beside the repository."""

from __future__ import annotations

import os
from pathlib import Path

import sarrus
from sarrus.importers.load import example_robots


def shared_directory() -> Path:
    """Where third-party robot files are: $SARRUS_SHARED, or ../shared beside the repository."""
    chosen = os.environ.get("SARRUS_SHARED")
    return Path(chosen) if chosen else Path(__file__).resolve().parents[2] / "shared"


def urdf_path(name: str) -> Path | None:
    """The URDF of a robot that benchmarks use, or None where it is not to be had."""
    if name in ("go1", "talos_full_v2", "simple_humanoid", "allegro_right_hand", "allegro_left_hand"):
        return example_robots().get(name)
    known = {
        "atlas": "atlas/atlas_v4_with_multisense.urdf",
        "iiwa": "iiwa14/iiwa14_no_collision.urdf",
    }
    path = shared_directory() / "robots" / known[name]
    return path if path.is_file() else None


def tree_of(path: Path, floating_base: bool) -> sarrus.Model:
    """The robot as a plain tree: couplings that the file declares are left out."""
    return sarrus.load(path, floating_base=floating_base).without_constraints()
