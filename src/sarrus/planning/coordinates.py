"""Which velocities of a cluster are independent, and which rows say what the others do.

1. the rank r of a cluster's rows K says how many velocities depend on the others;
2. those are taken greedily, the least wanted as independent first: those that the user or the file calls independent
   last, then those of actuated joints (where the model has no actuators: with an effort limit), then those that carry
   most of the robot (their motion subspace is then a unit vector). Within a kind, the column that is farthest from
   those taken already. They are chosen at one configuration; where that makes another one singular, at all;
3. r rows are taken likewise; the others are redundant;
4. the rows are ordered into blocks of which each needs only those before it (`block_order`). Blocks are small where
   rows are seen from the right side (`row_axes.py`).
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np

from sarrus.errors import ModelError, RankWarning
from sarrus.mechanics.clusters.embedded import at_rest, cluster_rows
from sarrus.model.actuators import actuated_joints
from sarrus.model.constraints import Coupling, of_type
from sarrus.model.embedding import Cluster
from sarrus.model.layout import spans
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.planning.row_axes import Blocks, from_better_sides
from sarrus.spatial.arrays import Array

ROUNDING = 1e-11  # what rounding makes of a singular value that should be zero
_RANK = 1e-7  # how much of a column must be new for it to be taken at all
_ZERO = 1e-13  # elements of K, relative to its largest or to the cluster's size, that are rounding
_FAR = 0.05  # how much of a column must be new for it to be taken before those of a more wanted kind
_SINGULAR = 1e-4  # conditioning of dependent velocities at which others are looked for


def divide(model: Model, cluster: Cluster, samples: list[Array], wanted: set[int], tolerance: float) -> Cluster:
    """The cluster with its velocities divided into independent and dependent ones.

    samples: configurations on its constraints; wanted: velocities that are to be independent.
    """
    extent = _extent(model, cluster)
    states = [at_rest(model, q) for q in samples]
    declared = [cluster_rows(cluster, state)[0] for state in states]
    K_at = [_without_rounding(K, extent) for K in declared]
    K_at = _without_faint_rows(model, cluster, K_at, extent, tolerance)
    velocities = [k for i in cluster.bodies for k in _span(model, i)]
    ranks = [_rank(cluster, K, tolerance) for K in K_at]
    best = max(range(len(samples)), key=lambda x: (ranks[x], _conditioning(K_at[x], ranks[x])))
    K, r = K_at[best], ranks[best]
    classes = [_preference(model, cluster, v, wanted) for v in velocities]
    dependent = _dependent(K, [M for M, rank in zip(K_at, ranks, strict=True) if rank == r], r, classes)
    free = [velocities[x] for x in range(len(velocities)) if x not in dependent]
    missing = wanted & {velocities[x] for x in dependent}
    constraints = ", ".join(map(repr, cluster.constraints))
    if missing:
        joints = (model.bodies[i].joint.name for i in cluster.bodies if missing & set(_span(model, i)))
        raise ModelError(
            f"the constraints {constraints} leave {len(free)} of {len(velocities)} velocities independent, and "
            f"{', '.join(map(repr, joints))} cannot be among them together with the others"
        )
    rows = _greedy([K[:, dependent].T], r, [(0.0,)] * len(K))
    if not len(dependent) == len(rows) == r:
        raise ModelError(
            f"the constraints {constraints} have rank {r}, but their rows are almost dependent: which velocities "
            f"follow cannot be said. Leave some of them to lcaba or prox_bbo"
        )
    known = len(K_at) > 1 or is_constant(model, set(cluster.constraints))  # what is zero at all configurations
    if len(rows) == len(K) and known:

        def blocks_of(turned: list[Array]) -> Blocks:
            return _blocks(turned[best], turned, rows, dependent)

        clean = partial(_without_rounding, extent=extent)
        cluster, turned = from_better_sides(model, cluster, states, declared, blocks_of, clean)
        K_at, K = turned, turned[best]
    found = _blocks(K, K_at, rows, dependent) if known or not r else [(list(range(r)), list(range(r)))]
    blocks = [([rows[x] for x in b], [velocities[dependent[x]] for x in c]) for b, c in found]
    longest = np.max([np.sum(M * M, axis=1) for M in K_at], axis=0)
    # Powers of two: what is written into kernels does not depend on the last digits of a search.
    lengths = [float(2.0 ** np.round(np.log2(x))) if x > 0.0 else 1.0 for x in longest]
    return cluster.with_coordinates(free, blocks, lengths)


def _blocks(K: Array, K_at: list[Array], rows: list[int], dependent: list[int]) -> Blocks:
    """Of these rows and velocities, by their places there."""
    pattern = np.any([M[np.ix_(rows, dependent)] != 0.0 for M in K_at], axis=0)
    return block_order(K[np.ix_(rows, dependent)], pattern)


def _dependent(K: Array, regular: list[Array], r: int, classes: list[tuple[float, ...]]) -> list[int]:
    """Columns chosen in K, or, where that makes others of full rank singular, in all of them."""
    chosen = _greedy([K], r, classes)
    if any(_conditioning(M[:, chosen], r) < _SINGULAR for M in regular):
        elsewhere = _greedy(regular, r, classes)
        return elsewhere if len(elsewhere) == r else chosen
    return chosen


def is_constant(model: Model, names: set[str]) -> bool:
    """Whether K is the same everywhere: gears, belts and bevel differentials."""
    chosen = [c for c in model.constraints if c.name in names]
    return len(chosen) == sum(c.is_linear for c in of_type(chosen, Coupling))


def _without_rounding(K: Array, extent: float) -> Array:
    """A velocity that moves a row by rounding only does not move it: of a row that nothing moves, nothing is left."""
    return np.where(np.abs(K) > _ZERO * max(np.abs(K).max(initial=0.0), extent), K, 0.0)


def _extent(model: Model, cluster: Cluster) -> float:
    """The largest offset of its bodies and loops, metres: rows are made of such lengths, which may cancel."""
    mine = [c for c in model.constraints if c.name in cluster.constraints]
    frames = [model.frame(name) for c in mine for name in c.frames]
    offsets = [model.bodies[i].placement.p for i in cluster.bodies] if frames else []
    return max((float(np.linalg.norm(p)) for p in [*offsets, *(f.placement.p for f in frames)]), default=0.0)


def _without_faint_rows(
    model: Model, cluster: Cluster, K_at: list[Array], extent: float, tolerance: float
) -> list[Array]:
    """Rows that move much less than others of their constraint, at all configurations, are left out.

    They are those out of the plane of a loop whose axes are parallel but for a file's rounding.
    """
    longest = np.max([np.linalg.norm(K, axis=1) for K in K_at], axis=0)
    usual = np.empty(len(longest))
    constraints = [c for c in model.constraints if c.name in cluster.constraints]
    for constraint, mine in zip(constraints, spans(c.size for c in constraints), strict=True):
        least = 1e-3 * min(extent, 1.0) if constraint.frames else 0.0
        usual[mine] = max(longest[mine].max(initial=0.0), least)
    faint = longest <= tolerance * usual
    _warn_of(cluster, longest[faint] / np.where(usual[faint] > 0.0, usual[faint], 1.0), tolerance)
    return [np.where(faint[:, None], 0.0, K) for K in K_at]


def _rank(cluster: Cluster, K: Array, tolerance: float) -> int:
    """Whatever the rows' units: of rows of length one, those of zeros apart."""
    lengths = np.linalg.norm(K, axis=1)
    rows = K[lengths > 0.0] / lengths[lengths > 0.0, None]
    values = np.linalg.svd(rows, compute_uv=False)
    if not values.size:
        return 0
    share = values / values[0]
    _warn_of(cluster, share[share <= tolerance], tolerance)
    return int(np.sum(share > tolerance))


def _warn_of(cluster: Cluster, values: Array, tolerance: float) -> None:
    """Singular values that were taken for zero and are more than rounding."""
    doubtful = values[values > ROUNDING]
    if len(doubtful):
        names = ", ".join(map(repr, cluster.constraints))
        warnings.warn(
            f"the rank of the constraints {names} hangs on a singular value of {doubtful.max():.2g} (relative), which "
            f"is taken for zero: axes or lengths in the file are rounded, or this is near a singularity. "
            f"`embed(..., tolerance=...)`, now {tolerance:g}, sets what counts",
            RankWarning, stacklevel=4,
        )  # fmt: skip


def _conditioning(K: Array, r: int) -> float:
    values = np.linalg.svd(K, compute_uv=False)
    return float(values[r - 1] / values[0]) if r else 1.0


def _preference(model: Model, cluster: Cluster, velocity: int, wanted: set[int]) -> tuple[float, ...]:
    """How much a velocity is wanted as an independent one: small is taken as dependent first."""
    i = next(i for i in cluster.bodies if velocity in _span(model, i))
    joint = model.bodies[i].joint
    tree = tree_of(model)
    carried = sum(float(body.inertia.mass) for k, body in enumerate(model.bodies) if i in tree.paths[k])
    single = float(joint.type.nv == 1)  # an angle is a better coordinate than a component of an angular velocity
    motors = actuated_joints(model.actuators)
    actuated = float(joint.name in motors if motors else bool(np.isfinite(joint.effort_limit).any()))
    return (float(velocity in wanted), float(joint.independent is True), single, actuated, carried)


def _greedy(K_at: list[Array], r: int, classes: list[tuple[float, ...]]) -> list[int]:
    """r columns that are far from depending on each other in every K, those of a lower class first."""
    taken: list[int] = []
    rests = [K.copy() for K in K_at]
    lengths = np.array([np.linalg.norm(K, axis=0) for K in K_at])
    for least in (_FAR, 1e-3, _RANK):
        for kind in sorted(set(classes)):
            while len(taken) < r:
                new = np.array([np.linalg.norm(rest, axis=0) for rest in rests])
                least_new = np.min(new / np.where(lengths > 0.0, lengths, np.inf), axis=0)
                share = [y if classes[x] == kind and x not in taken else 0.0 for x, y in enumerate(least_new)]
                x = int(np.argmax(share))
                if share[x] < least:
                    break
                taken.append(x)
                for k, rest in enumerate(rests):
                    direction = rest[:, x] / new[k, x]
                    rests[k] = rest - np.outer(direction, direction @ rest)
    return taken


def _span(model: Model, joint: int) -> range:
    return range(model.nv)[model.layout.v[joint]]


def block_order(A: Array, nonzero: Array) -> list[tuple[list[int], list[int]]]:
    """(rows, columns) of the blocks of a square sparse matrix, in the order in which their unknowns can be solved.

    Rows are matched with columns; the strongly connected components of what then needs what are the blocks (Dulmage
    and Mendelsohn). A block needs only those before it. A: values, to match large elements; nonzero: its pattern.
    """
    row_of = _matching(A, nonzero)
    n = len(A)
    needs = [[c for c in range(n) if c != column and nonzero[row_of[column], c]] for column in range(n)]
    return [(sorted(row_of[c] for c in block), sorted(block)) for block in _components(needs)]


def _matching(A: Array, nonzero: Array) -> list[int]:
    """A row for every column: large elements first, then along augmenting paths."""
    n = len(A)
    row_of, column_of = [-1] * n, [-1] * n
    for flat in np.argsort(-np.abs(np.where(nonzero, A, 0.0)), axis=None):
        row, column = divmod(int(flat), n)
        if nonzero[row, column] and row_of[column] < 0 and column_of[row] < 0:
            row_of[column], column_of[row] = row, column

    def augment(column: int, tried: set[int]) -> bool:
        for row in np.flatnonzero(nonzero[:, column]):
            if int(row) in tried:
                continue
            tried.add(int(row))
            if column_of[row] < 0 or augment(column_of[row], tried):
                row_of[column], column_of[row] = int(row), column
                return True
        return False

    for column in range(n):
        if row_of[column] < 0 and not augment(column, set()):
            raise ModelError("the rows of a cluster do not determine its dependent velocities, whatever their values")
    return row_of


def _components(needs: list[list[int]]) -> list[list[int]]:
    """Tarjan's strongly connected components: what is needed comes first."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    found: list[list[int]] = []

    def visit(x: int) -> None:
        index[x] = low[x] = len(index)
        stack.append(x)
        for y in needs[x]:
            if y not in index:
                visit(y)
                low[x] = min(low[x], low[y])
            elif y in stack:
                low[x] = min(low[x], index[y])
        if low[x] == index[x]:
            cut = stack.index(x)
            found.append(stack[cut:])
            del stack[cut:]

    for x in range(len(needs)):
        if x not in index:
            visit(x)
    return found
