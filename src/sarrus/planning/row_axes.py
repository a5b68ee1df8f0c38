"""From which side a ball joint that closes a loop is looked at: in the axes of which body its rows are.

Three rows make two points one. In axes of a rod between two ball joints, what they see of the rod's turning is
constant; in axes of the body at its end all of it varies. Which is better shows in the rows at a few configurations: by
the blocks in which they determine dependent velocities, then by how many of their elements are not zero, or vary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sarrus.mechanics.constraints.loop_rows import is_point
from sarrus.mechanics.constraints.rows import KinematicState
from sarrus.model.bodies import WORLD
from sarrus.model.constraints import LoopClosure
from sarrus.model.embedding import Cluster
from sarrus.model.layout import spans
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array

_SAME = 1e-12  # relative: what does not vary
Blocks = list[tuple[list[int], list[int]]]


def from_better_sides(
    model: Model,
    cluster: Cluster,
    states: list[KinematicState],
    K_at: list[Array],
    blocks_of: Callable[[list[Array]], Blocks],
    clean: Callable[[Array], Array],
) -> tuple[Cluster, list[Array]]:
    """The cluster with a side for each of its closures, chosen one after the other, and its rows as seen from there.

    K_at   its rows at these states as seen from the first frames; `clean` leaves out what is rounding
    """
    declared = {c.name: c for c in model.constraints}
    constraints = [declared[name] for name in cluster.constraints]
    best = [clean(K) for K in K_at]
    cost, chosen = _cost(best, blocks_of(best)), list[str]()
    for c, mine in zip(constraints, spans(c.size for c in constraints), strict=True):
        if not (isinstance(c, LoopClosure) and is_point(c)) or model.frame(c.frame_b).body == WORLD:
            continue
        turned = [K.copy() for K in K_at]
        for K, state in zip(turned, states, strict=True):
            K[mine] = -(state.between(c).R.T @ K[mine])
        found = [clean(K) for K in turned]
        if (new := _cost(found, blocks_of(found))) < cost:
            best, cost, K_at = found, new, turned
            chosen.append(c.name)
    return replace(cluster, seen_from_b=tuple(chosen)), best


def _cost(K_at: list[Array], blocks: Blocks) -> tuple[int, int]:
    """What blocks take to solve, about; then elements that are not zero, and those that vary."""
    there = np.any([K != 0.0 for K in K_at], axis=0)
    vary = np.any([np.abs(K - K_at[0]) > _SAME * np.abs(K_at[0]).max(initial=0.0) for K in K_at], axis=0)
    return sum(len(rows) ** 3 for rows, _ in blocks), int(there.sum() + vary.sum())
