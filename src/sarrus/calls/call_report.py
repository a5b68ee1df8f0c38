"""Where the time of public calls went: into interpreting, into compiling, or into native code."""

from __future__ import annotations

from sarrus.calls.evaluator import Evaluator
from sarrus.errors import StateError
from sarrus.model.model import Model


def call_report(model: Model) -> str:
    """What the public calls with this model have cost so far, a line for each algorithm (and its options).

    model    whose calls
    returns  text: for how long the algorithm was interpreted, and how it goes on: interpreted, until that has cost as
             much as compiling would; or as native code, with the seconds that compiling or loading it took, and its
             size. Calls of native code are not counted: that would cost more than some of them

    Raises `StateError` for what is no model.

    >>> model = sarrus.zoo.chain(2)
    >>> _ = sarrus.aba(model, np.zeros(2), np.zeros(2), np.zeros(2))
    >>> print(sarrus.call_report(model).split(":")[0])
    aba
    """
    if not isinstance(model, Model):
        raise StateError(f"call_report: expected a sarrus Model, got {type(model).__name__}")
    lines = [_line(x) for x in list(model.remembered.values()) if isinstance(x, Evaluator)]
    return "\n".join(lines) or "nothing was called with this model"


def _line(evaluator: Evaluator) -> str:
    options = "".join(f", {name}={value!r}" for name, value in evaluator.options.items())
    spent, kernel = evaluator.spent, evaluator.kernel
    interpreted = f"interpreted for {spent:.3f} s" if spent else "never interpreted"
    if kernel is None:
        known = evaluator.price < float("inf")
        rest = f"compiles after {evaluator.price:.3f} s of that" if known else "not compiled"
    else:
        native = kernel.native
        how = "loaded from the cache" if native.from_cache else "compiled"
        rest = f"then native code, {how} in {native.compile_seconds:.3f} s, {native.code_bytes:,} bytes"
    return f"{evaluator.algorithm.name}{options}: {interpreted}, {rest}"
