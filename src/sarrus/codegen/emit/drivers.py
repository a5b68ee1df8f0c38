"""All drivers of kernels, each a module of IR of its own: they find each other in the header of a kernel.

So a kernel that needs few of them waits for few: a tree's dynamics has no loops, and a kernel that is only called with
single states moves no batches.
"""

from __future__ import annotations

from collections.abc import Callable

from sarrus.codegen.emit.batch import emit_batch, emit_check
from sarrus.codegen.emit.declarations import with_declarations
from sarrus.codegen.emit.kinds import TABLES, Kind
from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.many import emit_many
from sarrus.codegen.emit.moves import emit_moves
from sarrus.codegen.emit.picks import emit_picks
from sarrus.codegen.emit.run import emit_again, emit_begin, emit_enter, emit_enter_if_many, emit_run
from sarrus.codegen.emit.single import emit_listed, emit_single
from sarrus.codegen.emit.table import emit_table
from sarrus.codegen.emit.words import Header

DRIVERS: dict[str, Callable[[Lane, str], str]] = {
    "run": lambda _, name: emit_run(name),
    "run_most": lambda _, name: emit_run(name, Header.MOST_HANDLERS),
    "enter_if_many": emit_enter_if_many,
    "check": emit_check,
    "batch": emit_batch,
    "single": emit_single,
    "many": emit_many,
    "listed": emit_listed,
    Kind.BEGIN.name: emit_begin,
    Kind.AGAIN.name: emit_again,
    Kind.ENTER.name: emit_enter,
    Kind.PICK.name: emit_picks,
    Kind.FETCH.name: lambda lane, name: emit_moves(lane, name, inwards=True),
    Kind.KEEP.name: lambda lane, name: emit_moves(lane, name, inwards=False),
    **{
        kind.name: lambda lane, name, function=function: emit_table(function, lane, name)
        for function, kind in TABLES.items()
    },
}


def module_text(lane: Lane, names: tuple[str, ...]) -> str:
    """A module of these drivers."""
    return with_declarations("\n".join(DRIVERS[name](lane, name) for name in names))
