"""Derivatives beside differences of extended precision: a table for users and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.tape import Tape
from sarrus.codegen.tape.trace import trace
from sarrus.errors import UnsupportedError, check_name
from sarrus.model.model import Model
from sarrus.model.state import as_state_array, check_configuration
from sarrus.registry.table import check_model, find
from sarrus.simulation.random_states import random_state
from sarrus.spatial.arrays import Array

TOLERANCE = 1e-7
VALUES = {  # what each differentiates; its outputs are called d(value)_d(input)
    "rnea_derivatives": "rnea",
    "aba_derivatives": "aba",
    "forward_dynamics_derivatives": "prox_ltl",
    "frame_velocity_derivatives": "frame_velocity",
    "frame_acceleration_derivatives": "frame_acceleration",
    "center_of_mass_derivatives": "center_of_mass",
    "centroidal_momentum_derivatives": "centroidal_momentum",
    "energy_derivatives": "energy",
}
_EXACT = {"prox_ltl": {"tolerance": 1e-16, "max_iterations": 60}}  # an iteration is followed to its end
_STEP = float(np.finfo(np.longdouble).eps) ** 0.25  # small, for states near singular ones: rounding can afford it


@dataclass(frozen=True)
class DerivativeError:
    """One matrix of derivatives."""

    algorithm: str
    output: str
    largest: float  # element
    error: float  # largest, relative to the largest element or to one; not a number where there is no truth
    note: str = ""


@dataclass(frozen=True)
class DerivativeCheck:
    """What `check_derivatives` found. `str()` is a table."""

    model: str
    tolerance: float
    errors: tuple[DerivativeError, ...]

    @property
    def ok(self) -> bool:
        """Whether every matrix that has a truth agrees with it, and there is one."""
        found = [x.error for x in self.errors if not x.note]
        return bool(found) and all(error <= self.tolerance for error in found)

    def __str__(self) -> str:
        lines = [f"derivatives of {self.model!r} beside differences, relative errors (at most {self.tolerance:.0e}):"]
        for x in self.errors:
            said = x.note or f"{x.error:.1e}" + ("" if x.error <= self.tolerance else "  WRONG")
            lines.append(f"  {x.algorithm:32} {x.output:18} {x.largest:10.3g}  {said}")
        return "\n".join(lines)


def check_derivatives(
    model: Model,
    q: Any = None,
    v: Any = None,
    a: Any = None,
    tau: Any = None,
    *,
    algorithms: Sequence[str] | None = None,
    frame: str | None = None,
    rng: np.random.Generator | int | None = 0,
    tolerance: float = TOLERANCE,
) -> DerivativeCheck:
    """Compares closed-form derivatives at a state with finite differences of fourth order in extended precision.

    q, v, a, tau  the state; default: a random one, on the constraints
    algorithms    names of derivatives; default: all that this model supports
    frame         for derivatives of frames; default: that of the last body
    rng           for the random state: a generator, or a seed
    tolerance     the relative difference to accept
    returns       a `DerivativeCheck`: `str` says what was compared and how well it agrees
    errors        `UnknownNameError`: no such algorithm or frame; `StateError`: arrays of the wrong shape

    >>> print(sarrus.check_derivatives(sarrus.zoo.chain(2), algorithms=["rnea_derivatives"]))
    derivatives of 'chain_2' beside differences...
    """
    rng = np.random.default_rng(rng)
    if q is None or v is None:
        at, rate = random_state(model, rng)
        q, v = at if q is None else q, rate if v is None else v
    given = {"q": check_configuration(model, q)} | {
        name: as_state_array(name, rng.normal(size=model.nv) if x is None else x, model.nv)
        for name, x in (("v", v), ("a", a), ("tau", tau))
    }
    if model.n_input_rows:
        given["k"] = np.zeros(model.n_input_rows)
    errors: list[DerivativeError] = []
    for name in VALUES if algorithms is None else algorithms:
        check_name("derivative", name, VALUES)
        if not model.nv or (algorithms is None and not _can_do(name, model)):
            continue
        errors += _errors(model, name, given, frame or (model.body_names[-1] if model.nb else "world"))
    return DerivativeCheck(model.name, tolerance, tuple(errors))


def _can_do(name: str, model: Model) -> bool:
    """Whether it makes sense: of dynamics with constraints, only those that know them."""
    if name in ("center_of_mass_derivatives", "centroidal_momentum_derivatives") and model.mass == 0.0:
        return False
    try:
        check_model(find(name), model)
        check_model(find(VALUES[name]), model.spanning)
    except UnsupportedError:
        return False
    return True


def _errors(model: Model, name: str, given: dict[str, Array], frame: str) -> list[DerivativeError]:
    algorithm, source = find(name), find(VALUES[name])
    options = {"frame": frame} if "frame" in algorithm.options else {}
    result = algorithm(model, **{key: given[key] for key in algorithm.input_names if key in given}, **options)
    taken = tuple(key for key in source.input_names if key in given)
    values = trace(model.spanning, source, inputs=taken, **options, **_EXACT.get(source.name, {}))
    outputs = [port.name for port in values.outputs]
    unique = getattr(result, "unique", 1.0) == 1.0
    forces_too = unique and getattr(result, "rank", 0) == model.n_rows and model.spanning is model
    found: list[DerivativeError] = []
    for key in [key for key in taken if key != "k"]:
        truth = _differences(model, values, {name: given[name] for name in taken}, key)
        for of, output in [(x, f"d{x}_d{key}") for x in outputs if hasattr(result, f"d{x}_d{key}")]:
            matrix, note = np.atleast_2d(getattr(result, output)), ""
            if not matrix.size:
                continue
            if not unique and key != "tau":
                note = "not unique: only along motions that keep loops closed"
            elif of == "forces" and not forces_too:
                note = "not unique: rows depend on each other"
            expected = truth[of].astype(float)
            off = np.abs(matrix - expected).max(initial=0.0) if matrix.shape == expected.shape else np.nan
            largest = float(np.abs(matrix).max(initial=0.0))
            error = np.nan if note else off / max(1.0, float(np.abs(expected).max(initial=0.0)))
            found.append(DerivativeError(name, output, largest, float(error), note))
    return found


def _differences(model: Model, tape: Tape, given: dict[str, Array], key: str) -> dict[str, Array]:
    """Of every output, with respect to one input, all columns at once."""
    n, at = model.nv, {name: np.asarray(x, np.longdouble) for name, x in given.items()}
    directions = np.eye(n)
    if key == "q":  # along the tangent; leaving unit quaternions does no harm to first order
        directions = np.zeros((model.nq, n))
        for body, of_q, of_v in zip(model.bodies, model.layout.q, model.layout.v, strict=True):
            directions[of_q, of_v] = body.joint.type.rate_map(given["q"][of_q])
    steps = np.array([-2.0, -1.0, 1.0, 2.0], np.longdouble) * _STEP
    weights = np.array([1.0, -8.0, 8.0, -1.0], np.longdouble) / (12.0 * np.longdouble(_STEP))
    moved = (at[key][:, None, None] + directions[:, None, :] * steps[:, None]).reshape(len(at[key]), -1)
    inputs = [list(moved if p.name == key else at[p.name].ravel()[:, None] * np.ones(4 * n)) for p in tape.inputs]
    found = {}
    for port, values in zip(tape.outputs, interpret.run(tape, inputs), strict=True):
        all_of_them = np.array([np.broadcast_to(x, 4 * n) for x in values], np.longdouble).reshape(-1, 4, n)
        found[port.name] = np.einsum("isj,s->ij", all_of_them, weights)
    return found
