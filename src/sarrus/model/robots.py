"""Which bodies are one robot, and which of them are neighbours.

A robot is what hangs together: a tree that hangs on the world, with all trees that loops hold to it. A four-bar linkage
may be declared as one chain or as two; it is one robot either way, and the links at each of its pins are neighbours.
The world holds nothing together: two arms that are bolted or welded to it are two robots.
"""

from __future__ import annotations

from sarrus.model.bodies import WORLD
from sarrus.model.constraints import Kind, LoopClosure
from sarrus.model.model import Model
from sarrus.model.per_model import per_model


@per_model
def robots_of(model: Model) -> dict[int, int]:
    """Of every body: the one that stands for its robot, the least of those on the world; of the world, the world."""
    robots = {WORLD: WORLD}
    for body, parent in enumerate(model.parents):
        robots[body] = body if parent == WORLD else robots[parent]
    for constraint in model.constraints:
        if constraint.kind is Kind.LOOP and constraint.active:
            a, b = (robots[model.frame(name).body] for name in constraint.frames)
            if WORLD not in (a, b):
                least = min(a, b)
                robots = {body: least if of in (a, b) else of for body, of in robots.items()}
    return robots


@per_model
def neighbours(model: Model) -> frozenset[frozenset[int]]:
    """Pairs of bodies that a joint connects, one of the tree or one that closes a loop. The world is nobody's.

    A rod between two bodies (a `Distance`) is a link of its own, so these are no neighbours. Bodies without mass and
    geometries are passed over: several joints between two bodies make a chain of such.
    """
    solid = {geometry.body for geometry in model.geometries}
    ends = {WORLD: WORLD}  # of a joint that is declared on this body: the body that it is really on
    for k, body in enumerate(model.bodies):
        ends[k] = k if k in solid or not _massless(model, k) else ends[body.parent]
    joined = [(ends[k], ends[body.parent]) for k, body in enumerate(model.bodies)]
    for constraint in model.constraints:
        if isinstance(constraint, LoopClosure) and constraint.active:
            a, b = (ends[model.frame(name).body] for name in constraint.frames)
            joined.append((a, b))
    return frozenset(frozenset(pair) for pair in joined if WORLD not in pair)


def _massless(model: Model, body: int) -> bool:
    mass = model.bodies[body].inertia.mass
    return isinstance(mass, float) and mass == 0.0
