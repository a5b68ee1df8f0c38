"""Bytes of single instructions, against those of LLVM's assembler."""

from __future__ import annotations

import itertools
import struct

import numpy as np
import pytest

from sarrus.codegen.emit import jit
from sarrus.codegen.emit.image import link_flat
from sarrus.codegen.x86.encode import encoded
from sarrus.codegen.x86.forms import Form
from sarrus.codegen.x86.patterns import patterns
from sarrus.codegen.x86.registers import MAGNITUDE, ONE, REGISTER, SIGN, Assignment
from tests.codegen.machine_chunks import TYPES, needs_x86, raw_tape

pytestmark = needs_x86

NAMES = {
    Form.LOAD: "vmova", Form.STORE: "vmova", Form.MOVE: "vmova", Form.SQRT: "vsqrt", Form.ADD: "vadd",
    Form.SUB: "vsub", Form.MUL: "vmul", Form.DIV: "vdiv", Form.MIN: "vmin", Form.MAX: "vmax", Form.AND: "vand",
    Form.OR: "vor", Form.XOR: "vxor", Form.COMPARE: "vcmp", Form.BLEND: "vblendv",
    Form.FMADD132: "vfmadd132", Form.FMADD213: "vfmadd213", Form.FMADD231: "vfmadd231",
    Form.FMSUB132: "vfmsub132", Form.FMSUB213: "vfmsub213", Form.FMSUB231: "vfmsub231",
    Form.FNMADD132: "vfnmadd132", Form.FNMADD213: "vfnmadd213", Form.FNMADD231: "vfnmadd231", Form.KEEP: "vand",
}  # fmt: skip
WIDE_NAMES = {Form.BLEND: "vblendm", Form.KEEP: "vmova"}
ALWAYS_PACKED = (Form.MOVE, Form.AND, Form.OR, Form.XOR, Form.BLEND, Form.KEEP)
IMMEDIATES = {Form.COMPARE: (1, 4), Form.BLEND: (0, 15 << 4)}
REGISTERS = (0, 7, 8, 15)
SLOTS = (0, 1, 3, 4, 40, 100_000, -1, -2, -5, -300, ONE, MAGNITUDE, SIGN)


def assembled(lines: list[str], size: int) -> bytes:
    """The first `size` bytes that LLVM's assembler makes of these lines."""
    jit.llvm.initialize_native_asmparser()
    text = ".intel_syntax noprefix", *lines, ".att_syntax"
    ir = "\n".join(f'module asm "{line}"' for line in text)
    return link_flat(jit.compile_object(ir), [])[0][:size]


def instruction(form: Form, bits: int, count: int, r: int, v: int, m: int, slot: int, immediate: int) -> str:
    """As one writes it for an assembler."""
    is_scalar = count == 1 and form not in ALWAYS_PACKED
    is_wide = bits * count == 512
    name = WIDE_NAMES.get(form, NAMES[form]) if is_wide else NAMES[form]
    name += ("s" if is_scalar else "p") + ("d" if bits == 64 else "s")
    if is_scalar and form in (Form.LOAD, Form.STORE):
        name = name.replace("vmova", "vmov")
    kind = {256: "ymm", 512: "zmm"}.get(bits * count, "xmm")
    size = f"{ {32: 'dword', 64: 'qword'}[bits] if is_scalar else f'{kind}word' } ptr"
    second = f"{kind}{m}"
    if slot != REGISTER:
        base = "rdi" if 0 <= slot < REGISTER else "rsi"
        offset = (slot if slot >= 0 else -1 - slot) * bits * count // 8 if slot < REGISTER else 64 * (REGISTER - slot)
        second = f"{size} [{base} + {offset}]"
    operands = [f"{kind}{r}", f"{kind}{v}", second]
    if form in (Form.LOAD, Form.MOVE) or (form == Form.SQRT and not is_scalar):
        operands = [f"{kind}{r}", second]
    elif form == Form.STORE:
        operands = [second, f"{kind}{r}"]
    if form == Form.COMPARE:
        operands = ["k1" if is_wide else operands[0], *operands[1:], str(immediate)]
    elif is_wide and form == Form.BLEND:
        operands[0] += " {k1}"
    elif is_wide and form == Form.KEEP:
        operands = [f"{operands[0]} {{k1}} {{z}}", second]
    elif form == Form.BLEND:
        operands.append(f"{kind}{immediate >> 4}")
    # Where operands might change places to save a byte, the assembler would do that; here `registers.py` does it.
    prefix = "{vex3} " if slot == REGISTER and m > 7 and not is_wide else ""
    return f"{prefix}{name} {', '.join(operands)}"


@pytest.mark.parametrize(("bits", "count"), TYPES)
@pytest.mark.parametrize("form", Form, ids=lambda form: form.name)
def test_bytes_are_those_of_an_assembler(form, bits, count):
    assignment = Assignment(raw_tape([], [], [], 0))
    lines = []
    slots = {Form.LOAD: SLOTS, Form.STORE: SLOTS, Form.MOVE: (REGISTER,), Form.SQRT: (REGISTER,), Form.KEEP: SLOTS}
    slots = slots.get(form, (REGISTER, *SLOTS))
    for r, v, slot, immediate in itertools.product(REGISTERS, REGISTERS, slots, IMMEDIATES.get(form, (0,))):
        for m in REGISTERS if slot == REGISTER else (0,):
            assignment.words.append(form | r << 8 | v << 12 | m << 16 | immediate << 20)
            assignment.slots.append(slot)
            assignment.ends.append(len(assignment.words))  # a chunk of its own: no windows
            lines.append(instruction(form, bits, count, r, v, m, slot, immediate))
    end = len(b"\xc5\xf8\x77\xc3" if bits * count >= 256 else b"\xc3")
    ours = [code[:-end] for code in encoded(assignment, bits, count)]
    theirs, start = assembled(lines, sum(map(len, ours))), 0
    for line, code in zip(lines, ours, strict=True):
        assert theirs[start : start + len(code)] == code, line
        start += len(code)


@pytest.mark.parametrize(("bits", "count"), TYPES)
def test_windows_make_addresses_short_and_leave_them_what_they_are(bits, count):
    rng = np.random.default_rng(3)
    centres = rng.choice(np.arange(100, 5000, 100), 15, replace=False) * rng.choice([1, -1], 15)
    slots = (rng.choice(centres, 300) + rng.integers(0, 8, 300)).tolist()
    assignment = Assignment(raw_tape([], [], [], 0))
    assignment.words += [int(Form.LOAD)] * 300
    assignment.slots += slots
    assignment.ends.append(300)
    code, size, position = encoded(assignment, bits, count)[0], bits * count // 8, 0
    where = {7: 0, 6: None}  # per base register: bytes from the workspace (the constants: from None)
    origin = {7: "w", 6: "k"}
    while code[position] not in (0xC4, 0xC5, 0x62):
        if code[position + 1] != 0x8D:  # not lea: push
            position += 1 if code[position] & 0xF8 == 0x50 else 2
            continue
        prefix, _, operands, offset = struct.unpack_from("<BBBi", code, position)
        base, register = operands & 7, operands >> 3 & 7 | (prefix & 4) << 1
        where[register], origin[register] = offset, origin[base]
        position += 7
    long = 0
    for slot in slots:
        high = code[position] != 0xC5 and not code[position + 1] & 0x20
        position += {0xC5: 3, 0xC4: 4, 0x62: 5}[code[position]]
        mode, base = code[position] >> 6, code[position] & 7 | high << 3
        assert mode or base & 7 != 5  # that would be an address from the instruction pointer
        offset = 0 if mode == 0 else struct.unpack_from("<b" if mode == 1 else "<i", code, position + 1)[0]
        offset *= size if mode == 1 and bits * count == 512 else 1
        position += (1, 2, 5)[mode]
        long += mode == 2
        assert origin[base] == ("w" if slot >= 0 else "k")
        assert (where[base] or 0) + offset == (slot if slot >= 0 else -1 - slot) * size
    assert long < 100


@pytest.mark.parametrize(("bits", "dtype"), [(64, np.float64), (32, np.float32)])
def test_patterns_are_as_wide_as_a_register(bits, dtype):
    one, magnitude, sign = np.frombuffer(patterns(bits), dtype).reshape(3, -1)
    assert len(one) * bits == 512
    assert (one == 1.0).all()
    assert (sign == 0.0).all()
    assert np.signbit(sign).all()
    assert np.isnan(magnitude).all()
    assert not np.signbit(magnitude).any()
