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

# Relative to one addition or multiplication of a batch.
WEIGHTS = {"add": 1.0, "mul": 1.0, "div": 6.0, "sqrt": 6.0, "trig": 14.0, "exp": 20.0, "compare": 1.0, "pick": 6.0}
NANOSECONDS = 0.08  # per unit of weight and state, of a batch on one thread of the machine that the weights are from
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

    @property
    def nanoseconds(self) -> float:
        """About; in a batch on one thread."""
        return NANOSECONDS * self.weighted


def cost_of(tape: Tape, iterations: float = 0.0) -> Cost:
    """With so many solves by a method that iterates, the first included; what only some states need is left out."""
    times = np.ones(len(tape))
    for loop in tape.loops:
        times[loop.start : loop.stop] = loop.limit if loop.is_repetition else max(iterations - 1.0, 0.0)
    for guard in tape.guards:
        times[guard.start : guard.stop] = 0.0
    return Cost(float(times @ _OPERATIONS[tape.op]), float(times @ _WEIGHT[tape.op]))


def rare_cost_of(tape: Tape, iterations: float = 2.0) -> Cost:
    """Of what only some states need."""
    times = np.zeros(len(tape))
    for guard in tape.guards:
        times[guard.start : guard.stop] = 1.0
        for loop in tape.loops:
            if guard.start <= loop.start and loop.stop <= guard.stop:
                times[loop.start : loop.stop] = loop.limit if loop.is_repetition else max(iterations - 1.0, 0.0)
    return Cost(float(times @ _OPERATIONS[tape.op]), float(times @ _WEIGHT[tape.op]))
