"""Docstrings as Markdown: lists of arguments, "name  what it is", as tables, and examples as code."""

from __future__ import annotations

import re

_ENTRY = re.compile(r"^(?P<names>[\w.*]+(?:(?:, | or )[\w.*]+)*) {2,}(?P<words>\S.*)$")


def with_tables(text: str) -> str:
    """Entries as tables; an entry goes on in lines that are indented. Tables and fences stay as they are."""
    out: list[str] = []
    rows: list[list[str]] = []
    example: list[str] = []

    def finish() -> None:
        if rows:
            lines = (f"| `{name}` | {words.replace('|', '/')} |" for name, words in rows)
            out.extend(["", "| | |", "|---|---|", *lines, ""])
        if example:
            out.extend(["", "```pycon", *example, "```", ""])
        rows.clear()
        example.clear()

    for line in text.splitlines():
        found = _ENTRY.match(line)
        if line.startswith(">>>") or (example and line.strip()):
            if not example:
                finish()
            example.append(line)
        elif line.lstrip().startswith(("|", "```")):
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
