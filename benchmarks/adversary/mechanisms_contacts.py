"""Mechanisms whose links are held by the world: contacts and rows of every kind, well placed and badly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.adversary.trees import JOINTS, add, base, direction, pick, rotation, tree
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import Contact, LinkRows, contact, link_rows
from sarrus.model.model import Model

Rng = np.random.Generator


def _frame(builder: ModelBuilder, rng: Rng, body: str, name: str, size: float = 0.2) -> str:
    geometry = pick(rng, ("oblique", "aligned"))
    builder.add_frame(name, body, position=size * direction(rng, geometry), rotation=rotation(rng, geometry))
    return name


def _contact(rng: Rng, frame: str, dim: int) -> Contact:
    k = rng.normal(size=dim) if rng.random() < 0.3 else None
    time = 0.1 if rng.random() < 0.3 else None
    return contact(frame, dim, k=k, stabilization=time, name=f"contact_{frame}_{rng.integers(10**9)}")


def random_contacts(rng: Rng) -> Model:
    """A tree with all kinds of joints and a few contacts on random links."""
    builder, names = tree(rng, int(rng.integers(3, 8)), JOINTS if rng.random() < 0.5 else ("revolute",))
    frames = [_frame(builder, rng, pick(rng, names), f"f{x}") for x in range(int(rng.integers(1, 4)))]
    return builder.build().with_constraints(*(_contact(rng, f, int(rng.choice([3, 6]))) for f in frames))


def welded_chain(rng: Rng) -> Model:
    """A chain whose tip is welded, of revolute joints: singular wherever it stretches or folds."""
    builder, names = tree(
        rng, int(rng.integers(6, 9)), ("revolute",), branching=0.0, geometry=pick(rng, ("aligned", "oblique"))
    )
    return builder.add_frame("tip", names[-1], position=(0.0, 0.0, -0.3)).build().with_constraints(contact("tip", 6))


def rows_of_any_length(rng: Rng) -> Model:
    """Rows of lengths 1e-9 to 1e3, on one or two links; sometimes more than six on a link, sometimes in conflict."""
    builder, names = tree(rng, int(rng.integers(3, 7)))
    made: list[LinkRows] = []
    for x in range(int(rng.integers(1, 3))):
        frame = _frame(builder, rng, pick(rng, names), f"f{x}")
        for y in range(int(rng.integers(1, 4))):
            m = int(rng.integers(1, 5))
            K = rng.normal(size=(m, 6)) * 10.0 ** rng.uniform(-9.0, 3.0, size=(m if rng.random() < 0.5 else 1, 1))
            made.append(link_rows(frame, K, name=f"rows_{x}_{y}"))
            if rng.random() < 0.3:  # the same again, or against it
                k = None if rng.random() < 0.5 else np.linalg.norm(K, axis=1)
                made.append(link_rows(frame, K, k, name=f"again_{x}_{y}"))
    return builder.build().with_constraints(*made)


def foot_of_points(rng: Rng) -> Model:
    """A foot with three or four point contacts: more rows than a link has freedoms."""
    builder, names = tree(rng, int(rng.integers(3, 7)), floating=True, branching=0.2)
    corners = [(0.1, 0.05, 0.0), (0.1, -0.05, 0.0), (-0.1, 0.05, 0.0), (-0.1, -0.05, 0.0)]
    points = []
    for x, p in enumerate(corners[: int(rng.integers(3, 5))]):
        builder.add_frame(f"corner_{x}", names[-1], position=p)
        points.append(contact(f"corner_{x}", 3))
    return builder.build().with_constraints(*points)


def at_origins(rng: Rng) -> Model:
    """Contacts at the origins of adjacent links, and of the first one: rows that the joint between does not move."""
    kinds = ("revolute",) if rng.random() < 0.6 else ("revolute", "spherical", "universal", "prismatic")
    builder, names = tree(
        rng, int(rng.integers(2, 6)), kinds, floating=False, branching=0.1, geometry=pick(rng, ("oblique", "aligned"))
    )
    first = int(rng.integers(0, len(names) - 1)) if rng.random() < 0.7 else 0
    held = [contact(names[first], int(rng.choice([3, 3, 6])))]
    if rng.random() < 0.7:
        held.append(contact(names[first + 1], 3))
    return builder.build().with_constraints(*held)


def on_an_axis(rng: Rng) -> Model:
    """A contact on a joint's own axis, which does not move it: some of its rows are zero or dependent."""
    builder = ModelBuilder("on_an_axis")
    parent = base(builder, rng, bool(rng.random() < 0.5))
    for k in range(int(rng.integers(1, 4))):
        axis = direction(rng, pick(rng, ("oblique", "aligned", "in plane")))
        parent = add(builder, rng, f"b{k}", parent, "revolute", axis=axis)
    builder.add_frame("on_axis", parent, position=rng.normal() * axis, rotation=rotation(rng, "oblique"))
    return builder.build().with_constraints(contact("on_axis", int(rng.choice([3, 3, 6]))))


def legs(rng: Rng) -> Model:
    """A floating trunk on legs with point feet or soles: straight where q is neutral."""
    builder = ModelBuilder("legs")
    trunk = base(builder, rng, floating=True)
    kind = pick(rng, ("2R", "3R", "ball", "ball and knee", "6R", "prismatic"))
    feet = []
    for x in range(int(rng.integers(2, 5))):
        parent, at = trunk, np.array([0.3 * (-1) ** x, 0.2 * (x // 2) - 0.1, 0.0])
        joints = {
            "2R": "YY", "3R": "XYY", "ball": "B", "ball and knee": "BY", "6R": "ZXYYYX", "prismatic": "XYP",
        }[kind]  # fmt: skip
        for y, letter in enumerate(joints):
            axis = {"X": (1, 0, 0), "Y": (0, 1, 0), "Z": (0, 0, 1), "P": (0, 0, 1)}.get(letter)
            changes = {} if axis is None else {"axis": axis}
            joint = {"B": "spherical", "P": "prismatic"}.get(letter, "revolute")
            parent = add(
                builder, rng, f"leg{x}_{y}", parent, joint, mass=0.5, position=at, rotation=(0, 0, 0), **changes
            )
            at = np.array([0.0, 0.0, -0.25]) if letter in "YB" else np.array([0.0, 0.05, 0.0])
        builder.add_frame(f"foot{x}", parent, position=(0.0, 0.0, -0.25))
        knee = kind == "3R" and rng.random() < 0.3
        feet.append(contact(parent if knee else f"foot{x}", 6 if kind == "6R" else 3))
    return builder.build().with_constraints(*feet)


def sliders(rng: Rng) -> Model:
    """Translations and prismatic joints under six rows; a translation, a ball joint and a point contact."""
    builder = ModelBuilder("sliders")
    if rng.random() < 0.5:
        add(builder, rng, "b0", "world", "translation")
        last = add(builder, rng, "b1", "b0", "spherical")
        dim = 3
    else:
        last = "world"
        for k in range(int(rng.integers(3, 7))):
            last = add(builder, rng, f"b{k}", last, "prismatic" if rng.random() < 0.8 else "revolute")
        dim = int(rng.choice([3, 6]))
    frame = _frame(builder, rng, last, "tool")
    return builder.build().with_constraints(contact(frame, dim))


def conflicting(rng: Rng) -> Model:
    """Contacts twice, in agreement and in conflict."""
    builder, names = tree(rng, int(rng.integers(2, 6)), floating=False)
    frame = _frame(builder, rng, names[-1], "tool", 0.5)
    dim = int(rng.choice([3, 6]))
    k = None if rng.random() < 0.4 else rng.normal(size=dim)
    again = contact(frame, dim, k=k, name="again")
    return builder.build().with_constraints(contact(frame, dim), again)


def heavy_and_light(rng: Rng) -> Model:
    """Ratios of masses up to 1e6."""
    builder, names = tree(rng, int(rng.integers(3, 7)), masses=1e6)
    frames = [_frame(builder, rng, pick(rng, names), f"f{x}") for x in range(int(rng.integers(1, 3)))]
    return builder.build().with_constraints(*(contact(f, int(rng.choice([3, 6]))) for f in frames))


def far_away(rng: Rng) -> Model:
    """Frames 200 m away."""
    builder, names = tree(rng, int(rng.integers(3, 6)), far=200.0)
    frames = [_frame(builder, rng, pick(rng, names), f"f{x}") for x in range(int(rng.integers(1, 3)))]
    return builder.build().with_constraints(*(contact(f, int(rng.choice([3, 6]))) for f in frames))


CONTACTS: dict[str, Callable[[Rng], Model]] = {
    "contacts": random_contacts, "welded chain": welded_chain, "rows of any length": rows_of_any_length,
    "foot of points": foot_of_points, "contacts at origins": at_origins, "contact on an axis": on_an_axis, "legs": legs,
    "sliders": sliders, "conflicting contacts": conflicting, "mass ratios, contacts": heavy_and_light,
    "far away, contacts": far_away,
}  # fmt: skip
