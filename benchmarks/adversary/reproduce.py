"""One state again, with everything that the verdict rests on."""

from __future__ import annotations

from typing import Any

import numpy as np

import sarrus
from benchmarks.adversary import oracle
from benchmarks.adversary.mechanisms import make
from benchmarks.adversary.trial import cases_of, methods, outcomes_of
from benchmarks.adversary.verdict import Outcome, relative_error


def reproduce(family: str, seed: int, label: str, kind: str, index: int, per_class: int) -> dict[str, Any]:
    """The model and state, what the method gives, what the oracle says."""
    mechanism = make(family, seed)
    if mechanism is None:
        raise SystemExit(f"there is no mechanism {family!r} {seed} here")
    model = mechanism.model
    case = cases_of(mechanism, per_class, [kind])[kind]
    method, options = methods()[label]
    result = sarrus.compile(model, method, cache=False, **options)(case.q, case.v, case.tau)
    outcomes, answer, status = outcomes_of(case, method, result)
    one = case.only(np.array([index]))
    qdd = answer.qdd[index : index + 1]
    scaled = oracle.scaled(one.e, one.tau)
    values = np.linalg.svd(scaled.Y, compute_uv=False) / scaled.size
    said: dict[str, Any] = {
        "model": model,
        "joints": [(body.joint.type.name, body.parent) for body in model.bodies],
        "constraints": [(type(c).__name__, getattr(c, "joint", ""), c.size) for c in model.spanning.active_constraints],
        "q": one.q[0], "v": one.v[0], "tau": one.tau[0], "status": status[index],
        "outcome": Outcome(int(outcomes[index])).name, "qdd": qdd[0], "qdd of the oracle": one.truth.qdd[0],
        "free": one.truth.free[0], "error": relative_error(qdd, one.truth.qdd, one.truth.free)[0],
        "rows not met by": oracle.relative_residual(one.e, qdd, one.truth.free)[0],
        "... by the oracle": oracle.relative_residual(one.e, one.truth.qdd, one.truth.free)[0],
        "singular values": values[0], "rank": one.truth.rank[0], "clear": one.truth.clear[0],
        "decidable": one.truth.decidable[0], "feasible": one.truth.feasible[0], "condition": one.truth.condition[0],
    }  # fmt: skip
    if answer.forces is not None:
        forces = answer.forces[index : index + 1]
        off = oracle.momentum_residual(one.e, qdd, forces, one.tau, one.truth.force)[0]
        said |= {"forces": forces[0], "forces of the oracle": one.truth.force[0], "momentum not balanced by": off}
    return said
