"""A hang is what a process does, not what a busy machine does to it."""

from __future__ import annotations

import queue
import signal
import subprocess
import sys
import time

import pytest

from benchmarks.adversary.patience import Patience, next_line

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")


@pytest.fixture
def process():
    """A function that starts Python with this text; what was started ends with the test."""
    started = []

    def start(text: str) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([sys.executable, "-S", "-c", text], stdin=subprocess.PIPE))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.communicate()


def hangs(of: subprocess.Popen[bytes], seconds: float, wait: float) -> bool:
    """Whether patience of so many seconds is over while somebody waits so long."""
    patience, end = Patience(of.pid, seconds), time.monotonic() + wait
    while time.monotonic() < end:
        time.sleep(0.05)
        if patience.is_over():
            return True
    return False


def test_what_computes_or_sleeps_hangs(process):
    assert hangs(process("while True: pass"), 0.3, 30.0)
    assert hangs(process("import sys; sys.stdin.read()"), 0.3, 30.0)


def test_what_is_paused_does_not(process):
    paused = process("while True: pass")
    time.sleep(0.2)
    paused.send_signal(signal.SIGSTOP)
    time.sleep(0.1)
    assert not hangs(paused, 0.3, 1.5)
    paused.send_signal(signal.SIGCONT)
    assert hangs(paused, 0.3, 30.0)


def test_lines_are_waited_for(process):
    lines: queue.Queue[str] = queue.Queue()
    lines.put("first")
    patience = Patience(process("import sys; sys.stdin.read()").pid, 0.3)
    assert next_line(lines, patience) == "first"
    with pytest.raises(queue.Empty):
        next_line(lines, patience)
