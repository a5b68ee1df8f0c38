"""Values that objects compute once: safe in threads and after a fork."""

from __future__ import annotations

import ast
import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import sarrus
from sarrus.once import cached_property


class Slow:
    def __init__(self, begun: threading.Event, go_on: threading.Event) -> None:
        self.begun, self.go_on = begun, go_on

    @cached_property
    def value(self) -> list[int]:
        """A value."""
        self.begun.set()
        self.go_on.wait(60)
        return []


def test_it_is_computed_once_and_documented():
    done = threading.Event()
    done.set()
    slow = Slow(done, done)
    assert slow.value is slow.value
    assert "value" in vars(slow)
    assert Slow.value.__doc__ == "A value."


def test_threads_that_ask_at_once_get_the_same():
    begun, go_on = threading.Event(), threading.Event()
    slow = Slow(begun, go_on)
    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(lambda: slow.value) for _ in range(8)]
        begun.wait(60)
        go_on.set()
    assert len({id(x.result()) for x in found}) == 1


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
def test_a_fork_while_another_thread_computes():
    """With a lock per property, the child would wait for a thread that it does not have."""
    begun, go_on, done = threading.Event(), threading.Event(), threading.Event()
    done.set()
    slow, other = Slow(begun, go_on), Slow(done, done)
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    begun.wait(60)
    child = multiprocessing.get_context("fork").Process(target=lambda: other.value)
    child.start()
    child.join(30)
    alive = child.is_alive()
    child.kill()
    go_on.set()
    thread.join()
    assert not alive
    assert child.exitcode == 0


def test_nobody_uses_the_one_with_a_lock():
    for path in Path(sarrus.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "functools":
                assert "cached_property" not in [name.name for name in node.names], path
