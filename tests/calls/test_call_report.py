"""`sarrus.call_report`: where the time of public calls went."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.errors import StateError


def test_calls_are_interpreted_then_compiled(monkeypatch, tmp_path):
    monkeypatch.setenv("SARRUS_CACHE_DIR", str(tmp_path))
    with sarrus.interpreted(False):
        model = sarrus.zoo.chain(4)
        state = np.zeros(4), np.zeros(4), np.ones(4)
        assert sarrus.call_report(model) == "nothing was called with this model"
        sarrus.aba(model, *state)
        assert sarrus.call_report(model).startswith("aba: interpreted for 0.")
        assert "compiles after" in sarrus.call_report(model)
        for _ in range(3000):
            sarrus.aba(model, *state)
        assert "then native code, compiled in" in sarrus.call_report(model)
        sarrus.frame_jacobian(model, state[0], frame="tip")
        assert "frame_jacobian, frame='tip': " in sarrus.call_report(model)
        again = sarrus.zoo.chain(4)
        sarrus.aba(again, *state)
        assert "aba: never interpreted, then native code, loaded from the cache in" in sarrus.call_report(again)


def test_what_is_no_model_is_refused():
    with pytest.raises(StateError, match="expected a sarrus Model, got int"):
        sarrus.call_report(3)
