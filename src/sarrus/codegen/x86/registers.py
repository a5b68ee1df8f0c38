"""Which register each value of a chunk is in, and the instructions that follow from it.

`allocate` has decided which values are held at any time, and that they are no more than `VALUES`; here each gets the
number of a register, and a load whose value is used once becomes a memory operand. A multiply-add overwrites one of its
operands: its form is chosen so that this is one that nobody needs any more. The result is the same for every type and
number of lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sarrus.codegen.passes.allocate import Action, Compute, Load, Store
from sarrus.codegen.passes.steps import Repeat
from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import ARITY, COMMUTES, Tape
from sarrus.codegen.x86.forms import FUSED, LESS_THAN, NOT_EQUAL, PLAIN, Form

# Registers that hold values, of sixteen, or of the 32 that AVX-512 has; one is for what an operation needs in between.
VALUES, WIDE_VALUES = 15, 31
# Slots that are none: the operand is a register, or a pattern of bits that every kernel has before its constants.
REGISTER = 1 << 29
SIGN, MAGNITUDE, ONE = REGISTER + 1, REGISTER + 2, REGISTER + 3
# (Lists of plain numbers: names of an enumeration are slow to look up.)
_PLAIN, _FUSED = ([int(table.get(op, -1)) for op in Op] for table in (PLAIN, FUSED))
_COMMUTES = COMMUTES.tolist()
_CONST, _LOAD, _STORE, _MOVE = int(Op.CONST), int(Form.LOAD), int(Form.STORE), int(Form.MOVE)


class Assignment:
    """Instructions of chunks of one tape, one after the other, chunk i from `ends[i]` to `ends[i + 1]`.

    `words` are form, r, v, m and immediate (8, 5, 5, 5, 8 bits from the lowest); `slots` say where m is if it is in
    memory: a slot of the workspace, -1 - c for constant c, or one of the names above.
    """

    def __init__(self, tape: Tape, values: int = VALUES) -> None:
        self.values = self._spare = values
        self.words: list[int] = []
        self.slots: list[int] = []
        self.ends = [0]
        self.repeats: dict[int, Repeat] = {}  # chunks that are the inside of a loop
        self._op = tape.op.tolist()
        counts = ARITY[tape.op].tolist()
        self._operands = [row[:count] for row, count in zip(tape.arg.tolist(), counts, strict=True)]
        self._constant = tape.arg[:, 0].tolist()

    def add(self, actions: Sequence[Action], repeat: Repeat | None = None) -> None:
        """One more chunk, perhaps with a loop around it."""
        if repeat is not None:
            self.repeats[len(self.ends) - 1] = repeat
        self._free = list(range(self.values))[::-1]
        self._register: dict[int, int] = {}  # of each value that is held
        self._in_spare = REGISTER  # the slot of the constant that the spare register holds; REGISTER: none
        self._memory: dict[int, int] = {}  # where the next operation finds values that are not: their slots
        endings = _endings(actions, self._op, self._operands)
        for action, ending in zip(actions, endings, strict=True):
            if ending is None:
                continue
            k = action[0]
            if type(action) is Compute:
                code = self._op[k]
                if _FUSED[code] >= 0:
                    result = self._fused(_FUSED[code], ending, *self._operands[k])
                elif _PLAIN[code] >= 0:
                    result = self._plain(_PLAIN[code], _COMMUTES[code], ending, *self._operands[k])
                else:
                    result = self._several(code, self._operands[k], ending)
                self._register[k] = result
            elif type(action) is Load:
                self._memory[k] = action[1]
                if not ending:
                    self._load(k)
            elif type(action) is Store:
                self._store(k, action[1], ending)
        self.ends.append(len(self.words))

    def _write(self, form: int, r: int, v: int = 0, m: int = 0, slot: int = REGISTER, immediate: int = 0) -> None:
        self.words.append(form | r << 8 | v << 13 | m << 18 | immediate << 23)
        self.slots.append(slot)

    def _load(self, k: int) -> int:
        """Take value k from memory into a register."""
        r = self._register[k] = self._free.pop()
        self.words.append(_LOAD | r << 8)
        self.slots.append(self._memory.pop(k))
        return r

    def _store(self, k: int, slot: int, is_last: bool) -> None:
        if self._memory:
            for waiting in [x for x, place in self._memory.items() if place == slot]:
                self._load(waiting)  # before it is overwritten
        if self._op[k] == _CONST:  # it is only copied, perhaps to several places, one after the other
            source = -1 - self._constant[k]
            if self._in_spare != source:
                self._write(_LOAD, self._spare, slot=source)
                self._in_spare = source
            self._write(_STORE, self._spare, slot=slot)
            return
        self.words.append(_STORE | self._register[k] << 8)
        self.slots.append(slot)
        if is_last:
            self._free.append(self._register.pop(k))

    def _plain(self, form: int, commutes: bool, dying: list[int], a: int, b: int) -> int:
        register, memory = self._register, self._memory
        if a in memory:
            if commutes and b not in memory:
                a, b = b, a
            else:
                self._load(a)
        first, second, slot = register[a], 0, REGISTER
        if b in memory:
            slot = memory.pop(b)
            dying.remove(b)
        else:
            second = register[b]
            if commutes and second > 7:  # a second source below 8 makes the instruction shorter
                first, second = second, first
        for x in dying:
            self._free.append(register.pop(x))
        r = self._free.pop()
        self.words.append(form | r << 8 | first << 13 | second << 18)
        self.slots.append(slot)
        return r

    def _fused(self, form: int, dying: list[int], a: int, b: int, c: int) -> int:
        """a b + c and its kin; `form` is the first of three (132, 213, 231)."""
        register, memory = self._register, self._memory
        while len(memory) > 1:  # one operand may stay in memory; the other one is loaded, to be overwritten
            self._load(c if c in memory else a)
        v, m, slot = 0, 0, REGISTER
        if not memory:
            over = c if c in dying else a if a in dying else b if b in dying else None
            if over is None:
                r = self._free.pop()
                self._write(_MOVE, r, m=register[c])
                form, v, m = form + 2, register[a], register[b]
            elif over == c:
                form, r, v, m = form + 2, register[c], register[a], register[b]
            else:
                form, r, v, m = form + 1, register[over], register[b if over == a else a], register[c]
        else:
            x, slot = memory.popitem()
            dying.remove(x)
            if x == c:
                over = a if a in dying else b if b in dying else None
                if over is None:
                    r = self._free.pop()
                    self._write(_LOAD, r, slot=slot)
                    form, v, m, slot = form + 2, register[a], register[b], REGISTER
                else:
                    form, r, v = form + 1, register[over], register[b if over == a else a]
            else:
                factor = b if x == a else a
                over = c if c in dying else factor if factor in dying else None
                if over is None:
                    r = self._free.pop()
                    self._write(_LOAD, r, slot=slot)
                    form, v, m, slot = form + 1, register[factor], register[c], REGISTER
                elif over == c:
                    form, r, v = form + 2, register[c], register[factor]
                else:
                    r, v = register[factor], register[c]
        self.words.append(form | r << 8 | v << 13 | m << 18)
        self.slots.append(slot)
        for x in dying:
            last = register.pop(x)
            if last != r:
                self._free.append(last)
        return r

    def _several(self, code: int, operands: list[int], dying: list[int]) -> int:
        """Operations that take several instructions, or only registers.

        The result may be in the register of an operand: it is written when that one has been read for the last time.
        """
        for x in list(self._memory):
            self._load(x)
        a, b, c = ([self._register[x] for x in operands] + [0, 0])[:3]
        for x in dying:
            self._free.append(self._register.pop(x))
        r, t = self._free.pop(), self._spare
        self._in_spare = REGISTER
        _SEQUENCES[code](self._write, r, t, a, b, c)
        return r


def _endings(actions: Sequence[Action], op: list[int], operands: list[list[int]]) -> list[Any]:
    """Per action: of an operation, the operands that are held for the last time; of a load, whether its value is used
    once, by an operation; of a store, whether its value is held no longer. None: nobody needs the result.
    """
    found: list[Any] = []
    uses: dict[int, int] = {}  # of each value that is held here, in what follows
    for action in reversed(actions):
        k = action[0]
        if type(action) is Compute:
            if not uses.pop(k, 0):
                found.append(None)
                continue
            dying = []
            for x in operands[k]:
                if x in uses:
                    uses[x] += 1
                else:
                    uses[x] = 1
                    dying.append(x)
            found.append(dying)
        elif type(action) is Load:
            count = uses.pop(k, 0)
            found.append(count == 1 if count else None)
        else:
            found.append(k not in uses)
            if op[k] != _CONST:
                uses[k] = uses.get(k, 1) + 1  # (one more than there are: a load for a store's sake stays one)
    return found[::-1]


def _minimum(write: Any, r: int, t: int, a: int, b: int, _: int) -> None:
    # The machine's minimum gives its second operand if both are zero or one is not a number. Of both ways round, the
    # bits of either: those of -0 and of what is not a number win.
    write(Form.MIN, t, a, b)
    write(Form.MIN, r, b, a)
    write(Form.OR, r, r, t)


def _maximum(write: Any, r: int, t: int, a: int, b: int, _: int) -> None:
    # Where both ways round differ (d): for zeros d = -0, and -0 - d = +0; what is not a number remains so. Else d = 0.
    write(Form.MAX, t, a, b)
    write(Form.MAX, r, b, a)
    write(Form.XOR, r, r, t)
    write(Form.OR, t, t, r)
    write(Form.SUB, r, t, r)


def _copysign(write: Any, r: int, t: int, a: int, b: int, _: int) -> None:
    write(Form.AND, t, b, slot=SIGN)
    write(Form.AND, r, a, slot=MAGNITUDE)
    write(Form.OR, r, r, t)


def _less(write: Any, r: int, t: int, a: int, b: int, _: int) -> None:
    write(Form.COMPARE, t, a, b, immediate=LESS_THAN)
    write(Form.KEEP, r, t, slot=ONE)


def _select(write: Any, r: int, t: int, a: int, b: int, c: int) -> None:
    write(Form.XOR, t, t, t)
    write(Form.COMPARE, t, a, t, immediate=NOT_EQUAL)
    write(Form.BLEND, r, c, b, immediate=(t & 15) << 4)  # (AVX-512 has masks elsewhere)


# What each operation writes: the result in r, through t, which no value is in.
_SEQUENCES = {
    int(Op.NEG): lambda write, r, t, a, b, c: write(Form.XOR, r, a, slot=SIGN),
    int(Op.ABS): lambda write, r, t, a, b, c: write(Form.AND, r, a, slot=MAGNITUDE),
    int(Op.SQRT): lambda write, r, t, a, b, c: write(Form.SQRT, r, a, a),
    int(Op.MIN): _minimum,
    int(Op.MAX): _maximum,
    int(Op.COPYSIGN): _copysign,
    int(Op.LESS): _less,
    int(Op.SELECT): _select,
}
