"""Public calls that compile themselves: when they do, that nothing else changes, in threads and after a fork."""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.calls import evaluator
from sarrus.calls.evaluator import evaluator_of
from sarrus.errors import StateError, UnsupportedError
from sarrus.registry import algorithm as registered


@pytest.fixture(autouse=True)
def _compiling(monkeypatch, tmp_path):
    """As users have it, with a cache of their own."""
    monkeypatch.setenv("SARRUS_CACHE_DIR", str(tmp_path / "kernels"))
    with sarrus.interpreted(False):
        yield


def arguments(model: sarrus.Model, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q, v = sarrus.random_state(model, seed)
    return q, v, np.random.default_rng(seed).normal(size=model.nv)


def kernel_of(model: sarrus.Model, name: str = "aba", inputs: tuple[str, ...] = ("q", "v", "tau")):
    return evaluator_of(model, sarrus.catalog()[name], inputs, {}).kernel


def test_compiles_once_interpreting_has_cost_as_much():
    model = zoo.tree(8, floating=True)
    state = arguments(model)
    texts = []
    while kernel_of(model) is None:
        texts.append(sarrus.aba(model, *state))
        assert len(texts) <= 3 * evaluator._RUNS_OF_TEXT
    assert len(texts) > 1
    after = sarrus.aba(model, *state)
    np.testing.assert_allclose(after, texts[0], rtol=1e-10)
    np.testing.assert_array_equal(after, sarrus.compile(model, "aba")(*state))


def test_a_kernel_on_disk_is_used_at_once():
    sarrus.compile(zoo.tree(8, floating=True), "aba")
    model = zoo.tree(8, floating=True)
    sarrus.aba(model, *arguments(model))
    assert kernel_of(model) is not None


def test_a_large_batch_is_compiled_at_once_and_a_small_one_is_not():
    small, large = zoo.tree(8), zoo.tree(8)
    for model, size in ((small, 2), (large, 20_000)):
        sarrus.aba(model, *(np.tile(x, (size, 1)) for x in arguments(model)))
    assert kernel_of(small) is None
    assert kernel_of(large) is not None


def test_single_states_and_batches_have_the_same_bits(monkeypatch):
    monkeypatch.setattr(evaluator, "_RUNS_OF_TEXT", 0)
    model = zoo.tree(8, floating=True)
    states = [arguments(model, seed) for seed in range(11)]
    for _ in range(2):
        one_by_one = np.array([sarrus.aba(model, *state) for state in states])
    np.testing.assert_array_equal(sarrus.aba(model, *(np.array(x) for x in zip(*states, strict=True))), one_by_one)


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("batch", [None, 1, 3, 64])
def test_what_is_not_finite_is_told(place, value, batch, compiled_tree):
    arrays = [x.copy() if batch is None else np.tile(x, (batch, 1)) for x in arguments(compiled_tree)]
    arrays[place][(-1, -1) if batch else -1] = value
    with pytest.raises(StateError, match="every number must be finite"):
        sarrus.aba(compiled_tree, *arrays)


@pytest.mark.parametrize("length", [0.0, 0.999, 1.0 + 3e-6, 1.0 - 3e-6, 1e200, 1e-200])
@pytest.mark.parametrize("batch", [None, 5])
def test_quaternions_that_are_too_long_or_too_short_are_told(length, batch, compiled_tree):
    q, v, tau = (x.copy() if batch is None else np.tile(x, (batch, 1)) for x in arguments(compiled_tree))
    q[..., 3:7] *= length
    with pytest.raises(StateError, match="has length"):
        sarrus.aba(compiled_tree, q, v, tau)


@pytest.mark.parametrize("length", [1.0 + 0.9e-6, 1.0 - 0.9e-6, 1.0 + 0.98e-6])
def test_quaternions_that_are_nearly_of_length_one_pass(length, compiled_tree):
    q, v, tau = arguments(compiled_tree)
    q[3:7] *= length
    assert np.isfinite(sarrus.aba(compiled_tree, q, v, tau)).all()


@pytest.fixture(scope="module")
def compiled_tree() -> sarrus.Model:
    model = zoo.tree(5, floating=True)
    with sarrus.interpreted(False), pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluator, "_RUNS_OF_TEXT", 0)
        for _ in range(3):
            sarrus.aba(model, *arguments(model))
    assert kernel_of(model) is not None
    return model


def test_options_make_kernels_of_their_own(monkeypatch):
    monkeypatch.setattr(evaluator, "_RUNS_OF_TEXT", 0)
    model = zoo.tree(4)
    q, *_ = arguments(model)
    for _ in range(3):
        first, last = (sarrus.frame_jacobian(model, q, name) for name in (model.body_names[0], model.body_names[-1]))
        again = sarrus.frame_jacobian(model, q, frame=model.body_names[-1], reference="local")
    assert np.abs(first - last).max() > 1e-3
    np.testing.assert_array_equal(last, again)


def test_calls_in_turns_go_straight_to_native_code(monkeypatch):
    """A controller asks for both feet, with forces and without: none of these calls takes the longer way."""
    monkeypatch.setattr(evaluator, "_RUNS_OF_TEXT", 0)
    model = zoo.tree(6)
    q, v, tau = arguments(model)
    forces = np.random.default_rng(1).normal(size=(model.nb, 6))
    names = model.body_names
    turns = [
        *(lambda name=name: sarrus.frame_jacobian(model, q, frame=name) for name in names[:2]),
        *(lambda name=name: sarrus.frame_jacobian(model, q, name, "world") for name in names[2:4]),
        lambda: sarrus.aba(model, q, v, tau),
        lambda: sarrus.aba(model, q, v, tau, forces),
    ]
    for turn in turns * 4:
        turn()
    with sarrus.interpreted():
        expected = [turn() for turn in turns]
    for _ in range(3):  # many frames in turns: right, too
        for name in names:
            got = sarrus.frame_jacobian(model, q, frame=name)
            np.testing.assert_allclose(got, sarrus.frame_jacobian.text(model, q, name), rtol=1e-9, atol=1e-12)
    for turn in turns * 4:
        turn()
    monkeypatch.setitem(registered._verbs, "call", None)
    for turn, wanted in zip(turns * 2, expected * 2, strict=True):
        np.testing.assert_allclose(turn(), wanted, rtol=1e-9, atol=1e-12)


def test_numbers_that_are_equal_are_not_the_same_option(monkeypatch):
    monkeypatch.setattr(evaluator, "_RUNS_OF_TEXT", 0)
    model = zoo.four_bar()
    for _ in range(4):
        sarrus.lcaba(model, *arguments(model), mu=1.0)
    with pytest.raises(UnsupportedError, match="mu is True"):
        sarrus.lcaba(model, *arguments(model), mu=True)


def test_the_model_may_be_named_and_may_not_be_left_out():
    model = zoo.tree(3)
    q, *_ = arguments(model)
    np.testing.assert_array_equal(sarrus.crba(model=model, q=q), sarrus.crba(model, q))
    with pytest.raises(TypeError, match="model"):
        sarrus.crba()  # type: ignore[call-arg]


def test_algorithms_of_one_name_are_not_taken_for_each_other(monkeypatch):
    monkeypatch.setattr(evaluator, "_RUNS_OF_TEXT", 0)
    model = zoo.tree(4)
    state = arguments(model)
    twice = sarrus.Algorithm("aba", _twice, sarrus.aba.inputs, "qdd")
    for _ in range(3):
        once, doubled = sarrus.aba(model, *state), twice(model, *state)
    np.testing.assert_array_equal(doubled, 2.0 * once)


def _twice(model: sarrus.Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    return 2.0 * sarrus.aba.text(model, q, v, tau)


def test_numbers_are_python_numbers(monkeypatch):
    monkeypatch.setattr(evaluator, "_RUNS_OF_TEXT", 0)
    model = zoo.four_bar()
    q, v, tau = arguments(model)
    for _ in range(3):
        energy, motion = sarrus.energy(model, q, v), sarrus.lcaba(model, q, v, tau)
    assert all(type(x) is float for x in energy)
    assert type(motion.status) is int
    assert type(motion.iterations) is int


def test_a_model_takes_its_kernels_along():
    model = zoo.tree(6)
    for _ in range(40):
        sarrus.aba(model, *arguments(model))
    assert kernel_of(model) is not None
    alive = weakref.ref(model)
    del model
    gc.collect()
    assert alive() is None


def test_code_in_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(evaluator, "_RUNS_OF_TEXT", 0)
    models = [zoo.chain(n) for n in range(2, 10)]
    for model in models:
        for _ in range(2):
            sarrus.rnea(model, *arguments(model))
    size = kernel_of(models[-1], "rnea", ("q", "v", "a")).native.code_bytes
    monkeypatch.setattr(evaluator, "LIMIT_BYTES", 2 * size)
    last = zoo.chain(10)
    for _ in range(2):
        sarrus.rnea(last, *arguments(last))
    kept = [model for model in (*models, last) if kernel_of(model, "rnea", ("q", "v", "a")) is not None]
    assert last in kept
    assert len(kept) <= 3
    for model in models:  # those without still answer
        np.testing.assert_allclose(
            sarrus.rnea(model, *arguments(model)), interpreted_rnea(model), rtol=1e-9, atol=1e-12
        )


def interpreted_rnea(model: sarrus.Model) -> np.ndarray:
    with sarrus.interpreted():
        return sarrus.rnea(model, *arguments(model))


def _call_all(models: list[sarrus.Model], seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    out = []
    for k in rng.permutation(len(models)):
        model = models[k]
        q, v, tau = arguments(model, int(k))
        with sarrus.interpreted(False):  # a thread begins with the defaults
            out.append((int(k), sarrus.aba(model, q, v, tau), sarrus.crba(model, q), sarrus.rnea(model, q, v, tau)))
    return [part for _, *parts in sorted(out, key=lambda x: x[0]) for part in parts]


def test_threads_and_a_fork_in_the_middle():
    """32 threads call different functions of different models while they are being compiled; one of them forks."""
    models = [zoo.tree(n) for n in range(2, 8)]
    with sarrus.interpreted():
        expected = [np.asarray(x) for x in _expected(models)]
    forked: list[int | None] = []

    def work(seed: int) -> list[np.ndarray]:
        for number in range(6):
            results = _call_all(models, 100 * seed + number)
            if seed == 7 and number == 3:
                child = multiprocessing.get_context("fork").Process(target=_child, args=(models,))
                child.start()
                child.join(120)
                forked.append(child.exitcode)
                child.kill()  # one that hangs should not keep the tests from ending
        return results

    with ThreadPoolExecutor(32) as pool:
        for results in pool.map(work, range(32)):
            for got, wanted in zip(results, expected, strict=True):
                np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-10)
    assert forked == [0]
    assert threading.active_count() < 60


def _expected(models: list[sarrus.Model]) -> list[np.ndarray]:
    out = []
    for k, model in enumerate(models):
        q, v, tau = arguments(model, k)
        out += [sarrus.aba(model, q, v, tau), sarrus.crba(model, q), sarrus.rnea(model, q, v, tau)]
    return out


def _child(models: list[sarrus.Model]) -> None:
    results = [_call_all(models, seed) for seed in range(20)]
    os._exit(0 if all(np.isfinite(x).all() for part in results for x in part) else 1)
