"""What a model may have that an algorithm must know how to treat, as flags with words for messages."""

from __future__ import annotations

from enum import Flag, auto

from sarrus.model.constraints import CenterOfMass, Constraint, Coupling, Distance, LinkConstraint, LoopClosure
from sarrus.model.model import Model
from sarrus.model.per_model import per_model


class Feature(Flag):
    """What a model may contain; `algorithm.supports` says which of these an algorithm supports. `str` describes them.

    The first ones are properties of a model (`found_in`); it is refused if an algorithm does not support all of them.
    The last three depend on the state and on options: they say where the algorithm is right, and the tests check that.

    >>> str(sarrus.ltl.supports & sarrus.Feature.CONSTRAINTS)
    'contacts and link rows'
    """

    LINKS = auto()  # constraints of links against the world: contacts and link rows
    LOOPS = auto()  # loop closures
    DISTANCES = auto()  # between two frames
    COUPLINGS = auto()  # of joint coordinates: gears, belts, differentials, mimics
    CENTER_OF_MASS = auto()  # rows of the centre of mass
    OTHER = auto()  # constraints of a type that nobody here knows
    EMBEDDED = auto()  # constraints that hold by construction
    MULTI_DOF = auto()  # joints of several degrees of freedom
    MASSLESS = auto()  # joints that move no inertia, so that accelerations are not defined

    REDUNDANT = auto()  # rows that depend on others, without contradicting them
    CONFLICTING = auto()  # rows that contradict others
    SOFT = auto()  # rows that give way

    NOTHING = 0  # no feature
    CONSTRAINTS = LINKS | LOOPS | DISTANCES | COUPLINGS | CENTER_OF_MASS  # of all types that are known here
    ROWS = CONSTRAINTS | OTHER  # whatever is not embedded
    ON_LINKS = LINKS | EMBEDDED | MULTI_DOF  # what methods take whose rows are of links only
    ON_ALL = CONSTRAINTS | EMBEDDED | MULTI_DOF  # what methods take that know every type of constraint
    ANY_RANK = REDUNDANT | CONFLICTING  # rows of any rank
    BESIDE_TREE = ROWS | EMBEDDED | MASSLESS  # what makes no difference to functions of the bare tree
    EVERYTHING = BESIDE_TREE | MULTI_DOF | ANY_RANK | SOFT  # all features

    def __str__(self) -> str:
        return ", ".join(words for flag, words in _WORDS.items() if flag in self) or "nothing"


_WORDS = {
    Feature.LINKS: "contacts and link rows",
    Feature.LOOPS: "loop closures",
    Feature.DISTANCES: "distances",
    Feature.COUPLINGS: "couplings",
    Feature.CENTER_OF_MASS: "rows of the centre of mass",
    Feature.OTHER: "other constraints",
    Feature.EMBEDDED: "embedded constraints",
    Feature.MULTI_DOF: "joints of several degrees of freedom",
    Feature.MASSLESS: "joints that move no inertia",
    Feature.REDUNDANT: "redundant rows",
    Feature.CONFLICTING: "conflicting rows",
    Feature.SOFT: "soft rows",
}
_KINDS: dict[type[Constraint], Feature] = {
    LinkConstraint: Feature.LINKS,
    LoopClosure: Feature.LOOPS,
    Distance: Feature.DISTANCES,
    Coupling: Feature.COUPLINGS,
    CenterOfMass: Feature.CENTER_OF_MASS,
}


def kind_of(constraint: Constraint) -> Feature:
    """What an algorithm must support to take this constraint."""
    return next((kind for known, kind in _KINDS.items() if isinstance(constraint, known)), Feature.OTHER)


@per_model
def found_in(model: Model) -> Feature:
    """What of all that a model has."""
    found = Feature.NOTHING
    for constraint in model.active_constraints:
        found |= kind_of(constraint)
    if model.embedding is not None:
        found |= Feature.EMBEDDED
    if any(body.joint.type.nv > 1 for body in model.bodies):
        found |= Feature.MULTI_DOF
    return found | Feature.MASSLESS if model.ill_posed else found
