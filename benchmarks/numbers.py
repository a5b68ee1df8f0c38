"""`make numbers`: rewrites the facts and exact operation counts on the page of every algorithm.

    python -m benchmarks.numbers [--check]

Each page of docs/algorithms has a block between two comments. A missing page is started from the docstring. A test
compares all blocks with the code, and so does `--check`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from inspect import Parameter, cleandoc
from pathlib import Path

import sarrus
from benchmarks.command_line import parser_of
from benchmarks.count_table import CONTACTS
from benchmarks.geared_robots import mini_cheetah
from benchmarks.loop_systems import MissingFileError
from benchmarks.pv_table2 import constrained
from benchmarks.robots import shared_directory, tree_of, urdf_path
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


def tree(name: str) -> Model | None:
    path = urdf_path(name)
    return None if path is None else tree_of(path, floating_base=True)


def welded(name: str) -> Model | None:
    robot = tree(name)
    return None if robot is None else constrained(robot, name, CONTACTS[name])


def with_loops(file: str) -> Model | None:
    path = shared_directory() / "robots" / file
    return sarrus.load(path) if path.is_file() else None


def geared() -> Model | None:
    try:
        return sarrus.embed(mini_cheetah())
    except MissingFileError:
        return None


# Robots whose files are not ours. Where one is missing, the count that the page has is kept.
TREES: dict[str, Callable[[], Model | None]] = {"Talos": lambda: tree("talos_full_v2"), "Go1": lambda: tree("go1")}
HELD: dict[str, Callable[[], Model | None]] = {
    "Talos, feet and hands welded": lambda: welded("talos_full_v2"),
    "Go1 on four points": lambda: welded("go1"),
}
LOOPED: dict[str, Callable[[], Model | None]] = {
    "Cassie": lambda: with_loops("cassie/cassie.xml"),
    "Digit": lambda: with_loops("digit/digit-v3.xml"),
}
EMBEDDED: dict[str, Callable[[], Model | None]] = {"Mini Cheetah, rotors embedded": lambda: geared()}


def robots_of(algorithm: sarrus.Algorithm) -> dict[str, Callable[[], Model | None]]:
    """The robots on which an algorithm is counted: what it is used for, and what takes seconds to trace at most."""
    if "frame" in algorithm.options or algorithm.name in ("project", "expand", "reduce", "hybrid"):
        return {}
    if algorithm.name == "forward_dynamics_derivatives":
        return {"Go1 on four points": HELD["Go1 on four points"]}
    if not algorithm.supports & (sarrus.Feature.ROWS | sarrus.Feature.EMBEDDED):
        return TREES
    if not algorithm.supports & sarrus.Feature.ROWS:
        return EMBEDDED
    return HELD | LOOPED if sarrus.Feature.LOOPS in algorithm.supports else HELD


@cache
def model_of(name: str) -> Model | None:
    return next(kind[name] for kind in (MODELS, TREES, HELD, LOOPED, EMBEDDED) if name in kind)()


def counts(algorithm: sarrus.Algorithm, page: str = "", robots: bool = True) -> dict[str, str]:
    """Exact operations on the models that it is meant for. Of robots that are not asked for, or whose files are
    missing, as the page has them."""
    found: dict[str, str] = {}
    constrained = bool(algorithm.supports & (sarrus.Feature.ROWS | sarrus.Feature.EMBEDDED))
    small = [name for name in MODELS if constrained != (name == "`zoo.chain(7)`")]
    for name in (*small, *robots_of(algorithm)):
        model = model_of(name) if robots or name in small else None
        if model is None:
            before = re.search(rf"^\| operations on {re.escape(name)} \| (.*) \|$", page, flags=re.MULTILINE)
            if before:
                found[name] = before[1]
            continue
        options = {"frame": model.frame_names[-1], "weight": 1e6}
        try:
            check_model(algorithm, model)
            count = algorithm.op_count(model, **{k: v for k, v in options.items() if k in algorithm.options})
        except SarrusError:
            continue
        further = f", of which {count.per_iteration:,} per iteration" if count.per_iteration else ""
        if count.total:  # nothing to do is no count
            found[name] = f"{count.total:,}{further}"
    return found


def block(algorithm: sarrus.Algorithm, page: str = "", robots: bool = True) -> str:
    """The facts, as the algorithm itself states them."""
    rows = [("cost", f"{algorithm.cost}"), ("supports", str(algorithm.supports))]
    if algorithm.references:
        rows.append(("references", f"{', '.join(algorithm.references)} (`sarrus cite {algorithm.name}` prints them)"))
    rows += [(f"operations on {name}", n) for name, n in counts(algorithm, page, robots).items()]
    table = [f"| {a} | {b} |" for a, b in rows]
    return "\n".join([BEGIN, "| | |", "|---|---|", *table, END])


def begun(algorithm: sarrus.Algorithm) -> str:
    """A page started from the docstring."""
    doc = (algorithm.text.__doc__ or "").strip()
    summary, _, rest = doc.partition("\n")
    bare = (p.replace(annotation=Parameter.empty) for p in algorithm.signature.parameters.values())
    lines = [f"# {algorithm.name}", "", f"`sarrus.{algorithm.name}({', '.join(map(str, bare))})`", "", summary, ""]
    more = "The [API reference](../reference.md) describes all arguments."
    lines += [with_tables(cleandoc(rest)), "", more, "", "## Facts and counts", block(algorithm)]
    return "\n".join(lines) + "\n"


def written(algorithm: sarrus.Algorithm, robots: bool = True) -> str:
    """The page as it should be; without `robots`, their counts are left as they are."""
    path = PAGES / f"{algorithm.name}.md"
    if not path.is_file():
        return begun(algorithm)
    text = path.read_text()
    if BEGIN in text:
        return text[: text.index(BEGIN)] + block(algorithm, text, robots) + text[text.index(END) + len(END) :]
    return f"{text.rstrip()}\n\n## Facts and counts\n{block(algorithm)}\n"


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--check", action="store_true", help="only say what is stale; the exit code is 1 if anything is"
    )
    check = parser.parse_args().check
    stale = []
    for name, algorithm in sarrus.catalog().items():
        path = PAGES / f"{name}.md"
        text = written(algorithm)
        if not path.is_file() or path.read_text() != text:
            stale.append(name)
            if not check:
                path.write_text(text)
    print(f"{len(stale)} pages {'are stale' if check else 'rewritten'}: {', '.join(stale) or 'none'}")
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main())
