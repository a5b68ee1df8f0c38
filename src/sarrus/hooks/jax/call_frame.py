"""Where things are in the arguments of XLA's foreign functions: offsets, from the header that jaxlib brings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from sarrus.errors import UnsupportedError, optional_package

MAJOR = 0  # of XLA's foreign function interface: what these structures mean
_SCALARS = {"size_t": 8, "int64_t": 8, "int": 4, "int32_t": 4, "uint32_t": 4}
_NEEDED = {
    "CallFrame": ("extension_start", "api", "stage", "args", "rets"),
    "Args": ("size", "args"),
    "Rets": ("size", "rets"),
    "Buffer": ("data", "rank", "dims"),
    "Extension_Base": ("type",),
    "Metadata_Extension": ("metadata",),
    "Metadata": ("api_version", "traits"),
    "Api_Version": ("major_version", "minor_version"),
    "Api": ("XLA_FFI_Error_Create",),
    "Error_Create_Args": ("struct_size", "extension_start", "message", "errc"),
}
_VALUES = ("Extension_Metadata", "ExecutionStage_EXECUTE", "Error_Code_INTERNAL", "API_MAJOR", "API_MINOR")


class CallFrame(NamedTuple):
    """Offsets in bytes by (structure, field), and the values of constants, by the header's names without XLA_FFI_."""

    at: dict[tuple[str, str], int]
    size: dict[str, int]
    value: dict[str, int]


def jax_package() -> Any:
    return optional_package("jax", "sarrus.jax needs JAX", "'sarrus[jax]'")


def installed_call_frame() -> CallFrame:
    """That of the jaxlib which is installed."""
    jax = jax_package()
    path = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    try:
        return read_call_frame(path.read_text())
    except (OSError, KeyError) as error:
        raise UnsupportedError(
            f"jax {jax.__version__}: the header of XLA's foreign functions ({path}) is not as expected: {error}"
        ) from None


def read_call_frame(header: str) -> CallFrame:
    """Of the text of `xla/ffi/api/c_api.h`. KeyError: something needed is not there."""
    text = re.sub(r"//[^\n]*", "", header)
    found = re.findall(r"#define XLA_FFI_(API_M\w+) (\d+)|XLA_FFI_(\w+) = (\d+)", text)
    value = {a or c: int(b or d) for a, b, c, d in found}
    value = {name: value[name] for name in _VALUES}
    if value["API_MAJOR"] != MAJOR:
        raise UnsupportedError(
            f"this jaxlib has version {value['API_MAJOR']}.{value['API_MINOR']} of XLA's foreign function interface; "
            f"Sarrus knows version {MAJOR}"
        )
    bodies = dict(re.findall(r"struct XLA_FFI_(\w+) \{(.*?)\n\}", text, re.DOTALL))
    small = set(re.findall(r"\}\s*XLA_FFI_(\w+);", "".join(re.findall(r"typedef enum \{.*?\} \w+;", text, re.DOTALL))))
    small |= set(re.findall(r"typedef uint32_t XLA_FFI_(\w+);", text))

    def layout(name: str) -> tuple[dict[str, int], int]:
        """Offsets of a structure's fields, and its size; every structure begins at a multiple of eight."""
        fields, end = {}, 0
        for declaration in filter(None, (x.strip() for x in bodies[name].split(";"))):
            kind, field = _field(declaration)
            size = 8 if kind == "*" else _SCALARS.get(kind, 4 if kind in small else 0) or layout(kind)[1]
            end += -end % min(size, 8)
            fields[field], end = end, end + size
        return fields, end + -end % 8

    at = {(name, field): layout(name)[0][field] for name, fields in _NEEDED.items() for field in fields}
    return CallFrame(at, {name: layout(name)[1] for name in _NEEDED}, value)


def _field(declaration: str) -> tuple[str, str]:
    """Type ("*": a pointer) and name of a field."""
    macro = re.fullmatch(r"_XLA_FFI_API_STRUCT_FIELD\((\w+)\)", declaration)
    function = re.search(r"\(\*(\w+)\)", declaration)
    pointer: Any = macro or function
    if pointer:
        return "*", pointer[1]
    kind, field = re.split(r"\s+(?=\w+$)", declaration)
    kind = re.sub(r"^(const|struct)\s+", "", kind)
    return ("*" if kind.endswith("*") else kind.removeprefix("XLA_FFI_")), field
