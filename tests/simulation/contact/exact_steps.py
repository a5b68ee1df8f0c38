"""Derivatives of a step on the ground by differences in extended precision: what decides about A, B and P.

The step with given impulses runs on 80-bit numbers, and its impulses are made to meet the equations of what every row
does by iterations with the residual in these numbers. That it is the step is checked by its values.

Rows of a loop that are redundant while it is closed (a planar four-bar in space) make a step that is smooth only along
motions which keep it closed; a little off these it is stiff, and differences of steps say nothing. Such motions are
followed in 80-bit numbers, too: the states beside a state are on the loops to 1e-18.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus import Simulation
from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.tape import Tape
from sarrus.codegen.tape.trace import trace
from sarrus.model.model import Model
from sarrus.simulation.contact.contact_linearization import WAYS, ContactLinearizer, Given, TakenSteps, Way
from sarrus.simulation.contact.contact_modes import Modes, RowKinds
from sarrus.simulation.contact.open_contact_step import OpenContactStep, open_contact_step_algorithm
from sarrus.simulation.step_call import StepResult
from sarrus.simulation.trajectory import State

H = 1e-6  # at most: far less than the penetrations that a step undoes, whose sizes decide how it does so
# Of eighth order: along loops, whose stiffness makes 1e-15 of the last bit of q, smaller steps would show that.
WEIGHTS = {
    k: sign * w
    for sign in (-1.0, 1.0)
    for k, w in ((sign, 4 / 5), (2 * sign, -1 / 5), (3 * sign, 4 / 105), (4 * sign, -1 / 280))
}
MORE = 100.0  # times that of forces, which do little in a step
NEAR = 0.02  # of the smallest gap, so that nothing opens or closes on the way
ITERATIONS = 6
VALUES = 1e-8  # of velocities: the step itself was solved to its tolerance only


class ExactSlopes(NamedTuple):
    """Of the state after the step."""

    A: np.ndarray
    B: np.ndarray
    P: np.ndarray  # (2 nv, 0) without parameters


class Solve(NamedTuple):
    """Of a step that solves for its impulses once, or twice."""

    tape: Tape
    kinds: RowKinds
    modes: Modes
    start: np.ndarray  # impulses


class ExactStep:
    """A step without a projection, in the mode in which the simulation's own step was."""

    def __init__(self, simulation: Simulation, state: State | StepResult, tau: np.ndarray) -> None:
        linearizer, inputs, taken, _ = simulation._contact_steps(state, 1, tau, None, None)
        one = TakenSteps(*(x[:, 0] for x in taken))
        given = {name: x[:, 0] for name, x in inputs.items()}
        linearizer(np.atleast_2d(state.q), np.atleast_2d(state.v), np.zeros(1), given, one)
        ways = {way for _, way in linearizer._kernels}  # among them the one in which it came out
        self.model, symbols = linearizer.model, linearizer._symbols
        self._closure = trace(self.model.spanning, "closure", parameters=symbols or None)
        self.given = {"q": state.q, "v": state.v, "dt": np.array(simulation.dt), "step": np.zeros(())}
        self.given |= {name: x[0] for name, x in given.items()}
        self.given["rubbed"] = one.before[0, -linearizer.memory or None :]
        arrays = {name: np.asarray(y)[None] for name, y in self.given.items()}
        assert any(self._is_taken(linearizer, one, Given(arrays), way) for way in WAYS if way in ways)

    def _is_taken(self, linearizer: ContactLinearizer, one: TakenSteps, begun: Given, way: Way) -> bool:
        """Whether the step was taken in this way."""
        self._solves = list[Solve]()
        for each in [way._replace(struck=False), way] if way.struck else [way]:
            solve, value = self._solved(linearizer, one, begun, each)
            self._solves.append(solve)
            change = begun.arrays | {"change": value.changed}
            begun = Given(change, np.zeros((1, self.model.nv, linearizer._ends[-1])))
            self.h = np.longdouble(min(H, NEAR * np.abs(value.gaps[0]).min(initial=np.inf)))
        self.end = self.after({})[:, 0]
        found = self.end[self.model.nq :].astype(float)
        return bool(np.abs(found - one.v[0]).max() < VALUES * (1.0 + np.abs(one.v).max()))

    def _solved(
        self, linearizer: ContactLinearizer, one: TakenSteps, begun: Given, way: Way
    ) -> tuple[Solve, OpenContactStep]:
        """A solve, to the precision of doubles."""
        numbers, along, kinds = linearizer._kernel(one.after, way)
        shapes = linearizer._shapes | ({"change": (self.model.nv,)} if way.struck else {})
        algorithm = open_contact_step_algorithm(self.model, linearizer._settings, shapes, kinds.total)
        how = {"settings": linearizer._settings, "numbers": numbers, **way._asdict()}
        tape = trace(self.model, algorithm, parameters=linearizer._symbols or None, **how)
        x = linearizer._impulses(begun.arrays["q"], one.after, numbers, kinds)
        value, slopes = linearizer._slopes(along, begun, x)
        G = slopes["rows"][0][:, slopes["rows"].shape[2] - kinds.total :]
        modes = Modes.of(kinds, x[0], value.rows[0], G)
        start = modes.solved(x[0], G, value.rows[0] - G @ x[0])
        return Solve(tape, kinds, modes, start), linearizer._slopes(along, begun, start[None])[0]

    def after(self, changed: dict[str, np.ndarray]) -> np.ndarray:
        """q and v (n, k) after steps with other inputs (n, k)."""
        k = next((x.shape[1] for x in changed.values()), 1)
        arrays, found = {name: _wide(x, k) for name, x in self.given.items()} | changed, {}
        for solve in self._solves:
            found = self._step(solve, arrays, k)
            arrays |= {"change": found["changed"]}
        return np.concatenate([found["q"], found["v"]])

    def _step(self, solve: Solve, arrays: dict[str, np.ndarray], k: int) -> dict[str, np.ndarray]:
        """Outputs (n, k) of steps whose impulses are those of a solve, of inputs (n, k)."""
        tape, kinds, modes, start = solve
        arrays = {port.name: arrays[port.name] for port in tape.inputs if port.name != "impulses"}
        x, m = _wide(start, k), kinds.total
        # Rows are affine in impulses: G of every state. (What is the first corner of a level sole may differ.) Columns
        # of what is open do not matter.
        acting = np.flatnonzero(np.any(modes.equations(start, np.zeros(m))[2], axis=1) | (start != 0.0))
        n = len(acting)
        shifted = {name: np.repeat(y, n + 1, axis=1) for name, y in arrays.items()}
        unit = np.eye(m, dtype=np.longdouble)[:, [*acting, 0]] * np.append(np.ones(n), 0.0) if m else np.zeros((0, 1))
        rows = _run(tape, shifted | {"impulses": np.tile(unit, k)})["rows"].reshape(m, k, n + 1)
        G, g = np.zeros((m, k, m), np.longdouble), rows[..., n]
        G[..., acting] = rows[..., :n] - rows[..., n:]
        for _ in range(ITERATIONS if m else 0):
            for j in range(k):
                r, by_x, by_c = modes.equations(x[:, j], G[:, j] @ x[:, j] + g[:, j])
                matrix = (by_x + by_c @ G[:, j])[np.ix_(acting, acting)].astype(float)
                x[acting, j] -= np.linalg.pinv(matrix, rcond=1e-10) @ r[acting]
        return _run(tape, arrays | {"impulses": x})

    def on_loops(self, q: np.ndarray, v: np.ndarray, parameters: np.ndarray) -> dict[str, np.ndarray]:
        """States (n, k) moved onto the loops of the model with these parameters."""
        N = rate_map(self.model, np.asarray(self.given["q"], float))
        for _ in range(6):
            found = _run(self._closure, {"q": q, "parameters": parameters})
            J = found["jacobian"].reshape(-1, self.model.nv, q.shape[1])
            for j in range(q.shape[1]):
                back = np.linalg.pinv(J[..., j].astype(float), rcond=1e-9)
                v[:, j] -= back @ (J[..., j] @ v[:, j])
                q[:, j] -= N @ (back @ found["position"][:, j])
            q = self._normalized(q)
        return {"q": q, "v": v}

    def slope(self, **directions: np.ndarray) -> np.ndarray:
        """Columns (2 nv, k) along changes (n, k) of inputs; of q in the tangent space."""
        return self._slope({name: x.astype(np.longdouble) for name, x in directions.items()}, False)

    def slope_on_loops(self, **directions: np.ndarray) -> np.ndarray:
        """The same along changes that keep loops closed to first order, on paths that keep them closed."""
        return self._slope({name: x.astype(np.longdouble) for name, x in directions.items()}, True)

    def _slope(self, directions: dict[str, np.ndarray], on_loops: bool) -> np.ndarray:
        N, model = rate_map(self.model, np.asarray(self.given["q"], float)), self.model
        steps, h = [], self.h * (MORE if "tau" in directions else 1.0)
        for t in WEIGHTS:
            changed = {}
            for name, along in directions.items():
                along = N @ along if name == "q" else along
                changed[name] = _wide(self.given[name], along.shape[1]) + t * h * along
            k = next(iter(changed.values())).shape[1]
            q, v = (changed.get(name, _wide(self.given[name], k)) for name in ("q", "v"))
            changed |= {"q": self._normalized(q), "v": v}
            if on_loops:
                parameters = changed.get("parameters", _wide(self.given.get("parameters", np.zeros(0)), k))
                changed |= self.on_loops(changed["q"], v.copy(), parameters)
            steps.append(self.after(changed))
        by = sum(weight * step for weight, step in zip(WEIGHTS.values(), steps, strict=True)) / h
        back = np.linalg.pinv(rate_map(model, self.end[: model.nq].astype(float)))
        return np.concatenate([back @ by[: model.nq].astype(float), by[model.nq :].astype(float)])

    def _normalized(self, q: np.ndarray) -> np.ndarray:
        q = q.copy()
        for _, start in self.model.layout.quaternions:
            q[start : start + 4] /= np.sqrt(np.sum(q[start : start + 4] ** 2, axis=0))
        return q


def exact_slopes(simulation: Simulation, state: State | StepResult, tau: np.ndarray) -> ExactSlopes:
    """By tau, without a projection after the step."""
    step, nv = ExactStep(simulation, state, tau), simulation.stepped_model.nv
    A = np.concatenate([step.slope(q=np.eye(nv)), step.slope(v=np.eye(nv))], axis=1)
    count = len(simulation.parameters or ())
    P = step.slope(parameters=np.eye(count)) if count else np.zeros((2 * nv, 0))
    return ExactSlopes(A, step.slope(tau=np.eye(nv)), P)


def _run(tape: Tape, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Outputs (n, k) of inputs (n, k)."""
    k = arrays["q"].shape[1]
    found = interpret.run(tape, [list(arrays[port.name]) for port in tape.inputs])
    return {
        port.name: np.array([np.broadcast_to(y, k) for y in values], np.longdouble).reshape(-1, k)
        for port, values in zip(tape.outputs, found, strict=True)
    }


def _wide(x: np.ndarray, k: int) -> np.ndarray:
    return np.repeat(np.asarray(x, np.longdouble).reshape(-1, 1), k, axis=1)


def rate_map(model: Model, q: np.ndarray) -> np.ndarray:
    """(nq, nv): dq/dt = N v."""
    N = np.zeros((model.nq, model.nv))
    for body, of_q, of_v in zip(model.bodies, model.layout.q, model.layout.v, strict=True):
        N[of_q, of_v] = body.joint.type.rate_map(q[of_q])
    return N
