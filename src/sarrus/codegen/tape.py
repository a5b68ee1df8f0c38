"""The tape: a traced algorithm as straight-line code, and what can be said about it.

A `Tape` is immutable data. Instruction k applies `op[k]` to earlier values:

| op                         | value                                             |
|----------------------------|---------------------------------------------------|
| CONST                      | `constants[arg[k, 0]]`                            |
| INPUT                      | element `arg[k, 1]` of input number `arg[k, 0]`   |
| NEG SQRT SIN COS ABS       | of value `arg[k, 0]`                              |
| ADD SUB MUL DIV MIN MAX    | of values `arg[k, 0]`, `arg[k, 1]`                |
| COPYSIGN LESS ATAN2        | of values `arg[k, 0]`, `arg[k, 1]`                |
| SELECT                     | value `arg[k, 1]` where `arg[k, 0]` != 0, else `arg[k, 2]` |
| FMA, FNMA, FMS             | `a b + c`, `c - a b`, `a b - c`, rounded once     |

Outputs are lists of instruction numbers, row-major, one number per element.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sarrus.codegen.graph import Graph, Op

_KIND = {
    Op.ADD: "add", Op.SUB: "add", Op.NEG: "add", Op.MUL: "mul", Op.DIV: "div", Op.SQRT: "sqrt",
    Op.SIN: "trig", Op.COS: "trig", Op.ATAN2: "trig",
    Op.ABS: "compare", Op.MIN: "compare", Op.MAX: "compare", Op.COPYSIGN: "compare",
    Op.LESS: "compare", Op.SELECT: "compare",
}  # fmt: skip
ARITY = np.zeros(len(Op), dtype=np.int8)
ARITY[[Op.NEG, Op.SQRT, Op.SIN, Op.COS, Op.ABS]] = 1
ARITY[[Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.MIN, Op.MAX, Op.COPYSIGN, Op.LESS, Op.ATAN2]] = 2
ARITY[[Op.SELECT, Op.FMA, Op.FNMA, Op.FMS]] = 3


@dataclass(frozen=True)
class OpCount:
    """Exact operation counts of a traced algorithm, after common-subexpression elimination.

    `by_kind` has add (with subtractions and negations), mul, div, sqrt, trig (a sine or a cosine is one) and,
    where an algorithm branches, compare. A fused multiply-add counts as its two operations.
    """

    total: int
    by_kind: dict[str, int]
    by_stage: dict[str, int]


@dataclass(frozen=True)
class Port:
    """A named array that goes into or out of a tape, row-major."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=int))


@dataclass(frozen=True, eq=False)
class Tape:
    """Straight-line code with named inputs and outputs. See the module's table."""

    op: np.ndarray  # (n,) uint8
    arg: np.ndarray  # (n, 3) int32, -1 where unused
    stage: tuple[str, ...]  # one name per instruction
    constants: np.ndarray  # (n_constants,) float64
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    results: tuple[np.ndarray, ...]  # per output: (size,) int32 instruction numbers

    def __len__(self) -> int:
        return len(self.op)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that determines the values."""
        h = hashlib.sha256()
        h.update(repr((self.inputs, self.outputs)).encode())
        for a in (self.op, self.arg, self.constants, *self.results):
            h.update(np.ascontiguousarray(a).tobytes())
        return h.hexdigest()

    def to_bytes(self) -> bytes:
        """Everything, for the disk cache."""
        stages = list(dict.fromkeys(self.stage))
        number = {stage: k for k, stage in enumerate(stages)}
        head = {
            "inputs": [(p.name, p.shape) for p in self.inputs],
            "outputs": [(p.name, p.shape) for p in self.outputs],
            "stages": stages,
        }
        file = io.BytesIO()
        np.savez(
            file, head=np.frombuffer(json.dumps(head).encode(), np.uint8), op=self.op, arg=self.arg,
            stage=np.array([number[stage] for stage in self.stage], np.uint8), constants=self.constants,
            results=np.concatenate([np.zeros(0, np.int32), *self.results]),
        )  # fmt: skip
        return file.getvalue()

    @staticmethod
    def from_bytes(data: bytes) -> Tape:
        with np.load(io.BytesIO(data)) as file:
            head = json.loads(file["head"].tobytes())
            inputs = tuple(Port(name, tuple(shape)) for name, shape in head["inputs"])
            outputs = tuple(Port(name, tuple(shape)) for name, shape in head["outputs"])
            stages = head["stages"]
            ends = np.cumsum([0, *(port.size for port in outputs)])
            results = file["results"].astype(np.int32)
            return Tape(
                op=file["op"], arg=file["arg"], stage=tuple(stages[k] for k in file["stage"].tolist()),
                constants=file["constants"], inputs=inputs, outputs=outputs,
                results=tuple(results[a:b] for a, b in itertools.pairwise(ends)),
            )  # fmt: skip

    @cached_property
    def op_count(self) -> OpCount:
        by_kind: dict[str, int] = {"add": 0, "mul": 0, "div": 0, "sqrt": 0, "trig": 0}
        by_stage: dict[str, int] = {}
        for op, stage in zip(self.op.tolist(), self.stage, strict=True):
            if op in (Op.CONST, Op.INPUT):
                continue
            kinds = ("mul", "add") if op in (Op.FMA, Op.FNMA, Op.FMS) else (_KIND[Op(op)],)
            for kind in kinds:
                by_kind[kind] = by_kind.get(kind, 0) + 1
                by_stage[stage] = by_stage.get(stage, 0) + 1
        return OpCount(sum(by_kind.values()), by_kind, by_stage)



def tape_of(
    graph: Graph,
    inputs: tuple[Port, ...],
    outputs: dict[str, np.ndarray],
) -> Tape:
    """The part of `graph` that the outputs need, in its order, as a `Tape`."""
    ports, roots = [], []
    for name, value in outputs.items():
        array = np.asarray(value, dtype=object)
        ports.append(Port(name, array.shape))
        indices = [graph.lift(x).index for x in array.reshape(-1).tolist()]
        roots.append(np.array(indices, dtype=np.int64))

    op = np.array(graph.op, dtype=np.uint8)
    arg = np.array([graph.a, graph.b, graph.c], dtype=np.int32).T.reshape(-1, 3)
    needed = _reachable(op, arg, np.concatenate(roots) if roots else np.zeros(0, int))
    kept = np.flatnonzero(needed)
    new_number = np.full(len(op), -1, dtype=np.int32)
    new_number[kept] = np.arange(len(kept), dtype=np.int32)

    op, arg = op[kept], arg[kept].copy()
    used_constants = arg[op == Op.CONST, 0]
    constants = np.array(graph.constants, dtype=float)[used_constants]
    arg[op == Op.CONST, 0] = np.arange(len(constants), dtype=np.int32)
    for column in range(3):
        is_value = ARITY[op] > column
        arg[is_value, column] = new_number[arg[is_value, column]]
    return Tape(
        op=op,
        arg=arg,
        stage=tuple(graph.stage[k] for k in kept),
        constants=constants,
        inputs=inputs,
        outputs=tuple(ports),
        results=tuple(new_number[r] for r in roots),
    )


def _reachable(op: np.ndarray, arg: np.ndarray, roots: np.ndarray) -> np.ndarray:
    needed = np.zeros(len(op), dtype=bool)
    needed[roots] = True
    arity = ARITY[op].tolist()
    args = arg.tolist()
    flags = needed.tolist()
    for k in range(len(flags) - 1, -1, -1):
        if flags[k]:
            for column in range(arity[k]):
                flags[args[k][column]] = True
    return np.array(flags, dtype=bool)
