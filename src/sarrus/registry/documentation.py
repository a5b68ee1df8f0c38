"""The documentation of an algorithm: what its author wrote, and what its data say, completed by `words.py`.

`algorithm.py` imports this, so its type has no name here.
"""

from __future__ import annotations

import re
from inspect import cleandoc
from typing import Any

from sarrus.registry import words
from sarrus.registry.features import Feature

_TREE, _ROWS, _EMBEDDED = "sarrus.zoo.chain(3)", "sarrus.zoo.chain_welded_tip(7)", "sarrus.embed(sarrus.zoo.four_bar())"
_VALUES = {
    "q": "q", "v": "v", "a": "np.zeros(robot.nv)", "tau": "np.zeros(robot.nv)", "rhs": "np.ones(robot.n_rows)",
    "y": "sarrus.reduce(robot, q).y",
}  # fmt: skip


def documentation(algorithm: Any) -> str:
    """The author's text, then arguments, results, errors, an example, cost, what it supports and references."""
    said = cleandoc(algorithm.text.__doc__ or "")
    described = set(re.findall(r"^(\w+)(?: {2,}|:)", said, flags=re.MULTILINE))
    described |= {n for line in re.findall(r"^(\w+(?:, \w+| or \w+)+) +", said, re.M) for n in re.findall(r"\w+", line)}
    arguments = {
        **{x.name: words.ARRAYS[x.name] + (f"; instead of {x.instead_of}" if x.instead_of else "")
           for x in algorithm.inputs if x.name in words.ARRAYS},
        **{name: words.OPTIONS.get(name, "") for name in algorithm.options},
    }  # fmt: skip
    arguments = {name: text for name, text in arguments.items() if name not in described}
    results = {name: words.of_result(algorithm.name, name) for name in algorithm.output_names}
    facts = {
        "errors": _errors(algorithm), "cost": algorithm.cost, "supports": str(algorithm.supports),
        "references": ", ".join(algorithm.references),
    }  # fmt: skip
    parts = [said, _entries(arguments), "Returns\n\n" + _entries(results), _entries(facts), _example(algorithm)]
    return "\n\n".join(part for part in parts if part)


def _entries(table: dict[str, str]) -> str:
    width = max((len(name) for name, text in table.items() if text), default=0)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in table.items() if text)


def _errors(algorithm: Any) -> str:
    out = ["`StateError`: an array of the wrong shape, or one that is not finite"]
    if Feature.EMBEDDED in algorithm.needs:
        out.append("`UnsupportedError`: a model without embedded constraints")
    elif algorithm.supports & Feature.ROWS:
        out.append("`UnsupportedError`: constraints that it does not support")
    if "frame" in algorithm.options or "frames" in algorithm.options:
        out.append("`UnknownNameError`: no such frame")
    return "; ".join(out)


def _example(algorithm: Any) -> str:
    """On a robot that it is for, as it can be pasted after `import numpy as np` and `import sarrus`."""
    robot = _EMBEDDED if Feature.EMBEDDED in algorithm.needs else _ROWS if algorithm.supports & Feature.ROWS else _TREE
    given = [_VALUES.get(x.name) for x in algorithm.inputs if not x.optional]
    if None in given:
        return ""  # an algorithm of somebody else's
    soft = Feature.SOFT in algorithm.supports
    options = [f"frame={'coupler' if robot == _EMBEDDED else 'tip'!r}"] * ("frame" in algorithm.options) + [
        "weight=1e6"
    ] * soft
    call = f"sarrus.{algorithm.name}({', '.join(['robot', *(g for g in given if g), *options])})"
    if algorithm.outputs is None:
        part, printed = "._fields", str(algorithm.output_names)
    else:
        part, printed = words.SHOWN.get(algorithm.name, ("", "..."))
    return f">>> robot = {robot}\n>>> q, v = sarrus.random_state(robot, rng=0)\n>>> {call}{part}\n{printed}"
