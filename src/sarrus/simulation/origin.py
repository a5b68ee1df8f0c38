"""Of which steps a state came: what it carries from one step to the next means something only to steps of that kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sarrus.errors import StateError
from sarrus.simulation.contact.pair_names import differing_pairs
from sarrus.simulation.contact.settings import ContactSettings
from sarrus.spatial.arrays import Array

_ANEW = "`simulation.start(state.q, state.v)` starts anew from there"


class Origin(NamedTuple):
    """The steps that a state came of, as far as what it carries depends on them."""

    dt: float  # seconds: times are counted in steps
    rows: int  # of constraints, whose forces the next step begins with
    pairs: tuple[tuple[str, str], ...] | None  # of every place where two geometries may touch; None: nothing can
    slots: int
    carried: int  # numbers that a step on the ground leaves to the next one

    @staticmethod
    def of(dt: float, rows: int, contact: ContactSettings | None) -> Origin:
        if contact is None:
            return Origin(dt, rows, None, 0, 0)
        contacts = contact.contacts
        pairs = tuple(contacts.pair_of(k).names for k in range(contacts.count))
        return Origin(dt, rows, pairs, contacts.slots, len(contact.cold))

    def check_continued_by(self, other: Origin) -> None:
        """Raise an error in words unless other steps can go on from a state of these."""
        if self.dt != other.dt:
            raise StateError(f"the state is of steps of {self.dt:g} s, and these are of {other.dt:g} s: {_ANEW}")
        if self.rows != other.rows:
            raise StateError(f"the state has {self.rows} forces of constraints, and here are {other.rows}: {_ANEW}")
        if self.pairs is None or other.pairs is None:  # then nothing of contacts is carried, or nothing of it is taken
            return
        if self.pairs != other.pairs:
            raise StateError(
                f"the state has contacts of other pairs: {differing_pairs(self.pairs, other.pairs)}. {_ANEW}"
            )
        if self.slots != other.slots:
            raise StateError(f"the state has contacts in {self.slots} slots, and here are {other.slots}: {_ANEW}")
        if self.carried != other.carried:
            raise StateError(
                f"the state is of steps with other joint limits, dry friction or turning contacts: it carries "
                f"{self.carried} numbers, and these steps take {other.carried}: {_ANEW}"
            )


def carried_over(carried: Mapping[str, Any], carry: Mapping[str, Array], dtype: Any) -> dict[str, Array]:
    """What a state carries, in the shapes that the next step takes; an error in words where it does not fit."""
    found = {}
    for name, x in carried.items():
        if name not in carry or x is None:
            continue
        array, shape = np.array(x, dtype), carry[name].shape
        if array.size != carry[name].size:
            what = name.removesuffix("0")
            raise StateError(f"{what} of the state: expected shape {shape}, got {array.shape}. {_ANEW}")
        found[name] = array.reshape(shape)
    return found
