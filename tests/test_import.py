"""`import sarrus` is quick: what not every program needs is imported when it is used."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import pytest

import sarrus

LATER = [
    "sarrus.importers",
    "sarrus.zoo",
    "sarrus.simulation",
    "sarrus.viewer",
    "sarrus.codegen.runtime.kernel",
    "sarrus.codegen.runtime.compile",
]
HEAVY = ["casadi", "llvmlite", "mujoco", "pinocchio", "viser", "matplotlib", "typer", "rich"]


@cache
def loaded() -> set[str]:
    code = "import sys, sarrus; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("name", LATER + HEAVY)
def test_it_is_not_imported_before_it_is_used(name):
    assert name not in loaded()


def test_every_public_name_is_there():
    for name in sarrus.__all__:
        assert getattr(sarrus, name) is not None


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        sarrus.nonsense  # noqa: B018
