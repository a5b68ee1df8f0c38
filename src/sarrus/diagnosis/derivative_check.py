"""Derivatives beside differences of extended precision: a table for users and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.tape import Tape
from sarrus.codegen.tape.trace import trace
from sarrus.errors import UnsupportedError, check_name
from sarrus.model.independent import independent_velocities, reported_rows
from sarrus.model.model import Model
from sarrus.model.state import as_state_array, check_configuration
from sarrus.registry.features import Feature
from sarrus.registry.table import check_model, find
from sarrus.simulation.random_states import random_state
from sarrus.spatial.arrays import Array

TOLERANCE = 1e-7
VALUES = {  # what each differentiates; its outputs are called d(value)_d(input)
    "rnea_derivatives": "rnea",
    "aba_derivatives": "aba",
    "forward_dynamics_derivatives": "prox_ltl",
    "ce_aba_derivatives": "ce_aba",
    "frame_jacobian_derivative": "frame_jacobian",
    "frame_velocity_derivatives": "frame_velocity",
    "frame_acceleration_derivatives": "frame_acceleration",
    "center_of_mass_derivatives": "center_of_mass",
    "centroidal_momentum_derivatives": "centroidal_momentum",
    "energy_derivatives": "energy",
}
_EXACT = {"prox_ltl": {"tolerance": 1e-16, "max_iterations": 60}}  # an iteration is followed to its end
_STEP = float(np.finfo(np.longdouble).eps) ** 0.25  # small, for states near singular ones: rounding can afford it
_LONGER = 64.0  # a second step: the shares of redundant rows are known to fewer digits. What is wrong fits to neither


_SMALL = 1e-2  # of the largest element of a value
_SMALLEST = 1e-12
_ROUNDINGS = 16.0


class Columns(NamedTuple):
    """What a matrix of derivatives is with respect to: directions in which an input moves."""

    name: str  # the matrix is called d(value)_d(name)
    input: str
    directions: Array  # (size of the input, columns)


@dataclass(frozen=True)
class DerivativeError:
    """One matrix of derivatives."""

    algorithm: str
    output: str
    largest: float  # element
    error: float  # largest, relative to the largest element (`_scale`); not a number where there is no truth
    note: str = ""
    known: float = 0.0  # to what the differences themselves are known, in the same terms

    def fits(self, tolerance: float) -> bool:
        """Whether it agrees with the differences, as far as these are known."""
        return self.error <= max(tolerance, _ROUNDINGS * self.known)


@dataclass(frozen=True)
class DerivativeCheck:
    """What `check_derivatives` found. `str()` is a table."""

    model: str
    tolerance: float
    errors: tuple[DerivativeError, ...]

    @property
    def ok(self) -> bool:
        """Whether every matrix that has a truth agrees with it, and there is one."""
        found = [x for x in self.errors if not x.note]
        return bool(found) and all(x.fits(self.tolerance) for x in found)

    def __str__(self) -> str:
        lines = [f"derivatives of {self.model!r} beside differences, relative errors (at most {self.tolerance:.0e}):"]
        if not self.errors:
            lines.append("  nothing to compare: no joint moves, or no derivative is for this model")
        for x in self.errors:
            said = x.note or f"{x.error:.1e}" + ("" if x.fits(self.tolerance) else "  WRONG")
            if not x.note and x.known > self.tolerance:
                said += f"  (differences are known to {x.known:.0e} only)"
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
        check_model(find(VALUES[name]), model if name == "ce_aba_derivatives" else model.spanning)
    except UnsupportedError:
        return False
    return True


def _errors(model: Model, name: str, given: dict[str, Array], frame: str) -> list[DerivativeError]:
    algorithm, source = find(name), find(VALUES[name])
    if name == "ce_aba_derivatives":  # in independent coordinates, with loops that stay closed
        mine = list(independent_velocities(model))
        given = {"q": given["q"], "yd": given["v"][mine], "tau_y": given["tau"][mine]}
    options = {"frame": frame} if "frame" in algorithm.options else {}
    shared = {"minimum_norm": True} if "minimum_norm" in algorithm.options else {}  # loads, as the proximal method does
    inputs = {key: given[key] for key in algorithm.input_names if key in given}
    result = algorithm(model, **inputs, **options, **shared)
    got = dict(zip(algorithm.output_names, (result,) if algorithm.outputs else result, strict=True))
    taken = tuple(key for key in source.input_names if key in given)
    of_rows = model if Feature.EMBEDDED in source.needs else model.spanning
    values = trace(of_rows, source, inputs=taken, **options, **_EXACT.get(source.name, {}))
    unique = got.get("unique", 1.0) == 1.0
    found: list[DerivativeError] = []
    for columns in _columns(model, name, got, given, taken):
        named = {p.name: "J_t" if p.name == "J" else f"d{p.name}_d{columns.name}" for p in values.outputs}
        named = {of: output for of, output in named.items() if output in got}
        at = {name: given[name] for name in taken}
        steps = (_STEP, _LONGER * _STEP)
        truths = [_differences(values, at, columns, step) for step in steps] if named else []
        for of, output in named.items():
            matrix, note = np.atleast_2d(got[output]), ""
            if not matrix.size:
                continue
            if not unique and columns.name not in ("tau", "k"):
                note = "not unique: only along motions that keep loops closed"
            rows = list(reported_rows(model)) if of == "forces" else slice(None)
            largest = float(np.abs(matrix).max(initial=0.0))
            if note:
                found.append(DerivativeError(name, output, largest, np.nan, note))
                continue
            compared = [
                _compared(matrix, truth[of].slopes[rows], truth[of].largest, step)
                for truth, step in zip(truths, steps, strict=True)
            ]
            error, known = min(compared)
            found.append(DerivativeError(name, output, largest, error, known=known))
    return found


def _compared(matrix: Array, truth: Array, value: float, step: float) -> tuple[float, float]:
    """The largest error, and what is known of the differences, of values that are so large; both relative.

    The error is infinite where it is not a number, or the sizes are not those of each other.
    """
    if matrix.size != truth.size:
        return np.inf, 0.0
    expected = truth.astype(float).reshape(matrix.shape)
    # Of light robots everything is small. What is much smaller than the value that varies is the rest of larger terms.
    scale = max(np.abs(expected).max(initial=0.0), _SMALL * value, _SMALLEST)
    off = np.abs(matrix - expected).max(initial=0.0) / scale
    known = float(np.finfo(np.longdouble).eps) * value / step / scale
    return float(off) if np.isfinite(off) else np.inf, known


def _columns(
    model: Model, name: str, got: dict[str, Array], given: dict[str, Array], taken: Sequence[str]
) -> list[Columns]:
    """Of all matrices of an algorithm."""
    tangent = np.zeros((model.nq, model.nv))  # leaving unit quaternions does no harm to first order
    for body, of_q, of_v in zip(model.bodies, model.layout.q, model.layout.v, strict=True):
        tangent[of_q, of_v] = body.joint.type.rate_map(given["q"][of_q])
    found = {key: np.eye(len(given[key])) for key in taken if key != "q"} | {"q": tangent}
    if name == "frame_jacobian_derivative":
        return [Columns("t", "q", tangent @ given["v"][:, None])]
    if name == "ce_aba_derivatives":
        return [Columns("y", "q", tangent @ got["G"]), *(Columns(x, x, found[x]) for x in ("yd", "tau_y"))]
    return [Columns(key, key, found[key]) for key in taken]


class Differences(NamedTuple):
    """Of one output."""

    slopes: Array  # (size, columns)
    largest: float  # element of the output


def _differences(tape: Tape, given: dict[str, Array], columns: Columns, step: float) -> dict[str, Differences]:
    """Of every output, all columns at once."""
    at = {name: np.asarray(x, np.longdouble) for name, x in given.items()}
    moving, n = at[columns.input], columns.directions.shape[1]
    steps = np.array([-2.0, -1.0, 1.0, 2.0], np.longdouble) * step
    weights = np.array([1.0, -8.0, 8.0, -1.0], np.longdouble) / (12.0 * np.longdouble(step))
    moved = (moving[:, None, None] + columns.directions[:, None, :] * steps[:, None]).reshape(len(moving), -1)
    inputs = [
        list(moved if p.name == columns.input else at[p.name].ravel()[:, None] * np.ones(4 * n)) for p in tape.inputs
    ]
    found = {}
    for port, values in zip(tape.outputs, interpret.run(tape, inputs), strict=True):
        all_of_them = np.array([np.broadcast_to(x, 4 * n) for x in values], np.longdouble).reshape(-1, 4, n)
        largest = float(np.abs(all_of_them).max(initial=0.0))
        found[port.name] = Differences(np.einsum("isj,s->ij", all_of_them, weights), largest)
    return found
