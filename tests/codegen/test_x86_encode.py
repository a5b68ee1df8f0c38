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
from sarrus.codegen.x86.patterns import HEADER_BYTES, patterns
from sarrus.codegen.x86.registers import MAGNITUDE, ONE, REGISTER, SIGN, WIDE_VALUES, Assignment
from tests.codegen.machine_chunks import TYPES, needs_x86, raw_tape, values_in_registers

pytestmark = needs_x86

NAMES = {
    Form.LOAD: "vmova", Form.STORE: "vmova", Form.MOVE: "vmova", Form.SQRT: "vsqrt", Form.ADD: "vadd",
    Form.SUB: "vsub", Form.MUL: "vmul", Form.DIV: "vdiv", Form.MIN: "vmin", Form.MAX: "vmax", Form.AND: "vand",
    Form.OR: "vor", Form.XOR: "vxor", Form.COMPARE: "vcmp", Form.BLEND: "vblendv",
    Form.FMADD132: "vfmadd132", Form.FMADD213: "vfmadd213", Form.FMADD231: "vfmadd231",
    Form.FMSUB132: "vfmsub132", Form.FMSUB213: "vfmsub213", Form.FMSUB231: "vfmsub231",
    Form.FNMADD132: "vfnmadd132", Form.FNMADD213: "vfnmadd213", Form.FNMADD231: "vfnmadd231", Form.KEEP: "vand",
    Form.SPREAD: "vbroadcast",
}  # fmt: skip
MASKED_NAMES = {Form.BLEND: "vblendm", Form.KEEP: "vmova"}
ALWAYS_PACKED = (Form.MOVE, Form.AND, Form.OR, Form.XOR, Form.BLEND, Form.KEEP)
IMMEDIATES = {Form.COMPARE: (1, 4), Form.BLEND: (0, 15 << 4)}
REGISTERS, MORE_REGISTERS = (0, 7, 8, 15), (3, 15, 16, 31)
OWN_SLOTS = (0, 1, 3, 4, 40, 100_000, ONE, MAGNITUDE, SIGN)
SLOTS = (*OWN_SLOTS, -1, -2, -5, -300)
MASKED = (Form.COMPARE, Form.BLEND, Form.KEEP)


def assembled(lines: list[str], size: int) -> bytes:
    """The first `size` bytes that LLVM's assembler makes of these lines."""
    jit.llvm.initialize_native_asmparser()
    text = ".intel_syntax noprefix", *lines, ".att_syntax"
    ir = "\n".join(f'module asm "{line}"' for line in text)
    return link_flat(jit.compile_object(ir), [])[0][:size]


def instruction(
    form: Form, bits: int, count: int, has_masks: bool, r: int, v: int, m: int, slot: int, immediate: int
) -> str:
    """As one writes it for an assembler. has_masks: as AVX-512 knows it, with its registers of masks."""
    is_scalar = count == 1 and form not in ALWAYS_PACKED
    is_wide = bits * count == 512
    is_spread = is_wide and slot < 0
    name = MASKED_NAMES.get(form, NAMES[form]) if has_masks else NAMES[form]
    name += ("s" if is_scalar or form == Form.SPREAD else "p") + ("d" if bits == 64 else "s")
    if is_scalar and form in (Form.LOAD, Form.STORE):
        name = name.replace("vmova", "vmov")
    kind = {256: "ymm", 512: "zmm"}.get(bits * count, "xmm")
    number = {32: "dword", 64: "qword"}[bits]
    size = f"{number if is_scalar or is_spread else f'{kind}word'} ptr"
    second, offset = f"{kind}{m}", 0
    if slot != REGISTER:
        base = "rdi" if 0 <= slot < REGISTER else "rsi"
        offset = (slot if slot >= 0 else -1 - slot) * bits * count // 8 if slot < REGISTER else 64 * (REGISTER - slot)
        if is_spread:
            offset = slot * bits // 8 - HEADER_BYTES
        second = f"{size} [{base} + {offset}]"
        if is_spread and form != Form.SPREAD:
            second += f" {{1to{count}}}"
    operands = [f"{kind}{r}", f"{kind}{v}", second]
    if form in (Form.LOAD, Form.MOVE, Form.SPREAD) or (form == Form.SQRT and not is_scalar):
        operands = [f"{kind}{r}", second]
    elif form == Form.STORE:
        operands = [second, f"{kind}{r}"]
    if form == Form.COMPARE:
        operands = ["k1" if has_masks else operands[0], *operands[1:], str(immediate)]
    elif has_masks and form == Form.BLEND:
        operands[0] += " {k1}"
    elif has_masks and form == Form.KEEP:
        operands = [f"{operands[0]} {{k1}} {{z}}", second]
    elif form == Form.BLEND:
        operands.append(f"{kind}{immediate >> 4}")
    prefix = ""
    # Where operands might change places to save a byte, the assembler would do that; here `registers.py` does it.
    is_long = has_masks and (form in MASKED or max(r, m, 0 if len(operands) == 2 else v) > 15)
    if slot == REGISTER and m > 7 and not is_wide and not is_long:
        prefix = "{vex3} "
    # An address that is short only if it is counted in operands: the assembler would not think of it.
    if has_masks and not is_wide and 128 <= abs(offset) < 128 * (bits // 8 if is_scalar else 16):
        prefix = "{evex} "
    return f"{prefix}{name} {', '.join(operands)}"


KINDS = [(bits, count, values) for bits, count in TYPES for values in values_in_registers(bits, count)]


@pytest.mark.parametrize(("bits", "count", "values"), KINDS)
@pytest.mark.parametrize("form", Form, ids=lambda form: form.name)
def test_bytes_are_those_of_an_assembler(form, bits, count, values):
    assignment = Assignment(raw_tape([], [], [], 0), values)
    lines = []
    has_masks = values == WIDE_VALUES
    slots = {
        Form.LOAD: SLOTS, Form.STORE: OWN_SLOTS, Form.MOVE: (REGISTER,), Form.SQRT: (REGISTER,),
        Form.KEEP: (ONE,) if has_masks else SLOTS, Form.BLEND: (REGISTER,) if has_masks else (REGISTER, *SLOTS),
        Form.SPREAD: (-1, -2, -5, -300) if bits * count == 512 else (),
    }.get(form, (REGISTER, *SLOTS))  # fmt: skip
    if has_masks and count == 1 and form in ALWAYS_PACKED:
        slots = [slot for slot in slots if slot >= REGISTER]  # numbers are not as wide as these read
    registers = MORE_REGISTERS if values == WIDE_VALUES else REGISTERS
    for r, v, slot, immediate in itertools.product(registers, registers, slots, IMMEDIATES.get(form, (0,))):
        for m in registers if slot == REGISTER else (0,):
            assignment.words.append(form | r << 8 | v << 13 | m << 18 | immediate << 23)
            assignment.slots.append(slot)
            assignment.ends.append(len(assignment.words))  # a chunk of its own: no windows
            is_spread = form == Form.LOAD and slot < 0 and bits * count == 512
            lines.append(
                instruction(Form.SPREAD if is_spread else form, bits, count, has_masks, r, v, m, slot, immediate)
            )
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
        if mode == 1 and bits * count == 512:
            offset *= size if slot >= 0 else bits // 8
        position += (1, 2, 5)[mode]
        long += mode == 2
        assert origin[base] == ("w" if slot >= 0 else "k")
        place = slot * size if slot >= 0 else (-1 - slot) * size
        if slot < 0 and bits * count == 512:  # one number for all lanes
            place = slot * bits // 8 - HEADER_BYTES
        assert (where[base] or 0) + offset == place
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
