"""What several commands ask: their options, and what a user may write for a robot, a configuration, a controller."""

from __future__ import annotations

import ast
import importlib.util
import inspect
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sarrus import zoo
from sarrus.algorithms.tree.crba import crba
from sarrus.errors import (
    ImportFileError,
    SarrusError,
    StateError,
    UnsupportedError,
    check_name,
    listed,
    unknown_name,
)
from sarrus.importers import load, load_urdf
from sarrus.importers.load import example_robot
from sarrus.model.actuators import actuated_joints
from sarrus.model.bodies import WORLD
from sarrus.model.model import Model
from sarrus.planning.embedding import embed
from sarrus.registry.features import Feature
from sarrus.registry.table import find
from sarrus.simulation.controllers import AbstractController, controller, pd
from sarrus.spatial.arrays import Array

Robot = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT",
        help="A URDF or MJCF file; `zoo:NAME:ARGS` for a mechanism of the zoo (zoo:chain:7, zoo:stem:5:4, "
        "zoo:sarrus_linkage); `example:NAME` for a robot of the package example-robot-data (example:talos_full_v2).",
    ),
]
Extended = Annotated[
    Path | None,
    typer.Option(help="A YAML file of example-parallel-robots, which says what closes the loops of the URDF."),
]
FloatingBase = Annotated[
    bool | None,
    typer.Option(
        "--floating-base/--fixed-base", help="Put the root on a free joint, or fix it (default: as the file says)."
    ),
]
AllowOutside = Annotated[
    bool, typer.Option("--allow-outside", help="Allow an MJCF file to read files outside its folder.")
]
Ground = Annotated[
    bool,
    typer.Option(
        "--ground", help="Put a floor at z = 0 under the robot, unless its world already has a shape to stand on."
    ),
]
Configuration = Annotated[
    str | None,
    typer.Option(
        "--q", help="A configuration: numbers separated by commas or spaces. Default: the pose in the file, or neutral."
    ),
]
Compiled = Annotated[
    list[str] | None,
    typer.Option("--method", "-m", help="Compile this algorithm, and say what that and a call cost. Repeatable."),
]
Method = Annotated[str, typer.Option("--method", "-m", help="An algorithm, e.g. aba, rnea, crba.")]
FrameName = Annotated[str | None, typer.Option("--frame", help="The name of the frame, for algorithms that need one.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print a JSON object instead of tables.")]
Controller = Annotated[
    str,
    typer.Option(
        "--controller", "-c",
        help="none; pd (holds the initial configuration); or FILE.py:NAME, where NAME is a function (t, q, v) -> tau, "
        "a function (model) -> controller, a casadi.Function, or what sarrus.pd and sarrus.controller return.",
    ),
]  # fmt: skip
ZOO = {name: getattr(zoo, name) for name in zoo.__all__}
KP, KD = 100.0, 10.0  # Nm/rad (N/m), Nms/rad: for joints of legs and arms


def robot_from(
    text: str, floating_base: bool | None, extended: Path | None = None, allow_outside: bool = False
) -> Model:
    """The model that the text names; `extended`: a YAML file beside a URDF, which says what closes loops."""
    if extended is not None:
        return load_urdf(text, floating_base, extended=extended)
    kind, _, rest = text.partition(":")
    if kind == "zoo":
        return _from_zoo(rest)
    if kind == "example":
        return load(example_robot(rest), floating_base=floating_base)
    return load(text, floating_base=floating_base, allow_outside=allow_outside)


def with_floor(model: Model, wanted: bool) -> Model:
    """The model on a floor, if it is wanted and no shape of the world is there."""
    has_one = any(geometry.body == WORLD for geometry in model.geometries)
    return model.with_ground() if wanted and not has_one else model


def robot_for(
    text: str, floating_base: bool | None, method: str, extended: Path | None = None, allow_outside: bool = False
) -> Model:
    """The model that the text names, its loops and couplings embedded where the method needs that (ce_aba, ...)."""
    return embedded_for(robot_from(text, floating_base, extended, allow_outside), method)


def embedded_for(model: Model, method: str) -> Model:
    """The model, its loops and couplings embedded where the method needs that (ce_aba, ...)."""
    return embed(model) if Feature.EMBEDDED in find(method).needs and model.embedding is None else model


def ignored_by(method: str, model: Model) -> list[str]:
    """A line if the method gives accelerations that no constraint of the model has a part in."""
    algorithm, count = find(method), len(model.active_constraints)
    accelerates = any("qdd" in name for name in algorithm.output_names)
    if not count or not accelerates or not algorithm.ignores & Feature.ROWS:
        return []
    what = "constraint" if count == 1 else f"{count} constraints"
    return [
        f"{method} moves the tree alone, without the {what} of {model.name!r}; `sarrus plan` finds what solves them"
    ]


def _from_zoo(text: str) -> Model:
    name, *arguments = text.split(":")
    called, bracket, given = name.partition("(")
    if bracket and called in ZOO:
        as_expected = ":".join([f"zoo:{called}", *(x.strip() for x in given.rstrip(")").split(","))])
        raise ImportFileError(f"zoo:{text}: arguments are separated by colons: {as_expected}")
    check_name("zoo mechanism", name, ZOO)
    found = inspect.signature(ZOO[name]).parameters.values()
    parameters = [p for p in found if p.kind is p.POSITIONAL_OR_KEYWORD]
    missing = [p.name for p in parameters[len(arguments) :] if p.default is p.empty]
    if missing:
        raise ImportFileError(f"{_usage(name, parameters)}: {', '.join(missing)} is not given")
    if len(arguments) > len(parameters):
        raise ImportFileError(f"{_usage(name, parameters)}: {len(arguments)} arguments are too many")
    try:
        return ZOO[name](*(_value(x, str(p.annotation)) for x, p in zip(arguments, parameters, strict=False)))
    except SarrusError:
        raise
    except (ValueError, SyntaxError, TypeError) as error:
        raise ImportFileError(f"{_usage(name, parameters)}: {error}") from None


def _usage(name: str, parameters: list[inspect.Parameter]) -> str:
    """How a mechanism of the zoo is written: zoo:chain:N[:FLOATING=False]."""
    words = (f":{p.name.upper()}" if p.default is p.empty else f"[:{p.name.upper()}={p.default}]" for p in parameters)
    return f"write zoo:{name}{''.join(words)}"


def _value(text: str, kind: str) -> object:
    """An argument as its annotation says: words need no quotes."""
    if kind == "str":
        return text.strip("'\"")
    if kind == "bool":
        known = {"true": True, "false": False, "1": True, "0": False}
        if text.lower() not in known:
            raise ValueError(f"{text!r} is neither True nor False")
        return known[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise ValueError(f"{text!r} is not a number") from None


def configuration(model: Model, text: str) -> np.ndarray:
    """The numbers of `--q`."""
    try:
        return np.array([float(word) for word in text.replace(",", " ").split()])
    except ValueError:
        raise StateError(f"--q {text!r}: expected {model.nq} numbers, separated by commas or spaces") from None


def controller_from(text: str, model: Model, q0: Array, kp: float | None, kd: float | None, dt: float) -> Any:
    """The controller that the text names, for `simulate`."""
    if text != "pd" and (kp is not None or kd is not None):
        raise StateError("--kp and --kd are the gains of --controller pd: give that, too")
    if text == "none":
        return None
    if text == "pd":
        return pd(*_gains(model, q0, kp, kd, dt), q_target=q0 if q0.ndim == 1 else q0[:, None])
    path, colon, name = text.rpartition(":")
    if not colon or not path.endswith(".py"):
        raise UnsupportedError(f"--controller {text!r}. Valid: none, pd, FILE.py:NAME")
    return _as_controller(_load(Path(path), name), model, text)


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


def _load(path: Path, name: str) -> Any:
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


def _as_controller(found: Any, model: Model, text: str) -> Any:
    if hasattr(found, "n_instructions"):
        return controller(found)
    if isinstance(found, AbstractController):
        return found
    if not callable(found):
        raise UnsupportedError(f"--controller {text!r} is {found!r}: expected a function (t, q, v) -> tau")
    count = len(inspect.signature(found).parameters)
    if count == 1:
        return _as_controller(found(model), model, text)
    if count != 3:
        raise UnsupportedError(f"--controller {text!r} takes {count} arguments: expected (t, q, v) -> tau, or (model)")
    return found


def frame_option(method: str, model: Model, frame: str | None) -> dict[str, str]:
    """The option `frame` of a method that has one; an error that says so where it is missing, or not for it."""
    wants = "frame" in find(method).options
    if wants and frame is None:
        raise UnsupportedError(f"{method} needs a frame: give --frame NAME. Valid: {listed(model.frame_names, 12)}")
    if frame is not None and not wants:
        raise UnsupportedError(f"--frame {frame}: {method} does not take a frame")
    if frame is not None:
        model.frame(frame)
    return {} if frame is None else {"frame": frame}
