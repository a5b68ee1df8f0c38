"""The steps that a tape is cut into, and where values live between them.

A `Chunk` is straight-line code: one native function. A `Table` is a native *loop* over many evaluations of one
transcendental function, driven by a table of workspace slots: sines and cosines of all joint angles are a loop of fifty
instructions instead of thousands, and their rare slow path does not cut straight-line code. `Picks` are a loop, too,
because what they read is somewhere else in every lane. A loop of the tape is the
steps from `Begin` to `Again`; its carried values live in slots of their own, which only these two write, so that the
chunks between them are like all others. A guard is the steps from `Enter` to `Leave`.

A repetition whose step is straight-line code is one step, `Repeat`: a native function with the loop in it, which reads
and writes values where they are. For that they lie in *vectors*: side by side, somewhere else in each application.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sarrus.codegen.passes.ports import Ports
from sarrus.codegen.tape.tape import Guard, Loop, Tape


class Chunk(NamedTuple):
    """Instructions (numbers of the tape) of one straight-line function, in order.

    `copies` are values that exist already (constants, inputs, results of tables) and only go to their slots. `moves`
    are pairs: after all instructions, the first goes to the slot of the second, all at once.
    """

    instructions: list[int]
    copies: Sequence[int] = ()
    moves: Sequence[tuple[int, int]] = ()


class Table(NamedTuple):
    """Evaluations of one function: `arguments[i]` (values) gives `results[i]` (values, -1 where unwanted).

    `function` is "sincos" (results: sine, cosine), "atan2" or one of `exponential.FUNCTIONS`.
    """

    function: str
    arguments: list[tuple[int, ...]]
    results: list[tuple[int, ...]]


class Picks(NamedTuple):
    """PICK instructions (numbers of the tape), none of which needs another one."""

    instructions: list[int]


class Fetch(NamedTuple):
    """Inside a loop: ENTRY instructions (numbers of the tape) become what they are in this application."""

    entries: list[int]


class Keep(NamedTuple):
    """Inside a loop: COLLECTED instructions of this application become what they are from now on."""

    collected: list[int]


class Vector(NamedTuple):
    """Values at fixed distances from each other in memory, elsewhere in each application of a loop."""

    first: list[int]  # per application: the first value; of constants, which one of all of the kernel
    is_constant: bool = False


# The slot of a value of a vector is none of the workspace, and says by which vector and distance it is found.
IN_VECTOR = 1 << 26
DISTANCES = 1 << 14
FOURTHS = 4  # a table of vectors counts in fourths of a slot, so that it serves slots of all sizes (4 bytes and more)


def in_vector(number: int, distance: int) -> int:
    """The slot that means: so far from the beginning of vector `number` of the loop at hand."""
    return IN_VECTOR + number * DISTANCES + distance


class Repeat(NamedTuple):
    """All applications of a repetition: ENTRY instructions are read and results are written in vectors.

    `made` have their slots from here on (results, and places of results that nobody needs); `places` until here.
    """

    loop: Loop
    body: Chunk
    vectors: list[Vector]
    entries: list[int]
    made: list[int]
    places: list[int]


class Begin(NamedTuple):
    """Carried values become their initial ones. The steps from the next one to `Again` are then repeated.

    `collected` are those of its `Keep`: their slots are theirs from here on.
    """

    loop: Loop
    collected: Sequence[int] = ()
    mask_slot: int = -1  # where it says which lanes still go on; -1: nobody asks, because all do until the limit


class Again(NamedTuple):
    """Carried values become their updated ones where the loop goes on."""

    loop: Loop
    mask_slot: int = -1  # as that of `Begin`


class Enter(NamedTuple):
    """The steps from the next one to `Leave` are skipped if no lane needs them."""

    guard: Guard


class Leave(NamedTuple):
    """The end of what `Enter` may skip."""


Step = Chunk | Table | Picks | Fetch | Keep | Repeat | Begin | Again | Enter | Leave


class Plan(NamedTuple):
    """What the emitter needs beside the tape."""

    tape: Tape
    steps: list[Step]
    slot: list[int]  # per value: where it lives between steps; -1: nowhere. Places in vectors follow the tape's values
    stores: dict[int, list[int]]  # per value: every slot that it must reach (its own and the outputs')
    ports: Ports
    slots: int
    constants: list[int]  # constants of the tape that follow all of them once more
