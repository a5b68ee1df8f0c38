"""Constrained forward dynamics with some constraints embedded and any method for the others, all forces reported."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.mechanics.constraints.rows import EQUATIONS, KinematicState
from sarrus.mechanics.mechanism import Mechanism, mechanism
from sarrus.mechanics.solvers.cluster_loads import ClusterLoads, cluster_loads
from sarrus.mechanics.solvers.proximal import MAX_ITERATIONS, RANK_TOLERANCE
from sarrus.mechanics.solvers.result import FOR_LOOPS, ConstrainedDynamicsResult, joined, with_fallback
from sarrus.model.bodies import WORLD
from sarrus.model.clusters import check_clusters
from sarrus.model.embedding import Cluster, Embedding
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm, check_model, find
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import choose
from sarrus.spatial.norms import if_finite, size
from sarrus.spatial.precision import within
from sarrus.status import Status

_MET = 1e-8  # of the cluster's accelerations: what redundant rows may be off


@algorithm(
    cost="O(n) and what the solver needs for the rows that are left, on a tree of clusters",
    references=("chignoli2025", "lcaba2025"),
    supports=Feature.ON_ALL | Feature.ANY_RANK,
    derivatives="forward_dynamics_derivatives",
    smallest_forces=True,
)
def hybrid(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    k: Array | None = None,
    external_forces: Array | None = None,
    forces0: Array | None = None,
    clusters: tuple[Cluster, ...] = (),
    solver: str | None = None,
    order: tuple[int, ...] | None = None,
    fallback: str | None = "prox_ltl",
    tolerance: float = 1e-9,
    max_iterations: int = MAX_ITERATIONS,
    rank_tolerance: float = RANK_TOLERANCE,
    closed: float = 1e-9,
) -> ConstrainedDynamicsResult:
    """Constrained forward dynamics with some constraints embedded and any method for the others, all forces reported.

    Both papers on loops name this as future work. The method solves on the tree of clusters; the forces of embedded
    constraints follow from one pass back over the bodies (`cluster_loads.py`). States at which a cluster is singular,
    its redundant rows are in conflict, or a loop on a moving body is open, go to the `fallback`, which embeds nothing.

    clusters  what is embedded, as in `sarrus.embed(...)` (`model.embedding.clusters`); `sarrus.plan` chooses them
    solver    the method for the other rows; default: lcaba, or ce_aba if there are none
    order     of lcaba's elimination, on the tree of clusters
    fallback  the method for states that this one cannot solve; None: the status reports them
    closed    metres or radians: how far a loop on a moving body may be open. The force of an open loop acts at two
              points, which turns its carrier; clusters neglect that
    """
    at_work = with_clusters(model, clusters)
    name = solver or ("lcaba" if at_work.active_constraints or at_work.embedding is None else "ce_aba")
    if name == "hybrid":
        raise UnsupportedError("solver is 'hybrid': expected another method, such as 'lcaba'")
    inner = find(name)
    check_model(inner, at_work, strict=True)
    given: dict[str, Any] = {"k": k, "external_forces": external_forces, "order": order, "fallback": None}
    limits: dict[str, Any] = {"tolerance": tolerance, "max_iterations": max_iterations}
    limits["rank_tolerance"] = rank_tolerance
    given |= limits | {"forces0": _reduced(model, at_work, forces0)}
    known = {*inner.options, *inner.input_names}
    found = inner.text(at_work, q=q, v=v, tau=tau, **{x: value for x, value in given.items() if x in known})
    if name == "ce_aba":
        zero = np.asarray(0.0, dtype=object)
        found = ConstrainedDynamicsResult(found.qdd, np.zeros(0), np.zeros(0), zero, found.status, zero)
    if clusters:
        at = mechanism(at_work, q, v, tau, external_forces)
        loads = cluster_loads(at, found.qdd, tau, found.forces, k, external_forces)
        found = _with_all_rows(model, at, found, loads, closed)
    return with_fallback(found, fallback, FOR_LOOPS, model, q, v, tau, k, external_forces, **limits)


def with_clusters(model: Model, clusters: tuple[Cluster, ...]) -> Model:
    """The model with these embedded; the same one each time."""
    if not clusters:
        return model
    if model.embedding is not None:
        raise UnsupportedError(f"hybrid: {model.name!r} already has embedded constraints: use `model.spanning`")
    known = model.remembered.setdefault(with_clusters, {})
    if clusters not in known:
        check_clusters(model, clusters)
        known[clusters] = replace(model, embedding=Embedding(clusters))
    return known[clusters]


def _reduced(model: Model, at_work: Model, forces: Array | None) -> Array | None:
    """Of forces of all rows, those of rows that are left."""
    if forces is None:
        return None
    left = {c.name for c in at_work.active_constraints}
    spans = zip(model.active_constraints, model.row_spans, strict=True)
    return joined([forces[span] for c, span in spans if c.name in left])


def _with_all_rows(
    model: Model, at: Mechanism, found: ConstrainedDynamicsResult, loads: ClusterLoads, closed: float
) -> ConstrainedDynamicsResult:
    """The result with the rows of what is embedded in their places, and a status that holds for these, too."""
    forces, residual = dict(loads.forces), dict(loads.residual)
    for c, span in zip(at.model.active_constraints, at.model.row_spans, strict=True):
        forces[c.name], residual[c.name] = found.forces[span], found.residual[span]
    met = max(within(_MET, 1e3), closed)
    status = choose(loads.missed, met, found.status.item(), Status.CONSTRAINTS_NOT_MET)
    status = choose(_opening(at), within(closed, 1e3), status, Status.CONSTRAINTS_NOT_MET)
    status = if_finite(status, Status.NOT_FINITE, *loads.forces.values(), *loads.residual.values())
    return found._replace(
        forces=joined([forces[c.name] for c in model.active_constraints]),
        residual=joined([residual[c.name] for c in model.active_constraints]),
        status=np.asarray(choose(0.5, found.status.item(), found.status.item(), status), dtype=object),
    )


def _opening(at: Mechanism) -> Scalar:
    """How far the loops of clusters are open that hang on moving bodies."""
    assert at.model.embedding is not None
    carried = {x for c in at.model.embedding.clusters if c.output != WORLD for x in c.constraints}
    state = KinematicState.of(at.model, at.joints, at.bias, at.q, at.v)
    loops = [c for c in at.model.constraints if c.name in carried and c.frames]
    return size(*(EQUATIONS[type(c)].error(c, state, True)[0] for c in loops)) if loops else 0.0
