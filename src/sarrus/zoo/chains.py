"""Chains and trees of rods, some of them held by contacts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sarrus.errors import check_name
from sarrus.model.bodies import WORLD_NAME
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import contact
from sarrus.model.joints import JOINT_TYPES
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array
from sarrus.zoo.sketch import at_least

_AXES = np.eye(3)
_MASS, LINK_LENGTH, _RADIUS = 1.0, 0.3, 0.03  # of a rod, which hangs along -z from its joint
_TIP = np.array([0.0, 0.0, -LINK_LENGTH])
_ACROSS = _MASS * (LINK_LENGTH**2 / 12.0 + _RADIUS**2 / 4.0)
_ALONG = 0.5 * _MASS * _RADIUS**2
_ROD: dict[str, Any] = {"mass": _MASS, "com": 0.5 * _TIP, "inertia": np.diag([_ACROSS, _ACROSS, _ALONG])}


def chain(n: int, floating: bool = False) -> Model:
    """A chain of n rods with revolute joints about x, y, z in turn; optionally with a floating first link added.

    n         how many rods
    floating  whether a first link that floats is added
    returns   a `Model`
    errors    `ModelError`: n is less than 1

    >>> robot = sarrus.zoo.chain(3)
    >>> robot.nv, robot.n_rows
    (3, 0)
    """
    at_least(1, n=n)
    builder = ModelBuilder(f"chain_{n}" + ("_floating" if floating else ""))
    last = _add_rods(builder, "link", _base(builder, floating), n, position=np.zeros(3))
    return builder.add_frame("tip", last, position=_TIP).build()


def tree(n: int, branching: int = 2, floating: bool = False) -> Model:
    """A tree of n rods in which every link has `branching` children, breadth first, with revolute joints.

    n          how many rods
    branching  how many children a link has
    floating   whether a first link that floats is added
    returns    a `Model`
    errors     `ModelError`: n or branching is less than 1

    >>> robot = sarrus.zoo.tree(7)
    >>> robot.nv, robot.n_rows
    (7, 0)
    """
    at_least(1, n=n, branching=branching)
    builder = ModelBuilder(f"tree_{n}_{branching}" + ("_floating" if floating else ""))
    builder.add_body("link_0", _base(builder, floating), axis=_AXES[0], **_ROD)
    for k in range(1, n):
        parent, sibling = divmod(k - 1, branching)
        side = np.array([0.0, 0.1 * (sibling - 0.5 * (branching - 1)), 0.0])
        builder.add_body(f"link_{k}", f"link_{parent}", axis=_AXES[k % 3], position=_TIP + side, **_ROD)
    return builder.build()


def random_tree(
    rng: np.random.Generator | int | None, n: int, joints: Sequence[str] | None = None, chain_bias: float = 0.5
) -> Model:
    """A random tree of n bodies with random geometry, inertia and joint types.

    rng         a generator, or a seed; None: another tree each time
    n           how many bodies
    joints      types to draw from; default: every type
    chain_bias  probability that a body continues the last one instead of branching off an earlier one
    returns     a `Model`
    errors      `ModelError`: n is less than 1; `UnknownNameError`: no such joint type

    >>> robot = sarrus.zoo.random_tree(rng=0, n=5)
    >>> robot.nv, robot.n_rows
    (11, 0)
    """
    at_least(1, n=n)
    rng = np.random.default_rng(rng)
    kinds = list(JOINT_TYPES) if joints is None else list(joints)
    for kind in kinds:
        check_name("joint type", kind, JOINT_TYPES)
    builder = ModelBuilder(f"random_tree_{n}")
    for k in range(n):
        kind = str(rng.choice(kinds))
        parent = WORLD_NAME
        if k > 0:
            parent = f"body_{k - 1}" if rng.random() < chain_bias else f"body_{rng.integers(0, k)}"
        spread = rng.normal(size=(4, 3)) * 0.1  # four random masses give a physical inertia
        mass = rng.uniform(0.5, 2.0)
        Sigma = mass * spread.T @ spread / 4.0
        joint: dict[str, Any] = {"pitch": rng.normal() * 0.1} if kind == "helical" else {}
        if JOINT_TYPES[kind].n_axes >= 1:
            joint["axis"] = _random_direction(rng)
        if JOINT_TYPES[kind].n_axes == 2:
            joint["second_axis"] = np.cross(joint["axis"], _random_direction(rng))
        builder.add_body(
            f"body_{k}", parent, joint=kind, position=rng.normal(size=3) * 0.2, rotation=rng.uniform(-np.pi, np.pi, 3),
            mass=mass, com=rng.normal(size=3) * 0.1, inertia=np.trace(Sigma) * np.eye(3) - Sigma, **joint,
        )  # fmt: skip
    return builder.build()


def chain_welded_tip(n: int) -> Model:
    """A fixed chain of n rods whose tip is welded to the world (PV paper, Fig. 4a).

    n        how many rods
    returns  a `Model`
    errors   `ModelError`: n is less than 1

    >>> robot = sarrus.zoo.chain_welded_tip(7)
    >>> robot.nv, robot.n_rows
    (7, 6)
    """
    return _welded(chain(n), ["tip"])


def chain_every_kth_welded(k: int) -> Model:
    """A fixed chain of k^2 rods of which every k-th is welded to the world (PV-OSIMr paper, Fig. 4a).

    k        the root of the number of rods
    returns  a `Model`
    errors   `ModelError`: k is less than 1

    >>> robot = sarrus.zoo.chain_every_kth_welded(2)
    >>> robot.nv, robot.n_rows
    (4, 12)
    """
    at_least(1, k=k)
    return _welded(chain(k * k), (f"link_{i}" for i in range(k - 1, k * k, k)))


def chain_all_welded(n: int) -> Model:
    """A fixed chain of n rods each of which is welded to the world (PV-OSIMr paper, Fig. 4b).

    Over-constrained: its Delassus matrix is singular, which is what makes it a test of scaling and of rank.

    n        how many rods
    returns  a `Model`
    errors   `ModelError`: n is less than 1

    >>> robot = sarrus.zoo.chain_all_welded(3)
    >>> robot.nv, robot.n_rows
    (3, 18)
    """
    return _welded(chain(n), (f"link_{i}" for i in range(n)))


def ladder(rungs: int, *, constrained: bool = False) -> Model:
    """A floating ladder (PV paper, Fig. 4b): rungs of seven links, three links of rail from each rung to the next.

    Frames `rung_tip_k` mark the rungs' far ends; `constrained` welds them to the world.

    rungs        how many
    constrained  whether the rungs' far ends are welded to the world
    returns      a `Model`
    errors       `ModelError`: a number is too small

    >>> robot = sarrus.zoo.ladder(2)
    >>> robot.nv, robot.n_rows
    (23, 0)
    """
    at_least(1, rungs=rungs)
    builder = ModelBuilder(f"ladder_{rungs}" + ("_welded" if constrained else ""))
    rail = _base(builder, floating=True)
    for k in range(rungs):
        if k > 0:
            rail = _add_rods(builder, f"rail_{k}", rail, 3)
        last = _add_rods(builder, f"rung_{k}", rail, 7, rotation=(0.5 * np.pi, 0.0, 0.0))
        builder.add_frame(f"rung_tip_{k}", last, position=_TIP)
    return _welded(builder.build(), (f"rung_tip_{k}" for k in range(rungs) if constrained))


def stem(n_stem: int, branches: int, length: int = 7, *, constrained: bool = False) -> Model:
    """A floating stem of n_stem links with `branches` chains of `length` links at both ends (PV paper, Fig. 2e).

    The floating base is the stem's first link. Frames `tip_0`, `tip_1`, ... mark the ends of the 2 * branches chains,
    those at the base first; `constrained` welds them to the world.

    n_stem       how many links of the stem
    branches     how many chains at each end
    length       how many links of a chain
    constrained  whether the ends are welded to the world
    returns      a `Model`
    errors       `ModelError`: a number is too small

    >>> robot = sarrus.zoo.stem(3, 2)
    >>> robot.nv, robot.n_rows
    (36, 0)
    """
    at_least(1, n_stem=n_stem, branches=branches, length=length)
    builder = ModelBuilder(f"stem_{n_stem}_{branches}_{length}" + ("_welded" if constrained else ""))
    base = _base(builder, floating=True)
    end = _add_rods(builder, "stem", base, n_stem - 1)
    for b in range(2 * branches):
        start, angle = (base, np.pi) if b < branches else (end, 0.0)
        side = 2.0 * np.pi * (b % branches) / branches
        last = _add_rods(builder, f"branch_{b}", start, length, rotation=(angle, 0.0, side))
        builder.add_frame(f"tip_{b}", last, position=_TIP)
    return _welded(builder.build(), (f"tip_{b}" for b in range(2 * branches) if constrained))


def _add_rods(
    builder: ModelBuilder, name: str, parent: str, n: int, position: Array = _TIP, rotation: Sequence[float] = (0, 0, 0)
) -> str:
    """Rods `name_0`, `name_1`, ... with revolute joints about x, y, z in turn, each on the tip of the one before.

    `position` and `rotation` place the first on the parent. Returns the last one's name.
    """
    for k in range(n):
        builder.add_body(
            f"{name}_{k}", parent, axis=_AXES[k % 3], position=_TIP if k else position,
            rotation=rotation if k == 0 and any(rotation) else None, **_ROD,
        )  # fmt: skip
        parent = f"{name}_{k}"
    return parent


def _base(builder: ModelBuilder, floating: bool) -> str:
    if not floating:
        return WORLD_NAME
    builder.add_body("base", joint="free", mass=5.0, inertia=np.diag([0.05, 0.06, 0.04]))
    return "base"


def _welded(model: Model, frames: Iterable[str]) -> Model:
    return model.with_constraints(*(contact(frame, 6) for frame in frames))


def _random_direction(rng: np.random.Generator) -> Array:
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)
