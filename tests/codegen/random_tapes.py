"""Tapes of random operations on random values: no meaning, every instruction, well-scaled numbers."""

from __future__ import annotations

import numpy as np

from sarrus.codegen.tape.graph import Graph, Op
from sarrus.codegen.tape.tape import Port, Tape, tape_of


def random_tape(operations: int, seed: int, transcendental: bool = True) -> Tape:
    """About `operations` instructions with two inputs and two outputs; every kind of instruction occurs."""
    rng = np.random.default_rng(seed)
    graph = Graph()
    values = [*graph.inputs(0, 7), *graph.inputs(1, 5)]
    for _ in range(operations):
        a, b, c = (values[max(0, len(values) - 1 - int(rng.exponential(20.0)))] for _ in range(3))
        kind = rng.integers(0, 24 if transcendental else 21)
        if kind < 6:
            new = (a * b + c) * 0.5
        elif kind < 12:
            new = (c - a * b) * float(rng.uniform(0.1, 0.6))
        elif kind < 14:
            new = a * b - c
        elif kind == 14:
            new = a / (1.5 + b * b)
        elif kind == 15:
            new = (abs(a) + 0.1).sqrt()
        elif kind == 16:
            new = graph.binary(Op.MIN, a, b)
        elif kind == 17:
            new = graph.binary(Op.MAX, a, b)
        elif kind == 18:
            new = graph.binary(Op.COPYSIGN, a, b)
        elif kind == 19:
            new = graph.select(graph.binary(Op.LESS, a, b), a, c)
        elif kind == 20:
            new = -a
        elif kind == 21:
            new = (3.0 * a).sin()
        elif kind == 22:
            new = (2.0 * a).cos() + a.sin()
        else:
            new = graph.binary(Op.ATAN2, a, b)
        # Divide by 1 + x^2 / 4 now and then: values neither explode nor vanish.
        values.append(new / (1.0 + 0.25 * (new * new)) + 0.5 if rng.random() < 0.3 else new)
    last = values[-9:]
    outputs = {"x": np.array([*last[:6], 2.5], dtype=object), "y": np.array([last[6:], [last[0], values[3], 0.0]])}
    return tape_of(graph, (Port("p", (7,)), Port("r", (5,))), outputs)


def random_inputs(tape: Tape, batch: int, dtype: str = "float64", seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(batch, port.size)).astype(dtype) for port in tape.inputs]


def empty_outputs(tape: Tape, batch: int, dtype: str = "float64") -> list[np.ndarray]:
    return [np.full((batch, port.size), 7.25, dtype) for port in tape.outputs]
