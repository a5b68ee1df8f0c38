"""Random trees of bodies: what mechanisms are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sarrus.model.builder import ModelBuilder

JOINTS = (
    "revolute", "continuous", "prismatic", "helical", "cylindrical", "universal", "planar", "translation", "spherical",
)  # fmt: skip
GEOMETRIES = ("aligned", "in plane", "oblique", "almost aligned", "rounded")
COMMON = ("revolute", "revolute", "revolute", "continuous", "prismatic", "spherical", "universal")


def direction(rng: np.random.Generator, geometry: str) -> np.ndarray:
    """A unit vector: along an axis, in a coordinate plane, oblique, or nearly along an axis."""
    x = rng.normal(size=3)
    if geometry == "in plane":
        x[rng.integers(3)] = 0.0
    elif geometry != "oblique":
        x = np.sign(x) * np.eye(3)[rng.integers(3)]
        if geometry == "almost aligned":
            x = x + 1e-6 * rng.normal(size=3)
    return x / np.linalg.norm(x)


def rotation(rng: np.random.Generator, geometry: str) -> Any:
    if geometry == "oblique":
        return rng.uniform(-np.pi, np.pi, size=3)
    if geometry == "in plane":
        return np.eye(3)[rng.integers(3)] * rng.uniform(-3.0, 3.0)
    quarter = np.pi / 2 * rng.integers(-2, 3, size=3)
    return np.round(quarter, int(rng.integers(4, 11))) if geometry == "rounded" else quarter


def offset(rng: np.random.Generator, geometry: str) -> np.ndarray:
    x = 0.3 * rng.normal(size=3)
    if geometry == "in plane":
        x[rng.integers(3)] = 0.0
    return x if geometry in ("oblique", "in plane") else np.round(x, 2) * np.eye(3)[rng.integers(3)]


def inertial(rng: np.random.Generator, mass: float | None = None) -> dict[str, Any]:
    """Of five points: always physical."""
    r = 0.15 * rng.normal(size=(5, 3))
    com = r.mean(axis=0)
    second = (r - com).T @ (r - com) / 5
    m = rng.uniform(0.5, 2.0) if mass is None else mass
    return {"mass": m, "com": com, "inertia": m * (np.trace(second) * np.eye(3) - second)}


def add(
    builder: ModelBuilder, rng: np.random.Generator, name: str, parent: str, kind: str, geometry: str = "oblique",
    mass: float | None = None, armature: bool = False, **changes: Any,
) -> str:  # fmt: skip
    """A body with random geometry; `changes` replace arguments of `add_body`."""
    given: dict[str, Any] = {"position": offset(rng, geometry), "rotation": rotation(rng, geometry)}
    if kind not in ("fixed", "translation", "spherical", "free"):
        given["axis"] = direction(rng, geometry)
    if kind == "universal":
        given["second_axis"] = np.cross(given["axis"], direction(rng, "oblique"))
    if kind == "helical":
        given["pitch"] = 0.1 * rng.normal()
    if armature and kind != "fixed":
        given["armature"] = rng.uniform(0.01, 0.3)
    builder.add_body(name, parent, joint=kind, **(given | inertial(rng, mass) | changes))
    return name


def pick(rng: np.random.Generator, choices: Sequence[str]) -> str:
    return str(choices[int(rng.integers(len(choices)))])


def base(builder: ModelBuilder, rng: np.random.Generator, floating: bool) -> str:
    return add(builder, rng, "base", "world", "free", mass=4.0, position=(0, 0, 0)) if floating else "world"


def tree(
    rng: np.random.Generator, bodies: int, joints: Sequence[str] = COMMON, *, floating: bool | None = None,
    geometry: str | None = None, branching: float = 0.4, masses: float = 1.0, far: float = 0.0, name: str = "tree",
) -> tuple[ModelBuilder, list[str]]:  # fmt: skip
    """A builder with a random tree and the names of its bodies. Some links are fixed to others and merge with them.

    masses  largest ratio of masses, drawn on a logarithmic scale
    far     how far away, in metres, frames of joints may be
    """
    builder = ModelBuilder(name, gravity=(0.3, -0.7, -9.81))
    floating = bool(rng.random() < 0.4) if floating is None else floating
    root = base(builder, rng, floating)
    names: list[str] = [root] if floating else []
    for k in range(bodies):
        parent = names[-1] if names else "world"
        if names and rng.random() < branching:
            parent = pick(rng, names)
        kind = pick(rng, joints) if rng.random() > 0.1 or k == 0 else "fixed"
        mass = None if masses == 1.0 else float(masses ** rng.uniform(-0.5, 0.5))
        changes = {"position": far * direction(rng, "oblique")} if far and rng.random() < 0.5 else {}
        where = geometry or pick(rng, GEOMETRIES)
        names.append(add(builder, rng, f"b{k}", parent, kind, where, mass, bool(rng.random() < 0.3), **changes))
    return builder, names
