"""`sarrus simulate --cluster`: a batch on the workers of a Ray cluster."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import sarrus
from sarrus.errors import StateError
from sarrus.simulation.trajectory import Trajectory
from sarrus.spatial.arrays import Array

_PIECES = 64  # of a batch: enough for many workers, and for a bar that moves
_LEAST = 64  # states per piece
_PATIENCE = 5.0  # seconds for a cluster to answer; Ray itself would wait for minutes


def simulate_on_cluster(
    address: str,
    simulation: sarrus.Simulation,
    q: Array,
    v: Array,
    steps: int,
    controls: Any,
    progress: Callable[[int, int], None],
    save: Path | None,
    resume: bool,
) -> Trajectory:
    """What `simulation.run` gives, computed in pieces by the workers of a cluster ("local": of this machine)."""
    hook = sarrus.ray  # which says what to install
    try:
        _knock(address)
        hook.ray.init(
            address=None if address == "local" else address, include_dashboard=False if address == "local" else None,
            log_to_driver=False, ignore_reinit_error=True,
        )  # fmt: skip
    except (OSError, ValueError, RuntimeError) as error:
        raise StateError(f"--cluster {address}: {str(error).strip().splitlines()[0]}") from None
    directory = save if save is not None and save.suffix == "" else None
    found = hook.rollout(
        simulation, q, v, steps=steps, controls=controls, piece=max(_LEAST, -(-len(q) // _PIECES)), save=directory,
        resume=resume, progress=progress,
    )  # fmt: skip
    about = simulation.run(q[:1], v[:1], 0.0, controls=controls)
    at = np.unique(np.r_[np.arange(0, steps + 1, simulation.record_every), steps])
    settings = about.settings | {"steps": steps, "interrupted": False}
    return Trajectory(about.model, at * simulation.dt, settings=settings, **found)


def _knock(address: str) -> None:
    """An error unless somebody answers at HOST:PORT."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if address in ("auto", "local"):
        return
    if not host or not port.isdigit():
        raise ValueError("expected HOST:PORT, auto or local")
    socket.create_connection((host, int(port)), _PATIENCE).close()
