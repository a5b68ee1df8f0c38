"""Run a tape in Python, on whatever scalars it is given.

On float arrays of length B this evaluates a whole batch with one NumPy call per instruction: the reference
for compiled kernels. On CasADi SX scalars it yields expressions for CasADi's own tools; these know no loops, so that
every application of a loop's step is written out, up to its limit.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from sarrus.codegen.tape.graph import Op
from sarrus.errors import UnsupportedError

if TYPE_CHECKING:
    from sarrus.codegen.tape.tape import Loop, Tape

WRITTEN_OUT = 500_000  # instructions of a loop in CasADi's terms: about ten seconds

_NUMPY = {
    Op.ADD: operator.add, Op.SUB: operator.sub, Op.MUL: operator.mul, Op.DIV: operator.truediv,
    Op.NEG: operator.neg, Op.SQRT: np.sqrt, Op.SIN: np.sin, Op.COS: np.cos, Op.ABS: np.abs,
    Op.MIN: np.minimum, Op.MAX: np.maximum, Op.COPYSIGN: np.copysign, Op.ATAN2: np.arctan2,
    Op.EXP: np.exp, Op.LOG: np.log, Op.TANH: np.tanh,
    Op.LESS: lambda a, b: np.where(np.less(a, b), 1.0, 0.0),
    Op.SELECT: lambda a, b, c: np.where(np.not_equal(a, 0.0), b, c),
    Op.FMA: lambda a, b, c: a * b + c,
    Op.FNMA: lambda a, b, c: c - a * b,
    Op.FMS: lambda a, b, c: a * b - c,
}  # fmt: skip


def picked(index: Any, members: list) -> Any:
    """`picking.pick`, per state of a batch."""
    shape = np.broadcast_shapes(np.shape(index), *(np.shape(x) for x in members))
    dtype = np.result_type(index, *members)
    table = np.array([np.broadcast_to(np.asarray(x, dtype), shape) for x in members])
    inside = np.where(np.greater(index, 0.0), np.minimum(index, len(members) - 1.0), 0.0).astype(int)
    return np.take_along_axis(table, np.broadcast_to(inside, shape)[None], axis=0)[0]


def _casadi_picked(index: Any, members: list) -> Any:
    """`picking.pick`: the upper half of the list or the lower one, and so on."""
    import casadi as ca

    def among(first: int, last: int) -> Any:
        if last - first == 1:
            return members[first]
        middle = (first + last) // 2
        return ca.if_else(index >= middle, among(middle, last), among(first, middle))

    return among(0, len(members))


def _casadi_table() -> dict:
    import casadi as ca

    return _NUMPY | {
        Op.SQRT: ca.sqrt, Op.SIN: ca.sin, Op.COS: ca.cos, Op.ABS: ca.fabs, Op.MIN: ca.fmin,
        Op.MAX: ca.fmax, Op.COPYSIGN: ca.copysign, Op.ATAN2: ca.atan2,
        Op.EXP: ca.exp, Op.LOG: ca.log, Op.TANH: ca.tanh,
        Op.LESS: lambda a, b: ca.if_else(a < b, 1.0, 0.0),
        Op.SELECT: lambda a, b, c: ca.if_else(a != 0.0, b, c),
    }  # fmt: skip


def run(tape: Tape, inputs: list, symbolic: bool = False) -> list[list]:
    """Evaluate; `inputs[s][k]` is element k of input s. Returns one flat list of values per output."""
    table = _casadi_table() if symbolic else _NUMPY
    pick = _casadi_picked if symbolic else picked
    values: list[Any] = [None] * len(tape)
    constants = tape.constants.tolist()
    ops, args = tape.op.tolist(), tape.arg.tolist()
    lists = [members.tolist() for members in tape.lists]
    collected: dict[int, list[tuple[int, int]]] = {}  # values inside loops: (application, where it is kept)
    for k in np.flatnonzero(tape.op == Op.COLLECTED).tolist():
        collected.setdefault(args[k][0], []).append((args[k][1], k))
    application = 0

    def run_straight(instructions: Iterable[int]) -> None:
        for k in instructions:
            op, (a, b, c) = ops[k], args[k]
            if op == Op.CONST:
                values[k] = constants[a]
            elif op == Op.INPUT:
                values[k] = inputs[a][b]
            elif op == Op.PICK:
                values[k] = pick(values[a], [values[x] for x in lists[b]])
            elif op == Op.ENTRY:
                values[k] = values[lists[b][application]]
            elif op == Op.COLLECTED:
                continue  # the loop has left it there
            elif c >= 0:
                values[k] = table[op](values[a], values[b], values[c])
            elif b >= 0:
                values[k] = table[op](values[a], values[b])
            else:
                values[k] = table[op](values[a])

    def run_loop(loop: Loop) -> None:
        nonlocal application
        kept: dict[int, list[tuple[int, int]]] = {}
        for k in range(loop.start, loop.stop):
            for r, place in collected.get(k, ()):
                kept.setdefault(r, []).append((place, k))
        for k in loop.carried:
            values[k] = values[args[k][0]]
        go_on: Any = 1.0  # where the state is not done
        if loop.entry >= 0:
            go_on = table[Op.LESS](0.0, values[loop.entry])
            if not symbolic and not np.any(go_on):
                return
        for application in range(loop.limit):
            run_straight(range(loop.carried.stop, loop.stop))
            for place, k in kept.get(application, ()):
                values[place] = values[k]
            updated = [values[u] for u in loop.updated]
            more = table[Op.LESS](0.0, values[loop.condition])
            if application or loop.entry >= 0:
                updated = [table[Op.SELECT](go_on, x, values[k]) for k, x in zip(loop.carried, updated, strict=True)]
                more = table[Op.SELECT](go_on, more, 0.0)
            values[loop.start : loop.carried.stop], go_on = updated, more
            if not symbolic and not np.any(go_on):
                break

    skipped = None
    for start, stop, loop in tape.segments:
        guard, ending = tape.guard_at(start, stop)
        if guard is not None and not symbolic and not np.any(np.greater(values[guard.condition], 0.0)):
            skipped = guard
        if skipped is not None:
            values[start:stop] = [0.0] * (stop - start)  # nobody looks at them
            skipped = None if ending is skipped else skipped
        elif loop is None:
            run_straight(range(start, stop))
        elif symbolic and loop.limit * (stop - start) > WRITTEN_OUT:
            raise UnsupportedError(
                f"CasADi has no loops: writing out {loop.limit} iterations of {stop - start} instructions each is too "
                f"much (at most {WRITTEN_OUT:,} instructions). Give the method a smaller limit of iterations"
            )
        else:
            run_loop(loop)
    return [[values[k] for k in result.tolist()] for result in tape.results]
