"""What compiling and running kernels costs in memory: measured in processes of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")

PEAK = """
def peak():
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith("VmHWM")).split()[1]) / 1024.0
"""


def megabytes(script: str) -> float:
    run = subprocess.run([sys.executable, "-c", PEAK + script], capture_output=True, text=True, check=True, timeout=240)
    return float(run.stdout)


def test_a_large_batch_needs_no_more_than_its_arrays():
    extra = megabytes(
        "import numpy as np, sarrus\n"
        "model = sarrus.zoo.tree(12, 3, floating=True)\n"
        "kernel = sarrus.compile(model, 'aba')\n"
        "q, v = sarrus.random_state(model, 0, batch=1000)\n"
        "q, v = np.tile(q, (300, 1)), np.tile(v, (300, 1))\n"
        "tau, out = np.zeros_like(v), np.zeros_like(v)\n"
        "before = peak()\n"
        "kernel(q, v, tau, out=out, threads=2)\n"
        "print(peak() - before)\n"
    )
    assert extra < 50.0


def test_compiling_a_long_robot_stays_small():
    used = megabytes("import sarrus\nsarrus.compile(sarrus.zoo.chain(60), 'aba', cache=False)\nprint(peak())\n")
    assert used < 1000.0
