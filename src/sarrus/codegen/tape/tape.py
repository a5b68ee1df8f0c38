"""The tape: a traced algorithm as straight-line code, loops around parts of it, and what can be said about it.

A `Tape` is immutable data. Instruction k applies `op[k]` to earlier values:

| op                         | value                                             |
|----------------------------|---------------------------------------------------|
| CONST                      | `constants[arg[k, 0]]`                            |
| INPUT                      | element `arg[k, 1]` of input number `arg[k, 0]`   |
| NEG SQRT SIN COS ABS       | of value `arg[k, 0]`                              |
| EXP LOG TANH               | of value `arg[k, 0]`                              |
| ADD SUB MUL DIV MIN MAX    | of values `arg[k, 0]`, `arg[k, 1]`                |
| COPYSIGN LESS ATAN2        | of values `arg[k, 0]`, `arg[k, 1]`                |
| SELECT                     | value `arg[k, 1]` where `arg[k, 0]` != 0, else `arg[k, 2]` |
| PICK                       | entry number `arg[k, 0]` (a value) of list `arg[k, 1]`: see `picking.pick` |
| FMA, FNMA, FMS             | `a b + c`, `c - a b`, `a b - c`, rounded once     |
| ENTRY                      | entry number r of list `arg[k, 1]` in application number r of the loop that it is in |
| COLLECTED                  | value `arg[k, 0]`, of a loop before, as it was in application number `arg[k, 1]` |
| CARRIED                    | value `arg[k, 0]` when its loop begins, then what the loop makes of it |

Outputs are lists of instruction numbers, row-major, one number per element. So are the `lists` that are picked from:
every member of its list is an operand of a PICK or an ENTRY. Among those of an ENTRY may be instructions after it:
what earlier applications of the same loop have left in their COLLECTED.

A `Loop` repeats a range of instructions, which begins with its CARRIED ones. Instructions after a loop may use what is
before it and its carried values, which are final then; nothing else of it, except by COLLECTED. Loops do not nest.

A `Guard` is a range of instructions (with whole loops in it) that may be skipped when no state at hand needs them. What
it computes is used in one place: a loop of one application, with the same condition as its entry, takes it for the
values that it replaces.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
from collections.abc import Collection, Iterator
from dataclasses import astuple, dataclass

import numpy as np

from sarrus.codegen.tape.graph import Graph, Node, Op
from sarrus.errors import UnsupportedError, unknown_name
from sarrus.once import cached_property

KIND = {
    Op.ADD: "add", Op.SUB: "add", Op.NEG: "add", Op.MUL: "mul", Op.DIV: "div", Op.SQRT: "sqrt",
    Op.SIN: "trig", Op.COS: "trig", Op.ATAN2: "trig", Op.EXP: "exp", Op.LOG: "exp", Op.TANH: "exp",
    Op.ABS: "compare", Op.MIN: "compare", Op.MAX: "compare", Op.COPYSIGN: "compare",
    Op.LESS: "compare", Op.SELECT: "compare", Op.PICK: "pick",
}  # fmt: skip
IDLE = frozenset((Op.CONST, Op.INPUT, Op.CARRIED, Op.ENTRY, Op.COLLECTED))  # they compute nothing
LISTED = (Op.PICK, Op.ENTRY)  # they have a list
ARITY = np.zeros(len(Op), dtype=np.int8)
ARITY[[Op.NEG, Op.SQRT, Op.SIN, Op.COS, Op.ABS, Op.CARRIED, Op.EXP, Op.LOG, Op.TANH]] = 1
ARITY[[Op.PICK, Op.COLLECTED]] = 1  # (lists are extra)
ARITY[[Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.MIN, Op.MAX, Op.COPYSIGN, Op.LESS, Op.ATAN2]] = 2
ARITY[[Op.SELECT, Op.FMA, Op.FNMA, Op.FMS]] = 3
# Whether the first two operands may change places: only the payload of a result that is not a number may then differ.
COMMUTES = np.zeros(len(Op), dtype=bool)
COMMUTES[[Op.ADD, Op.MUL, Op.MIN, Op.MAX, Op.FMA, Op.FNMA, Op.FMS]] = True


@dataclass(frozen=True)
class OpCount:
    """Exact operation counts of a traced algorithm, after common-subexpression elimination.

    `by_kind` has add (with subtractions and negations), mul, div, sqrt, trig (a sine or a cosine is one) and, where
    they occur, exp (an exponential, a logarithm or a hyperbolic tangent is one), compare (for branches) and pick
    (taking one element of a list of any length). A fused multiply-add counts as its two operations. How often an
    iteration runs depends on the state, so its step is counted once, and `per_iteration` says how much of the total
    that is; a repetition is counted as often as it runs. What only some states need (a method that takes over where
    another fails) is not part of the total; `fallback` says how much it is.

    >>> sarrus.op_count(sarrus.zoo.chain(2), "aba").by_kind["trig"]
    4
    """

    total: int  # of all kinds
    by_kind: dict[str, int]  # add, mul, div, sqrt, trig, ...
    by_stage: dict[str, int]  # inward, outward, ...
    per_iteration: int = 0  # how much of the total is one step of an iteration
    fallback: int = 0  # what only some states need, not part of the total

    def after(self, iterations: float) -> float:
        """Operations of a state for which every iteration applies its step so often.

        iterations  how often; a mean may be a fraction
        returns     how many operations
        errors      none

        >>> count = sarrus.op_count(sarrus.zoo.chain_welded_tip(7), "prox_ltl")
        >>> count.after(2.0) - count.after(1.0) == count.per_iteration
        True
        """
        return self.total + (iterations - 1) * self.per_iteration


@dataclass(frozen=True)
class Port:
    """A named array that goes into or out of a tape, row-major."""

    name: str
    shape: tuple[int, ...]
    whole: bool = False  # a single whole number: a status, or a count
    unit: tuple[int, ...] = ()  # elements at which four begin that are a quaternion, of length one

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=int))


@dataclass(frozen=True)
class Loop:
    """Instructions start .. stop - 1, the first of which are CARRIED, applied at most `limit` times, and at least once
    in a state whose `entry` is greater than 0.

    After each application every carried value becomes its updated one, all at once; a state goes on while its condition
    is greater than 0 (not a number: it stops). In a batch, a state that has stopped keeps its carried values while the
    others go on.
    """

    start: int
    stop: int
    updated: tuple[int, ...]  # value number j is that of instruction start + j in the next application
    condition: int  # value, perhaps from before the loop
    limit: int  # at least 1
    entry: int = -1  # value from before the loop; -1: every state enters it
    is_repetition: bool = False  # it is applied `limit` times, to different values (ENTRY)

    @property
    def carried(self) -> range:
        return range(self.start, self.start + len(self.updated))


@dataclass(frozen=True)
class Guard:
    """Instructions start .. stop - 1, for states in which the condition, a value from before, is greater than 0."""

    start: int
    stop: int
    condition: int


@dataclass(frozen=True, eq=False)
class Tape:
    """Straight-line code, with loops around parts of it, and named inputs and outputs. See the module's table."""

    op: np.ndarray  # (n,) uint8
    arg: np.ndarray  # (n, 3) int32, -1 where unused
    stage: tuple[str, ...]  # one name per instruction
    constants: np.ndarray  # (n_constants,) float64
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    results: tuple[np.ndarray, ...]  # per output: (size,) int32 instruction numbers
    loops: tuple[Loop, ...] = ()  # in order; they do not overlap
    guards: tuple[Guard, ...] = ()  # likewise; each begins and ends between segments
    lists: tuple[np.ndarray, ...] = ()  # to pick from: int32 instruction numbers

    def __len__(self) -> int:
        return len(self.op)

    def operands(self, instructions: list[int]) -> list[list[int]]:
        """The values that each of these instructions uses; of a PICK, its index comes first."""
        codes, rows = self.op[instructions], self.arg[instructions].tolist()
        found = [row[:count] for row, count in zip(rows, ARITY[codes].tolist(), strict=True)]
        for i in np.flatnonzero(np.isin(codes, LISTED)).tolist():
            found[i] += self.lists[rows[i][1]].tolist()
        return found

    @cached_property
    def uses(self) -> tuple[np.ndarray, np.ndarray]:
        """Every use of a value by an instruction: the values, and the instructions."""
        counts, listed = ARITY[self.op], np.flatnonzero(np.isin(self.op, LISTED))
        members = [self.lists[number] for number in self.arg[listed, 1].tolist()]
        used = np.concatenate([self.arg[counts[:, None] > np.arange(3)], *members])
        lengths = np.array([len(x) for x in members], dtype=int)
        user = [np.repeat(np.arange(len(self)), counts), np.repeat(listed, lengths)]
        return used, np.concatenate(user)

    @property
    def segments(self) -> Iterator[tuple[int, int, Loop | None]]:
        """The tape in pieces (start, stop, loop): straight-line code, a loop, straight-line code ...; none is empty.

        No piece reaches across the beginning or the end of a guard.
        """
        loops = {loop.start: loop for loop in self.loops}
        cuts = {len(self), *loops, *(x for guard in self.guards for x in (guard.start, guard.stop))}
        start = 0
        while start < len(self):
            loop = loops.get(start)
            stop = min(cut for cut in cuts if cut > start) if loop is None else loop.stop
            yield start, stop, loop
            start = stop

    def guard_at(self, start: int, stop: int) -> tuple[Guard | None, Guard | None]:
        """The guard that begins with the segment start .. stop - 1, and the one that ends with it."""
        first = next((guard for guard in self.guards if guard.start == start), None)
        last = next((guard for guard in self.guards if guard.stop == stop), None)
        return first, last

    def pattern(self, output: str) -> np.ndarray:
        """The structure of an output, in its shape: False where it is zero in every state."""
        names = [port.name for port in self.outputs]
        if output not in names:
            raise unknown_name("output", output, names)
        number = names.index(output)
        entries = self.results[number]
        numbers = np.zeros(len(self))
        constant = self.op == Op.CONST
        numbers[constant] = self.constants[self.arg[constant, 0]]
        return (~constant[entries] | (numbers[entries] != 0.0)).reshape(self.outputs[number].shape)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that determines the values."""
        h = hashlib.sha256()
        h.update(repr((self.inputs, self.outputs)).encode())
        for a in (self.op, self.arg, self.constants, *self.results):
            h.update(np.ascontiguousarray(a).tobytes())
        if self.loops or self.guards:
            h.update(repr((self.loops, self.guards)).encode())
        if self.lists:
            h.update(repr([members.tolist() for members in self.lists]).encode())
        return h.hexdigest()

    def to_bytes(self) -> bytes:
        """Everything, for the disk cache."""
        stages = list(dict.fromkeys(self.stage))
        number = {stage: k for k, stage in enumerate(stages)}
        head = {
            "inputs": [astuple(port) for port in self.inputs],
            "outputs": [astuple(port) for port in self.outputs],
            "stages": stages,
            "loops": [astuple(loop) for loop in self.loops],
            "guards": [astuple(guard) for guard in self.guards],
            "lists": [len(members) for members in self.lists],
        }
        file = io.BytesIO()
        np.savez(
            file, head=np.frombuffer(json.dumps(head).encode(), np.uint8), op=self.op, arg=self.arg,
            stage=np.array([number[stage] for stage in self.stage], np.uint8), constants=self.constants,
            results=np.concatenate([np.zeros(0, np.int32), *self.results]),
            members=np.concatenate([np.zeros(0, np.int32), *self.lists]),
        )  # fmt: skip
        return file.getvalue()

    @staticmethod
    def from_bytes(data: bytes) -> Tape:
        """What `to_bytes` wrote; an error for anything else."""
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            head = json.loads(file["head"].tobytes())
            inputs, outputs = (
                tuple(Port(name, tuple(shape), whole, tuple(unit)) for name, shape, whole, unit in head[key])
                for key in ("inputs", "outputs")
            )
            stages, numbers = head["stages"], file["stage"].tolist()
            op, arg, results = file["op"], file["arg"], file["results"].astype(np.int32)
            constants, members = file["constants"], file["members"].astype(np.int32)
        ends = np.cumsum([0, *(port.size for port in outputs)])
        list_ends = np.cumsum([0, *head["lists"]])
        sizes_agree = op.shape == (len(numbers),) and arg.shape == (len(op), 3) and results.shape == (ends[-1],)
        sizes_agree &= members.shape == (list_ends[-1],) and all(length > 0 for length in head["lists"])
        if not sizes_agree or any(extent < 0 for port in (*inputs, *outputs) for extent in port.shape):
            raise ValueError("a tape whose parts do not fit together")
        return Tape(
            op=op, arg=arg, stage=tuple(stages[k] for k in numbers), constants=constants,
            inputs=inputs, outputs=outputs, results=tuple(results[a:b] for a, b in itertools.pairwise(ends)),
            loops=tuple(Loop(start, stop, tuple(updated), *rest) for start, stop, updated, *rest in head["loops"]),
            guards=tuple(Guard(*numbers) for numbers in head["guards"]),
            lists=tuple(members[a:b] for a, b in itertools.pairwise(list_ends)),
        )  # fmt: skip

    @cached_property
    def op_count(self) -> OpCount:
        rare = np.zeros(len(self), bool)
        for guard in self.guards:
            rare[guard.start : guard.stop] = True
        iterated, times = np.zeros(len(self), bool), np.ones(len(self), int)
        for loop in self.loops:
            if loop.is_repetition:
                times[loop.start : loop.stop] = loop.limit
            else:
                iterated[loop.start : loop.stop] = True
        # Per operation and stage, how many there are: few, so that the rest may be slow.
        works = ~np.isin(self.op, list(IDLE))
        stages = list(dict.fromkeys(itertools.compress(self.stage, (works & ~rare).tolist())))
        number = dict(zip(stages, range(len(stages)), strict=True))
        place = np.array([number.get(stage, 0) for stage in self.stage], dtype=int) * len(Op) + self.op
        counts, in_guards, in_iterations = (
            np.bincount(place[which], times[which], len(Op) * max(1, len(stages))).astype(int).reshape(-1, len(Op)).T
            for which in (works & ~rare, works & rare, works & iterated & ~rare)
        )
        by_kind: dict[str, int] = {"add": 0, "mul": 0, "div": 0, "sqrt": 0, "trig": 0}
        by_stage = dict.fromkeys(stages, 0)
        per_iteration = fallback = 0
        for op in Op:
            kinds = ("mul", "add") if op in (Op.FMA, Op.FNMA, Op.FMS) else (KIND.get(op, ""),)
            for kind in kinds if counts[op].any() else ():
                by_kind[kind] = by_kind.get(kind, 0) + int(counts[op].sum())
            for stage, n in zip(stages, counts[op].tolist(), strict=False):
                by_stage[stage] += len(kinds) * n
            per_iteration += len(kinds) * int(in_iterations[op].sum())
            fallback += len(kinds) * int(in_guards[op].sum())
        return OpCount(sum(by_kind.values()), by_kind, by_stage, per_iteration, fallback)


def tape_of(
    graph: Graph,
    inputs: tuple[Port, ...],
    outputs: dict[str, np.ndarray],
    whole: Collection[str] = (),
) -> Tape:
    """The part of `graph` that the outputs need, in its order, as a `Tape`. `whole`: outputs that are whole numbers."""
    ports, roots = [], []
    for name, value in outputs.items():
        array = np.asarray(value, dtype=object)
        ports.append(Port(name, array.shape, name in whole))
        indices = [graph.lift(x).index for x in array.reshape(-1).tolist()]
        roots.append(np.array(indices, dtype=np.int64))

    op, arg = _arrays(graph.nodes)
    needed = _needed(graph, op, arg, np.concatenate(roots) if roots else np.zeros(0, int))
    op, arg, needed, signed = _with_signs_in_constants(graph, op, arg, needed, roots)
    segment = np.array(graph.segment, dtype=np.int64)
    kept = np.flatnonzero(needed)
    kept = kept[np.lexsort((kept, ~np.isin(kept, signed), segment[kept]))]
    segment = segment[kept]
    new_number = np.full(len(op), -1, dtype=np.int32)
    new_number[kept] = np.arange(len(kept), dtype=np.int32)

    op, arg = op[kept], arg[kept].copy()
    used_constants = arg[op == Op.CONST, 0]
    constants = np.array(graph.constants, dtype=float)[used_constants]
    arg[op == Op.CONST, 0] = np.arange(len(constants), dtype=np.int32)
    for column in range(3):
        is_value = ARITY[op] > column
        arg[is_value, column] = new_number[arg[is_value, column]]
    listed = np.isin(op, LISTED)
    used_lists, arg[listed, 1] = np.unique(arg[listed, 1], return_inverse=True)
    lists = tuple(new_number[list(graph.lists[number])] for number in used_lists.tolist())
    results = tuple(new_number[r] for r in roots)
    loops = _loops(graph, op, segment, new_number)
    guards = _guards(graph, segment, new_number)
    tape = Tape(
        op=op,
        arg=arg,
        stage=tuple(map(graph.stage.__getitem__, kept.tolist())),
        constants=constants,
        inputs=inputs,
        outputs=tuple(ports),
        results=results,
        loops=loops,
        guards=guards,
        lists=lists,
    )
    _check_scopes(tape, segment)
    return tape


_LEAK = "a value computed inside the step of an iteration is used outside of it: return it as part of the state instead"


def _arrays(nodes: list[Node]) -> tuple[np.ndarray, np.ndarray]:
    """Operations and arguments."""
    found = np.fromiter(itertools.chain.from_iterable(nodes), np.int32, 4 * len(nodes)).reshape(-1, 4)
    return found[:, 0].astype(np.uint8), found[:, 1:].copy()


def _with_signs_in_constants(
    graph: Graph, op: np.ndarray, arg: np.ndarray, needed: np.ndarray, roots: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
    """The nodes where -(c x), of a product that nobody else needs, is (-c) x; and these constants.

    They may be recorded after what uses them now.
    """
    is_value = (ARITY[op][:, None] > np.arange(3)) & needed[:, None]
    decided = [x for loop in graph.loops for x in (*loop.updated, loop.condition, loop.entry)]
    decided += [guard.condition for guard in graph.guards]
    members = [x for members in graph.lists for x in members]
    others = np.array([*decided, *members], dtype=np.int64)
    uses = np.bincount(np.concatenate([arg[is_value], *roots, others[others >= 0]]), minlength=len(op))
    segment = np.array(graph.segment, dtype=np.int64)
    negated = np.flatnonzero(needed & (op == Op.NEG))
    product = arg[negated, 0]
    fits = (op[product] == Op.MUL) & (uses[product] == 1) & (segment[product] == segment[negated])
    fits[fits] = op[arg[product[fits], 0]] == Op.CONST
    negated, product = negated[fits], product[fits]
    constants = [graph.constant(-graph.value(k)).index for k in arg[product, 0].tolist()]
    more_op, more_arg = _arrays(graph.nodes[len(op) :])
    op, arg = np.concatenate([op, more_op]), np.concatenate([arg, more_arg])
    needed = np.concatenate([needed, np.zeros(len(more_op), bool)])
    op[negated], arg[negated, 0], arg[negated, 1] = Op.MUL, constants, arg[product, 1]
    needed[product], needed[constants] = False, True
    return op, arg, needed, constants


def _needed(graph: Graph, op: np.ndarray, arg: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """Per node: whether the roots depend on it. A carried value depends on its update and on its loop's condition."""
    behind: dict[int, tuple[int, ...]] = {}
    for loop in graph.loops:
        decides = (loop.condition,) if loop.entry < 0 else (loop.condition, loop.entry)
        behind |= {k: (updated, *decides) for k, updated in zip(loop.carried, loop.updated, strict=True)}
        behind |= dict.fromkeys(loop.collected, decides)
    listed = {k: graph.lists[graph.nodes[k][2]] for k in np.flatnonzero(np.isin(op, LISTED)).tolist()}
    looped = set(np.flatnonzero(np.isin(op, (Op.CARRIED, Op.COLLECTED))).tolist())
    first, second, third = np.where(ARITY[op][:, None] > np.arange(3), arg, -1).T.tolist()
    is_special = [False] * len(op)
    for k in (*listed, *looped):
        is_special[k] = True
    segment = np.array(graph.segment, dtype=np.int64)
    flags = [False] * (len(op) + 1)  # the last one is of operands that there are not (-1)
    guards, found = list(graph.guards), roots.tolist()
    while found:
        for k in found:
            flags[k] = True
        start, found = max(found), []
        # Operands come before what uses them, so that one way down marks all; what a loop leads up to waits for the
        # next one.
        for k in range(start, -1, -1):
            if not flags[k]:
                continue
            if is_special[k]:
                is_special[k] = False  # it is followed once
                if k in looped and k not in behind:  # of an attempt that was given up
                    raise UnsupportedError(_LEAK)
                for a in (first[k], *listed.get(k, ()), *behind.get(k, ())):
                    if a < k:
                        flags[a] = True
                    elif not flags[a]:
                        found.append(a)
            else:
                flags[first[k]] = flags[second[k]] = flags[third[k]] = True
        if not found:
            marked = segment[np.flatnonzero(flags[:-1])]
            opened = [x for x in guards if ((marked >= x.first) & (marked <= x.last)).any()]
            guards = [x for x in guards if x not in opened]
            found = [x.condition for x in opened if not flags[x.condition]]
    return np.array(flags[:-1], dtype=bool)


def _loops(graph: Graph, op: np.ndarray, segment: np.ndarray, number: np.ndarray) -> tuple[Loop, ...]:
    """The loops of which something is needed, in the numbers of the tape."""
    loops = []
    for loop in graph.loops:
        updated = [new for k, new in zip(loop.carried, number[loop.updated].tolist(), strict=True) if number[k] >= 0]
        if updated or any(number[k] >= 0 for k in loop.collected):
            mine = graph.segment[loop.carried[0]]
            start, stop = np.searchsorted(segment, [mine, mine + 1]).tolist()
            entry = -1 if loop.entry < 0 else int(number[loop.entry])
            condition = int(number[loop.condition])
            loops.append(Loop(start, stop, tuple(updated), condition, loop.limit, entry, loop.is_repetition))
    return tuple(loops)


def _guards(graph: Graph, segment: np.ndarray, number: np.ndarray) -> tuple[Guard, ...]:
    """The guards of which something is needed, in the numbers of the tape."""
    guards = []
    for guard in graph.guards:
        start, stop = np.searchsorted(segment, [guard.first, guard.last + 1]).tolist()
        if stop > start:
            guards.append(Guard(start, stop, int(number[guard.condition])))
    return tuple(guards)


def _check_scopes(tape: Tape, segment: np.ndarray) -> None:
    """Nothing inside a loop may be used outside of it, but for its carried values."""
    inner = (segment % 2 == 1) & (tape.op != Op.CARRIED)
    if not inner.any():
        return
    used: list[tuple[np.ndarray, np.ndarray | int]] = [(result, -1) for result in tape.results]  # values, and where
    used += [(np.array([*loop.updated, loop.condition]), int(segment[loop.start])) for loop in tape.loops]
    values, users = tape.uses
    elsewhere = tape.op[users] != Op.COLLECTED  # which may
    used.append((values[elsewhere], segment[users[elsewhere]]))
    if any((inner[values] & (segment[values] != place)).any() for values, place in used):
        raise UnsupportedError(_LEAK)
