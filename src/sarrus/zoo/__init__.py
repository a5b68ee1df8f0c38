"""Mechanisms to learn, test and benchmark on. All numbers are made up, and plausible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.errors import ModelError, unknown_name
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import contact
from sarrus.model.joints import JOINT_TYPES
from sarrus.model.model import Model
from sarrus.zoo.biped import biped
from sarrus.zoo.geared_robots import geared_quadruped, humanoid_leg
from sarrus.zoo.loops import (
    bennett,
    chain_of_loops,
    coupled_loops,
    cycle,
    delta,
    five_bar,
    flat_four_bar,
    four_bar,
    hand_cube,
    sarrus_linkage,
    slider_crank,
    star_pairs,
    star_to_one,
    stewart,
    two_hands_cube,
)
from sarrus.zoo.transmissions import (
    connecting_rod,
    differential,
    link_and_rotor,
    parallel_belt,
    parallel_chains,
    transmission,
    tree_of,
)

__all__ = [
    "bennett",
    "biped",
    "chain",
    "chain_all_welded",
    "chain_every_kth_welded",
    "chain_of_loops",
    "chain_welded_tip",
    "connecting_rod",
    "coupled_loops",
    "cycle",
    "delta",
    "differential",
    "five_bar",
    "flat_four_bar",
    "four_bar",
    "geared_quadruped",
    "hand_cube",
    "humanoid_leg",
    "ladder",
    "link_and_rotor",
    "parallel_belt",
    "parallel_chains",
    "random_tree",
    "sarrus_linkage",
    "slider_crank",
    "star_pairs",
    "star_to_one",
    "stem",
    "stewart",
    "transmission",
    "tree",
    "tree_of",
    "two_hands_cube",
]

LINK_LENGTH = 0.3
LINK_MASS = 1.0


def _rod(axis: int = 2, length: float = LINK_LENGTH, mass: float = LINK_MASS) -> dict:
    """Inertial arguments of a thin rod that hangs along -axis from its joint."""
    direction = -np.eye(3)[axis]
    radius = 0.03
    along, across = 0.5 * mass * radius**2, mass * (length**2 / 12.0 + radius**2 / 4.0)
    moments = np.full(3, across)
    moments[axis] = along
    return {"mass": mass, "com": 0.5 * length * direction, "inertia": np.diag(moments)}


def _at_least(minimum: int, **numbers: int) -> None:
    for name, value in numbers.items():
        if int(value) != value or value < minimum:
            raise ModelError(f"{name} is {value!r}: expected a whole number of at least {minimum}")


def chain(n: int, floating: bool = False) -> Model:
    """A chain of n rods with revolute joints about x, y, z in turn; optionally with a floating first link added."""
    _at_least(1, n=n)
    builder = ModelBuilder(f"chain_{n}" + ("_floating" if floating else ""))
    parent = _base(builder, floating)
    for k in range(n):
        builder.add_body(f"link_{k}", parent, axis=np.eye(3)[k % 3], position=_tip(k), **_rod())
        parent = f"link_{k}"
    return builder.add_frame("tip", parent, position=(0.0, 0.0, -LINK_LENGTH)).build()


def tree(n: int, branching: int = 2, floating: bool = False) -> Model:
    """A tree of n rods in which every link has `branching` children, breadth first, with revolute joints."""
    _at_least(1, n=n, branching=branching)
    builder = ModelBuilder(f"tree_{n}_{branching}" + ("_floating" if floating else ""))
    root = _base(builder, floating)
    for k in range(n):
        parent = root if k == 0 else f"link_{(k - 1) // branching}"
        side = 0.0 if k == 0 else 0.1 * ((k - 1) % branching - 0.5 * (branching - 1))
        builder.add_body(
            f"link_{k}", parent, axis=np.eye(3)[k % 3], position=_tip(k) + np.array([0.0, side, 0.0]), **_rod()
        )
    return builder.build()


def random_tree(
    rng: np.random.Generator | int | None, n: int, joints: Sequence[str] | None = None, chain_bias: float = 0.5
) -> Model:
    """A random tree of n bodies with random geometry, inertia and joint types.

    joints      types to draw from; default: every type
    chain_bias  probability that a body continues the last one instead of branching off an earlier one
    """
    _at_least(1, n=n)
    rng = np.random.default_rng(rng)
    kinds = list(JOINT_TYPES) if joints is None else list(joints)
    for kind in kinds:
        if kind not in JOINT_TYPES:
            raise unknown_name("joint type", kind, JOINT_TYPES)
    builder = ModelBuilder(f"random_tree_{n}")
    for k in range(n):
        kind = str(rng.choice(kinds))
        parent = "world"
        if k > 0:
            parent = f"body_{k - 1}" if rng.random() < chain_bias else f"body_{rng.integers(0, k)}"
        spread = rng.normal(size=(4, 3)) * 0.1  # four random masses give a physical inertia
        mass = rng.uniform(0.5, 2.0)
        Sigma = mass * spread.T @ spread / 4.0
        arguments: dict = {"pitch": rng.normal() * 0.1} if kind == "helical" else {}
        if JOINT_TYPES[kind].n_axes >= 1:
            arguments["axis"] = _random_direction(rng)
        if JOINT_TYPES[kind].n_axes == 2:
            arguments["second_axis"] = np.cross(arguments["axis"], _random_direction(rng))
        builder.add_body(
            f"body_{k}",
            parent,
            joint=kind,
            position=rng.normal(size=3) * 0.2,
            rotation=rng.uniform(-np.pi, np.pi, size=3),
            mass=mass,
            com=rng.normal(size=3) * 0.1,
            inertia=np.trace(Sigma) * np.eye(3) - Sigma,
            **arguments,
        )
    return builder.build()


def chain_welded_tip(n: int) -> Model:
    """A fixed chain of n rods whose tip is welded to the world (PV paper, Fig. 4a)."""
    return chain(n).with_constraints(contact("tip", 6))


def chain_every_kth_welded(k: int) -> Model:
    """A fixed chain of k^2 rods of which every k-th is welded to the world (PV-OSIMr paper, Fig. 4a)."""
    _at_least(1, k=k)
    return chain(k * k).with_constraints(*(contact(f"link_{i}", 6) for i in range(k - 1, k * k, k)))


def chain_all_welded(n: int) -> Model:
    """A fixed chain of n rods each of which is welded to the world (PV-OSIMr paper, Fig. 4b).

    Over-constrained: its Delassus matrix is singular, which is what makes it a test of scaling and of rank.
    """
    return chain(n).with_constraints(*(contact(f"link_{i}", 6) for i in range(n)))


def ladder(rungs: int, *, constrained: bool = False) -> Model:
    """A floating ladder (PV paper, Fig. 4b): rungs of seven links, three links of rail from each rung to the next.

    Frames `rung_tip_k` mark the rungs' far ends; `constrained` welds them to the world.
    """
    _at_least(1, rungs=rungs)
    builder = ModelBuilder(f"ladder_{rungs}" + ("_welded" if constrained else ""))
    rail = _base(builder, floating=True)
    for k in range(rungs):
        if k > 0:
            rail = _branch(builder, f"rail_{k}", rail, 3)
        last = _branch(builder, f"rung_{k}", rail, 7, rotation=(0.5 * np.pi, 0.0, 0.0))
        builder.add_frame(f"rung_tip_{k}", last, position=(0.0, 0.0, -LINK_LENGTH))
    model = builder.build()
    return model.with_constraints(*(contact(f"rung_tip_{k}", 6) for k in range(rungs))) if constrained else model


def stem(n_stem: int, branches: int, length: int = 7, *, constrained: bool = False) -> Model:
    """A floating stem of n_stem links with `branches` chains of `length` links at both ends (PV paper, Fig. 2e).

    The floating base is the stem's first link. Frames `tip_0`, `tip_1`, ... mark the ends of the 2 * branches chains,
    those at the base first; `constrained` welds them to the world.
    """
    _at_least(1, n_stem=n_stem, branches=branches, length=length)
    builder = ModelBuilder(f"stem_{n_stem}_{branches}_{length}" + ("_welded" if constrained else ""))
    base = _base(builder, floating=True)
    end = _branch(builder, "stem", base, n_stem - 1) if n_stem > 1 else base
    for b in range(2 * branches):
        start, angle = (base, np.pi) if b < branches else (end, 0.0)
        side = 2.0 * np.pi * (b % branches) / branches
        last = _branch(builder, f"branch_{b}", start, length, rotation=(angle, 0.0, side))
        builder.add_frame(f"tip_{b}", last, position=(0.0, 0.0, -LINK_LENGTH))
    model = builder.build()
    return model.with_constraints(*(contact(f"tip_{b}", 6) for b in range(2 * branches))) if constrained else model


def _branch(
    builder: ModelBuilder, name: str, parent: str, length: int, rotation: Sequence[float] = (0.0, 0.0, 0.0)
) -> str:
    """Rods with revolute joints about x, y, z in turn from the parent's tip; `rotation` turns the first."""
    for k in range(length):
        turn = {"rotation": rotation} if k == 0 and any(rotation) else {}
        builder.add_body(f"{name}_{k}", parent, axis=np.eye(3)[k % 3], position=_tip(1), **turn, **_rod())
        parent = f"{name}_{k}"
    return parent


def _base(builder: ModelBuilder, floating: bool) -> str:
    if not floating:
        return "world"
    builder.add_body("base", joint="free", mass=5.0, inertia=np.diag([0.05, 0.06, 0.04]))
    return "base"


def _tip(k: int) -> np.ndarray:
    """Where link k hangs from its parent: at the tip of the parent rod, the first at the root."""
    return np.array([0.0, 0.0, 0.0 if k == 0 else -LINK_LENGTH])


def _random_direction(rng: np.random.Generator) -> np.ndarray:
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)
