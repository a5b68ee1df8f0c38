"""LLVM, in process, through llvmlite: the only file that imports it."""

from __future__ import annotations

import functools
import itertools
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

import llvmlite.binding as llvm

Function = TypeVar("Function", bound=Callable[..., Any])

# The tape is already optimised and scheduled: LLVM's own passes find nothing in it, and its higher levels of code
# generation make the same code in twice the time. At level 0 it takes an eighth of the time, for code without loops to
# speak of.
CODEGEN_LEVEL, QUICK = 1, 0

# LLVM has locks of its own. A process that forks while another thread is in LLVM has a child in which they stay locked:
# so whoever forks waits until nobody is.
_llvm = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_llvm.acquire, after_in_parent=_llvm.release, after_in_child=_llvm.release)


def _alone(function: Function) -> Function:
    """One thread at a time, and no fork meanwhile."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with _llvm:
            return function(*args, **kwargs)

    return cast(Function, wrapped)


@functools.cache
def _target_machine(level: int = CODEGEN_LEVEL) -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=level,
        reloc="pic",
        codemodel="small",
    )


@_alone
def host_features() -> dict[str, bool]:
    """What this processor has, by LLVM's names."""
    return dict(llvm.get_host_cpu_features())


@_alone
def compile_object(ir: str, optimize: bool = False, level: int = CODEGEN_LEVEL) -> bytes:
    """Object code of a module for this machine. optimize: what is written as plainly as loops and variables in memory.

    Of LLVM's passes, four at most: all of them would take four times as long, and the loops that they unroll are short
    ones, so that kernels were slower (Go1's `aba` by 6 %).
    """
    machine = _target_machine(level)
    context = llvm.create_context()
    module = llvm.parse_assembly(ir, context)
    if optimize:
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        passes = llvm.create_new_module_pass_manager()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        if level > QUICK:
            passes.add_instruction_combine_pass()
            passes.add_new_gvn_pass()
        passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return machine.emit_object(module)


_library_number = itertools.count()


@functools.cache
def _linker() -> Any:
    return llvm.create_lljit_compiler(_target_machine())


@_alone
def load_object(obj: bytes, names: list[str]) -> tuple[Any, dict[str, int]]:
    """Load object code with LLVM's linker: what keeps it alive, and the addresses of the named functions."""
    builder = llvm.JITLibraryBuilder().add_object_img(obj).add_current_process()
    for name in names:
        builder.export_symbol(name)
    library = builder.link(_linker(), f"sarrus_{next(_library_number)}")
    return library, {name: library[name] for name in names}
