"""`make notebooks`: a notebook per chapter of the tutorial, from its Markdown, executed; into build/notebooks.

    python -m docs_site.notebooks [--out build/notebooks]

The text exists once, in docs/tutorial.md. Each chapter stands on its own.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

TUTORIAL = Path(__file__).resolve().parents[1] / "docs" / "tutorial.md"


def chapters(page: Path = TUTORIAL) -> dict[str, list[tuple[str, str]]]:
    """By title: cells, ("markdown", text) and ("code", text), in order. What stands before the first is left out."""
    _, *parts = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found: dict[str, list[tuple[str, str]]] = {}
    for part in parts:
        title, _, text = part.partition("\n")
        pieces = re.split(r"```python\n(.*?)```\n?", text, flags=re.DOTALL)
        cells = [("code" if k % 2 else "markdown", piece.strip()) for k, piece in enumerate(pieces)]
        found[title.strip()] = [(kind, cell) for kind, cell in cells if cell]
    return found


def notebook(title: str, cells: list[tuple[str, str]]) -> Any:
    """As nbformat has it, not executed."""
    from nbformat import v4

    made = [v4.new_markdown_cell(f"# {title}")]
    made += [v4.new_code_cell(text) if kind == "code" else v4.new_markdown_cell(text) for kind, text in cells]
    return v4.new_notebook(cells=made, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})


def executed(notebooks: list[Any], folder: Path) -> list[Any]:
    """One after the other in one kernel, which forgets all names in between; an error in a cell is raised."""
    from jupyter_client.manager import KernelManager
    from nbclient import NotebookClient
    from nbformat import v4

    manager = KernelManager(kernel_name="python3")
    for made in notebooks:
        made.cells.insert(0, v4.new_code_cell("%reset -f"))
        NotebookClient(made, km=manager, timeout=300, resources={"metadata": {"path": str(folder)}}).execute(
            cleanup_kc=made is notebooks[-1]
        )
        del made.cells[0]
    return notebooks


def main() -> None:
    import nbformat

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("build/notebooks"))
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    told = chapters()
    for number, (title, made) in enumerate(
        zip(told, executed([notebook(*chapter) for chapter in told.items()], folder), strict=True), start=1
    ):
        path = folder / f"{number:02d}_{re.sub(r'[^a-z]+', '_', title.lower())}.ipynb"
        nbformat.write(made, path)
        print(path)


if __name__ == "__main__":
    main()
