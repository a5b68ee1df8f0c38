"""Whether every joint moves some inertia. A massless link is fine as long as something beyond it has mass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sarrus.errors import IllPosedError
from sarrus.model.joints import Kinematics
from sarrus.model.model import Model
from sarrus.model.per_model import per_model
from sarrus.model.state import random_state
from sarrus.model.tree import Node, tree_of
from sarrus.spatial.arrays import Array

_RELATIVE = 1e-13  # of the inertia that the joint carries: below, it is rounding
_LIGHT = 1e-9  # of the inertia that the joint carries: a link that has less along it cannot vouch for the joint
_STATES = 3  # configurations that are looked at


def check_well_posed(model: Model) -> None:
    """Raise an error that names every joint whose acceleration is undefined at a generic configuration."""
    found = _without_inertia(model)
    if not found:
        return
    bodies = [model.bodies[i] for i in found]
    joints = [body.joint.name for body in bodies]
    if len(joints) == 1:
        raise IllPosedError(
            f"body {bodies[0].name!r}: nothing that joint {joints[0]!r} moves has inertia along it, so its "
            f"acceleration is undefined. Give the body (or one beyond it) mass or inertia, give the joint "
            f"armature, or fix the joint: `model.lock({joints!r})`"
        )
    raise IllPosedError(
        f"nothing that {len(joints)} joints move has inertia along them, so their accelerations are undefined. Give "
        f"their bodies (or some beyond them) mass or inertia, give the joints armature, or fix the joints: "
        f"`model.lock({joints!r})`"
    )


def _without_inertia(model: Model) -> list[int]:
    """Bodies whose joints move no inertia, as if those joints beyond them that do not either were locked."""
    if not model.is_numeric:
        return []
    nodes, H = tree_of(model).nodes, _inertias(model)
    joints = _joints_at_random(model, 20240229)
    references = _references(nodes, joints, H)
    found: list[int] = []
    for i in reversed(range(len(nodes))):
        node, (X, S, _, _), reference = nodes[i], joints[i], references[i]
        U = H[i] @ S
        D = S.T @ U + np.diag(node.armature)
        # Compare with the inertia of the same kind that is carried, so that a light finger on a heavy robot passes.
        # (Not with H: where the joints beyond leave nothing of it, H is rounding.)
        root = np.sqrt(reference)  # one after the other: their product may not be a number
        scaled = D / root / root[:, None] if (reference > 0.0).all() else np.zeros_like(D)
        if not np.isfinite(scaled).all() or np.linalg.eigvalsh(0.5 * (scaled + scaled.T)).min() <= _RELATIVE:
            found.insert(0, i)
            Ha = H[i]
        else:
            Ha = H[i] - U @ np.linalg.solve(D, U.T)
        if node.parent >= 0:
            H[node.parent] = H[node.parent] + X.congruence(0.5 * (Ha + Ha.T))
    return found


def noted_ill_posed(model: Model) -> Model:
    """The model with what is ill-posed about it, or no longer is, in its import report."""
    try:
        check_well_posed(model.spanning)
        why = ""
    except IllPosedError as error:
        why = str(error)
    if why == model.ill_posed:
        return model
    report = tuple(line for line in model.import_report if line != model.ill_posed)
    return replace(model, import_report=(*report, why) if why else report, ill_posed=why)


@per_model
def light_joints(model: Model) -> dict[int, Array]:
    """Joints whose own link has next to no inertia along them, by body, each with the inertia that is usual.

    Whether they move any depends on what they carry beyond, and so on the configuration.
    """
    if not model.is_numeric:
        return {}
    found: dict[int, Array] = {}
    nodes, own = tree_of(model).nodes, _inertias(model)
    for seed in range(_STATES):
        joints = _joints_at_random(model, seed)
        for i, usual in enumerate(_references(nodes, joints, own)):
            S = joints[i].S
            least = np.linalg.eigvalsh(S.T @ own[i] @ S + np.diag(nodes[i].armature)).min(initial=np.inf)
            if least < _LIGHT * usual.max(initial=0.0):
                found[i] = np.maximum(usual, found.get(i, 0.0))
    return found


def _inertias(model: Model) -> list[Array]:
    """Of every body in its node, unshared: the questions are about bodies."""
    pairs = zip(tree_of(model).nodes, model.bodies, strict=True)
    return [node.body.congruence(body.inertia.matrix()) for node, body in pairs]


def _joints_at_random(model: Model, seed: int) -> list[Kinematics]:
    q, _ = random_state(model, rng=seed)
    return [n.joint.kinematics(n.fixed, n.offset, q[n.q]) for n in tree_of(model).nodes]


def _references(nodes: Sequence[Node], joints: Sequence[Kinematics], own: Sequence[Array]) -> list[Array]:
    """Per joint and axis: the largest inertia of the same kind, translational or rotational, that the joint carries.

    As if all joints beyond it were locked; its armature counts.
    """
    carried = list(own)
    for i in reversed(range(len(nodes))):
        if nodes[i].parent >= 0:
            carried[nodes[i].parent] = carried[nodes[i].parent] + joints[i].X.congruence(carried[i])
    references = []
    for node, joint, H in zip(nodes, joints, carried, strict=True):
        mass, rotational = (max(float(part.max()), 0.0) for part in (np.diag(H)[:3], np.diag(H)[3:]))
        along = [mass * float(s[:3] @ s[:3]) + rotational * float(s[3:] @ s[3:]) for s in joint.S.T]
        references.append(np.array(along) + node.armature)
    return references
