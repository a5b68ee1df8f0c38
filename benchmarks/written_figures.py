"""Figures in pages: what a benchmark measured goes between two comments of a page, so that no number is typed."""

from __future__ import annotations

import platform
import re
import time
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def cpu() -> str:
    """The name of the processor, which may say little, and its family and model."""
    info = Path("/proc/cpuinfo")
    pairs = (line.partition(":") for line in reversed(info.read_text().splitlines() if info.is_file() else []))
    known = {key.strip(): value.strip() for key, _, value in pairs}
    if "model name" not in known:
        return platform.machine()
    return f"{known['model name']} (family {known.get('cpu family', '?')}, model {known.get('model', '?')})"


def measured(script: str, cores: str = "one core") -> str:
    """The sentence above a table of times: when, where, and by which command."""
    when = time.strftime("%Y-%m-%d", time.gmtime())
    return f"Measured on {when} on {cores} of this processor: {cpu()} (`python -m benchmarks.{script} --write`)."


def computed(script: str) -> str:
    """The same above what does not depend on the processor."""
    return f"Computed on {time.strftime('%Y-%m-%d', time.gmtime())} (`python -m benchmarks.{script} --write`)."


def figures(page: str, name: str) -> str:
    """What is between `<!-- NAME figures -->` and `<!-- end -->` in a page of docs/."""
    found = re.findall(rf"<!-- {name} figures -->\n(.*?)<!-- end -->", (DOCS / page).read_text(), re.DOTALL)
    assert len(found) == 1, f"{page} has no place for the figures of {name}"
    return found[0]


def write_figures(page: str, name: str, text: str) -> None:
    """Replace what `figures` gives."""
    path, before = DOCS / page, figures(page, name)
    mark = f"<!-- {name} figures -->\n"
    path.write_text(path.read_text().replace(f"{mark}{before}<!-- end -->", f"{mark}{text.strip()}\n<!-- end -->"))
