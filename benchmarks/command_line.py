"""The command line of a benchmark: `--help` prints its docstring and does no work; an unknown option is an error."""

from __future__ import annotations

import argparse


def parser_of(docstring: str | None, writes: str | None = None) -> argparse.ArgumentParser:
    """A parser without options but `--help`, and `--write` where there is a page of docs/ to write into."""
    parser = argparse.ArgumentParser(description=docstring, formatter_class=argparse.RawDescriptionHelpFormatter)
    if writes is not None:
        parser.add_argument("--write", action="store_true", help=f"put the results into docs/{writes}")
    return parser
