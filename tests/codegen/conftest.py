"""Drivers are loaded before any test looks at what a kernel leaves in its cache directory: they are kept there, too."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.codegen.runtime.native import build_native
from sarrus.codegen.tape.graph import Graph
from sarrus.codegen.tape.tape import Port, tape_of


@pytest.fixture(scope="session", autouse=True)
def _drivers_are_loaded() -> None:
    """Of one lane and of a batch, with functions that are rare and without."""
    for function in (np.sin, np.exp):
        graph = Graph()
        tape = tape_of(graph, (Port("x", (1,)),), {"y": function(graph.inputs(0, 1))})
        for dtype in ("float64", "float32"):
            build_native(tape, dtype).run([np.zeros((2, 1), dtype)], [np.zeros((2, 1), dtype)], 2)
