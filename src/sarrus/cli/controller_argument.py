"""What a user may write after `--controller`: none, pd, or a function in a Python file."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.algorithms.tree.crba import crba
from sarrus.errors import SarrusError, StateError, UnsupportedError, unknown_name
from sarrus.model.actuators import actuated_joints
from sarrus.model.model import Model
from sarrus.simulation.controllers import AbstractController, controller, pd
from sarrus.spatial.arrays import Array

HELP = (
    "none; pd (holds the initial configuration); or FILE.py:NAME, where NAME is a function (t, q, v) -> tau, a "
    "function (model) -> controller, a casadi.Function, or what sarrus.pd and sarrus.controller return."
)
KP, KD = 100.0, 10.0  # Nm/rad (N/m), Nms/rad: for joints of legs and arms


def controller_from(text: str, model: Model, q0: Array, kp: float | None, kd: float | None, dt: float) -> Any:
    """The controller that the text names, for `simulate`."""
    if text != "pd" and (kp is not None or kd is not None):
        raise StateError("--kp and --kd are gains of --controller pd")
    if text == "none":
        return None
    if text == "pd":
        return pd(*_gains(model, q0, kp, kd, dt), q_target=q0 if q0.ndim == 1 else q0[:, None])
    path, colon, name = text.rpartition(":")
    if not colon or not path.endswith(".py"):
        raise UnsupportedError(f"--controller {text!r}. Valid: none, pd, FILE.py:NAME")
    return _made(_found(Path(path), name), model, text)


def driven(model: Model) -> Array:
    """(nv,) 1 where a motor is: at joints with actuators, else with an effort limit, else at those that are called
    independent, else at all but free ones."""
    motors = actuated_joints(model.actuators)
    found = np.zeros((4, model.nv))
    for body, at in zip(model.bodies, model.layout.v, strict=True):
        if body.joint.type.name != "free":
            limited, independent = np.isfinite(body.joint.effort_limit).any(), body.joint.independent is True
            found[:, at] = np.array([[body.joint.name in motors], [limited], [independent], [True]], float)
    return next((x for x in found if x.any()), found[-1])


def _gains(model: Model, q0: Array, kp: float | None, kd: float | None, dt: float) -> tuple[Array, Array]:
    """Those that were asked for; else moderate ones, less where a joint is too light for them at this step size."""
    where = driven(model)
    inertia = 1.0 / np.diag(np.linalg.inv(crba(model.spanning, q0 if q0.ndim == 1 else q0[0])))
    stiff, damp = np.minimum(KP, 0.05 * inertia / dt**2), np.minimum(KD, 0.2 * inertia / dt)
    if kp is not None and kd is None:
        damp = np.minimum(0.1 * kp, 0.2 * inertia / dt)
    return where * (stiff if kp is None else kp), where * (damp if kd is None else kd)


def _found(path: Path, name: str) -> Any:
    if not path.is_file():
        raise StateError(f"--controller: there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SarrusError:
        raise
    except Exception as error:
        raise StateError(f"--controller: {path} does not run: {type(error).__name__}: {error}") from None
    if not hasattr(module, name):
        public = [x for x, value in vars(module).items() if callable(value) and not x.startswith("_")]
        raise unknown_name(f"name in {path}:", name, public)
    return getattr(module, name)


def _made(found: Any, model: Model, text: str) -> Any:
    if hasattr(found, "n_instructions"):
        return controller(found)
    if isinstance(found, AbstractController):
        return found
    if not callable(found):
        raise UnsupportedError(f"--controller {text!r} is {found!r}: expected a function (t, q, v) -> tau")
    count = len(inspect.signature(found).parameters)
    if count == 1:
        return _made(found(model), model, text)
    if count != 3:
        raise UnsupportedError(f"--controller {text!r} takes {count} arguments: expected (t, q, v) -> tau, or (model)")
    return found
