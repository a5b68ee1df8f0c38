"""The same algorithm by Pinocchio and MuJoCo, where they are installed and have one."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.cli.mujoco_methods import mujoco_peer
from sarrus.cli.peer import Peer
from sarrus.cli.pinocchio_constrained import is_of_constraints, of_constraints
from sarrus.cli.pinocchio_methods import OF_TREES, of_a_tree
from sarrus.cli.pinocchio_twin import pinocchio_twin
from sarrus.errors import UnsupportedError
from sarrus.model.model import Model


def peers(model: Model, method: str, arrays: list[np.ndarray], options: dict[str, Any]) -> list[Peer | str]:
    """Every method of theirs that computes the same on the same robot and states, or why there is none."""
    return [*_pinocchio(model, method, arrays, options), mujoco_peer(model, method, arrays)]


def _pinocchio(model: Model, method: str, arrays: list[np.ndarray], options: dict[str, Any]) -> list[Peer | str]:
    constrained = is_of_constraints(method)
    if method not in OF_TREES and not (constrained and model.active_constraints):
        return [f"Pinocchio: no counterpart of {method}{' without constraints' if constrained else ''}"]
    try:
        import pinocchio  # noqa: F401
    except ImportError:
        return ["Pinocchio: not installed (pip install pin)"]
    try:
        twin = pinocchio_twin(model)
        if constrained:
            return of_constraints(twin, model, method, arrays)
        return [of_a_tree(twin, model, method, arrays, options)]
    except UnsupportedError as error:
        return [f"Pinocchio: {error}"]
