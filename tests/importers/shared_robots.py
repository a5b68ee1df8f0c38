"""Third-party robots that are not in the repository: tests that need them are skipped where they are not."""

import os
from pathlib import Path

import pytest

ROBOTS = Path(os.environ.get("SARRUS_SHARED", Path(__file__).resolve().parents[2].parent / "shared")) / "robots"


def shared_file(path: str) -> Path:
    """A file of ../shared/robots (or $SARRUS_SHARED/robots), or a skipped test."""
    file = ROBOTS / path
    if not file.exists():
        pytest.skip(f"needs the shared robots: {path} is not there")
    return file
