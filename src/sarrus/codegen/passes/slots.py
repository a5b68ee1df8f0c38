"""Give every value that must be in memory a slot of the workspace.

Slots hold one scalar (of all lanes) each: first the arrays (`ports.py`), then values that outlive their step. The
slot of such a value is used again by the first one that is made after its last use, so that the workspace stays in the
processor's nearest cache.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sarrus.codegen.passes.ports import Ports, ports
from sarrus.codegen.passes.steps import Again, Begin, Chunk, Enter, Fetch, Keep, Picks, Plan, Repeat, Step, Table
from sarrus.codegen.passes.vectors import Layout
from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import ARITY, IDLE, Tape


def fixed_slots(tape: Tape) -> dict[int, int]:
    """Inputs, and outputs that repetitions make, by their slots."""
    lie = ports(tape)
    taken = np.flatnonzero(tape.op == Op.INPUT).tolist()
    found = {lie.inputs[a] + b: k for k, (a, b, _) in zip(taken, tape.arg[taken].tolist(), strict=True)}
    seen: set[int] = set()
    for number, result in enumerate(tape.results):
        slots = lie.slots_of(number, len(result))
        for element in np.flatnonzero(tape.op[result] == Op.COLLECTED).tolist():
            k = int(result[element])
            if k not in seen:
                found[int(slots[element])] = k
                seen.add(k)
    return found


def with_slots(tape: Tape, steps: list[Step], layout: Layout) -> Plan:
    """The plan of these steps."""
    lie = ports(tape)
    lives = _Lives(tape, steps, layout.places)
    slots = _Slots(tape, lie, layout)
    slots.share_with_carried(tape)
    steps = list(steps)
    mask_slot = -1
    for s, step in enumerate(steps):
        if isinstance(step, Chunk):
            _settle_instructions(tape, step, s, lives, slots)
            made = [k for k in step.copies if lives.in_table[k]] + [k for _, k in step.moves]
        elif isinstance(step, Repeat):
            made = step.made
        elif isinstance(step, Table):
            made = [k for results in step.results for k in results if k >= 0]
        elif isinstance(step, Picks):
            made = step.instructions
        elif isinstance(step, Fetch):
            made = step.entries
        elif isinstance(step, Begin):
            made = [*step.loop.carried, *step.collected]
            asked = tape.op[step.loop.condition] != Op.CONST or step.loop.entry >= 0
            mask_slot = slots.new() if asked else -1
            steps[s] = Begin(step.loop, step.collected, mask_slot)
        elif isinstance(step, Again):
            made = []
            steps[s] = Again(step.loop, mask_slot)
        else:
            made = []
        mine = np.array(made, dtype=int)
        for k in mine[lives.in_table[mine] | (lives.last_use[mine] > s)].tolist():
            slots.settle(k)
        for k in (*mine[lives.last_use[mine] <= s].tolist(), *lives.ending[s].tolist()):
            slots.release(k)
    steps = [step for step in steps if not isinstance(step, Chunk) or _does_something(tape, step, slots)]
    # One slot more takes what tables compute and nobody wants.
    return Plan(tape, steps, slots.slot, slots.stores, lie, slots.top + 1, layout.constants)


def _does_something(tape: Tape, step: Chunk, slots: _Slots) -> bool:
    """Whether not all that it would copy is there already."""
    if step.instructions or step.moves:
        return True
    is_constant = (tape.op[list(step.copies)] == Op.CONST).tolist()
    pairs = zip(step.copies, is_constant, strict=True)
    return any(is_constant or slots.stores[k] != [slots.slot[k]] for k, is_constant in pairs)


def _settle_instructions(tape: Tape, step: Chunk, s: int, lives: _Lives, slots: _Slots) -> None:
    """Slots of what chunk `s` makes, each taken when the instructions before it have let go of theirs."""
    instructions = np.array(step.instructions, dtype=int)
    used, user = _operands(tape, instructions)
    ends = lives.last_use[used] == s  # only these may be let go of here
    used, user = used[ends][::-1], user[ends][::-1]
    ending, last = np.unique(used, return_index=True)
    releases: dict[int, list[int]] = {}
    for a, i in zip(ending.tolist(), user[last].tolist(), strict=True):
        releases.setdefault(i, []).append(a)
    stays = lives.in_table[instructions] | (lives.last_use[instructions] > s)
    settles = dict(zip(np.flatnonzero(stays).tolist(), instructions[stays].tolist(), strict=True))
    for i in sorted(releases.keys() | settles):
        for a in set(releases.get(i, ())):
            slots.release(a)
        if i in settles:
            slots.settle(settles[i])


def _operands(tape: Tape, instructions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Operands of instructions that compute, in chunks or repetitions, and by number which of these uses each."""
    counts = ARITY[tape.op[instructions]]
    return tape.arg[instructions][counts[:, None] > np.arange(3)], np.repeat(np.arange(len(instructions)), counts)


class _Lives:
    """From which step to which a value is needed, and whether a table reads or writes it."""

    def __init__(self, tape: Tape, steps: list[Step], places: int) -> None:
        first_operand = tape.arg[:, 0]
        born, last_use = np.full(len(tape), -1), np.full(len(tape) + places, -1)
        in_table = np.zeros(len(tape) + places, dtype=bool)
        first, used_inside = -1, list[np.ndarray]()  # the step that begins the loop, and what is used since
        for s, step in enumerate(steps):
            if isinstance(step, Chunk):
                used, _ = _operands(tape, np.array(step.instructions, dtype=int))
                born[step.instructions] = s
                last_use[used] = s
                last_use[list(step.copies)] = s
                used_inside.append(used)
            elif isinstance(step, Repeat):
                used, _ = _operands(tape, np.array(step.body.instructions, dtype=int))
                last_use[used] = s
                carried = np.array(step.loop.carried, dtype=int)
                last_use[carried] = last_use[first_operand[carried]] = s
                for number in tape.arg[step.entries, 1].tolist():
                    last_use[tape.lists[number]] = s
                last_use[[*step.places, *step.loop.updated]] = s
                in_table[step.made] = True
            elif isinstance(step, Begin):
                first, used_inside = s, []
                carried = np.array(step.loop.carried, dtype=int)
                born[carried] = last_use[first_operand[carried]] = s
                if step.loop.entry >= 0:
                    last_use[step.loop.entry] = s
            elif isinstance(step, Again):
                last_use[[*step.loop.carried, *step.loop.updated, step.loop.condition]] = s
                # What came into the loop is needed until it ends: its next application uses it again.
                used = np.concatenate([np.zeros(0, int), *used_inside])
                last_use[used[born[used] <= first]] = s
            elif isinstance(step, Enter):
                last_use[step.guard.condition] = s
            elif isinstance(step, Table):
                made = np.array([k for results in step.results for k in results if k >= 0], dtype=int)
                used = np.array([a for arguments in step.arguments for a in arguments], dtype=int)
                born[made] = last_use[used] = s
                in_table[made] = in_table[used] = True
                used_inside.append(used)
            elif isinstance(step, Keep):
                last_use[first_operand[step.collected]] = s
            elif isinstance(step, (Picks, Fetch)):
                mine = step.instructions if isinstance(step, Picks) else step.entries
                used = np.array([a for used in tape.operands(mine) for a in used], dtype=int)
                born[mine] = last_use[used] = s
                in_table[mine] = True
                used_inside.append(used)
        self.last_use, self.in_table = last_use, in_table
        by_step = np.argsort(last_use, kind="stable")
        cuts = np.searchsorted(last_use[by_step], np.arange(len(steps) + 1))
        self.ending = [by_step[a:b] for a, b in pairwise(cuts.tolist())]  # per step: what is needed until there


class _Slots:
    """Which slot each value has, and which are free again. Those of inputs and outputs never are."""

    def __init__(self, tape: Tape, lie: Ports, layout: Layout) -> None:
        self.slot = [-1] * (len(tape) + layout.places)
        self.stores: dict[int, list[int]] = {}
        self.top = lie.top
        self._free: list[int] = []
        self._free_rows: list[tuple[int, int]] = []  # slots side by side: how many, the first
        self._lent = [False] * len(self.slot)
        self._blocks = layout.blocks
        self._begin = [-1] * len(self._blocks)  # of a block: its first slot
        self._left = [len(block) for block in self._blocks]  # how many of its values are not done with
        self._place = {k: (n, place) for n, block in enumerate(self._blocks) for place, k in block.items()}
        for number, result in enumerate(tape.results):
            pairs = zip(result.tolist(), lie.slots_of(number, len(result)).tolist(), strict=True)
            for k, slot in pairs:
                mine = self.stores.setdefault(k, [])
                if lie.listed[number] is None or slot not in mine:
                    mine.append(slot)
        inputs = np.flatnonzero(tape.op == Op.INPUT).tolist()
        for k, (number, element, _) in zip(inputs, tape.arg[inputs].tolist(), strict=True):
            self.slot[k] = lie.inputs[number] + element
        computed = (~np.isin(tape.op[list(self.stores)], (Op.CONST, Op.INPUT))).tolist()
        for (k, slots), is_computed in zip(self.stores.items(), computed, strict=True):
            if is_computed and k not in self._place:
                self.slot[k] = slots[0]
        is_entry = (tape.op == Op.ENTRY).tolist()
        for k, slot in layout.slot.items():
            self.slot[k] = slot
            if not is_entry[k]:
                self.stores[k] = [slot]

    def share_with_carried(self, tape: Tape) -> None:
        """Let what a loop begins with lie where it is carried, if nothing else needs it: no copy is needed then."""
        uses = [tape.uses[0], *tape.results]
        for loop in tape.loops:
            uses.append(np.array([*loop.updated, loop.condition, max(loop.entry, 0)]))
        uses.append(np.array([guard.condition for guard in tape.guards], dtype=int))
        used = np.bincount(np.concatenate(uses), minlength=len(tape))
        for loop in tape.loops:
            for k in loop.carried:
                first = int(tape.arg[k, 0])
                if tape.op[first] in IDLE or used[first] != 1 or self.slot[first] >= 0:
                    continue
                if self.slot[k] < 0:
                    self.slot[k] = self.new()
                    self.stores.setdefault(k, []).append(self.slot[k])
                self.slot[first] = self.slot[k]
                self.stores.setdefault(first, []).append(self.slot[k])

    def new(self) -> int:
        self.top += 1
        return self.top - 1

    def settle(self, k: int) -> None:
        """A slot for value k, unless it has one."""
        if self.slot[k] >= 0:
            return
        if k in self._place:
            block, place = self._place[k]
            if self._begin[block] < 0:
                self._begin[block] = self._side_by_side(max(self._blocks[block]) + 1)
            self.slot[k] = self._begin[block] + place
        else:
            self.slot[k] = self._free.pop() if self._free else self._side_by_side(1)
        self.stores.setdefault(k, []).append(self.slot[k])
        self._lent[k] = True

    def release(self, k: int) -> None:
        """Nobody needs value k any more."""
        if not self._lent[k]:
            return
        self._lent[k] = False
        if k not in self._place:
            self._free.append(self.slot[k])
            return
        block, _ = self._place[k]
        self._left[block] -= 1
        if not self._left[block]:
            self._free_rows.append((max(self._blocks[block]) + 1, self._begin[block]))

    def _side_by_side(self, count: int) -> int:
        """So many slots: the first of them."""
        row = min((row for row in self._free_rows if row[0] >= count), default=None)
        if row is None:
            self.top += count
            return self.top - count
        self._free_rows.remove(row)
        length, first = row
        if length > count:
            self._free_rows.append((length - count, first + count))
        return first
