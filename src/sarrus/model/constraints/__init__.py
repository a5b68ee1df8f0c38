"""Constraints as declared: data that answers for itself. What they do to the dynamics is computed elsewhere.

Rows and forces are always in the order in which constraints were declared.
"""

from sarrus.model.constraints.center_of_mass import CenterOfMass, center_of_mass_constraint
from sarrus.model.constraints.constraint import Constraint, Kind, of_type
from sarrus.model.constraints.coupling import Coupling, Tendon, coupling
from sarrus.model.constraints.links import Contact, LinkConstraint, LinkRows, contact, link_rows
from sarrus.model.constraints.loops import CLOSURES, Distance, Held, LoopClosure, connect, distance, loop, weld

__all__ = [
    "CLOSURES", "CenterOfMass", "Constraint", "Contact", "Coupling", "Distance", "Held", "Kind", "LinkConstraint",
    "LinkRows", "LoopClosure", "Tendon", "center_of_mass_constraint", "connect", "contact", "coupling", "distance",
    "link_rows", "loop", "of_type", "weld",
]  # fmt: skip
