"""What became of a state: one enumeration for the whole library.

`OK` is a proof, not the absence of a complaint: everything is finite, the constraints are met and the momentum balances
(M qdd + c = tau + J^T f), each within the tolerance that the method states. Comparisons are written so that what is not
a number fails them.
"""

from __future__ import annotations

from enum import IntEnum
from inspect import cleandoc


class Status(IntEnum):
    """An integer; larger is worse. `.words` says what it means and, where something can be done, what.

    >>> sarrus.Status.OK.words, sarrus.Status(0) is sarrus.Status.OK
    ('ok', True)
    """

    OK = 0
    CONSTRAINTS_NOT_MET = 1
    INFEASIBLE = 2
    MAX_ITERATIONS = 3
    CONTACTS_LEFT_OUT = 4
    CLUSTER_SINGULAR = 5
    NOT_DETERMINED = 6
    MOMENTUM_NOT_BALANCED = 7
    NOT_PROJECTED = 8
    OTHER_BRANCH = 9
    NOT_CLOSER = 10
    NO_ASSEMBLY = 11
    STEP_TOO_SMALL = 12
    INPUT_NOT_FINITE = 13
    NOT_FINITE = 14
    DIVERGED = 15

    @property
    def words(self) -> str:
        """The status as a sentence."""
        return _WORDS[self]


_WORDS = {
    Status.OK: "ok",
    Status.CONSTRAINTS_NOT_MET: (
        "constraints not met: redundant, singular or conflicting rows, or motion too fast for the time step"
    ),
    Status.INFEASIBLE: "infeasible: least-squares solution",
    Status.MAX_ITERATIONS: "stopped at max_iterations",
    Status.CONTACTS_LEFT_OUT: (
        "contacts or limits left out: more at once than slots (ContactOptions: slots, limit_slots), or too sudden"
    ),
    Status.CLUSTER_SINGULAR: "near a singularity of an embedded cluster: use a method for constraint rows instead",
    Status.NOT_DETERMINED: "not determined: so close to a singularity that rounding decides",
    Status.MOMENTUM_NOT_BALANCED: "momentum not balanced: rounding, in a singular limb or because mu is too large",
    Status.NOT_PROJECTED: "not on the constraints: projection did not converge",
    Status.OTHER_BRANCH: "assembled on another branch: that of the reference does not reach this far",
    Status.NOT_CLOSER: "not found: no step from here reduces the error",
    Status.NO_ASSEMBLY: "not found: no assembly has these joint positions",
    Status.STEP_TOO_SMALL: "step too small: the tolerance cannot be met",
    Status.INPUT_NOT_FINITE: "input not finite",
    Status.NOT_FINITE: "result not finite",
    Status.DIVERGED: "diverged: not finite, or larger than 1e8; frozen at the last good state",
}
_about, _, _example = cleandoc(Status.__doc__ or "").partition(">>> ")
_members = "\n".join(f"{status.name:<21}  {words}" for status, words in _WORDS.items())
Status.__doc__ = f"{_about}{_members}\n\n>>> {_example}"
