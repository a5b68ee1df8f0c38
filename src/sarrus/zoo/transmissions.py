"""Actuation sub-mechanisms alone, in trees, and parallel chains: the mechanisms of the constraint embedding paper.

Sub-mechanisms are in `blocks.py`. All numbers are made up, and plausible; constraints hold where q is neutral.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.errors import ModelError, check_name
from sarrus.model.bodies import WORLD_NAME
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import coupling
from sarrus.model.model import Model
from sarrus.zoo.blocks import SUB_MECHANISMS, Mount
from sarrus.zoo.sketch import Parts, Sketch, X, Y, Z, at_least


def link_and_rotor(ratio: float = 6.0, symmetric: bool = True, seed: int = 0) -> Model:
    """A link and the rotor of its motor: rotor = ratio * link (paper: Link and Rotor).

    ratio      turns of the rotor per turn of the link
    symmetric  whether a rotor's centre of mass is on its axis
    seed       of the invented lengths and inertias
    returns    a `Model`
    errors     none

    >>> robot = sarrus.zoo.link_and_rotor()
    >>> robot.nv, robot.n_rows
    (2, 1)
    """
    return _alone("link_and_rotor", seed, ratio=ratio, symmetric=symmetric)


def parallel_belt(ratio: float = 12.0, symmetric: bool = True, seed: int = 0) -> Model:
    """Two links, two rotors at the first hinge, belts: the second rotor feels both hinges (MIT Humanoid's knee).

    ratio      turns of a rotor per turn of a link
    symmetric  whether a rotor's centre of mass is on its axis
    seed       of the invented lengths and inertias
    returns    a `Model`
    errors     none

    >>> robot = sarrus.zoo.parallel_belt()
    >>> robot.nv, robot.n_rows
    (4, 2)
    """
    return _alone("parallel_belt", seed, ratio=ratio, symmetric=symmetric)


def differential(kind: str = "linear", ratio: float = 6.0, symmetric: bool = True, seed: int = 0) -> Model:
    """Two rotors that swing and tilt one link: by bevel gears ("linear") or, as in Tello's hips, by cranks and rods.

    kind       "linear": bevel gears; "rods": cranks and rods
    ratio      turns of a rotor per turn of the link, of bevel gears
    symmetric  whether a rotor's centre of mass is on its axis
    seed       of the invented lengths and inertias
    returns    a `Model`
    errors     `UnknownNameError`: no such kind

    >>> robot = sarrus.zoo.differential()
    >>> robot.nv, robot.n_rows
    (4, 2)
    """
    return _alone("differential", seed, kind=kind, ratio=ratio, symmetric=symmetric)


def connecting_rod(rod: str = "body", seed: int = 0) -> Model:
    """A crank that moves a link about another axis by a rod in space, a "body" (3 rows) or "massless" (1 row).

    rod      "body" or "massless"
    seed     of the invented lengths and inertias
    returns  a `Model`
    errors   `UnknownNameError`: no such rod

    >>> robot = sarrus.zoo.connecting_rod()
    >>> robot.nv, robot.n_rows
    (4, 3)
    """
    return _alone("connecting_rod", seed, rod=rod)


def transmission(depth: int, ratio: float = 6.0, symmetric: bool = True, seed: int = 0) -> Model:
    """A chain of `depth` links, the last driven by belts from a rotor at the root: one loop of depth + 1 bodies.

    depth      how many links the chain has
    ratio      turns of the rotor per turn of the last link
    symmetric  whether a rotor's centre of mass is on its axis
    seed       of the invented lengths and inertias
    returns    a `Model`
    errors     `ModelError`: depth is too small

    >>> robot = sarrus.zoo.transmission(3)
    >>> robot.nv, robot.n_rows
    (4, 1)
    """
    return _alone("transmission", seed, depth=depth, ratio=ratio, symmetric=symmetric)


def tree_of(
    submechanism: str, branches: int = 1, depth: int = 1, floating: bool = True, seed: int = 0, **options: Any
) -> Model:
    """`branches` chains of `depth` sub-mechanisms each on one base (constraint embedding paper, Fig. 9).

    Bodies are called `b{branch}_{number}_{part}`; frames `tip_{branch}` mark the ends.

    submechanism  link_and_rotor, parallel_belt, four_bar, differential, connecting_rod or transmission
    branches      how many chains
    depth         how many sub-mechanisms in each
    floating      whether the base floats
    seed          of the invented lengths and inertias
    options       of the sub-mechanism, for all of them: ratio, symmetric, kind, joint, rod, depth of a transmission
                  (as `transmission_depth`)
    returns       a `Model`
    errors        `UnknownNameError`: no such sub-mechanism; `ModelError`: a number is too small

    >>> robot = sarrus.zoo.tree_of("four_bar", branches=2)
    >>> robot.nv, robot.n_rows
    (12, 6)
    """
    check_name("sub-mechanism", submechanism, SUB_MECHANISMS)
    at_least(1, branches=branches, depth=depth)
    if "transmission_depth" in options:
        options["depth"] = options.pop("transmission_depth")
    add, parts = SUB_MECHANISMS[submechanism], Parts(seed)
    builder = ModelBuilder(f"tree_of_{submechanism}_{branches}_{depth}" + ("_floating" if floating else ""))
    root = WORLD_NAME
    if floating:
        root = "base"
        builder.add_body("base", joint="free", **parts.box((0.4, 0.3, 0.2), 5.0))
    for b in range(branches):
        angle = 2.0 * np.pi * b / branches
        mount = Mount(root, 0.2 * np.array([np.cos(angle), np.sin(angle), 0.0]) if branches > 1 else 0.0 * Z)
        for k in range(depth):
            mount = add(builder, mount, f"b{b}_{k}", parts, **options)
        builder.add_frame(f"tip_{b}", mount.body, position=mount.position)
    return builder.build()


def parallel_chains(d_t: int, d_l: int, constraint: str = "transmission", eta: float = 1.5, seed: int = 0) -> Model:
    """Two chains of d_t links with parallel hinges, tied together at their d_l-th links (paper, Fig. 11).

    d_t         how many links each chain has
    d_l         the number of the link at which they are tied, from 1
    constraint  "transmission": the first d_l angles of one chain add up to eta times those of the other; 1 row (66),
                2 d_l bodies in the loop
                "connecting_rod": a rod hinged to both d_l-th links; 3 rows of rank 2, 2 d_l + 1 bodies in the loop
    eta         the ratio of the transmission
    seed        of the invented lengths and inertias
    returns     a `Model`
    errors      `ModelError`: the loop is beyond the chains; `UnknownNameError`: no such constraint

    >>> robot = sarrus.zoo.parallel_chains(3, 2)
    >>> robot.nv, robot.n_rows
    (6, 1)
    """
    at_least(1, d_t=d_t, d_l=d_l)
    if d_l > d_t:
        raise ModelError(f"parallel_chains: the loop is at depth d_l = {d_l}, beyond the chains' d_t = {d_t}")
    check_name("constraint of the chains", constraint, ("transmission", "connecting_rod"))
    sketch, parts = Sketch(f"parallel_chains_{d_t}_{d_l}_{constraint}"), Parts(seed)
    tips: dict[str, np.ndarray] = {}
    for chain, x in ((1, 0.0), (2, 0.3)):
        parent, at = WORLD_NAME, x * X
        for k in range(1, d_t + 1):
            lean = 0.25 * (-1) ** (k + chain) + 0.05 * chain  # zigzag: no two links in one line
            to = at + parts.length(0.2) * (np.sin(lean) * X + np.cos(lean) * Z)
            joint = {"axis": Y, "independent": constraint == "transmission" or (chain, k) != (2, 1)}
            parent = sketch.body(f"link_{chain}_{k}", parent, at, "revolute", **joint, **parts.link(to - at))
            tips[parent] = at = to
    first, second = f"link_1_{d_l}", f"link_2_{d_l}"
    if constraint == "transmission":
        terms = {f"link_1_{i}_joint": 1.0 for i in range(1, d_l + 1)}
        terms |= {f"link_2_{i}_joint": -eta for i in range(1, d_l + 1)}
        sketch.builder.add_constraint(coupling(terms, name="transmission"))
    else:
        start, end = tips[first], tips[second]
        sketch.body("rod", first, start, "revolute", axis=Y, independent=False, **parts.link(end - start))
        sketch.close("rod_end", "rod", second, end, "connect")
    return sketch.build()


def _alone(submechanism: str, seed: int, **options: Any) -> Model:
    """One sub-mechanism on the ground."""
    builder = ModelBuilder(submechanism)
    tip = SUB_MECHANISMS[submechanism](builder, Mount(), submechanism, Parts(seed), **options)
    return builder.add_frame("tip", tip.body, position=tip.position).build()
