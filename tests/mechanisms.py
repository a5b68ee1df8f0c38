"""Random mechanisms for property tests, as what a user would write: arguments of `ModelBuilder`.

Hypothesis draws the structure (joint types, parents, how special the geometry is), so that it can shrink it; numbers
come from a seed. The special geometries matter: frames are chosen differently for axes along coordinates, in coordinate
planes, and oblique.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from sarrus.errors import IllPosedError
from sarrus.model.builder import ModelBuilder
from sarrus.model.model import Model
from sarrus.model.state import random_state
from tests.oracles.dense import Dense, oracle_of_arguments, placed, rotation_from_any

MOVING_KINDS = (
    "revolute", "continuous", "prismatic", "helical", "cylindrical", "universal", "planar", "translation",
    "spherical", "free",
)  # fmt: skip
KINDS = (*MOVING_KINDS, "fixed")
GEOMETRIES = ("aligned", "in plane", "oblique", "almost aligned")


@dataclass(frozen=True, eq=False)
class Mechanism:
    """Bodies (parents first) and frames as arguments of `ModelBuilder.add_body` and `add_frame`."""

    bodies: tuple[dict[str, Any], ...]
    frames: tuple[dict[str, Any], ...] = ()
    gravity: tuple[float, float, float] = (0.3, -0.7, -9.81)
    seed: int = 0
    _built: list[Model] = field(default_factory=list, repr=False)

    @property
    def model(self) -> Model:
        if not self._built:
            builder = ModelBuilder("mechanism", gravity=self.gravity)
            for body in self.bodies:
                builder.add_body(**body)
            for frame in self.frames:
                builder.add_frame(**frame)
            self._built.append(builder.build())
        return self._built[0]

    @property
    def oracle(self) -> Dense:
        return oracle_of_arguments(self.bodies, self.gravity)

    def state(self, batch: int | None = None) -> State:
        rng = np.random.default_rng(self.seed)
        model = self.model
        q, v = random_state(model, rng, batch)
        size = () if batch is None else (batch,)
        return State(
            q, v, rng.normal(size=(*size, model.nv)), rng.normal(size=(*size, model.nv)) * 5.0,
            rng.normal(size=(*size, model.nb, 6)),
        )  # fmt: skip

    def forces_by_name(self, external_forces: np.ndarray) -> dict[str, np.ndarray]:
        return dict(zip(self.model.body_names, external_forces, strict=True))

    def frame_on_link(self, name: str) -> tuple[str, np.ndarray]:
        """(link, 4x4 pose on it) of a body's or frame's name, from the arguments."""
        for frame in self.frames:
            if frame["name"] == name:
                return frame["body"], placed(rotation_from_any(frame["rotation"]), frame["position"])
        return name, np.eye(4)


@dataclass(frozen=True, eq=False)
class State:
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    external_forces: np.ndarray

    def arguments(self, names: tuple[str, ...]) -> dict[str, np.ndarray]:
        return {name: getattr(self, name) for name in names}


def direction(rng: np.random.Generator, geometry: str) -> np.ndarray:
    """A unit vector: along a coordinate axis, in a coordinate plane, oblique, or 1e-6 off a coordinate axis."""
    x = rng.normal(size=3)
    if geometry == "aligned":
        x = np.sign(x) * np.eye(3)[rng.integers(3)]
    elif geometry == "in plane":
        x[rng.integers(3)] = 0.0
    elif geometry == "almost aligned":
        x = np.sign(x) * np.eye(3)[rng.integers(3)] + 1e-6 * rng.normal(size=3)
    return x / np.linalg.norm(x)


def rotation(rng: np.random.Generator, geometry: str) -> Any:
    """In each of the forms that a builder takes."""
    if geometry == "aligned":
        return rng.choice([None, "rpy"]) and np.pi / 2 * rng.integers(-2, 3, size=3)
    if geometry == "in plane":
        return np.eye(3)[rng.integers(3)] * rng.uniform(-3.0, 3.0)
    if geometry == "almost aligned":  # files print pi / 2 with few digits
        return np.round(np.pi / 2 * rng.integers(-2, 3, size=3), 4)
    x = rng.normal(size=4)
    return x / np.linalg.norm(x)


def offset(rng: np.random.Generator, geometry: str) -> np.ndarray:
    x = 0.4 * rng.normal(size=3)
    if geometry == "aligned":
        return x * np.eye(3)[rng.integers(3)] * rng.integers(0, 2)
    if geometry == "in plane":
        x[rng.integers(3)] = 0.0
    return x


def inertia_arguments(rng: np.random.Generator, shape: str) -> dict[str, Any]:
    """A cloud of points of that shape: always physical. "massless" is no mass at all."""
    if shape == "massless":
        return {}
    mass = rng.uniform(0.5, 2.0)
    points = {"solid": 6, "rod": 2, "point": 1}[shape]
    r = 0.2 * rng.normal(size=(points, 3))
    com = r.mean(axis=0)
    about = mass * (r - com).T @ (r - com) / points
    Ic = np.zeros((3, 3)) if points == 1 else np.trace(about) * np.eye(3) - about
    return {"mass": mass, "com": com, "inertia": 0.5 * (Ic + Ic.T)}


def body_arguments(
    rng: np.random.Generator, name: str, parent: str, kind: str, geometry: str, shape: str, armature: bool = False
) -> dict[str, Any]:
    out: dict[str, Any] = {
        "name": name, "parent": parent, "joint": kind,
        "position": offset(rng, geometry), "rotation": rotation(rng, geometry),
    }  # fmt: skip
    if kind not in ("fixed", "translation", "spherical", "free"):
        axis = direction(rng, geometry)
        out["axis"] = axis * rng.uniform(0.5, 2.0)  # of any length
        if kind == "universal":
            other = np.cross(axis, direction(rng, "oblique"))
            out["second_axis"] = other / np.linalg.norm(other)
    if kind == "helical":
        out["pitch"] = 0.2 * rng.normal()
    if armature and kind != "fixed":
        out["armature"] = rng.uniform(0.1, 0.5, size={"spherical": 3, "free": 6, "planar": 3, "translation": 3,
                                                      "cylindrical": 2, "universal": 2}.get(kind, 1))  # fmt: skip
    return out | inertia_arguments(rng, shape)


def mechanism(
    seed: int, kinds: list[str], parents: list[int] | None = None, geometries: list[str] | None = None,
    shapes: list[str] | None = None, armature: list[bool] | None = None,
) -> Mechanism:  # fmt: skip
    """A mechanism of that structure (default: an oblique chain of solid bodies), a frame on everything."""
    rng = np.random.default_rng(seed)
    n = len(kinds)
    parents = list(range(-1, n - 1)) if parents is None else parents
    bodies = tuple(
        body_arguments(
            rng, f"b{i}", "world" if parents[i] < 0 else f"b{parents[i]}", kinds[i],
            geometries[i] if geometries else "oblique", shapes[i] if shapes else "solid",
            bool(armature and armature[i]),
        )
        for i in range(n)
    )  # fmt: skip
    frames = tuple(
        {"name": f"{body}_tool", "body": body, "position": rng.normal(size=3), "rotation": rotation(rng, "oblique")}
        for body in ("world", *(f"b{i}" for i in range(n)))
    )
    return Mechanism(bodies, frames, seed=seed)


@st.composite
def mechanisms(draw, max_bodies: int = 4, kinds: tuple[str, ...] = KINDS, special: bool = True) -> Mechanism:
    """Mechanisms of up to `max_bodies` bodies, at least one of which moves; several roots and branches.

    special: also massless links, point masses and rods, as far as the dynamics stay well posed.
    """
    n = draw(st.integers(1, max_bodies))
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=n, max_size=n))
    assume(any(kind != "fixed" for kind in chosen))
    parents = [draw(st.integers(-1, i - 1)) for i in range(n)]
    geometries = draw(st.lists(st.sampled_from(GEOMETRIES), min_size=n, max_size=n))
    shape = st.sampled_from(("solid", "solid", "rod", "point", "massless")) if special else st.just("solid")
    shapes = draw(st.lists(shape, min_size=n, max_size=n))
    armature = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    out = mechanism(draw(st.integers(0, 10**6)), chosen, parents, geometries, shapes, armature)
    try:
        model = out.model
    except IllPosedError:
        assume(False)
    assume(model.mass > 0.0)
    return out


def relative_error(got: Any, expected: Any, scale: float = 0.0) -> float:
    """Largest difference, relative to the largest element expected (or to `scale`, if that is larger)."""
    got, expected = np.asarray(got, float), np.asarray(expected, float)
    assert got.shape == expected.shape, f"shape {got.shape}, expected {expected.shape}"
    if expected.size == 0:
        return 0.0
    size = max(float(np.abs(expected).max()), scale)
    difference = float(np.abs(got - expected).max())
    return difference / size if difference else 0.0


def random_inertial(rng: np.random.Generator) -> dict:
    """Mass, centre of mass and inertia of five random points, as a builder takes them."""
    r = 0.15 * rng.normal(size=(5, 3))
    com = r.mean(axis=0)
    S = (r - com).T @ (r - com) / 5
    return {"mass": 1.0, "com": com, "inertia": np.trace(S) * np.eye(3) - S}
