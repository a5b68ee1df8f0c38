"""Whether every joint moves some inertia. A massless link is fine as long as something beyond it has mass."""

from __future__ import annotations

import numpy as np

from sarrus.errors import IllPosedError
from sarrus.model.model import Model
from sarrus.model.per_model import per_model
from sarrus.model.state import random_state
from sarrus.model.tree import tree_of

_RELATIVE = 1e-13  # of the inertia that the joint carries: below, it is rounding
_LIGHT = 1e-9  # of the inertia that the joint carries: a link that has less along it cannot vouch for the joint
_STATES = 3  # configurations that are looked at


def check_well_posed(model: Model) -> None:
    """Raise an error that names the link if some joint's acceleration is undefined at a generic configuration."""
    if not model.is_numeric:
        return
    q, _ = random_state(model, rng=20240229)
    nodes = tree_of(model).nodes
    # The unshared inertia: the test asks about bodies, so it uses what belongs to them.
    H = [node.body.congruence(body.inertia.matrix()) for node, body in zip(nodes, model.bodies, strict=True)]
    carried = list(H)  # what each joint carries, as if all joints beyond it were locked
    for i in range(len(nodes) - 1, -1, -1):
        node = nodes[i]
        X, S, _, _ = node.kinematics(q)
        U = H[i] @ S
        D = S.T @ U + np.diag(node.armature)
        # Compare with the inertia of the same kind that is carried, so that a light finger on a heavy robot passes.
        # (Not with H: where the joints beyond leave nothing of it, H is rounding.)
        reference = _reference(carried[i], S) + node.armature
        root = np.sqrt(reference)  # one after the other: their product may not be a number
        scaled = D / root / root[:, None] if (reference > 0.0).all() else np.zeros_like(D)
        if not np.isfinite(scaled).all() or np.linalg.eigvalsh(0.5 * (scaled + scaled.T)).min() <= _RELATIVE:
            body = model.bodies[i]
            raise IllPosedError(
                f"body {body.name!r}: nothing that joint {body.joint.name!r} moves has inertia along it, so its "
                f"acceleration "
                f"is undefined. Give the body (or one beyond it) mass or inertia, give the joint armature, or fix "
                f"the joint"
            )
        Ha = H[i] - U @ np.linalg.solve(D, U.T)
        if node.parent >= 0:
            H[node.parent] = H[node.parent] + X.congruence(0.5 * (Ha + Ha.T))
            carried[node.parent] = carried[node.parent] + X.congruence(carried[i])


@per_model
def light_joints(model: Model) -> dict[int, np.ndarray]:
    """Joints whose own link has next to no inertia along them, by body, each with the inertia that is usual.

    Whether they move any depends on what they carry beyond, and so on the configuration.
    """
    if not model.is_numeric:
        return {}
    found: dict[int, np.ndarray] = {}
    nodes = tree_of(model).nodes
    own = [node.body.congruence(body.inertia.matrix()) for node, body in zip(nodes, model.bodies, strict=True)]
    for seed in range(_STATES):
        q, _ = random_state(model, rng=seed)
        carried = list(own)
        for i in range(len(nodes) - 1, -1, -1):
            node = nodes[i]
            X, S, _, _ = node.kinematics(q)
            usual = _reference(carried[i], S) + node.armature
            least = np.linalg.eigvalsh(S.T @ own[i] @ S + np.diag(node.armature)).min(initial=np.inf)
            if least < _LIGHT * usual.max(initial=0.0):
                found[i] = np.maximum(usual, found.get(i, 0.0))
            if node.parent >= 0:
                carried[node.parent] = carried[node.parent] + X.congruence(carried[i])
    return found


def _reference(H: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Per joint axis: the largest inertia of the same kind, translational or rotational, that is carried."""
    mass = max(float(np.diag(H)[:3].max()), 0.0)
    rotational = max(float(np.diag(H)[3:].max()), 0.0)
    return np.array([mass * float(s[:3] @ s[:3]) + rotational * float(s[3:] @ s[3:]) for s in S.T])
