"""Native code that belongs to no kernel: compiled once per machine, loaded once per process, never unloaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sarrus.codegen.emit.image import ExecutableMemory, NotFlatError, link_flat
from sarrus.codegen.runtime import cache as disk
from sarrus.codegen.runtime import cache_names

_loaded: list[Any] = []


def load_module(
    name: str, variant: str, ir: Callable[[], str], entries: list[str], is_hot: bool = True
) -> dict[str, int]:
    """Addresses of the functions `entries` of a module, from the disk cache or compiled now; `is_hot`: with care."""
    key = cache_names.key(name, variant)
    found = disk.load(key, lambda obj: placed(obj, entries))
    if found is None:
        from sarrus.codegen.emit import jit

        obj = jit.compile_object(ir(), optimize=True, level=jit.CODEGEN_LEVEL if is_hot else jit.QUICK)
        disk.save(key, obj)
        found = placed(obj, entries)
    memory, addresses = found
    _loaded.append(memory)
    return addresses


def placed(obj: bytes, entries: list[str]) -> tuple[Any, dict[str, int]]:
    """Object code in memory, for as long as the first result is kept, and the addresses of its functions `entries`."""
    try:
        image, places = link_flat(obj, entries)
    except NotFlatError:
        from sarrus.codegen.emit.jit import load_object

        return load_object(obj, entries)
    memory = ExecutableMemory(image)
    return memory, {entry: memory.address + place for entry, place in places.items()}
