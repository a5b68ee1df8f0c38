"""What is left of a geared robot when its rotors are neglected: the models of Figs. 12 and 13 of the constraint
embedding paper.

    original       every body and constraint: what the robot is
    unconstrained  rotors removed, with their mass and inertia: a tree
    approximate    the same, with the rotors' inertia times ratio^2 at the joints that they drive, as armature

Reconstructed: the paper adds "scaled rotor inertias to corresponding links". Here that is the diagonal of G^T I G at
home, I the rotors' inertia about their axes and G the relation of their speed to that of the links. A belt's rotor thus
counts for every joint that it runs over, as in upstream's code. Upstream's files `*_approximate.urdf` (Fig. 12) have no
such inertia at all, and JVRC-1's hangs its waist and legs on the ground instead of the pelvis: they are not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

import sarrus
from sarrus.model.bodies import WORLD, Body
from sarrus.model.constraints import LinkConstraint
from sarrus.model.model import Model
from sarrus.spatial.inertia import Inertia

REMOVED = ("rotor", "crank", "lever")  # in the names of bodies that these models do without


def unconstrained(model: Model) -> Model:
    """The tree without rotors (and cranks): their mass and inertia are gone."""
    return without_bodies(model, [body.name for body in model.bodies if is_rotor(body.name)])


def with_general_rotors(model: Model) -> Model:
    """The same robot with rotors that are neither balanced nor symmetric about their axes: nothing folds for them."""
    rng = np.random.default_rng(0)

    def general(body: Body) -> Body:
        a = rng.normal(size=(3, 3))
        inertia = Inertia.from_com(0.3, 0.01 * rng.normal(size=3), 1e-4 * (a @ a.T + np.eye(3)))
        return replace(body, inertia=inertia)

    return replace(model, bodies=tuple(general(b) if "rotor" in b.name else b for b in model.bodies))


def approximate(model: Model) -> Model:
    """The tree without rotors, their inertia times ratio^2 as armature of the joints that they drive."""
    removed = [body for body in model.bodies if is_rotor(body.name)]
    kept, A = relations_at_home(model, [body.joint.name for body in removed])
    axial = np.array([b.joint.axes[0] @ b.inertia.Io @ b.joint.axes[0] for b in removed])
    reflected = dict(zip(kept, axial @ A**2, strict=True))
    tree = unconstrained(model)
    bodies = [
        replace(b, joint=replace(b.joint, armature=b.joint.armature + reflected[b.joint.name]))
        if b.joint.name in reflected
        else b
        for b in tree.bodies
    ]
    return replace(tree, bodies=tuple(bodies))


def relations_at_home(model: Model, dependent: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """(other joints of one freedom, A): velocities of the dependent joints are A times theirs, at home."""
    plain = model.without_constraints().with_constraints(
        *(c for c in model.active_constraints if not isinstance(c, LinkConstraint))
    )
    q = sarrus.neutral(model) if model.home is None else model.home
    J = sarrus.closure(plain, q).jacobian
    column = {name: model.layout.v[i].start for i, name in enumerate(model.joint_names)}
    single = [body.joint.name for body in model.bodies if body.joint.type.nv == 1 and body.joint.name not in dependent]
    J_d, J_k = J[:, [column[name] for name in dependent]], J[:, [column[name] for name in single]]
    return single, -np.linalg.lstsq(J_d, J_k, rcond=None)[0]


def without_bodies(model: Model, names: Sequence[str]) -> Model:
    """The tree without these bodies, on which no other body hangs, and without constraints."""
    number = {WORLD: WORLD}
    bodies: list[Body] = []
    for i, body in enumerate(model.bodies):
        if body.name in names:
            continue
        number[i] = len(bodies)
        bodies.append(replace(body, parent=number[body.parent]))
    frames = tuple(replace(f, body=number[f.body]) for f in model.frames if f.body in number)
    geometries = tuple(replace(g, body=number[g.body]) for g in model.geometries if g.body in number)
    home = None
    if model.home is not None:
        spans = [s for s, b in zip(model.layout.q, model.bodies, strict=True) if b.name not in names]
        home = np.concatenate([model.home[s] for s in spans])
    return replace(model, bodies=tuple(bodies), frames=frames, geometries=geometries, constraints=(), home=home)


def is_rotor(name: str) -> bool:
    return any(word in name for word in REMOVED)
