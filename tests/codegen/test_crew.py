"""Threads that share a batch: every state exactly once, awake or asleep, for one caller or many."""

from __future__ import annotations

import ctypes
import threading
import time

import numpy as np
import pytest

from sarrus.codegen.runtime import crew

_LOG = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p
)


def taken(count: int, lanes: int, threads: int, seconds: float = 0.0) -> tuple[np.ndarray, set[int], set[tuple]]:
    """How often each state was worked on, by which threads, with which arguments."""
    times, by, arguments = np.zeros(count, dtype=int), set(), set()

    def work(a, b, first, n, c, d):
        times[first : first + n] += 1
        by.add(threading.get_ident())
        arguments.add((a, b, c, d))
        assert first % lanes == 0
        time.sleep(seconds)

    function = _LOG(work)
    address = ctypes.cast(function, ctypes.c_void_p).value
    crew.share(address, [(k + 1, 2, 3, 10 * k + 4) for k in range(threads)], count, lanes)
    return times, by, arguments


@pytest.mark.parametrize("count", [1, 3, 4, 5, 1000, 4099])
@pytest.mark.parametrize("threads", [1, 2, 3, 9])
def test_every_state_once(count, threads):
    times, _, arguments = taken(count, 4, threads)
    assert (times == 1).all()
    assert arguments <= {(k + 1, 2, 3, 10 * k + 4) for k in range(threads)}


def test_the_threads_work_at_once_each_with_its_own_arguments():
    _, by, arguments = taken(4000, 4, 3, seconds=0.001)
    assert len(by) == 3
    assert len(arguments) == 3


def test_a_sleeping_thread_is_woken(monkeypatch):
    monkeypatch.setattr(crew, "LOOKS", 1)  # they fall asleep at once
    for pause in (0.0, 0.01, 0.0, 0.02):
        time.sleep(pause)
        assert (taken(64, 1, 3)[0] == 1).all()


def test_an_interrupted_caller_waits_for_the_others(monkeypatch):
    """They still write into its arrays."""
    finished = []
    original = crew._Worker.wait

    def wait(self):
        if not finished:
            finished.append("interrupted")
            raise KeyboardInterrupt
        original(self)
        finished.append("waited")

    monkeypatch.setattr(crew._Worker, "wait", wait)
    with pytest.raises(KeyboardInterrupt):
        taken(400, 4, 3, seconds=0.001)
    assert finished == ["interrupted", "waited", "waited"]


def test_many_callers_at_once():
    failures = []

    def caller() -> None:
        for _ in range(30):
            if not (taken(500, 4, 3)[0] == 1).all():
                failures.append(threading.get_ident())

    callers = [threading.Thread(target=caller) for _ in range(4)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    assert not failures


def test_a_thread_that_gets_no_core_is_not_waited_for_and_works_later(monkeypatch):
    """As on a busy machine: its jobs are withdrawn, and it never touches them."""
    gate = threading.Event()

    class Late(crew._Worker):
        def _live(self):
            gate.wait()
            super()._live()

    free = [Late()]
    monkeypatch.setattr(crew, "_free_workers", lambda process: free)
    for _ in range(3):
        times, by, _ = taken(400, 4, 2)
        assert (times == 1).all()
        assert by == {threading.get_ident()}
    gate.set()
    for _ in range(50):
        times, by, _ = taken(400, 4, 2, seconds=0.001)
        assert (times == 1).all()
        if len(by) == 2:
            return
    pytest.fail("it never worked again")
