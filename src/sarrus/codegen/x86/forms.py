"""The machine instructions that straight-line code needs (AVX, AVX2, FMA, AVX-512), and how each is written for a type.

Every one of them has the same shape: a destination register, perhaps a first source register, and a second source that
is a register or memory (`STORE` has them the other way round). What differs between types is one prefix, or one bit.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from sarrus.codegen.tape.graph import Op


class Form(IntEnum):
    """An instruction without its operands. r: the destination, v and m: the sources, in Intel's order."""

    LOAD = 0  # r = memory
    STORE = 1  # memory = r
    MOVE = 2  # r = m
    SQRT = 3  # of m
    ADD = 4
    SUB = 5
    MUL = 6
    DIV = 7
    MIN = 8  # m, unless v < m
    MAX = 9  # m, unless v > m
    AND = 10
    OR = 11
    XOR = 12
    COMPARE = 13  # all bits where v, m are as the immediate says, else none (AVX-512: in a register of masks)
    BLEND = 14  # m where a COMPARE, in a fourth register (in the immediate), was true, else v
    # Multiply-adds overwrite an operand: the digits say which are multiplied (first two) and which is added.
    FMADD132 = 15  # r * m + v
    FMADD213 = 16  # v * r + m
    FMADD231 = 17  # v * m + r
    FMSUB132 = 18
    FMSUB213 = 19
    FMSUB231 = 20
    FNMADD132 = 21
    FNMADD213 = 22
    FNMADD231 = 23
    KEEP = 24  # m where the last COMPARE, in v, was true, else 0
    SPREAD = 25  # all lanes of r = one number in memory (AVX-512)


LOGIC = (Form.AND, Form.OR, Form.XOR, Form.KEEP)  # of registers, also where these hold one number
LESS_THAN, NOT_EQUAL = 1, 4  # immediates of COMPARE: false for what is not a number; true for it

# What one instruction computes. The others need several (`registers.py`).
PLAIN = {Op.ADD: Form.ADD, Op.SUB: Form.SUB, Op.MUL: Form.MUL, Op.DIV: Form.DIV}
FUSED = {Op.FMA: Form.FMADD132, Op.FMS: Form.FMSUB132, Op.FNMA: Form.FNMADD132}  # 213 and 231 follow

# Fields of a word of `encodings`.
MAP, PREFIX, WIDE, IMMEDIATE, SOURCE, MASKS, OPCODE = 0, 2, 4, 5, 6, 7, 8


def encodings(bits: int, is_scalar: bool) -> np.ndarray:
    """Per form: opcode, map of opcodes (0F, 0F38, 0F3A), prefix, W, and whether there are an immediate and v."""
    of_type = {(64, False): 1, (32, False): 0, (64, True): 3, (32, True): 2}[bits, is_scalar]  # 66, none, F2, F3
    packed = {64: 1, 32: 0}[bits]  # logic has no scalar form, and needs none
    words = np.zeros(len(Form), dtype=np.int32)

    def put(form: int, opcode: int, prefix: int, table: int = 1, wide: bool = False, rest: int = 1 << SOURCE) -> None:
        words[form] = opcode << OPCODE | prefix << PREFIX | table << MAP | wide << WIDE | rest

    put(Form.LOAD, 0x10 if is_scalar else 0x28, of_type, rest=0)
    put(Form.STORE, 0x11 if is_scalar else 0x29, of_type, rest=0)
    put(Form.MOVE, 0x28, packed, rest=0)
    put(Form.SQRT, 0x51, of_type, rest=is_scalar << SOURCE)
    for form, opcode in {
        Form.ADD: 0x58, Form.SUB: 0x5C, Form.MUL: 0x59, Form.DIV: 0x5E, Form.MIN: 0x5D, Form.MAX: 0x5F,
    }.items():  # fmt: skip
        put(form, opcode, of_type)
    for form, opcode in {Form.AND: 0x54, Form.OR: 0x56, Form.XOR: 0x57, Form.KEEP: 0x54}.items():
        put(form, opcode, packed)
    put(Form.COMPARE, 0xC2, of_type, rest=1 << SOURCE | 1 << IMMEDIATE)
    put(Form.BLEND, 0x4B if bits == 64 else 0x4A, 1, table=3, rest=1 << SOURCE | 1 << IMMEDIATE)
    for first, opcode in {Form.FMADD132: 0x98, Form.FMSUB132: 0x9A, Form.FNMADD132: 0x9C}.items():
        for number in range(3):
            put(first + number, opcode + 0x10 * number + is_scalar, 1, table=2, wide=bits == 64)
    return words


def wide_encodings(bits: int, is_scalar: bool) -> np.ndarray:
    """`encodings` of AVX-512: W says which type, and masks have registers of their own.

    MASKS is set where an instruction obeys one: BLEND, and KEEP, which is a load then.
    """
    packed = encodings(bits, is_scalar=False)
    words = encodings(bits, is_scalar)
    words[Form.KEEP] = packed[Form.LOAD] | 1 << MASKS
    words[Form.BLEND] = 0x65 << OPCODE | 2 << MAP | 1 << PREFIX | 1 << SOURCE | 1 << MASKS
    words[Form.SPREAD] = (0x19 if bits == 64 else 0x18) << OPCODE | 2 << MAP | 1 << PREFIX
    return words & ~(1 << WIDE) | (bits == 64) << WIDE
