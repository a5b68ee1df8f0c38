"""The tracer: a scalar that records what is done to it.

Algorithms are plain NumPy text. Run on object arrays whose elements are `Symbol`s, the same text
leaves a graph of scalar operations behind. Every rule that makes the graph small lives here:

- constants fold: a structural zero or one of this robot never becomes an operation;
- hash-consing: an expression that exists is found, not made again (common subexpressions);
- signs float outwards: `(-a) * b = -(a * b)`, `a + (-b) = a - b`, so that almost no negation survives;
- `x * (1 / x) = 1`: which is how ABA's rank-one update yields exact zeros in the row of the joint axis.

A Python scalar costs about a microsecond per operation; a CasADi SX scalar costs twenty. So tracing
is done here and CasADi expressions are produced from the finished tape (`interpret.run`).

A graph may repeat a part of itself: `Graph.iterate` records one application of a step on placeholders (`Op.CARRIED`),
whose values the next application replaces. What the step computes from earlier values alone is the same in every
application, so it is recorded before the loop (`segment` says where a node belongs). What depends on a placeholder is
inside; hash-consing forgets it when the step ends, because afterwards the same placeholder means the *final* value.

A part of a graph may be for some states only: `Graph.replace` records it in segments of its own, which are run if one
of the states at hand needs them, and chooses between the two values per state. What is known outside is used inside,
never the other way round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.spatial.choice import AbstractScalar
from sarrus.spatial.dual import Dual
from sarrus.spatial.iteration import State, Step
from sarrus.spatial.parameter import Parameter
from sarrus.spatial.picking import position
from sarrus.spatial.repetition import Recursion, Sweep, recursion_written_out, written_out
from sarrus.spatial.stages import current_stage


class Op(IntEnum):
    """The whole instruction set. `Tape` documents the meaning of the arguments."""

    CONST = 0
    INPUT = 1
    ADD = 2
    SUB = 3
    MUL = 4
    DIV = 5
    NEG = 6
    SQRT = 7
    SIN = 8
    COS = 9
    ABS = 10
    MIN = 11
    MAX = 12
    COPYSIGN = 13
    LESS = 14  # 1.0 where a < b, else 0.0
    SELECT = 15  # b where a != 0, else c
    ATAN2 = 16
    FMA = 17  # a * b + c
    FNMA = 18  # c - a * b
    FMS = 19  # a * b - c
    CARRIED = 20  # inside a loop: what the last application left (at first: a); after the loop: the final value
    EXP = 21
    LOG = 22
    TANH = 23
    PICK = 24  # entry number a of list b
    ENTRY = 25  # inside a loop: in application number r, entry number r of list b
    COLLECTED = 26  # after a loop: what a, which is inside, was in application number b


def _as_in_c(function: np.ufunc) -> Callable[[float], float]:
    """Without Python's exceptions: exp(1000) is infinite, log(0) too, log(-1) is not a number."""

    def quiet(x: float) -> float:
        with np.errstate(all="ignore"):
            return float(function(x))

    return quiet


_FOLD = {
    Op.SQRT: math.sqrt,
    Op.SIN: math.sin,
    Op.COS: math.cos,
    Op.ABS: abs,
    Op.MIN: min,
    Op.MAX: max,
    Op.COPYSIGN: math.copysign,
    Op.LESS: lambda a, b: 1.0 if a < b else 0.0,
    Op.ATAN2: math.atan2,
    Op.EXP: _as_in_c(np.exp),
    Op.LOG: _as_in_c(np.log),
    Op.TANH: math.tanh,
}


# Computed by loops of their own, over many evaluations or lanes; text without them is straight-line code.
APART = frozenset((Op.SIN, Op.COS, Op.ATAN2, Op.EXP, Op.LOG, Op.TANH, Op.PICK))
TOGETHER = 400  # instructions that are written out before a repetition becomes a loop; half, where a turn is for free
_ATTEMPTS = 4  # at guessing which numbers of a loop's state stay what they are, before all are carried


@dataclass(frozen=True)
class RecordedLoop:
    """One application of a step: what it is applied to, what it yields, whether it is applied again."""

    carried: list[int]  # CARRIED nodes
    updated: list[int]  # per carried node: its value for the next application
    condition: int  # go on where it is greater than 0
    limit: int  # applications at most
    entry: int = -1  # begin where it is greater than 0; -1: always
    collected: list[int] = field(default_factory=list)  # COLLECTED nodes
    is_repetition: bool = False  # the limit is how often it is applied


@dataclass(frozen=True)
class RecordedGuard:
    """Segments that only matter where a condition is greater than 0."""

    first: int
    last: int
    condition: int


# As plain numbers: the tracer compares with them all the time, and names of an enumeration are slow to look up.
_CONST, _INPUT, _ADD, _SUB, _MUL = map(int, (Op.CONST, Op.INPUT, Op.ADD, Op.SUB, Op.MUL))
_DIV, _NEG, _SELECT, _CARRIED, _PICK = map(int, (Op.DIV, Op.NEG, Op.SELECT, Op.CARRIED, Op.PICK))
_ENTRY, _COLLECTED = map(int, (Op.ENTRY, Op.COLLECTED))


Node = tuple[int, int, int, int]  # an operation and its arguments, -1 where it has none


class Graph:
    """Operations in the order in which they were first needed.

    `segment` of a node: even numbers are straight-line code, odd ones the inside of a loop; code runs in their order.
    """

    def __init__(self, parameters: Callable[[Graph, Parameter], Symbol | float] | None = None) -> None:
        self._lift_parameter = parameters
        self.nodes: list[Node] = []
        self.op: list[int] = []  # of every node: what the rules ask for all the time
        self.stage: list[str] = []
        self.segment: list[int] = []
        self.constants: list[float] = []
        self.lists: list[tuple[int, ...]] = []  # nodes to pick from
        self.loops: list[RecordedLoop] = []
        self.guards: list[RecordedGuard] = []
        self.reciprocals: dict[int, int] = {}  # per node 1 / x: the node x
        self.fractions: dict[int, list[tuple[int, int]]] = {}  # per product a (1 / x): a and 1 / x
        self._guard: Symbol | None = None  # the condition of the open guard
        self._guard_first = 0  # the segment with which it begins
        self._guarded: list[Node] = []  # what is to be forgotten when the guard ends
        self._outside = 0  # the segment of what depends on nothing inside a loop
        self._inside = -1  # the segment of the open loop
        self._scoped: list[Node] = []  # what is to be forgotten when the loop ends
        self._symbols: list[Symbol] = []
        self._known: dict[Node, Symbol] = {}
        self._constant_of: dict[float | str, Symbol] = {}
        self._list_of: dict[tuple[int, ...], int] = {}

    def node(self, op: int, a: int, b: int = -1, c: int = -1) -> Symbol:
        """The symbol of this operation on these nodes: found, or recorded."""
        key = (op, a, b, c)
        found = self._known.get(key)
        if found is not None:
            return found
        segment = self._outside if op > _INPUT else 0
        inside = self._inside
        if inside >= 0:
            of = self.segment
            if op > _INPUT and (of[a] == inside or (b >= 0 and of[b] == inside) or (c >= 0 and of[c] == inside)):
                segment = inside
            return self._remember(key, segment)
        if self._guard is not None:
            return self._remember(key, segment)
        self._known[key] = symbol = self._record(key, segment)
        return symbol

    def _remember(self, key: Node, segment: int) -> Symbol:
        """Record an operation that is found from now on, as long as its loop or guard is open."""
        if segment == self._inside:
            self._scoped.append(key)
        elif self._guard is not None and segment == self._outside:
            self._guarded.append(key)
        self._known[key] = symbol = self._record(key, segment)
        return symbol

    def _record(self, node: Node, segment: int) -> Symbol:
        op, a, b, _ = node
        index = len(self.nodes)
        symbol = Symbol(self, index)
        self.nodes.append(node)
        self.op.append(op)
        self.stage.append(current_stage())
        self.segment.append(segment)
        self._symbols.append(symbol)
        if op == _MUL:
            reciprocals = self.reciprocals
            if a in reciprocals or b in reciprocals:
                ways = (a, b), (b, a)
                self.fractions[index] = [(x, inverse) for x, inverse in ways if inverse in reciprocals]
        elif op == _DIV and self.op[a] == _CONST and self.value(a) == 1.0:
            self.reciprocals[index] = b
        return symbol

    def release(self) -> None:
        """Nothing more is recorded. A graph and its symbols refer to each other: without this, they would stay in
        memory until Python looks for cycles, which takes a tenth of the time of tracing.
        """
        for known in (self._symbols, self._known, self._constant_of):
            known.clear()

    def symbol(self, index: int) -> Symbol:
        return self._symbols[index]

    def first(self, index: int) -> Symbol:
        """The first operand of a node."""
        return self._symbols[self.nodes[index][1]]

    def found(self, op: int, a: int, b: int) -> Symbol | None:
        """The symbol of an operation with two operands, if it is recorded."""
        return self._known.get((op, a, b, -1))

    def found_product(self, number: float, index: int) -> Symbol | None:
        """The symbol of a number times a node, if it is recorded."""
        constant = self._constant_of.get(number)
        return None if constant is None else self.found(_MUL, constant.index, index)

    def plain(self, index: int) -> Symbol | float:
        """A node as a number, if it is one, else as a symbol."""
        return self.value(index) if self.op[index] == _CONST else self._symbols[index]

    def inputs(self, slot: int, count: int) -> np.ndarray:
        """An object vector of `count` fresh symbols: elements of input number `slot`."""
        vector = np.empty(count, dtype=object)
        for k in range(count):
            vector[k] = self.node(_INPUT, slot, k)
        return vector

    def constant(self, value: float) -> Symbol:
        """The symbol of a number (by its bits: -0.0 is not 0.0)."""
        value = float(value)
        key = value if abs(value) > 0.0 else value.hex()  # (what is not a number is not even equal to itself)
        found = self._constant_of.get(key)
        if found is None:
            self.constants.append(value)
            found = self.node(_CONST, len(self.constants) - 1)
            self._constant_of[key] = found
        return found

    def value(self, index: int) -> float:
        """The number behind a CONST node."""
        return self.constants[self.nodes[index][1]]

    def lift(self, x: Symbol | Parameter | float) -> Symbol:
        """x as a symbol of this graph."""
        return _lift(self, x)

    def unary(self, op: Op, x: Symbol) -> Symbol | float:
        if self.op[x.index] == _CONST:
            return float(_FOLD[op](self.value(x.index)))
        return self.node(op, x.index)

    def binary(self, op: Op, x: Symbol | float, y: Symbol | float) -> Symbol | float:
        x_, y_ = _lift(self, x), _lift(self, y)
        if self.op[x_.index] == _CONST and self.op[y_.index] == _CONST:
            return float(_FOLD[op](self.value(x_.index), self.value(y_.index)))
        return self.node(op, x_.index, y_.index)

    def select(self, condition: Symbol | float, x: Symbol | float, y: Symbol | float) -> Symbol | float:
        if type(condition) is not Symbol:
            return x if condition else y
        if x is y:
            return x
        return self.node(_SELECT, condition.index, _lift(self, x).index, _lift(self, y).index)

    def pick(self, values: Sequence | np.ndarray, index: Symbol | Parameter | float) -> Symbol | float:
        """See `picking.pick`."""
        known = self._plain(index)
        if not isinstance(known, Symbol):
            return self._plain(values[position(known, len(values))])
        members = tuple([self.lift(x).index for x in values])
        if len(set(members)) == 1:
            return self.plain(members[0])
        key = (_PICK, known.index, self._list(members), -1)
        found = self._known.get(key)
        if found is not None:
            return found
        of, inside = self.segment, self._inside
        is_inside = inside >= 0 and (of[known.index] == inside or any(of[x] == inside for x in members))
        return self._remember(key, inside if is_inside else self._outside)

    def _list(self, members: tuple[int, ...]) -> int:
        """The number of the list of these nodes: found, or new."""
        number = self._list_of.setdefault(members, len(self.lists))
        if number == len(self.lists):
            self.lists.append(members)
        return number

    def replace(self, condition: Symbol, otherwise: State, make: Callable[[], State]) -> State:
        """See `replacement.replace_where`."""
        known = self._plain(condition)
        if not isinstance(known, Symbol):
            return make() if known > 0.0 else otherwise
        if self._inside >= 0:
            raise UnsupportedError("a replacement inside the step of an iteration cannot be traced")
        if self._guard is not None:
            return self._replace_within(self._guard, known, otherwise, make)
        self._open_guard(known)
        try:
            made = make()
        finally:
            self._close_guard(known)
            for key in self._guarded:
                self._known.pop(key, None)
            self._guarded.clear()
        shapes = [np.shape(array) for array in otherwise]
        returned = [np.shape(array) for array in made]
        if returned != shapes:
            raise ValueError(f"a replacement of arrays of shapes {shapes} has shapes {returned}")
        new, old = ([self._plain(x) for x in _elements(state)] for state in (made, otherwise))
        chosen = self._chosen(known, new, old)
        return _packed(chosen, shapes)

    def _open_guard(self, condition: Symbol) -> None:
        """What is recorded from here on belongs to a guard."""
        self._guard_first = self._outside = self._outside + 2
        self._guard = condition

    def _close_guard(self, condition: Symbol) -> None:
        self.guards.append(RecordedGuard(self._guard_first, self._outside, condition.index))
        self._guard = None
        self._outside += 2

    def _replace_within(self, outer: Symbol, condition: Symbol, otherwise: State, make: Callable[[], State]) -> State:
        """A replacement inside another one: the outer guard ends before it and goes on after it.

        Where the outer one was skipped, the condition was not computed: it is then 0.
        """
        self._close_guard(outer)
        (known,) = self._chosen(outer, [condition], [0.0])
        guarded, self._guarded = self._guarded, []
        found = self.replace(self.lift(known), otherwise, make)
        self._guarded = guarded
        self._open_guard(outer)
        return found

    def _chosen(self, condition: Symbol, new: list[Symbol | float], old: list[Symbol | float]) -> list[Symbol | float]:
        """The new value of every element where the condition is greater than 0: a loop of one application, which costs
        the states that do not enter it nothing.
        """
        different = [i for i, (x, y) in enumerate(zip(new, old, strict=True)) if not _same(x, y)]
        self._outside += 1
        carried = {i: self._record((_CARRIED, self.lift(old[i]).index, -1, -1), self._outside) for i in different}
        self._outside += 1
        updated = [self.lift(new[i]).index for i in different]
        self.loops.append(
            RecordedLoop([x.index for x in carried.values()], updated, self.constant(0.0).index, 1, condition.index)
        )
        return [carried.get(i, x) for i, x in enumerate(old)]

    def iterate(
        self, step: Step, state: State, limit: int, entry: Symbol | float = 1.0
    ) -> tuple[State, Symbol | float]:
        """See `iteration.iterate`. The step is called a few times, once for the record: it must have no side effects.

        Only what changes is carried. A number of the state that the step provably returns as it was (a structural
        zero, say) stays a number, so that it folds inside the step; so does an element that the step hands through.
        """
        if self._inside >= 0:
            raise UnsupportedError("an iteration inside the step of another iteration cannot be traced")
        entry = self._plain(entry)
        if limit < 1 or (not isinstance(entry, Symbol) and not entry > 0.0):
            return state, 0.0
        always = not isinstance(entry, Symbol)
        if self._guard is not None:  # states that do not need the result do not iterate
            entry = self._guard if always else self.select(self.binary(Op.LESS, 0.0, self._guard), entry, 0.0)
        if limit == 1 and always:
            return step(state)[0], 1.0
        shapes = [np.shape(array) for array in state]
        start = [self._plain(x) for x in _elements(state)]
        varying = {i for i, x in enumerate(start) if type(x) is Symbol}
        handed_through: set[int] = set()
        attempts = 0
        while True:
            attempts += 1
            once = self._application(step, start, shapes, varying)
            if not isinstance(once.condition, Symbol) and not once.condition > 0.0:  # never again: that is known now
                if always:
                    return step(state)[0], 1.0
                limit = 1
            changed = {i for i, x in enumerate(once.updated) if i not in varying and not _same(x, start[i])}
            if changed:
                varying = varying | changed if attempts < _ATTEMPTS else set(range(len(start)))
                continue
            if not handed_through:
                handed_through = {i for i in varying if once.updated[i] is once.carried[i]}
                if handed_through:
                    varying = varying - handed_through
                    continue
            break
        order = sorted(varying)
        self.loops.append(
            RecordedLoop(
                [once.count.index, *(once.carried[i].index for i in order)],
                [once.counted.index, *(self.lift(once.updated[i]).index for i in order)],
                self.lift(once.condition).index,
                limit,
                entry.index if isinstance(entry, Symbol) else -1,
            )
        )
        final = _packed([once.carried.get(i, x) for i, x in enumerate(start)], shapes)
        return final, once.count if type(once.condition) is Symbol or not always else float(limit)

    def sweep(self, text: Sweep, state: np.ndarray, sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `repetition.sweep`. Where a turn costs, short text is written out some times, as one longer one.

        It costs nearly nothing if it is straight-line code and hands on no state (`passes/vectors.py`).
        """
        count, columns = sets.shape
        if self._inside >= 0 or count < 2:
            return written_out(text, state, sets)
        before = len(self.op)
        swept = self._swept(text, state, sets)
        inside = self.segment[self.loops[-1].carried[0]]
        ops = [op for op, where in zip(self.op[before:], self.segment[before:], strict=True) if where == inside]
        together = TOGETHER // len(ops)
        if APART.isdisjoint(ops):
            if len(self.loops[-1].carried) == 1 and 2 * len(ops) * count > TOGETHER:
                together = 1
            elif together < count:
                together = max(1, together // 3)
        if together < 2:
            return swept
        self.loops.pop()
        turns = count // together
        if turns < 2:
            return written_out(text, state, sets)

        def several(state: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            state, results = written_out(text, state, values.reshape(together, columns))
            return state, results.reshape(-1)

        state, results = self._swept(several, state, sets[: turns * together].reshape(turns, -1))
        results = results.reshape(turns * together, -1)
        if turns * together < count:
            state, rest = written_out(text, state, sets[turns * together :])
            results = np.concatenate([results, rest])
        return state, results

    def _swept(self, text: Sweep, state: np.ndarray, sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The text as the step of a loop. As in `iterate`, only what changes of the state is carried."""
        count = len(sets)
        start = [self._plain(x) for x in _elements([state])]
        columns = [[self._plain(x) for x in column] for column in np.asarray(sets, dtype=object).T]
        results: list[Symbol | float] = []

        def step(carried: State) -> tuple[State, float]:
            following, result = text(carried[0], _packed([self._entry(x) for x in columns], [(len(columns),)])[0])
            results[:] = [self._plain(x) for x in _elements([result])]
            return (following,), 1.0

        varying = {i for i, x in enumerate(start) if type(x) is Symbol}
        while True:
            once = self._application(step, start, [np.shape(state)], varying)
            changed = {i for i, x in enumerate(once.updated) if i not in varying and not _same(x, start[i])}
            if not changed:
                break
            varying |= changed
        order = sorted(varying)
        carried = [once.count.index, *(once.carried[i].index for i in order)]
        updated = [once.counted.index, *(self.lift(once.updated[i]).index for i in order)]
        one = self.constant(1.0).index
        before = len(self.op)
        different = {id(x): x for x in results}  # a value that is returned twice is collected once
        found = {key: self._collected(x, self.segment[carried[0]], count) for key, x in different.items()}
        collected = [found[id(x)] for x in results]
        nodes = list(range(before, len(self.op)))
        self.loops.append(RecordedLoop(carried, updated, one, count, collected=nodes, is_repetition=True))
        (final,) = _packed([once.carried.get(i, x) for i, x in enumerate(start)], [np.shape(state)])
        rows = [x for row in zip(*collected, strict=True) for x in row]
        return final, _packed(rows, [(count, len(results))])[0]

    def recursion(
        self, text: Recursion, sets: np.ndarray, sources: Sequence[Sequence[int]], start: np.ndarray
    ) -> np.ndarray:
        """See `repetition.recursion`. As in `iterate`, only what changes is handed on.

        What is handed on is an entry of the loop: of the nodes that collect it, which are there before it is known
        what they collect.
        """
        count, first = len(sets), [self._plain(x) for x in _elements([start])]
        if self._inside >= 0 or count < 2:
            return recursion_written_out(text, sets, sources, start)
        columns = [[self._plain(x) for x in column] for column in np.asarray(sets, dtype=object).T]
        results: list[Symbol | float] = []
        handed_on: dict[int, list[Symbol]] = {}  # by the number of the result

        def row(whose: tuple[int, ...]) -> np.ndarray:
            """What is handed on by these applications."""
            known = {j: self._entry([first[j] if s < 0 else nodes[s] for s in whose]) for j, nodes in handed_on.items()}
            return _packed([known.get(j, x) for j, x in enumerate(first)], [(len(first),)])[0]

        def step(_: State) -> tuple[State, float]:
            values = _packed([self._entry(x) for x in columns], [(len(columns),)])[0]
            result = text(values, *(row(whose) for whose in zip(*sources, strict=True)))
            results[:] = [self._plain(x) for x in _elements([result])]
            seen: set[int] = set()
            for j in handed_on:  # each is a value of its own, made inside
                x = self.lift(results[j])
                if self.segment[x.index] != self._inside or self.op[x.index] == _ENTRY or x.index in seen:
                    x = self._record((_MUL, self.constant(1.0).index, x.index, -1), self._inside)
                results[j] = x
                seen.add(x.index)
            return (), 1.0

        varying = {j for j, x in enumerate(first) if type(x) is Symbol}
        while True:
            before = len(self.op)
            handed_on = {
                j: [self._record((_COLLECTED, -1, r, -1), self._outside + 2) for r in range(count)]
                for j in sorted(varying)
            }
            once = self._application(step, [], [], set())
            if len(results) < len(first):
                raise ValueError(f"a recursion hands on {len(first)} values, and its text returns {len(results)}")
            changed = {j for j, x in enumerate(first) if j not in varying and not _same(results[j], x)}
            if not changed:
                break
            varying |= changed
        inside = self.segment[once.count.index]
        if count * sum(where == inside for where in self.segment[before:]) < TOGETHER:
            return recursion_written_out(text, sets, sources, start)
        found: dict[int, list[Symbol | float]] = {id(results[j]): [*nodes] for j, nodes in handed_on.items()}
        for j, nodes in handed_on.items():
            for node in nodes:
                _, _, r, _ = self.nodes[node.index]
                self.nodes[node.index] = (_COLLECTED, self.lift(results[j]).index, r, -1)
        after = len(self.op)
        collected = []
        for x in results:
            if id(x) not in found:
                found[id(x)] = self._collected(x, inside, count)
            collected.append(found[id(x)])
        nodes = [node.index for of_result in handed_on.values() for node in of_result]
        nodes += range(after, len(self.op))
        one = self.constant(1.0).index
        self.loops.append(
            RecordedLoop([once.count.index], [once.counted.index], one, count, collected=nodes, is_repetition=True)
        )
        return _packed([x for row in zip(*collected, strict=True) for x in row], [(count, len(results))])[0]

    def _entry(self, column: list[Symbol | float]) -> Symbol | float:
        """A placeholder of the open loop for these values, one per application; the value, if there is but one."""
        members = tuple([self.lift(x).index for x in column])
        if len(set(members)) == 1:
            return column[0]
        key = (_ENTRY, -1, self._list(members), -1)
        return self._known.get(key) or self._remember(key, self._inside)

    def _collected(self, x: Symbol | float, inside: int, count: int) -> list[Symbol | float]:
        """What x, recorded in the segment of a loop that has ended, was in each application."""
        if type(x) is not Symbol or self.segment[x.index] != inside:
            return [x] * count
        if self.op[x.index] == _ENTRY:
            return [self.plain(k) for k in self.lists[self.nodes[x.index][2]]]
        return [self._record((_COLLECTED, x.index, r, -1), self._outside) for r in range(count)]

    def _application(
        self, step: Step, start: list[Symbol | float], shapes: list[tuple[int, ...]], varying: set[int]
    ) -> _Application:
        """Record the step in a loop of its own. Elements `varying` of the state are carried, others as they start."""
        zero = self.constant(0.0)
        initial = {i: self.lift(start[i]) for i in sorted(varying)}
        self._inside = self._outside + 1
        try:
            count = self._record((_CARRIED, zero.index, -1, -1), self._inside)
            carried = {i: self._record((_CARRIED, x.index, -1, -1), self._inside) for i, x in initial.items()}
            following, condition = step(_packed([carried.get(i, x) for i, x in enumerate(start)], shapes))
            returned = [np.shape(array) for array in following]
            if returned != shapes:
                raise ValueError(f"a step took arrays of shapes {shapes} and returned {returned}")
            updated = [self._plain(x) for x in _elements(following)]
            return _Application(count, count + 1.0, carried, updated, self._plain(condition))
        finally:
            for key in self._scoped:
                del self._known[key]
            self._scoped.clear()
            self._outside, self._inside = self._inside + 1, -1

    def _plain(self, x: Symbol | Parameter | float) -> Symbol | float:
        """x as a symbol or, if that is known, as a number."""
        known = _known(self, x)
        if isinstance(known, Symbol):
            return self.value(known.index) if self.op[known.index] == _CONST else known
        return float(known)


def _lift(graph: Graph, x) -> Symbol:
    known = _known(graph, x)
    return known if isinstance(known, Symbol) else graph.constant(float(known))


def _known(graph: Graph, x) -> Symbol | float:
    """x, where a model's parameter is replaced by its symbol in this graph."""
    if isinstance(x, Parameter):
        if graph._lift_parameter is None:
            raise TypeError(f"{x}: this graph was made for a model without parameters")
        return graph._lift_parameter(graph, x)
    return x


_FOREIGN = (np.ndarray, Dual)  # what does arithmetic with symbols itself


class Symbol(AbstractScalar):
    """One scalar of a `Graph`. Python and NumPy numbers mix freely with it."""

    __slots__ = ("graph", "index")
    __hash__ = object.__hash__

    def __init__(self, graph: Graph, index: int) -> None:
        self.graph = graph
        self.index = index

    def __repr__(self) -> str:
        g, i = self.graph, self.index
        return f"<{Op(g.op[i]).name.lower()} {i}>"

    def __neg__(self):
        g = self.graph
        op, a, _, _ = g.nodes[self.index]
        return g.symbol(a) if op == _NEG else g.node(_NEG, self.index)

    def __pos__(self):
        return self

    def __add__(self, other):
        g = self.graph
        if type(other) is not Symbol:
            if type(other) is not float:  # which is usual
                if isinstance(other, _FOREIGN):
                    return NotImplemented
                if isinstance(other, Parameter):
                    return self + _known(self.graph, other)
            if other == 0.0:
                return self
            other = g.constant(other)
        i, j = self.index, other.index
        op_i, op_j = g.op[i], g.op[j]
        if op_j == _NEG:
            return self - g.first(j)
        if op_i == _NEG:
            return other - g.first(i)
        if op_i == _SUB or op_j == _SUB:
            found = _cancelled_sum(g, i, j)
            if found is not None:
                return found
        return g.node(_ADD, i, j) if i <= j else g.node(_ADD, j, i)

    __radd__ = __add__

    def __sub__(self, other):
        g = self.graph
        if type(other) is not Symbol:
            if type(other) is not float:  # which is usual
                if isinstance(other, _FOREIGN):
                    return NotImplemented
                if isinstance(other, Parameter):
                    return self - _known(self.graph, other)
            if other == 0.0:
                return self
            other = g.constant(other)
        i, j = self.index, other.index
        if i == j:
            return 0.0
        op_i, op_j = g.op[i], g.op[j]
        if op_j == _NEG:
            return self + g.first(j)
        if op_i == _NEG:
            return -(g.first(i) + other)
        if op_i in _SUMS or op_j in _SUMS:
            found = _cancelled_difference(g, i, j)
            if found is not None:
                return found
        if op_j == _MUL:
            rest = _rest_of_fraction(g, i, j)
            if rest is not None:
                return rest * self
        if op_i == _MUL:
            rest = _rest_of_fraction(g, j, i)
            if rest is not None:
                return -(rest * other)
        opposite = g.found(_SUB, j, i)
        return g.node(_SUB, i, j) if opposite is None else -opposite

    def __rsub__(self, other):
        if isinstance(other, _FOREIGN):
            return NotImplemented
        if isinstance(other, Parameter):
            return _known(self.graph, other) - self
        if other == 0.0:
            return -self
        return self.graph.constant(other) - self

    def __mul__(self, other):
        g = self.graph
        i = self.index
        if type(other) is not Symbol:
            if type(other) is not float:  # which is usual
                if isinstance(other, _FOREIGN):
                    return NotImplemented
                if isinstance(other, Parameter):
                    return self * _known(self.graph, other)
            if other == 0.0:
                return 0.0
            if other == 1.0:
                return self
            if other == -1.0:
                return -self
            op, a, b, _ = g.nodes[i]
            if op == _NEG:
                return g.symbol(a) * -other
            if op == _MUL and g.op[a] == _CONST:
                return g.symbol(b) * (g.value(a) * float(other))
            if op == _CONST:
                return g.value(i) * float(other)
            # (The sign stays in the constant, so that mirrored limbs are alike, unless there is the opposite already.)
            opposite = g.found_product(-other, i)
            return g.node(_MUL, g.constant(other).index, i) if opposite is None else g.node(_NEG, opposite.index)
        j = other.index
        op_i, op_j = g.op[i], g.op[j]
        if op_j == _NEG:
            return -(self * g.first(j))
        if op_i == _NEG:
            return -(g.first(i) * other)
        if op_j == _CONST:
            return self * g.value(j)
        if op_i == _CONST:
            return other * g.value(i)
        if (op_i == _DIV and g.reciprocals.get(i) == j) or (op_j == _DIV and g.reciprocals.get(j) == i):
            return 1.0
        if i in g.fractions or j in g.fractions:
            found = _product_of_fraction(g, i, j)
            if found is not None:
                return found
        return g.node(_MUL, i, j) if i <= j else g.node(_MUL, j, i)

    __rmul__ = __mul__

    def __truediv__(self, other):
        g = self.graph
        if type(other) is not Symbol:
            if type(other) is not float:  # which is usual
                if isinstance(other, _FOREIGN):
                    return NotImplemented
                if isinstance(other, Parameter):
                    return self / _known(self.graph, other)
            return self * (1.0 / other)
        i, j = self.index, other.index
        if i == j:
            return 1.0
        if g.op[j] == _NEG:
            return -(self / g.first(j))
        if g.op[i] == _NEG:
            return -(g.first(i) / other)
        if g.op[j] == _CONST:
            return self * (1.0 / g.value(j))
        return g.node(_DIV, i, j)

    def __rtruediv__(self, other):
        if isinstance(other, _FOREIGN):
            return NotImplemented
        if isinstance(other, Parameter):
            return _known(self.graph, other) / self
        if other == 0.0:
            return 0.0
        if other < 0.0:
            return -((-other) / self)
        return self.graph.constant(other) / self

    def __pow__(self, exponent):
        if type(exponent) is not int or exponent < 1:  # others are not products
            return NotImplemented
        return self if exponent == 1 else self * self ** (exponent - 1)

    def __abs__(self):
        g = self.graph
        return g.unary(Op.ABS, g.first(self.index) if g.op[self.index] == _NEG else self)

    def choose_if_less(self, bound, yes, no):
        return self.graph.select(self.graph.binary(Op.LESS, self, bound), yes, no)

    def choose_if_greater(self, bound, yes, no):
        return self.graph.select(self.graph.binary(Op.LESS, bound, self), yes, no)

    def lifted(self, x):
        return self.graph.lift(x)

    def iterate(self, step, state, limit, entry):
        return self.graph.iterate(step, state, limit, entry)

    def replace(self, otherwise, make):
        return self.graph.replace(self, otherwise, make)

    def pick(self, values, index):
        return self.graph.pick(values, index)

    def sweep(self, text, state, sets):
        return self.graph.sweep(text, state, sets)

    def recursion(self, text, sets, sources, start):
        return self.graph.recursion(text, sets, sources, start)

    # NumPy calls these methods on the elements of object arrays: np.sin(q) works on both.
    def sin(self):
        return self.graph.unary(Op.SIN, self)

    def cos(self):
        return self.graph.unary(Op.COS, self)

    def sqrt(self):
        return self.graph.unary(Op.SQRT, self)

    def arctan2(self, x):
        return self.graph.binary(Op.ATAN2, self, x)

    def exp(self):
        return self.graph.unary(Op.EXP, self)

    def log(self):
        return self.graph.unary(Op.LOG, self)

    def tanh(self):
        return self.graph.unary(Op.TANH, self)


@dataclass(frozen=True)
class _Application:
    """One application of a step, on placeholders."""

    count: Symbol
    counted: Symbol  # count + 1
    carried: dict[int, Symbol]  # by element of the state
    updated: list[Symbol | float]  # every element of the state
    condition: Symbol | float


def _elements(state: Sequence) -> list:
    return [x for array in state for x in np.asarray(array, dtype=object).flat]


def _packed(elements: list, shapes: list[tuple[int, ...]]) -> State:
    """Arrays of these shapes, filled with the elements one after the other; of floats where they are numbers only."""
    arrays, first = [], 0
    for shape in shapes:
        mine = elements[first : first + math.prod(shape)]
        dtype = object if any(type(x) is Symbol for x in mine) else float
        arrays.append(np.array(mine, dtype=dtype).reshape(shape))
        first += len(mine)
    return tuple(arrays)


def _same(x: Symbol | float, y: Symbol | float) -> bool:
    """Whether two elements are known to be equal. (The sign of a zero is not told apart: no folding rule does.)"""
    return x is y or (type(x) is not Symbol and type(y) is not Symbol and x == y)


def _product_of_fraction(g: Graph, i: int, j: int) -> Symbol | float | None:
    """i * j where one is a fraction a / x: (a / x) x = a, and (a / x) b is (b / x) a if that is there."""
    for product, b in ((i, j), (j, i)):
        for a, inverse in g.fractions.get(product, ()):
            if g.reciprocals[inverse] == b:
                return g.plain(a)
            other = g.found(_MUL, min(b, inverse), max(b, inverse))
            if other is not None:
                return g.found(_MUL, min(a, other.index), max(a, other.index))
    return None


_SUMS = (_ADD, _SUB)


def _cancelled_sum(g: Graph, i: int, j: int) -> Symbol | float | None:
    """i + j where they have a term with opposite signs: (x - p) + p = x, (x - p) + (p + q) = x + q and their like.

    Not a constant: who adds one and takes it away again wants what that rounds to (log1p does).
    """
    for one, other in ((i, j), (j, i)):
        op, x, p, _ = g.nodes[one]
        if op != _SUB or g.op[p] == _CONST:
            continue
        if p == other:
            return g.plain(x)
        op, a, b, _ = g.nodes[other]
        if op == _ADD and p in (a, b):
            return g.plain(x) + g.plain(a + b - p)
        if op == _SUB and a == p:
            return g.plain(x) - g.plain(b)
    return None


def _cancelled_difference(g: Graph, i: int, j: int) -> Symbol | float | None:
    """i - j where they have a term in common, not a constant: a - (a + b) = -b, (a + b) - (a + c) = b - c, ..."""
    (op_i, a, b, _), (op_j, c, d, _) = g.nodes[i], g.nodes[j]
    if op_j != _CONST:
        if op_i == _ADD and j in (a, b):
            return g.plain(a + b - j)
        if op_i == _SUB and a == j:
            return -g.plain(b)
    if op_i != _CONST:
        if op_j == _ADD and i in (c, d):
            return -g.plain(c + d - i)
        if op_j == _SUB and c == i:
            return g.plain(d)
    if op_i == op_j == _ADD:
        for k in (a, b):
            if k in (c, d) and g.op[k] != _CONST:
                return g.plain(a + b - k) - g.plain(c + d - k)
    return None


def _rest_of_fraction(g: Graph, a: int, product: int) -> Symbol | float | None:
    """c / q where `product` is a p / q, and q - p is a number c: then a - a p / q = a c / q."""
    _, first, second, _ = g.nodes[product]
    if first not in g.fractions and second not in g.fractions:
        return None
    for x, y in ((first, second), (second, first)):
        for p, inverse in g.fractions.get(x, ()):
            p, a_again = (p, y) if y == a else (y, p)  # a (p / q), or (a / q) p
            c = _cancelled_difference(g, g.reciprocals[inverse], p) if a_again == a else None
            if c is not None and not isinstance(c, Symbol):
                return c * g.symbol(inverse)
    return None
