"""Machine code as a flat block of bytes that runs wherever it is put.

Kernels reach everything outside themselves through pointers that they are given. So their object file can be linked,
once, into bytes without relocations, and a cached kernel is loaded by copying it into executable memory: a millisecond,
without starting LLVM (whose library alone takes fifty).
Where that is not possible (other object formats), LLVM loads the object file.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
import sys

_ALLOCATED = 2  # SHF_ALLOC
_CODE_OR_DATA, _SYMBOLS, _RELOCATIONS = 1, 2, 4  # SHT_PROGBITS, SHT_SYMTAB, SHT_RELA
_RELATIVE = (2, 4)  # R_X86_64_PC32, R_X86_64_PLT32
_FUNCTION_ALIGNMENT = 16
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")


class NotFlatError(Exception):
    """This object file needs a real loader."""


def link_flat(obj: bytes, names: list[str]) -> tuple[bytes, dict[str, int]]:
    """The sections of an x86-64 ELF object side by side, and where the named functions are in them."""
    if obj[:5] != b"\x7fELF\x02" or struct.unpack_from("<H", obj, 18)[0] != 62:
        raise NotFlatError("not an x86-64 ELF object")
    table, size, count = struct.unpack_from("<Q", obj, 40)[0], *struct.unpack_from("<HH", obj, 58)
    sections = [_SECTION.unpack_from(obj, table + i * size) for i in range(count)]
    image = bytearray()
    place: dict[int, int] = {}
    for i, (_, kind, flags, _, offset, length, _, _, align, _) in enumerate(sections):
        if kind == _CODE_OR_DATA and flags & _ALLOCATED:
            image += b"\xcc" * (-len(image) % max(align, 64))
            place[i] = len(image)
            image += obj[offset : offset + length]

    (symbol_section,) = (s for s in sections if s[1] == _SYMBOLS)
    strings = sections[symbol_section[6]][4]
    symbols = [_SYMBOL.unpack_from(obj, symbol_section[4] + k) for k in range(0, symbol_section[5], _SYMBOL.size)]
    for _, kind, _, _, offset, length, _, target, _, _ in sections:
        if kind != _RELOCATIONS or target not in place:
            continue
        for k in range(offset, offset + length, _RELOCATION.size):
            where, info, addend = _RELOCATION.unpack_from(obj, k)
            _, _, _, section, value, _ = symbols[info >> 32]
            if info & 0xFFFFFFFF not in _RELATIVE or section not in place:
                raise NotFlatError(f"relocation {info & 0xFFFFFFFF} to section {section}")
            position = place[target] + where
            struct.pack_into("<i", image, position, place[section] + value + addend - position)

    def name_of(symbol: tuple) -> str:
        start = strings + symbol[0]
        return obj[start : obj.index(b"\0", start)].decode()

    found = {name_of(s): place[s[3]] + s[4] for s in symbols if s[3] in place}
    return bytes(image), {name: found[name] for name in names}


def side_by_side(functions: list[bytes]) -> tuple[bytes, list[int]]:
    """Functions that need nothing from outside themselves as one image, and where each begins."""
    image, places = bytearray(), []
    for code in functions:
        image += b"\xcc" * (-len(image) % _FUNCTION_ALIGNMENT)
        places.append(len(image))
        image += code
    return bytes(image), places


class ExecutableMemory:
    """A copy of a flat image that can be called, as long as this object lives."""

    def __init__(self, image: bytes) -> None:
        if sys.platform == "win32":
            raise NotFlatError("flat images are loaded with mmap")
        self._memory = mmap.mmap(-1, max(1, len(image)), prot=mmap.PROT_READ | mmap.PROT_WRITE)
        self._memory.write(image)
        self._view = ctypes.c_char.from_buffer(self._memory)
        self.address = ctypes.addressof(self._view)
        mprotect = ctypes.CDLL(None, use_errno=True).mprotect
        mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        length = -(-len(image) // mmap.PAGESIZE) * mmap.PAGESIZE
        if mprotect(self.address, length, mmap.PROT_READ | mmap.PROT_EXEC):
            raise OSError(ctypes.get_errno(), "this system does not allow new executable memory")
