"""A few hundred random calls with hostile arguments: right numbers or an error in words, nothing else."""

from __future__ import annotations

import sys

from benchmarks.adversary import calls
from benchmarks.adversary.calls import FINE, run

_CHILD = """
import os, sys, time
number = int(sys.argv[1])
print("try", number, flush=True)
if number == 1:
    os.abort()
if number == 2:
    time.sleep(60)
print("right", number, flush=True)
"""


def test_hostile_calls_end_well():
    tally = run(400, seed=1)
    assert not tally.failures, "\n".join(tally.failures[:10])
    assert tally.counts.total() == 400
    assert all(tally.counts[outcome] > 40 for outcome in FINE)


def test_a_crash_and_a_hang_are_seen_and_the_rest_goes_on(monkeypatch):
    monkeypatch.setattr(calls, "_PATIENCE", 1.0)
    monkeypatch.setattr(calls, "_command", lambda seed, start, stop: [sys.executable, "-c", _CHILD, str(start)])
    monkeypatch.setattr(calls, "_watch", _one_by_one(calls._watch))
    tally = run(4)
    assert dict(tally.counts) == {"right": 2, "crash": 1, "hang": 1}
    assert [line.split(" ")[:2] for line in tally.failures] == [["crash:", "1"], ["hang:", "2"]]


def _one_by_one(watch):
    """The child above does one call."""

    def each(seed, start, stop, told):
        for number in range(start, stop):
            watch(seed, number, number + 1, told)

    return each
