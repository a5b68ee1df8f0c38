"""`sarrus cache`: compiled kernels on disk."""

from __future__ import annotations

import json

import typer

from sarrus.cli import arguments
from sarrus.codegen.runtime.cache import cache_clear, cache_info

cache = typer.Typer(
    help="Compiled kernels on disk: where they are, how large they are, and how to delete them.", no_args_is_help=True
)


@cache.command()
def info(as_json: arguments.AsJson = False) -> None:
    """Where compiled kernels are kept, how many there are and how large they may grow."""
    found = cache_info()
    if as_json:
        values = {
            "directory": None if found.directory is None else str(found.directory),
            "files": found.files,
            "bytes": found.bytes,
            "limit": found.limit_bytes,
        }
        typer.echo(json.dumps(values))
        return
    typer.echo(f"directory  {found.directory or 'none'}  (set SARRUS_CACHE_DIR to move it, or to off)")
    typer.echo(f"files      {found.files}, {found.bytes / 1e6:.1f} MB of at most {found.limit_bytes / 1e6:.0f} MB")


@cache.command()
def clear() -> None:
    """Delete all compiled kernels. They are compiled again when needed."""
    typer.echo(f"removed {cache_clear()} files")
