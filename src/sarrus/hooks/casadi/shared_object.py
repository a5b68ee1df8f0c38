"""Machine code as a shared library that the system's loader takes: written here, without a linker (ELF, x86-64).

The smallest that glibc accepts: code and symbols in one segment, the dynamic section in another that may be written to.
"""

from __future__ import annotations

import struct

_PAGE = 4096
_HEADER, _PROGRAM, _SYMBOL, _DYNAMIC = (struct.Struct(x) for x in ("<16sHHIQQQIHHHHHH", "<IIQQQQQQ", "<IBBHQQ", "<qQ"))
_LOAD, _DYNAMIC_SEGMENT, _STACK = 1, 2, 0x6474E551
_READ, _WRITE, _EXECUTE = 4, 2, 1
_HASH, _STRINGS, _SYMBOLS, _STRINGS_SIZE, _SYMBOL_SIZE = 4, 5, 6, 10, 11  # tags of the dynamic section
_GLOBAL_FUNCTION = 0x12


def shared_object(image: bytes, functions: dict[str, int]) -> bytes:
    """A library with these functions, by name, at these places of an image that runs wherever it is put."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in functions)
    count = 1 + len(functions)
    strings = _HEADER.size + 4 * _PROGRAM.size
    symbols = strings + len(names) + -len(names) % 8
    hashes = symbols + count * _SYMBOL.size
    code = -(-(hashes + 4 * (3 + count)) // 64) * 64
    dynamic = -(-(code + len(image)) // _PAGE) * _PAGE
    entries = [(_HASH, hashes), (_STRINGS, strings), (_SYMBOLS, symbols), (_STRINGS_SIZE, len(names))]
    entries += [(_SYMBOL_SIZE, _SYMBOL.size), (0, 0)]
    size = _DYNAMIC.size * len(entries)
    out = bytearray(dynamic + size)
    identity = b"\x7fELF\x02\x01\x01"
    _HEADER.pack_into(out, 0, identity, 3, 62, 1, 0, _HEADER.size, 0, 0, _HEADER.size, _PROGRAM.size, 4, 64, 0, 0)
    segments = (
        (_LOAD, _READ | _EXECUTE, 0, code + len(image), _PAGE),
        (_LOAD, _READ | _WRITE, dynamic, size, _PAGE),
        (_DYNAMIC_SEGMENT, _READ | _WRITE, dynamic, size, 8),
        (_STACK, _READ | _WRITE, 0, 0, 16),
    )
    for number, (kind, rights, at, length, align) in enumerate(segments):
        _PROGRAM.pack_into(out, _HEADER.size + number * _PROGRAM.size, kind, rights, at, at, at, length, length, align)
    out[strings : strings + len(names)] = names
    place = 1
    for number, (name, at) in enumerate(functions.items(), start=1):
        # A section that is none, but not undefined: there is no table of sections.
        _SYMBOL.pack_into(out, symbols + number * _SYMBOL.size, place, _GLOBAL_FUNCTION, 0, 1, code + at, 0)
        place += len(name) + 1
    # One bucket: a chain through all symbols.
    chain = [*range(2, count), 0] if count > 1 else []
    struct.pack_into(f"<{3 + count}I", out, hashes, 1, count, 1 if functions else 0, 0, *chain)
    out[code : code + len(image)] = image
    for number, entry in enumerate(entries):
        _DYNAMIC.pack_into(out, dynamic + number * _DYNAMIC.size, *entry)
    return bytes(out)
