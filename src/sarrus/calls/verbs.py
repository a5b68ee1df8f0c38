"""What calling, counting and compiling an algorithm does: told to the registry, which lies below and cannot know."""

from __future__ import annotations

from typing import Any

from sarrus.calls.eager import call
from sarrus.codegen.tape.trace import op_count
from sarrus.registry.algorithm import install


def install_verbs() -> None:
    install(call=call, op_count=op_count, compile=_compile)


def _compile(*args: Any, **options: Any) -> Any:
    from sarrus.codegen.runtime.compile import compile  # brings LLVM, which not every program needs

    return compile(*args, **options)
