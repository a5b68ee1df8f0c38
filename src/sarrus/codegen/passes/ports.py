"""Where the arrays of a kernel lie in its workspace: first the inputs, then the outputs, element by element.

A large output of which many elements are the same value (zeros by structure, a symmetric matrix) is *listed*: each
value lies there once, and a list says for every element where it is. What would be stored and read again for each of
them is not: the three matrices of a humanoid's inverse dynamics are 60 KB a state, and a third of that are values.
"""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import numpy as np

from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import Tape

RUN_BITS = 32  # of a word of a list: its slot
MOST_FETCHED = 16 * 1024  # bytes of an array, of one block of states, that are fetched while another is computed
_LARGE = 64  # elements, from which on an output may be listed
_SHARED = 0.125  # of its elements, at least: those that are not the first with their value


class Ports(NamedTuple):
    """Slots of all arrays."""

    inputs: list[int]  # the first slot of each
    outputs: list[int]  # the first slot of each; of one that is listed, of those values that are nowhere before it
    listed: list[np.ndarray | None]  # per output: a word per element (`_words`); None: they follow the first one
    top: int  # the first slot after them

    def slots_of(self, number: int, size: int) -> np.ndarray:
        """Of all elements of an output of this size."""
        words = self.listed[number]
        first = self.outputs[number]
        return np.arange(first, first + size) if words is None else words & (1 << RUN_BITS) - 1


def ports(tape: Tape) -> Ports:
    """Of a tape: the same whoever asks."""
    inputs = [0, *accumulate(port.size for port in tape.inputs)]
    top = inputs.pop()
    taken = np.flatnonzero(tape.op == Op.INPUT)
    firsts, elements = np.array([*inputs, 0])[tape.arg[taken, 0]], tape.arg[taken, 1]
    slot = dict(zip(taken.tolist(), (firsts + elements).tolist(), strict=True))
    outputs: list[int] = []
    listed: list[np.ndarray | None] = []
    for result in tape.results:
        outputs.append(top)
        if not _is_listed(tape, result):
            listed.append(None)
            slot |= {k: top + element for element, k in enumerate(result.tolist()) if k not in slot}
            top += len(result)
            continue
        values = result.tolist()
        for k in values:
            if k not in slot:
                slot[k] = top
                top += 1
        listed.append(_words(np.array([slot[k] for k in values]), tape.op[result] == Op.CONST))
    return Ports(inputs, outputs, listed, top)


def _is_listed(tape: Tape, result: np.ndarray) -> bool:
    if len(result) < _LARGE:
        return False
    shared = len(result) - len(np.unique(result[tape.op[result] != Op.CONST]))
    return shared >= _SHARED * len(result)


def _words(slots: np.ndarray, is_constant: np.ndarray) -> np.ndarray:
    """Per element its slot, and above it how many are the same constant from it on."""
    number = np.arange(len(slots))
    ends = np.append(np.flatnonzero(np.diff(slots)), len(slots) - 1)  # the last element of each run
    runs = np.where(is_constant, ends[np.searchsorted(ends, number)] - number + 1, 0)
    return slots.astype(np.int64) | runs.astype(np.int64) << RUN_BITS
