"""One random call with hostile arguments: what is called with what, and what becomes of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import sarrus
from benchmarks.adversary.hostile_arrays import SIZES, Given, given
from sarrus.errors import SarrusError

Outcome = tuple[str, str]  # one of right, words, raw, wrong; and a detail

# Values of arguments that are no arrays, and whether they make sense.
_THREADS = {
    None: True, 1: True, 2: True, 10**9: True, 0: False, -1: False, 2.5: False, "x": False, np.int8(3): True,
}  # fmt: skip
_STEPS = (0, 1, 3, -1, 2.5, True, "x", None, np.int64(2))
_LANES = (1, 2, "auto", 0, 3, -1, "x", 2.5, True, None, 2**40)
_DTYPES = ("float64", "float32", "x", int, ">f8", object, None, 5)


class Caller:
    """Kernels that are compiled once, and random calls of them and of others."""

    def __init__(self) -> None:
        warnings.simplefilter("ignore")
        self._tree = sarrus.zoo.chain(3, floating=True)
        self._loop = sarrus.zoo.four_bar()
        self._kernels = [
            (self._tree, sarrus.compile(self._tree, "aba")),
            (self._tree, sarrus.compile(self._tree, "aba", external_forces=True)),
            (self._tree, sarrus.compile(self._tree, "forward_kinematics", inputs=("q", "v"))),
            (self._tree, sarrus.compile(self._tree, "crba")),
            (self._loop, sarrus.compile(self._loop, "lcaba")),
        ]

    def prepared(self, seed: int, number: int) -> tuple[str, Callable[[], Outcome]]:
        """Call `number` of a seed in words, and what does it."""
        rng = np.random.default_rng((seed, number))
        kind = rng.choice(["kernel", "eager", "rollout", "compile"], p=[0.6, 0.3, 0.07, 0.03])
        return getattr(self, f"_{kind}")(rng)

    def _kernel(self, rng: np.random.Generator) -> tuple[str, Callable[[], Outcome]]:
        model, kernel = self._kernels[rng.integers(len(self._kernels))]
        arrays = _arguments(rng, model, kernel.tape.inputs)
        threads = list(_THREADS)[rng.integers(len(_THREADS))] if rng.random() < 0.3 else None
        named: dict[str, Any] = {} if threads is None else {"threads": threads}
        if rng.random() < 0.2:
            named["return_status"] = True
        if rng.random() < 0.25:
            named["out"] = _out(rng, kernel, arrays)
        what = f"{kernel.method} kernel {_told(arrays)} {_briefly(named)}"
        sensible = _THREADS[threads] and all(x.meaning is not None for x in arrays)
        # Before the call: it may write over its inputs.
        expected = _reference(model, kernel, arrays) if sensible else None
        values = [x.value for x in arrays]
        if rng.random() < 0.2:
            names = kernel.input_names[1:]
            return what, lambda: _judged(
                lambda: kernel(values[0], **dict(zip(names, values[1:], strict=True)), **named), expected
            )
        return what, lambda: _judged(lambda: kernel(*values, **named), expected)

    def _eager(self, rng: np.random.Generator) -> tuple[str, Callable[[], Outcome]]:
        model, kernel = self._kernels[rng.integers(len(self._kernels))]
        arrays = _arguments(rng, model, kernel.tape.inputs)
        sensible = all(x.meaning is not None for x in arrays)
        expected = _reference(model, kernel, arrays) if sensible else None
        values = dict(zip(kernel.input_names, (x.value for x in arrays), strict=True))
        function = getattr(sarrus, kernel.method)
        what = f"eager {kernel.method} {_told(arrays)}"
        return what, lambda: _judged(lambda: function(model, **values), expected)

    def _rollout(self, rng: np.random.Generator) -> tuple[str, Callable[[], Outcome]]:
        model = self._tree
        q, v = _arguments(rng, model, self._kernels[2][1].tape.inputs)
        threads = list(_THREADS)[rng.integers(len(_THREADS))]
        steps = _STEPS[rng.integers(len(_STEPS))]
        what = f"rollout {_told([q, v])} steps={steps!r} threads={threads!r}"
        sensible = _THREADS[threads] and q.meaning is not None and v.meaning is not None
        sensible = sensible and not isinstance(steps, (bool, float, str)) and steps is not None and steps >= 0

        def first() -> Any:
            return sarrus.rollout(model, q.value, v.value, steps=steps, threads=threads).q[..., 0, :]

        expected = None
        if sensible and _batch([q, v]) != "different":
            size = () if _batch([q, v]) is None else (_batch([q, v]),)
            start = q.meaning if q.meaning.size else np.zeros((0, model.nq))  # an empty list is a batch of none
            expected = (np.broadcast_to(start, (*size, model.nq)),)
        return what, lambda: _judged(first, expected)

    def _compile(self, rng: np.random.Generator) -> tuple[str, Callable[[], Outcome]]:
        lanes, dtype = _LANES[rng.integers(len(_LANES))], _DTYPES[rng.integers(len(_DTYPES))]
        model = [self._loop, None, "chain"][rng.integers(3)] if rng.random() < 0.3 else self._loop
        sensible = lanes in (1, 2, "auto") and lanes is not True and dtype in ("float64", "float32", None)
        sensible = sensible and model is self._loop
        state = [sarrus.random_state(self._tree, 0)[0][:0]]
        expected = (np.zeros(0),) if sensible else None
        what = f"compile model={type(model).__name__} lanes={lanes!r} dtype={dtype!r}"

        def made() -> Any:
            sarrus.compile(model, "crba", lanes=lanes, dtype=dtype)  # type: ignore[arg-type]
            return state[0]

        return what, lambda: _judged(made, expected)


def _arguments(rng: np.random.Generator, model: sarrus.Model, ports: Any) -> list[Given]:
    """One array per input, with a batch of its own now and then."""
    common = SIZES[rng.integers(len(SIZES))]
    arrays = []
    for port in ports:
        size = SIZES[rng.integers(len(SIZES))] if rng.random() < 0.15 else common
        q, v = sarrus.random_state(model, rng, size) if not model.constraints else _closed(model, size)
        lead = () if size is None else (size,)
        plain = {"q": q, "v": v}.get(port.name)
        if plain is None:
            plain = rng.normal(size=(*lead, *port.shape))
        is_rotation = port.name == "q" and model.nq != model.nv
        one = given(rng, np.ascontiguousarray(plain))
        if is_rotation and one.kind in ("float32", "float16", "integers", "booleans"):
            one = Given("plain", plain, plain)  # these are no rotations any more
        arrays.append(one)
    return arrays


def _closed(model: sarrus.Model, size: int | None) -> tuple[np.ndarray, np.ndarray]:
    q = np.asarray(model.home if model.home is not None else sarrus.neutral(model), dtype=float)
    lead = () if size is None else (size,)
    return np.broadcast_to(q, (*lead, model.nq)), np.zeros((*lead, model.nv))


def _batch(arrays: list[Given]) -> Any:
    """How many states these are: None for one without a batch, "different" if they do not agree."""
    found = {len(x.meaning) for x in arrays if x.meaning is not None and x.meaning.ndim > 1 + (x.meaning.ndim == 3)}
    found |= {len(x.meaning) for x in arrays if x.meaning is not None and x.meaning.ndim == 3}
    return None if not found else found.pop() if len(found) == 1 else "different"


def _out(rng: np.random.Generator, kernel: Any, arrays: list[Given]) -> Any:
    """Memory for results: right, over an input, shared, or nonsense."""
    batch = _batch([x for x in arrays if x.meaning is None or x.meaning.shape[-2:] != (0, 6)])
    lead = (3,) if batch == "different" else () if batch is None else (batch,)
    fresh = [np.empty((*lead, *port.shape)) for port in kernel.tape.outputs]
    draw = rng.integers(6)
    if draw == 0:
        return arrays[rng.integers(len(arrays))].value
    if draw == 1:  # all in one place
        whole = np.empty(max((x.size for x in fresh), default=0))
        fresh = [whole[: x.size].reshape(x.shape) for x in fresh]
    elif draw == 2:
        for x in fresh:
            x.flags.writeable = False
    elif draw == 3:
        return ["x", None, 3, (), np.empty(3), np.empty((2, 2), np.float32)][rng.integers(6)]
    return fresh[0] if len(fresh) == 1 else tuple(fresh)


def _reference(model: sarrus.Model, kernel: Any, arrays: list[Given]) -> tuple[np.ndarray, ...] | None:
    """The numbers that the eager function gives for what the arguments mean; None if that is nothing."""
    named = {name: np.array(x.meaning) for name, x in zip(kernel.input_names, arrays, strict=True)}
    try:
        with sarrus.interpreted():
            result = getattr(sarrus, kernel.method)(model, **named)
    except SarrusError:
        return None
    return result if isinstance(result, tuple) else (result,)


def _judged(call: Callable[[], Any], expected: Any) -> Outcome:
    try:
        result = call()
    except SarrusError as error:
        return ("words", str(error)) if str(error) else ("raw", f"{type(error).__name__} without words")
    except TypeError as error:
        binding = "argument" in str(error) and "sarrus" not in str(error)
        return "words" if binding else "raw", f"TypeError: {error}"
    except Exception as error:
        return "raw", f"{type(error).__name__}: {error}"
    if expected is None:
        return "wrong", f"nonsense was accepted: {str(result)[:80]}"
    if isinstance(result, tuple) and len(result) == 2 and len(expected) != 2:
        result = result[0]  # with a status
    elif isinstance(result, tuple) and isinstance(result[0], tuple):
        result = result[0]
    got = result if isinstance(result, tuple) else (result,)
    for x, y in zip(got, expected, strict=True):
        if np.shape(x) != np.shape(y):
            return "wrong", f"shape {np.shape(x)} instead of {np.shape(y)}"
        if not np.allclose(np.asarray(x), y, rtol=1e-6, atol=1e-6 * (1.0 + np.abs(y).max(initial=0.0))):
            return "wrong", f"off by {np.abs(np.asarray(x) - y).max():.3g}"
    return "right", ""


def _told(arrays: list[Given]) -> str:
    return "; ".join(f"{x.kind} {np.shape(x.meaning) if x.meaning is not None else ''}" for x in arrays)


def _briefly(named: dict[str, Any]) -> str:
    return ", ".join(f"{name}={str(value)[:40]!r}" for name, value in named.items())
