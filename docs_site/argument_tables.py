"""Lists of arguments in our docstrings, "name  what it is", as Markdown tables."""

from __future__ import annotations

import re

_ENTRY = re.compile(r"^(?P<names>[\w.*]+(?:, [\w.*]+)*) {2,}(?P<words>\S.*)$")


def with_tables(text: str) -> str:
    """Entries as tables; an entry goes on in lines that are indented. Examples and tables stay as they are."""
    out: list[str] = []
    rows: list[list[str]] = []

    def finish() -> None:
        if rows:
            lines = (f"| `{name}` | {words.replace('|', '/')} |" for name, words in rows)
            out.extend(["", "| | |", "|---|---|", *lines, ""])
            rows.clear()

    inside = False
    for line in text.splitlines():
        found = _ENTRY.match(line)
        if line.lstrip().startswith((">>>", "|", "```")) or inside:
            inside = line.lstrip().startswith(">>>") or (inside and bool(line.strip()))
            finish()
            out.append(line)
        elif found:
            rows.append([found["names"], found["words"]])
        elif rows and line.startswith("  "):
            rows[-1][1] += " " + line.strip()
        else:
            finish()
            out.append(line)
    finish()
    return "\n".join(out)
