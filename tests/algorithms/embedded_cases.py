"""Mechanisms with embedded constraints, with others on top of them, and what dense algebra says about them.

The reference is the dense oracle on the spanning model with every constraint as rows: it knows nothing of clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

import sarrus
from sarrus import zoo
from sarrus.model.bodies import Frame, Placement
from sarrus.model.model import Model
from sarrus.zoo.sketch import Sketch
from tests.oracles import loops
from tests.oracles.constrained import Kkt

BASES: dict[str, Callable[[], Model]] = {
    "link and rotor": lambda: zoo.tree_of("link_and_rotor", 2, 2),
    "link and unbalanced rotor": lambda: zoo.tree_of("link_and_rotor", 2, 1, symmetric=False),
    "parallel belt": lambda: zoo.tree_of("parallel_belt", 2, 1),
    "four-bar": lambda: zoo.tree_of("four_bar", 2, 1),
    "parallel chains": lambda: zoo.parallel_chains(4, 2, "connecting_rod"),
}


def loop_on_a_loop() -> Model:
    """A four-bar whose rocker carries another one, the cut joint of which is on the rocker itself."""
    sketch = Sketch("loop_on_a_loop")
    A, B, C, D = (np.array([x, 0.0, z]) for x, z in ((0.0, 0.0), (0.05, 0.14), (0.36, 0.3), (0.4, 0.0)))
    sketch.rod("crank", "world", A, B)
    sketch.rod("coupler", "crank", B, C)
    sketch.rod("rocker", "world", D, C)
    E, F, G = (np.array([x, 0.0, z]) for x, z in ((0.45, 0.4), (0.7, 0.35), (0.65, 0.05)))
    sketch.rod("second_crank", "rocker", C, E)
    sketch.rod("second_coupler", "second_crank", E, F)
    sketch.rod("second_rocker", "second_coupler", F, G)
    sketch.close("first", "coupler", "rocker", C, "revolute", np.eye(3)[1])
    sketch.close("second", "second_rocker", "rocker", G, "revolute", np.eye(3)[1])
    return sketch.build()


class State(NamedTuple):
    """On all of a model's constraints."""

    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray


def pinned(model: Model, a: str, b: str, name: str = "pin", shift=(0.03, 0.02, -0.05)) -> Model:
    """Frames `{name}_a`, `{name}_b` on two bodies that coincide where q is neutral."""
    at = sarrus.forward_kinematics(model, sarrus.neutral(model), frames=(a, b))
    where, turned = dict(zip((a, b), at.position, strict=True)), dict(zip((a, b), at.rotation, strict=True))
    middle = 0.5 * (where[a] + where[b]) + np.array(shift)
    frames = [
        Frame(f"{name}_{x}", -1 if body == "world" else model.body_index(body),
              Placement(turned[body].T, turned[body].T @ (middle - where[body])))
        for x, body in (("a", a), ("b", b))
    ]  # fmt: skip
    return replace(model, frames=(*model.frames, *frames))


@cache
def state_of(model: Model, seed: int = 1, amount: float = 0.2) -> State:
    """Assembled by the oracle, away from where the mechanism starts."""
    rng = np.random.default_rng(seed)
    spanning = model.spanning
    start = sarrus.neutral(model) if model.home is None else model.home
    start = sarrus.integrate(model, start, amount * rng.normal(size=model.nv))
    q, v = loops.assembled(spanning, start, rng.normal(size=model.nv))
    return State(q, v, rng.normal(size=model.nv))


class Dense(NamedTuple):
    """M qdd + c = tau + J^T f, J qdd = k of what is left as rows; K qdd = kappa of what is embedded."""

    M: np.ndarray
    c: np.ndarray
    J: np.ndarray
    k: np.ndarray
    R: np.ndarray
    K: np.ndarray
    kappa: np.ndarray
    whole: Kkt

    @property
    def N(self) -> np.ndarray:
        """Velocities that the embedded constraints allow, as orthonormal columns."""
        _, sigma, Vt = np.linalg.svd(self.K)
        return Vt[int(np.sum(sigma > 1e-9 * sigma[0])) :].T

    def hard(self, tau: np.ndarray) -> np.ndarray:
        """Accelerations where every row is met."""
        return loops.solve(self.whole, tau)[0]

    def soft(self, tau: np.ndarray, weight: float | None = None) -> np.ndarray:
        """Accelerations where the rows that are left are springs of stiffness 1 / R (or `weight`)."""
        W = np.diag(1.0 / self.R) if weight is None else weight * np.eye(len(self.k))
        particular = np.linalg.lstsq(self.K, self.kappa, rcond=1e-9)[0]
        A = self.M + self.J.T @ W @ self.J
        rhs = tau - self.c + self.J.T @ W @ self.k - A @ particular
        return particular + self.N @ np.linalg.solve(self.N.T @ A @ self.N, self.N.T @ rhs)

    @property
    def delassus(self) -> np.ndarray:
        """Of the rows that are left, on the motions that the embedded ones allow."""
        JN = self.J @ self.N
        return JN @ np.linalg.solve(self.N.T @ self.M @ self.N, JN.T)


def dense(model: Model, state: State, external_forces: np.ndarray | None = None) -> Dense:
    """The problem of an embedded model, divided into what is embedded and what is left."""
    assert model.embedding is not None
    spanning = model.spanning
    whole = loops.kkt(spanning, state.q, state.v, external_forces=external_forces)
    names = [c.name for c in spanning.active_constraints for _ in range(c.size)]
    embedded = np.array([name in model.embedding.constraints for name in names])
    softness = [getattr(c, "R", None) for c in spanning.active_constraints]
    R = [
        np.full(c.size, np.nan) if r is None else r for c, r in zip(spanning.active_constraints, softness, strict=True)
    ]
    return Dense(
        whole.M, whole.c, whole.J[~embedded], whole.k[~embedded], np.concatenate([np.zeros(0), *R])[~embedded],
        whole.J[embedded], whole.k[embedded], whole,
    )  # fmt: skip
