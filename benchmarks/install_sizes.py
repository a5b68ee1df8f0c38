"""What each extra brings, in megabytes: `python -m benchmarks.install_sizes` prints the table of docs/install.md.

Run it in an environment that has all extras (`make test-hooks` makes one): sizes are those of the files that pip
recorded for an extra's packages and for what these need in turn, without what the core has already.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import sarrus
from benchmarks.command_line import parser_of

EXTRAS = ("casadi", "coal", "plots", "parquet", "viewer", "peers", "jax", "torch", "gym", "ray")


def name_of(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0].lower().replace("_", "-")


def needed(name: str, extra: str | None = None, found: dict[str, set[str]] | None = None) -> set[str]:
    """A package and all that it needs, as far as it is installed."""
    found = {} if found is None else found
    try:
        requirements = distribution(name).requires or []
    except PackageNotFoundError:  # of another platform, or of another Python
        return set()
    found[name] = {name}
    for requirement in requirements:
        text, _, marker = requirement.partition(";")
        wanted = re.search(r"extra == ['\"]([\w-]+)['\"]", marker)
        if (wanted[1] if wanted else None) == extra and name_of(text) not in found:
            needed(name_of(text), None, found)
    return set(found)


def megabytes(names: set[str]) -> float:
    files = [Path(str(file.locate())) for name in names for file in distribution(name).files or ()]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def main() -> None:
    core = needed("sarrus")
    own = (
        sum(file.stat().st_size for file in Path(sarrus.__file__).parent.rglob("*.py")) / 1e6
    )  # also where it is editable
    print("| | MB | the largest of it |\n|---|---:|---|")
    for extra in (None, *EXTRAS):
        packages = core if extra is None else needed("sarrus", extra) - core
        sizes = sorted(((megabytes({name}), name) for name in packages), reverse=True)
        if not sizes:
            print(f"| `sarrus[{extra}]` | not installed here | |")
            continue
        shown = ", ".join(f"{name} {size:.0f}" for size, name in sizes[:3])
        title = "`sarrus`" if extra is None else f"+ `[{extra}]`"
        print(f"| {title} | {sum(size for size, _ in sizes):.0f} | {shown} |")
    print(f"\nSarrus itself: {own:.1f} MB.")


if __name__ == "__main__":
    parser_of(__doc__).parse_args()
    main()
