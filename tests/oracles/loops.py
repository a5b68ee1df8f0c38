"""Dense constrained dynamics with loops: rows of every constraint type from second-order jets of poses.

Built on `dense.py` only. Each constraint is a set of functions of the two frames' poses; along the path with joint
velocity v and acceleration a their second derivatives are exact, so J is the rate for unit velocities and k is minus
the second derivative at a = 0. Rows of one constraint may differ from the library's by a rotation, so compare what
forces do (J^T f), not forces.
"""

from __future__ import annotations

import numpy as np

import sarrus
from sarrus.model.constraints import CenterOfMass, Coupling, Distance, LinkConstraint, LoopClosure
from tests.oracles.constrained import Kkt
from tests.oracles.constrained import kkt as kkt_of_links
from tests.oracles.dense import Dense, Jet, oracle_of_model, placed, unhat

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # value, rate, second derivative, each (m,)


def rows_of(model, constraint, oracle: Dense, q, v, a) -> Rows:
    """A constraint's conditions and their first and second derivative along the path."""
    if isinstance(constraint, Coupling):
        return _coupling(model, constraint, q, v, a)
    if isinstance(constraint, CenterOfMass):
        return _center_of_mass(constraint, oracle, oracle.motion(q, v, a))
    return _of_frames(model, constraint, oracle.motion(q, v, a))


def jacobian(model, constraint, oracle: Dense, q) -> np.ndarray:
    """(m, nv): the rates for unit velocities."""
    zero = np.zeros(model.nv)
    if isinstance(constraint, Coupling):
        return np.stack([_coupling(model, constraint, q, e, zero)[1] for e in np.eye(model.nv)], axis=1)
    still, partials = oracle.motion(q), oracle.partials(q)
    columns = []
    for k in range(model.nv):
        motion = [Jet(jet.value, partials[i, k], np.zeros((4, 4))) for i, jet in enumerate(still)]
        if isinstance(constraint, CenterOfMass):
            columns.append(_center_of_mass(constraint, oracle, motion)[1])
        else:
            columns.append(_of_frames(model, constraint, motion)[1])
    return np.stack(columns, axis=1)


def _center_of_mass(c: CenterOfMass, oracle: Dense, motion: list[Jet]) -> Rows:
    """The mean of the bodies' own centres, weighted by mass; its value is the distance from `at`, if there is one."""
    total = sum(link.mass for link in oracle.links)
    axes = [{"x": 0, "y": 1, "z": 2}[axis] for axis in c.axes]
    moments = [
        sum(link.mass * (T @ np.append(link.com, 1.0)) for link, T in zip(oracle.links, of_all, strict=True))
        for of_all in zip(*motion, strict=True)
    ]
    position, rate, second = (np.asarray(moment)[axes] / total for moment in moments)
    return np.zeros(len(axes)) if c.at is None else position - c.at, rate, second


def _of_frames(model, constraint, motion: list[Jet]) -> Rows:
    A, B = (_frame(model, name, motion) for name in (constraint.frame_a, constraint.frame_b))
    if isinstance(constraint, Distance):
        return _distance(constraint, A, B)
    return _closure(constraint, A, B)


def _frame(model, name, motion) -> Jet:
    frame = model.frame(name)
    placement = placed(np.asarray(frame.placement.R), np.asarray(frame.placement.p))
    still = np.zeros((4, 4))
    on = Jet(np.eye(4), still, still) if frame.body < 0 else motion[frame.body]
    return on @ Jet(placement, still, still)


def _coupling(model, c: Coupling, q, v, a) -> Rows:
    reference = dict(c.references)

    def of(name):
        i = model.joint_names.index(name)
        at_q, at_v = model.layout.q[i].start, model.layout.v[i].start
        return q[at_q] - reference.get(name, 0.0), v[at_v], a[at_v]

    out = np.zeros(3)
    for name, ratio in c.ratios:
        out += ratio * np.array(of(name))
    if c.driver is None:
        out[0] -= c.polynomial[0]
    else:
        x, xd, xdd = of(c.driver)
        p = np.polynomial.Polynomial(c.polynomial)
        out -= [p(x), p.deriv()(x) * xd, p.deriv()(x) * xdd + p.deriv(2)(x) * xd**2]
    return out[:1], out[1:2], out[2:]


def _distance(c: Distance, A: Jet, B: Jet) -> Rows:
    d, d1, d2 = ((b - a)[:3, 3] for a, b in zip(A, B, strict=True))
    length = np.linalg.norm(d)
    rate = d @ d1 / length
    second = (d1 @ d1 + d @ d2 - rate**2) / length
    return np.array([length - c.length]), np.array([rate]), np.array([second])


def _spin(T: Jet) -> tuple[np.ndarray, np.ndarray]:
    """Angular velocity and acceleration, in the world."""
    R, R1, R2 = (x[:3, :3] for x in T)
    return unhat(R1 @ R.T), unhat(R2 @ R.T + R1 @ R1.T)


def _closure(c: LoopClosure, A: Jet, B: Jet) -> Rows:
    R_a = A.value[:3, :3]
    d = tuple(R_a.T @ (b - a)[:3, 3] for a, b in zip(A, B, strict=True))
    coincide = d  # the axes of a take no part in the derivative
    inverse = Jet(*(_inverse(A)))
    rel = inverse @ B
    (w_a, al_a), (w_b, al_b) = _spin(A), _spin(B)
    no_rotation = (unhat(rel.value[:3, :3]), R_a.T @ (w_b - w_a), R_a.T @ (al_b - al_a))
    u = np.array([0.0, 0.0, 1.0]) if c.axis is None else np.asarray(c.axis) / np.linalg.norm(c.axis)
    t1 = np.cross(u, [0.3, -0.5, 0.9])
    t1 /= np.linalg.norm(t1)
    t2 = np.cross(u, t1)

    def perpendicular(t, w):
        return tuple(np.array([t @ x[:3, :3] @ w]) for x in rel)

    def coordinate(t):
        return tuple(np.array([t @ x[:3, 3]]) for x in rel)

    def screw():
        s, s1, s2 = (t2 @ x[:3, :3] @ t1 for x in rel)
        k, k1, k2 = (t1 @ x[:3, :3] @ t1 for x in rel)
        N, D = k * s1 - s * k1, k * k + s * s
        angle = (np.arctan2(s, k), N / D, (k * s2 - s * k2) / D - N * 2.0 * (k * k1 + s * s1) / D**2)
        return tuple(x - c.pitch * y for x, y in zip(coordinate(u), angle, strict=True))

    aligned = [perpendicular(t1, u), perpendicular(t2, u)]
    on_axis = [coordinate(t1), coordinate(t2)]
    if c.joint == "universal":
        second = c.second_axis
        if second is None:  # the library's choice: across the axis, by the smallest component
            second = np.cross(u, np.eye(3)[int(np.argmin(np.abs(u)))])
            second = second / np.linalg.norm(second)
        parts = [coincide, perpendicular(u, np.asarray(second))]
    else:
        parts = {
            "weld": [coincide, no_rotation], "connect": [coincide], "spherical": [coincide],
            "revolute": [coincide, *aligned], "prismatic": [*on_axis, no_rotation], "cylindrical": [*on_axis, *aligned],
            "planar": [coordinate(u), *aligned], "helical": [*on_axis, *aligned, screw()],
        }[c.joint]  # fmt: skip
    value, rate, second = (np.concatenate(x) for x in zip(*parts, strict=True))
    return value, rate, second


def _inverse(T: Jet) -> list[np.ndarray]:
    """The jet of T^-1."""
    value = np.linalg.inv(T.value)
    rate = -value @ T.rate @ value
    second = -value @ T.second @ value - 2.0 * rate @ T.rate @ value
    return [value, rate, second]


def kkt(model, q, v, k_input=None, external_forces=None) -> Kkt:
    """The dense problem with constraints of every type, in order of declaration."""
    oracle = oracle_of_model(model)
    links = [c for c in model.active_constraints if isinstance(c, LinkConstraint)]
    inputs = _inputs(model, k_input)
    of_links = [inputs[c.name] for c in links if c.name in inputs]
    base = kkt_of_links(
        model.without_constraints().with_constraints(*links), q, v, np.concatenate([np.zeros(0), *of_links]),
        external_forces,
    )  # fmt: skip
    J, k, used, zero = [np.zeros((0, model.nv))], [np.zeros(0)], 0, np.zeros(model.nv)
    for c in model.active_constraints:
        if isinstance(c, LinkConstraint):
            J.append(base.J[used : used + c.size])
            k.append(base.k[used : used + c.size])
            used += c.size
            continue
        error, rate, second = rows_of(model, c, oracle, q, v, zero)
        J.append(jacobian(model, c, oracle, q))
        feedback = 0.0 if c.stabilization is None else 2.0 / c.stabilization * rate + error / c.stabilization**2
        desired = inputs.get(c.name, c.desired) if isinstance(c, CenterOfMass) else None
        k.append((0.0 if desired is None else desired) - second - feedback)
    J, k = np.vstack(J), np.concatenate(k)
    return Kkt(base.M, base.c, J, k, np.full(len(k), np.nan))


def _inputs(model, k_input) -> dict[str, np.ndarray]:
    """What is given at run time, by name of the constraint."""
    found, used = {}, 0
    for c in model.active_constraints:
        if isinstance(c, (LinkConstraint, CenterOfMass)) and isinstance(c.desired, str):
            found[c.name], used = k_input[used : used + c.size], used + c.size
    return found


def closure_error(model, q) -> tuple[np.ndarray, np.ndarray]:
    """(error, J) of all constraints that are not of links."""
    oracle, zero = oracle_of_model(model), np.zeros(model.nv)
    errors, J = [np.zeros(0)], [np.zeros((0, model.nv))]
    for c in model.active_constraints:
        if not isinstance(c, LinkConstraint):
            errors.append(rows_of(model, c, oracle, q, zero, zero)[0])
            J.append(jacobian(model, c, oracle, q))
    return np.concatenate(errors), np.vstack(J)


def assembled(model, q, v, steps: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """A state that satisfies the loops, near (q, v): damped Gauss-Newton, then v projected."""
    for _ in range(steps):
        error, J = closure_error(model, q)
        size = np.abs(error).max(initial=0.0)
        if size < 1e-13:
            break
        move = -np.linalg.lstsq(J, error, rcond=1e-8)[0]
        q = sarrus.integrate(model, q, move / max(1.0, np.abs(move).max() / 0.5))
    assert size < 1e-10, f"{model.name}: not assembled, {size}"
    _, J = closure_error(model, q)
    return q, v - np.linalg.pinv(J, rcond=1e-8) @ (J @ v)


def solve(problem: Kkt, tau, weights=None, rank_tolerance: float = 1e-9) -> tuple[np.ndarray, np.ndarray]:
    """(qdd, J^T f): least squares in the rows (weighted), least constraint among those, minimum norm forces."""
    M, c, J, k, _ = problem
    free = np.linalg.solve(M, tau - c)
    w = np.ones(len(k)) if weights is None else np.sqrt(weights)
    L = np.linalg.cholesky(M)
    Y = np.linalg.solve(L, (J * w[:, None]).T).T  # scaled rows on L^T qdd
    z = np.linalg.lstsq(Y, w * (k - J @ free), rcond=rank_tolerance)[0] if len(k) else np.zeros(len(c))
    return free + np.linalg.solve(L.T, z), L @ z
