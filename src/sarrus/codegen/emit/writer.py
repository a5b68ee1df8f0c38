"""Write LLVM IR text with loops and branches in it, keeping names and labels straight."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Writer:
    """One function under construction."""

    def __init__(self, signature: str) -> None:
        # Nothing of the C library, nor tables of addresses: the code must run wherever it is put.
        self._lines = [f'define {signature} nounwind "no-builtins" "no-jump-tables"="true" {{', "entry:"]
        self._count = 0
        self.block = "entry"

    def _fresh(self) -> int:
        self._count += 1
        return self._count

    def value(self, expression: str, name: str | None = None) -> str:
        """Write `%x = expression`; the name of the result."""
        name = name or f"%x{self._fresh()}"
        self._lines.append(f" {name} = {expression}")
        return name

    def do(self, statement: str) -> None:
        self._lines.append(f" {statement}")

    def label(self, name: str) -> None:
        self._lines.append(f"{name}:")
        self.block = name

    def offset(self, pointer: str, byte_offset: str | int) -> str:
        return self.value(f"getelementptr i8, ptr {pointer}, i64 {byte_offset}")

    @contextmanager
    def loop(self, count: str | int) -> Iterator[str]:
        """`for i in range(count)`: the block inside sees i."""
        n = self._fresh()
        before, index = self.block, f"%i{n}"
        self.do(f"br label %head{n}")
        self.label(f"head{n}")
        phi = len(self._lines)
        self.do("")
        more = self.value(f"icmp ult i64 {index}, {count}")
        self.do(f"br i1 {more}, label %body{n}, label %end{n}")
        self.label(f"body{n}")
        yield index
        following = self.value(f"add i64 {index}, 1")
        self._lines[phi] = f" {index} = phi i64 [0, %{before}], [{following}, %{self.block}]"
        self.do(f"br label %head{n}")
        self.label(f"end{n}")

    def repeat(self, limit: int, begin: str) -> Callable[[str], None]:
        """Start `if begin: do ... while go_on`, `limit` times at most. The function returned ends it, given go_on."""
        n = self._fresh()
        before, index = self.block, f"%i{n}"
        self.do(f"br i1 {begin}, label %again{n}, label %end{n}")
        self.label(f"again{n}")
        phi = len(self._lines)
        self.do("")

        def end(go_on: str) -> None:
            following = self.value(f"add i64 {index}, 1")
            self._lines[phi] = f" {index} = phi i64 [0, %{before}], [{following}, %{self.block}]"
            may = self.value(f"icmp ult i64 {following}, {limit}")
            both = self.value(f"and i1 {may}, {go_on}")
            self.do(f"br i1 {both}, label %again{n}, label %end{n}")
            self.label(f"end{n}")

        return end

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """`if condition:` around the block; values made inside leave it through memory only."""
        n = self._fresh()
        self.do(f"br i1 {condition}, label %then{n}, label %end{n}")
        self.label(f"then{n}")
        yield
        self.do(f"br label %end{n}")
        self.label(f"end{n}")

    def finish(self, statement: str = "ret void") -> str:
        """The text of the function, which ends with `statement`."""
        self.do(statement)
        return "\n".join([*self._lines, "}"])
