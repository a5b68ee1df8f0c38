"""LLVM, in process, through llvmlite: the only file that imports it."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import llvmlite.binding as llvm

# The tape is already optimised and scheduled: LLVM's own passes find nothing in it, and its higher levels of code
# generation make the same code in twice the time.
CODEGEN_LEVEL = 1


@functools.cache
def _target_machine() -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=CODEGEN_LEVEL,
        reloc="pic",
        codemodel="small",
    )


def host_features() -> dict[str, bool]:
    """What this processor has, by LLVM's names."""
    return dict(llvm.get_host_cpu_features())


def compile_object(ir: str) -> bytes:
    """Object code of a module for this machine."""
    machine = _target_machine()
    context = llvm.create_context()
    module = llvm.parse_assembly(ir, context)
    return machine.emit_object(module)


def compile_assembly(ir: str) -> str:
    """The same as assembler text, to be read and counted."""
    return _target_machine().emit_assembly(llvm.parse_assembly(ir, llvm.create_context()))


_library_number = itertools.count()


@functools.cache
def _linker() -> Any:
    return llvm.create_lljit_compiler(_target_machine())


def load_object(obj: bytes, names: list[str]) -> tuple[Any, dict[str, int]]:
    """Load object code with LLVM's linker: what keeps it alive, and the addresses of the named functions."""
    builder = llvm.JITLibraryBuilder().add_object_img(obj).add_current_process()
    for name in names:
        builder.export_symbol(name)
    library = builder.link(_linker(), f"sarrus_{next(_library_number)}")
    return library, {name: library[name] for name in names}
