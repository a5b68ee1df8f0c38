"""Our own sine and cosine: accuracy, huge arguments, special values, the same bits in one lane and in many."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.codegen.emit import host
from sarrus.codegen.runtime.native import build_native
from sarrus.codegen.tape.graph import Graph
from sarrus.codegen.tape.tape import Port, tape_of


def kernel(lanes: int | str = "auto", dtype: str = "float64"):
    graph = Graph()
    (x,) = graph.inputs(0, 1)
    tape = tape_of(graph, (Port("x", (1,)),), {"y": np.array([x.sin(), x.cos()], dtype=object)})
    native = build_native(tape, dtype, lanes, cache=False)

    def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = np.ascontiguousarray(x, dtype=dtype)
        y = np.empty((len(x), 2), dtype)
        native.run([x], [y], len(x))
        return y[:, 0].copy(), y[:, 1].copy()

    return evaluate


def arguments() -> np.ndarray:
    rng = np.random.default_rng(0)
    near = np.arange(-6000, 6000) * (np.pi / 2)  # where sine or cosine is nearly zero
    return np.concatenate([
        rng.uniform(-1e4, 1e4, 100_000), rng.uniform(-4, 4, 100_000), near, np.nextafter(near, np.inf),
        np.geomspace(1e-300, 1.0, 1000), [0.0, 1e4, -1e4],
    ])  # fmt: skip


@pytest.mark.parametrize("fused", [True, False])
def test_error_is_below_1e_minus_15(fused, monkeypatch):
    if not fused:
        monkeypatch.setattr(host, "has_fma", lambda: False)
    x = arguments()
    sine, cosine = kernel()(x)
    exact = x.astype(np.longdouble)
    assert np.abs(sine - np.sin(exact)).max() < 3e-16
    assert np.abs(cosine - np.cos(exact)).max() < 3e-16


def test_huge_arguments():
    rng = np.random.default_rng(1)
    x = rng.choice([-1.0, 1.0], 5000) * 10.0 ** rng.uniform(4, 308, 5000)
    x[::3] = rng.uniform(-3, 3, len(x[::3]))  # small ones in between
    sine, cosine = kernel()(x)
    np.testing.assert_allclose(sine, np.sin(x), rtol=0, atol=1e-15)
    np.testing.assert_allclose(cosine, np.cos(x), rtol=0, atol=1e-15)


def test_special_values_stay_in_their_lane():
    x = np.array([0.3, np.nan, 0.4, np.inf, -np.inf, 1e200, 0.0, 0.5])
    sine, cosine = kernel()(x)
    assert np.isnan(sine[[1, 3, 4]]).all()
    assert np.isnan(cosine[[1, 3, 4]]).all()
    good = [0, 2, 5, 6, 7]
    np.testing.assert_allclose(sine[good], np.sin(x[good]), rtol=1e-15)
    np.testing.assert_allclose(cosine[good], np.cos(x[good]), rtol=1e-15)


def test_same_bits_in_one_lane_and_in_many():
    x = np.concatenate([arguments()[::50], [1e7, 1e300, -2e6]])
    one = kernel(1)(x)
    for lanes in (2, 4, 8):
        many = kernel(lanes)(x)
        assert (one[0] == many[0]).all()
        assert (one[1] == many[1]).all()


@pytest.mark.parametrize("fused", [True, False])
def test_single_precision(fused, monkeypatch):
    if not fused:
        monkeypatch.setattr(host, "has_fma", lambda: False)
    x = np.random.default_rng(2).uniform(-1e4, 1e4, 100_000).astype(np.float32)
    sine, cosine = kernel(dtype="float32")(x)
    assert np.abs(sine - np.sin(x.astype(float))).max() < 1.5e-7
    assert np.abs(cosine - np.cos(x.astype(float))).max() < 1.5e-7
    sine, cosine = kernel(dtype="float32")(np.array([1e30, np.nan, np.inf, 3e5], dtype=np.float32))
    np.testing.assert_allclose(sine[[0, 3]], np.sin(np.float32([1e30, 3e5]).astype(float)), atol=1e-7)
    assert np.isnan(sine[1:3]).all()
