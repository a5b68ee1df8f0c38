"""What a traced algorithm costs: its exact operations, and about how long a kernel takes for them.

Kinds of operations take different times, by the weights below: that of an addition or a multiplication is 1. They were
measured on compiled kernels in batches (`python -m benchmarks.operation_weights`), and so was what one unit takes.
How often an iteration runs depends on the state; it is measured on a few (`samples.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import Tape

# Relative to one addition or multiplication of a batch. A fit of times (operation_weights) gives these, but for that of
# comparisons, 0.85, by which candidates that iterate would come before those that do not where both are short: here
# comparisons stand for what iterations and statuses take beside them, masks and waiting. From 4 to 10 it makes no
# difference to the plans of `plan_table`.
WEIGHTS = {
    "add": 1.0, "mul": 1.0, "div": 3.4, "sqrt": 3.4, "trig": 31.0, "exp": 31.0, "compare": 6.0, "pick": 6.0,
}  # fmt: skip
TRANSFER = 25.0  # of a number that goes in or out
NANOSECONDS = 0.024  # per unit of weight and state, of a batch on one thread of the machine that the weights are from
KINDS = {
    "div": (Op.DIV,), "sqrt": (Op.SQRT,), "trig": (Op.SIN, Op.COS, Op.ATAN2), "exp": (Op.EXP, Op.LOG, Op.TANH),
    "compare": (Op.ABS, Op.MIN, Op.MAX, Op.COPYSIGN, Op.LESS, Op.SELECT), "pick": (Op.PICK,),
    "add": (Op.ADD, Op.SUB, Op.NEG), "mul": (Op.MUL,),
}  # fmt: skip
_OPERATIONS = np.zeros(len(Op))
_WEIGHT = np.zeros(len(Op))
for _kind, _ops in KINDS.items():
    _OPERATIONS[list(_ops)] = 1.0
    _WEIGHT[list(_ops)] = WEIGHTS[_kind]
_FUSED = [Op.FMA, Op.FNMA, Op.FMS]
_OPERATIONS[_FUSED], _WEIGHT[_FUSED] = 2.0, WEIGHTS["add"] + WEIGHTS["mul"]


class Cost(NamedTuple):
    """Of one state: exact operations, and these weighted."""

    operations: float
    weighted: float


def cost_of(tape: Tape, iterations: float = 0.0) -> Cost:
    """With so many solves by a method that iterates, the first included; what only some states need is left out."""
    times = np.ones(len(tape))
    for loop in tape.loops:
        times[loop.start : loop.stop] = loop.limit if loop.is_repetition else max(iterations - 1.0, 0.0)
    for guard in tape.guards:
        times[guard.start : guard.stop] = 0.0
    return Cost(float(times @ _OPERATIONS[tape.op]), float(times @ _WEIGHT[tape.op]))


def operations_between(tape: Tape, start: int, stop: int) -> float:
    """Those of a part of a tape, each once."""
    return float(_OPERATIONS[tape.op[start:stop]].sum())


def nanoseconds(tape: Tape, weighted: float) -> float:
    """About how long a state takes in a batch on one thread, with what goes in and out."""
    numbers = sum(port.size for port in (*tape.inputs, *tape.outputs))
    return NANOSECONDS * (weighted + TRANSFER * numbers)
