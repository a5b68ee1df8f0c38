"""`make numbers`: rewrites what scripts say in the docs: facts and exact operation counts of every algorithm's page.

    python -m benchmarks.numbers [--check]

Each page of docs/algorithms has a block between two comments; pages that are missing are begun from the docstring. A
test compares the blocks of a few algorithms, and `--check` all of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from inspect import Parameter, cleandoc
from pathlib import Path

import sarrus
from docs_site.argument_tables import with_tables
from sarrus.errors import SarrusError
from sarrus.model.model import Model
from sarrus.registry.table import check_model

PAGES = Path(__file__).resolve().parents[1] / "docs" / "algorithms"
BEGIN, END = "<!-- numbers: written by `make numbers` -->", "<!-- end of numbers -->"
MODELS: dict[str, Callable[[], Model]] = {
    "`zoo.chain(7)`": lambda: sarrus.zoo.chain(7),
    "`zoo.chain_welded_tip(7)`": lambda: sarrus.zoo.chain_welded_tip(7),
    "`zoo.four_bar()`": sarrus.zoo.four_bar,
    "`embed(zoo.four_bar())`": lambda: sarrus.embed(sarrus.zoo.four_bar()),
}
OPTIONS = {"frame": "tip"}


@cache
def model_of(name: str) -> Model:
    return MODELS[name]()


def counts(algorithm: sarrus.Algorithm) -> dict[str, int]:
    """Exact operations on the models that it is for."""
    found: dict[str, int] = {}
    constrained = bool(algorithm.supports & (sarrus.Feature.ROWS | sarrus.Feature.EMBEDDED))
    for name in MODELS:
        model = model_of(name)
        if constrained == (name == "`zoo.chain(7)`"):
            continue
        options = {k: v for k, v in OPTIONS.items() if k in algorithm.options}
        try:
            check_model(algorithm, model)
            found[name] = algorithm.op_count(model, **options).total
        except SarrusError:
            continue
    return found


def block(algorithm: sarrus.Algorithm) -> str:
    """The facts, as the algorithm itself says them."""
    rows = [("cost", f"{algorithm.cost}"), ("takes into account", str(algorithm.supports))]
    if algorithm.references:
        rows.append(("references", f"{', '.join(algorithm.references)}: `sarrus cite {algorithm.name}`"))
    rows += [(f"operations, {name}", f"{n:,}") for name, n in counts(algorithm).items()]
    table = [f"| {a} | {b} |" for a, b in rows]
    return "\n".join([BEGIN, "| | |", "|---|---|", *table, END])


def begun(algorithm: sarrus.Algorithm) -> str:
    """A page from the docstring."""
    doc = (algorithm.text.__doc__ or "").strip()
    summary, _, rest = doc.partition("\n")
    bare = (p.replace(annotation=Parameter.empty) for p in algorithm.signature.parameters.values())
    lines = [f"# {algorithm.name}", "", f"`sarrus.{algorithm.name}({', '.join(map(str, bare))})`", "", summary, ""]
    told = "Everything about its arguments: [API reference](../reference.md)."
    lines += [with_tables(cleandoc(rest)), "", told, "", block(algorithm)]
    return "\n".join(lines) + "\n"


def written(algorithm: sarrus.Algorithm) -> str:
    """The page as it should be."""
    path = PAGES / f"{algorithm.name}.md"
    if not path.is_file():
        return begun(algorithm)
    text = path.read_text()
    if BEGIN in text:
        return text[: text.index(BEGIN)] + block(algorithm) + text[text.index(END) + len(END) :]
    return f"{text.rstrip()}\n\n## Facts and counts\n{block(algorithm)}\n"


def main(arguments: list[str]) -> int:
    stale = []
    for name, algorithm in sarrus.catalog().items():
        path = PAGES / f"{name}.md"
        text = written(algorithm)
        if not path.is_file() or path.read_text() != text:
            stale.append(name)
            if "--check" not in arguments:
                path.write_text(text)
    print(f"{len(stale)} pages {'are stale' if '--check' in arguments else 'rewritten'}: {', '.join(stale) or 'none'}")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
