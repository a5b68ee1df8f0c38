"""Contact with friction by brute force, in NumPy and SciPy alone: the laws as they are printed, and every mode tried.

`violation` looks at impulses one row at a time: nothing here is scaled, projected or linearized as the solver does it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from scipy.optimize import least_squares

Modes = tuple[str, ...]


def violation(problem, x: np.ndarray) -> float:
    """By how much impulses x break the laws, as velocities (an impulse counts as what it does to its own row)."""
    G, first = np.asarray(problem.G, float), problem.nb + problem.nu
    own = np.diag(G)
    if problem.compliance is not None:
        G = G + np.diag(problem.compliance)
    v = G @ x + problem.g
    worst = [0.0]
    for i in range(problem.nb):
        worst.append(own[i] * max(0.0, abs(x[i]) - problem.bounds[i]))
        if abs(x[i]) < problem.bounds[i] * (1.0 - 1e-9):
            worst.append(min(abs(v[i]), own[i] * (problem.bounds[i] - abs(x[i]))))
        elif problem.bounds[i] > 0.0:
            worst.append(max(0.0, v[i] * np.sign(x[i])))
    for i in range(problem.nb, first):
        if problem.active[i - problem.nb] > 0.0:
            worst += [own[i] * max(0.0, -x[i]), max(0.0, -v[i]), min(abs(v[i]), own[i] * abs(x[i]))]
    for k, mu in enumerate(problem.friction):
        i = first + 3 * k
        if problem.active[problem.nu + k] > 0.0:
            worst += _contact_violation(x[i : i + 3], v[i : i + 3], mu, own[i : i + 3].mean())
    return float(max(worst))


def _contact_violation(x: np.ndarray, v: np.ndarray, mu: float, own: float) -> list[float]:
    push, slide = float(np.linalg.norm(x[:2])), float(np.linalg.norm(v[:2]))
    out = [own * max(0.0, -x[2]), own * max(0.0, push - mu * x[2]), max(0.0, -v[2]), min(abs(v[2]), own * abs(x[2]))]
    # Sliding, friction is mu x_n against the velocity: what is missing, as a velocity, unless it hardly slides.
    missing = np.linalg.norm(x[:2] + mu * x[2] * v[:2] / slide) if slide > 0.0 else 0.0
    return [*out, min(slide, own * float(missing))]


def solutions(problem, starts: int = 40, seed: int = 0) -> Iterator[tuple[Modes, np.ndarray]]:
    """Every mode of every contact (open, stick, slip), of every limit and every bounded row, that has a solution."""
    rng = np.random.default_rng(seed)
    rows = [("low", "free", "high")] * problem.nb + [("open", "closed")] * problem.nu
    for modes in itertools.product(*rows, *[("open", "stick", "slip")] * problem.nc):
        slipping = sum(mode == "slip" for mode in modes)
        for _ in range(starts if slipping else 1):
            x = _solved(problem, modes, rng.uniform(-np.pi, np.pi, slipping))
            if violation(problem, x) < 1e-9:
                yield modes, x
                break


def _solved(problem, modes: Modes, angles: np.ndarray) -> np.ndarray:
    """Impulses of these modes; the angles at which contacts slip are searched for from the given ones."""
    found = _linear(problem, modes, angles)
    if not len(angles):
        return found

    def across(angles: np.ndarray) -> np.ndarray:
        """Velocity across the direction of friction, per slipping contact."""
        v = problem.G @ _linear(problem, modes, angles) + problem.g
        slips = [k for k, mode in enumerate(modes[problem.nb + problem.nu :]) if mode == "slip"]
        first = problem.nb + problem.nu
        return np.array(
            [
                v[first + 3 * k] * np.sin(a) - v[first + 3 * k + 1] * np.cos(a)
                for k, a in zip(slips, angles, strict=True)
            ]
        )

    best = least_squares(across, angles, xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=40)
    return _linear(problem, modes, best.x)


def _linear(problem, modes: Modes, angles: np.ndarray) -> np.ndarray:
    """Impulses of these modes with friction in these directions: x = B y + x0, and some velocities are zero."""
    m, nb, first = len(problem.g), problem.nb, problem.nb + problem.nu
    columns, x0, zero = [], np.zeros(m), []
    remaining = iter(angles)
    for i, mode in enumerate(modes):
        if i < first:
            if mode in ("low", "high"):
                x0[i] = problem.bounds[i] * (1.0 if mode == "high" else -1.0)
            elif mode != "open":
                columns, zero = [*columns, np.eye(m)[i]], [*zero, np.eye(m)[i]]
            continue
        at, mu = first + 3 * (i - first), problem.friction[i - first]
        if mode == "stick":
            columns, zero = [*columns, *np.eye(m)[at : at + 3]], [*zero, *np.eye(m)[at : at + 3]]
        elif mode == "slip":
            a = next(remaining)
            column = np.zeros(m)
            column[at : at + 3] = mu * np.cos(a), mu * np.sin(a), 1.0
            columns, zero = [*columns, column], [*zero, np.eye(m)[at + 2]]
    if not columns:
        return x0
    B, Z = np.array(columns).T, np.array(zero)
    y = np.linalg.lstsq(Z @ problem.G @ B, -Z @ (problem.G @ x0 + problem.g), rcond=1e-12)[0]
    assert nb == problem.nb
    return B @ y + x0


def fixed_point(problem, steps: int = 40_000, tolerance: float = 1e-11) -> np.ndarray:
    """A slow and safe way for many contacts: x = P(x - c) with small steps, cones projected onto by their formula."""
    G, g, first = problem.G, problem.g, problem.nb + problem.nu
    w = np.sqrt(np.diag(G))
    for k in range(problem.nc):
        at = slice(first + 3 * k, first + 3 * k + 3)
        w[at] = np.sqrt(np.diag(G)[at].mean())
    A, b = G / np.outer(w, w), g / w
    rate = 1.0 / np.linalg.eigvalsh(A)[-1]
    mu = np.asarray(problem.friction, float)
    x = np.zeros(len(g))
    for _ in range(steps):
        c = A @ x + b
        c[first + 2 :: 3] += mu * np.hypot(c[first::3], c[first + 1 :: 3])
        u = x - rate * c
        new = u.copy()
        new[: problem.nb] = np.clip(
            u[: problem.nb], -problem.bounds * w[: problem.nb], problem.bounds * w[: problem.nb]
        )
        new[problem.nb : first] = np.maximum(u[problem.nb : first], 0.0)
        t, n = np.hypot(u[first::3], u[first + 1 :: 3]), u[first + 2 :: 3]
        on = (n + mu * t) / (1.0 + mu**2)
        inside, polar = t <= mu * n, mu * t <= -n
        normal = np.where(inside, n, np.where(polar, 0.0, on))
        factor = np.where(inside, 1.0, mu * normal / np.maximum(t, 1e-300))
        new[first::3], new[first + 1 :: 3], new[first + 2 :: 3] = (
            factor * u[first::3],
            factor * u[first + 1 :: 3],
            normal,
        )
        moved, x = np.abs(new - x).max(), new
        if moved < tolerance * rate:
            break
    return x / w
