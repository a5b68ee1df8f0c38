"""Our own exp, log and tanh: errors in units of the last place, special values, the same bits in any lane."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pytest

from sarrus.codegen.emit import host
from sarrus.codegen.runtime.native import build_native
from sarrus.codegen.tape.graph import Graph
from sarrus.codegen.tape.tape import Port, Tape, tape_of

NAMES = ("exp", "log", "tanh")
ULP = {"exp": 1.2, "log": 1.0, "tanh": 3.0}  # found among 1e8 numbers: 1.05, 0.85, 2.6


def tape_of_all() -> Tape:
    """One input; exp, log and tanh of it."""
    graph = Graph()
    (x,) = graph.inputs(0, 1)
    return tape_of(graph, (Port("x", (1,)),), {"y": np.array([x.exp(), x.log(), x.tanh()], dtype=object)})


@functools.cache
def kernel(
    lanes: int | str = "auto", dtype: str = "float64", threads: int = 1, fused: bool = True
) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
    with pytest.MonkeyPatch.context() as patch:
        if not fused:
            patch.setattr(host, "has_fma", lambda: False)
        native = build_native(tape_of_all(), dtype, lanes, cache=False)

    def evaluate_all(x: np.ndarray) -> dict[str, np.ndarray]:
        x = np.ascontiguousarray(x, dtype=dtype)
        y = np.empty((len(x), 3), dtype)
        native.run([x], [y], len(x), threads)
        return {name: y[:, k].copy() for k, name in enumerate(NAMES)}

    return evaluate_all


def arguments(name: str, dtype: str = "float64") -> np.ndarray:
    """Where it is hard: everywhere, near 0, near 1, near multiples of ln 2 / 2, near overflow, subnormal numbers."""
    rng = np.random.default_rng(0)
    number = np.finfo(dtype)
    n = 40_000
    tiny, huge = np.log10(float(number.smallest_subnormal)), np.log10(float(number.max))
    if name == "log":
        x = np.concatenate([
            10.0 ** rng.uniform(tiny, huge, n), rng.uniform(0.5, 2.0, n), 1.0 + 10.0 ** rng.uniform(-16, -1, n),
            1.0 - 10.0 ** rng.uniform(-16, -1, n), np.sqrt(0.5) * (1.0 + rng.uniform(-1e-14, 1e-14, 1000)),
            np.sqrt(2.0) * (1.0 + rng.uniform(-1e-14, 1e-14, 1000)), [float(number.tiny), float(number.max)],
        ])  # fmt: skip
        return x.astype(dtype)[x.astype(dtype) > 0.0]
    low, high = np.log(float(number.smallest_subnormal)), np.log(float(number.max))
    edges = np.arange(-1000, 1000) * (np.log(2.0) / 4.0)
    x = np.concatenate([
        rng.uniform(low, high, n), rng.uniform(-2.0, 2.0, n), rng.uniform(-20.0, 20.0, n),
        rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(tiny, 0, n), edges, edges * (1.0 + 1e-15),
        edges * (1.0 - 1e-15), [0.0, low, np.nextafter(high, 0.0)],
    ])  # fmt: skip
    return x.astype(dtype)


def error(name: str, x: np.ndarray, found: np.ndarray) -> float:
    """The largest, in units of the last place of the exact value."""
    exact = getattr(np, name)(x.astype(np.longdouble if x.dtype == np.float64 else np.float64))
    with np.errstate(over="ignore"):
        unit = np.spacing(np.abs(exact).astype(x.dtype)).astype(exact.dtype)
    inside = np.isfinite(unit)
    return float((np.abs(found.astype(exact.dtype) - exact) / unit)[inside].max())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("fused", [True, False])
def test_error_in_units_of_the_last_place(fused, dtype):
    evaluate_all = kernel(dtype=dtype, fused=fused)
    errors = {name: error(name, x, evaluate_all(x)[name]) for name in NAMES for x in [arguments(name, dtype)]}
    assert all(errors[name] <= ULP[name] for name in NAMES), errors


SPECIAL = [
    np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-310, -1e-310, 5e-324, -5e-324, 709.7, 710.0, -708.0, -744.0,
    -746.0, 1e4, -1e4, 1e300, -1e300, 1e-300, 19.0, 23.0, -23.0, 88.0, 89.0, -103.0, -104.0, 1e-40, 1e38,
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("lanes", [1, "auto"])
def test_special_values_are_those_of_c(dtype, lanes):
    """NaN, infinities, zeros with their signs, subnormal numbers, overflow and underflow."""
    with np.errstate(all="ignore"):
        x = np.array(SPECIAL).astype(dtype)
        found = kernel(lanes, dtype)(x)
        for name in NAMES:
            expected = getattr(np, name)(x)
            np.testing.assert_allclose(found[name], expected, rtol=4 * np.finfo(dtype).eps, atol=0.0)
            numbers = ~np.isnan(expected)
            assert (np.signbit(found[name]) == np.signbit(expected))[numbers].all(), name


def test_the_last_numbers_before_infinity_and_zero():
    x = np.log(np.finfo(float).max)
    found = kernel()(np.array([x, np.nextafter(x, np.inf), -745.13, -745.14]))["exp"]
    assert np.isfinite(found[0])
    assert np.isinf(found[1])
    assert found[2] == np.finfo(float).smallest_subnormal
    assert found[3] == 0.0


def test_a_hyperbolic_tangent_never_exceeds_one_and_keeps_small_numbers():
    x = np.concatenate([np.linspace(15.0, 25.0, 10_001), [30.0, 1e5]])
    found = kernel()(np.concatenate([x, -x]))["tanh"]
    assert np.abs(found).max() == 1.0
    small = np.geomspace(5e-324, 1e-17, 500)
    assert np.array_equal(kernel()(small)["tanh"], small)


def test_a_special_value_stays_in_its_lane():
    x = np.random.default_rng(3).uniform(0.1, 5.0, 64)
    expected = kernel()(x)
    for bad in (np.nan, np.inf, -np.inf, -1.0, 0.0):
        y = x.copy()
        y[::3] = bad
        found = kernel()(y)
        others = np.arange(64) % 3 != 0
        assert all(np.array_equal(found[name][others], expected[name][others]) for name in NAMES)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_same_bits_in_any_lane_batch_and_thread(dtype):
    x = np.concatenate([arguments(name, dtype)[::97] for name in NAMES] + [np.array(SPECIAL[3:17], dtype)])
    one = kernel(1, dtype)(x)
    for lanes in (2, 4, 8, 16):
        many = kernel(lanes, dtype)(x)
        assert all(np.array_equal(one[name], many[name], equal_nan=True) for name in NAMES), lanes
    threaded = kernel("auto", dtype, threads=3)(x[5:])
    assert all(np.array_equal(one[name][5:], threaded[name], equal_nan=True) for name in NAMES)
    alone = kernel("auto", dtype)
    for k in range(0, len(x), 101):
        assert all(np.array_equal(alone(x[k : k + 1])[n], one[n][k : k + 1], equal_nan=True) for n in NAMES)
