"""Mechanisms with loops, distances, couplings and a held centre of mass. Every loop closes at the model's `home`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.adversary.kinematics import bodies
from benchmarks.adversary.trees import COMMON, JOINTS, add, base, direction, offset, pick, tree
from sarrus.model.bodies import Frame, Placement
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import (
    CLOSURES,
    Constraint,
    center_of_mass_constraint,
    connect,
    contact,
    coupling,
    distance,
    loop,
    weld,
)
from sarrus.model.model import Model
from sarrus.model.state import integrate, neutral

Rng = np.random.Generator


def with_home(model: Model, rng: Rng, size: float = 0.8) -> Model:
    """A pose in which loops will be closed."""
    return replace(model, home=integrate(model, neutral(model), size * rng.normal(size=model.nv)))


def pair(
    model: Model, rng: Rng, a: str, b: str, name: str, gap: np.ndarray | None = None
) -> tuple[Model, str, str, float]:
    """A frame on each of two bodies that lie on each other at home, or a gap apart (then the distance)."""
    assert model.home is not None
    poses = bodies(model, model.home[None], np.zeros((1, model.nv)))
    on = {"world": -1} | {body.name: i for i, body in enumerate(model.bodies)}

    def pose(body: str) -> tuple[np.ndarray, np.ndarray]:
        i = on[body]
        return (np.eye(3), np.zeros(3)) if i < 0 else (poses[i].R[0], poses[i].p[0])

    R_a, p_a = pose(a)
    R_b, p_b = pose(b)
    here = Placement(_rotation(rng), offset(rng, "oblique"))
    R, p = R_a @ here.R, p_a + R_a @ here.p + (0.0 if gap is None else gap)
    there = Placement(R_b.T @ R, R_b.T @ (p - p_b))
    frames = (*model.frames, Frame(f"{name}_a", on[a], here), Frame(f"{name}_b", on[b], there))
    return replace(model, frames=frames), f"{name}_a", f"{name}_b", 0.0 if gap is None else float(np.linalg.norm(gap))


def _rotation(rng: Rng) -> np.ndarray:
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q if np.linalg.det(Q) > 0.0 else -Q


def _two_chains(rng: Rng, joints=COMMON, length: int | None = None) -> tuple[Model, list[str], list[str]]:
    builder = ModelBuilder("two_chains", gravity=(0.3, -0.7, -9.81))
    root = base(builder, rng, bool(rng.random() < 0.5))
    chains: list[list[str]] = []
    for side in "lr":
        names: list[str] = []
        for k in range(length or int(rng.integers(2, 6))):
            names.append(
                add(
                    builder,
                    rng,
                    f"{side}{k}",
                    names[-1] if names else root,
                    pick(rng, joints),
                    armature=rng.random() < 0.2,
                )
            )
        chains.append(names)
    return with_home(builder.build(), rng), *chains


def any_closure(rng: Rng) -> Model:
    """Two chains closed by any joint, or one closed against the world."""
    model, left, right = _two_chains(rng, JOINTS if rng.random() < 0.3 else COMMON)
    joint = pick(rng, tuple(CLOSURES))
    other = "world" if rng.random() < 0.2 else right[-1]
    model, a, b, _ = pair(model, rng, left[-1], other, "loop")
    axis = None if rng.random() < 0.4 else direction(rng, pick(rng, ("oblique", "aligned", "in plane")))
    pitch = 0.05 if joint == "helical" else 0.0
    time = 0.1 if rng.random() < 0.4 else None
    return model.with_constraints(loop(a, b, joint, axis=axis, pitch=pitch, stabilization=time))


def shared_loops(rng: Rng) -> Model:
    """Several loops that share bodies, with contacts among them."""
    model, left, right = _two_chains(rng, length=4)
    made: list[Constraint] = []
    for x in range(int(rng.integers(2, 4))):
        model, a, b, _ = pair(model, rng, pick(rng, left), pick(rng, right), f"loop{x}")
        made.append(loop(a, b, pick(rng, ("connect", "universal", "revolute", "planar", "weld")), name=f"loop{x}"))
    if rng.random() < 0.4:
        made.append(contact(pick(rng, left), 3))
    return model.with_constraints(*made)


def doubled(rng: Rng) -> Model:
    """A closure and again, as itself, as a ball joint or as a weld; some of them jam."""
    model, left, right = _two_chains(rng)
    model, a, b, _ = pair(model, rng, left[-1], right[-1], "loop")
    first = loop(a, b, pick(rng, ("weld", "connect", "revolute", "prismatic")), name="first")
    again = [connect(b, a, name="second")] if rng.random() < 0.5 else [weld(a, b, name="second")]
    return model.with_constraints(first, *again)


def on_one_body(rng: Rng) -> Model:
    """A constraint whose two frames are on one body (a merged link): met by construction, it must hold nothing."""
    model, left, right = _two_chains(rng, ("revolute",), length=2)
    body = pick(rng, left)
    gap = 0.3 * rng.normal(size=3)
    kind = pick(rng, ("distance", "connect", "weld", "revolute"))
    model, a, b, length = pair(model, rng, body, body, "same", gap if kind == "distance" else None)
    same = distance(a, b, length, name="same") if kind == "distance" else loop(a, b, kind, name="same")
    model, a, b, _ = pair(model, rng, left[-1], right[-1], "loop")
    return model.with_constraints(same, *([connect(a, b)] if rng.random() < 0.5 else []))


def distances(rng: Rng) -> Model:
    """Massless rods between chains, some against the world, one of them twice."""
    model, left, right = _two_chains(rng)
    made: list[Constraint] = []
    for x in range(int(rng.integers(1, 4))):
        other = pick(rng, [*right, "world"])
        model, a, b, length = pair(model, rng, pick(rng, left), other, f"rod{x}", 0.3 * rng.normal(size=3))
        made.append(distance(a, b, length, name=f"rod{x}", stabilization=0.1 if rng.random() < 0.3 else None))
    if rng.random() < 0.3:
        made.append(distance(b, a, length, name="again"))
    return model.with_constraints(*made)


def couplings(rng: Rng) -> Model:
    """Gears, polynomials and their sums; offsets such that they hold at home."""
    model, left, right = _two_chains(rng, ("revolute", "prismatic", "continuous", "helical"))
    assert model.home is not None
    made: list[Constraint] = []
    for x in range(int(rng.integers(1, 3))):
        a, b = (f"{pick(rng, side)}_joint" for side in (left, right))
        at_a, at_b = (float(model.home[model.layout.q_of(name)][0]) for name in (a, b))
        if rng.random() < 0.5:
            ratio = float(rng.choice([-100.0, -6.0, 0.5, 3.0]))
            made.append(coupling({a: 1.0, b: -ratio}, polynomial=at_a - ratio * at_b, name=f"gear{x}"))
        else:
            p = rng.normal(size=3)
            p[0] += at_a - np.polynomial.polynomial.polyval(at_b, p)
            made.append(coupling({a: 1.0}, driver=b, polynomial=p, name=f"cam{x}"))
    if rng.random() < 0.5:
        made.append(contact(left[-1], 3))
    return model.with_constraints(*made)


def hinge_of_points(rng: Rng) -> Model:
    """Two connects 1 mm apart: a hinge with a short lever."""
    model, left, right = _two_chains(rng)
    model, a, b, _ = pair(model, rng, left[-1], right[-1], "loop")
    apart = 10.0 ** rng.uniform(-4.0, -1.0) * direction(rng, "oblique")
    first, second = model.frame(a), model.frame(b)
    frames = []
    for frame in (first, second):
        moved = Placement(frame.placement.R, frame.placement.p + frame.placement.R @ apart)
        frames.append(Frame(f"{frame.name}_2", frame.body, moved))
    model = replace(model, frames=(*model.frames, *frames))
    return model.with_constraints(connect(a, b), connect(f"{a}_2", f"{b}_2"))


def center_of_mass(rng: Rng) -> Model:
    """The centre of mass held, with contacts, loops or alone."""
    model, left, right = _two_chains(rng)
    made: list[Constraint] = [center_of_mass_constraint(pick(rng, ("xyz", "xy", "z")))]
    if rng.random() < 0.5:
        made.append(contact(left[-1], int(rng.choice([3, 6]))))
    if rng.random() < 0.5:
        model, a, b, _ = pair(model, rng, left[0], right[-1], "loop")
        made.append(connect(a, b))
    return model.with_constraints(*made)


def _special(rng: Rng, **arguments: float) -> Model:
    builder, names = tree(rng, 5, branching=0.5, **arguments)
    model = with_home(builder.build(), rng)
    names = list(model.body_names)
    model, a, b, _ = pair(model, rng, names[-1], names[0] if len(names) < 3 else names[1], "loop")
    return model.with_constraints(loop(a, b, pick(rng, ("connect", "weld", "revolute", "universal"))))


LOOPS: dict[str, Callable[[Rng], Model]] = {
    "any closure": any_closure, "loops that share bodies": shared_loops, "doubled loops": doubled,
    "both frames on one body": on_one_body, "distances": distances, "couplings": couplings,
    "hinge of two points": hinge_of_points, "centre of mass": center_of_mass,
    "mass ratios, loops": lambda rng: _special(rng, masses=1e6),
    "far away, loops": lambda rng: _special(rng, far=200.0),
}  # fmt: skip
