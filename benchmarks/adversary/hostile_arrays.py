"""Arrays as nobody should hand them over, each with the numbers that it means, if it means some."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

SIZES = (None, None, None, 0, 0, 1, 2, 3, 4, 5, 7, 64)  # states of a batch; None: one state without a batch


class Given(NamedTuple):
    """What is handed over, and the plain array that it means (None: nothing, it must be refused)."""

    kind: str
    value: Any
    meaning: np.ndarray | None


class Strange:
    """Something that becomes an array by raising."""

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise RuntimeError("no array")


def given(rng: np.random.Generator, plain: np.ndarray) -> Given:
    """`plain`, or a disguise of it, or nonsense in its place."""
    draw = rng.random()
    table = _UNDERSTOOD if draw < 0.5 else _NONSENSE if draw < 0.75 else None
    if table is None:
        return Given("plain", plain, plain)
    name = list(table)[rng.integers(len(table))]
    value = table[name](plain, rng)
    if table is _NONSENSE and not (name in _OF_ELEMENTS and plain.size == 0):
        return Given(name, value, None)
    return Given(name, value, np.asarray(value, dtype=float))


def _strided(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    step = int(rng.choice([-3, -1, 2, 5]))
    whole = np.zeros((*x.shape[:-1], x.shape[-1] * abs(step)))
    view = whole[..., ::step]
    view[...] = x
    return view


def _askew(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    shifted = np.zeros(x.nbytes + 8, np.uint8)[int(rng.integers(1, 8)) :][: x.nbytes].view(float).reshape(x.shape)
    shifted[...] = x
    return shifted


def _frozen(x: np.ndarray, _: Any) -> np.ndarray:
    copy = x.copy()
    copy.flags.writeable = False
    return copy


_UNDERSTOOD: dict[str, Any] = {
    "list": lambda x, _: x.tolist(),
    "fortran": lambda x, _: np.asfortranarray(x),
    "strided": _strided,
    "misaligned": _askew,
    "read-only": _frozen,
    "byte-swapped": lambda x, _: x.astype(">f8"),
    "float32": lambda x, _: x.astype(np.float32),
    "float16": lambda x, _: x.astype(np.float16),
    "long double": lambda x, _: x.astype(np.longdouble),
    "objects": lambda x, _: x.astype(object),
    "integers": lambda x, _: np.zeros(x.shape, np.int16),
    "booleans": lambda x, _: np.zeros(x.shape, bool),
    "subclass": lambda x, _: x.view(type("Sub", (np.ndarray,), {})),
    "memory of a file": lambda x, _: x.view(np.memmap),
    "held": lambda x, _: np.broadcast_to(x.copy(), x.shape),
}

_NONSENSE: dict[str, Any] = {
    "complex": lambda x, _: x.astype(complex),
    "text": lambda x, _: x.astype("U16"),
    "dates": lambda x, _: np.zeros(x.shape, "M8[s]"),
    "records": lambda x, _: np.zeros(x.shape, [("a", float)]),
    "masked": lambda x, _: np.ma.masked_array(x, mask=np.ones(x.shape, bool)),
    "too long": lambda x, _: np.zeros((*x.shape[:-1], x.shape[-1] + 1)),
    "too short": lambda x, _: x[..., :-1],
    "more axes": lambda x, _: x[None, None],
    "transposed": lambda x, _: np.zeros((x.shape[-1], 97)),
    "number": lambda x, _: 3.0,
    "word": lambda x, _: "x",
    "nothing in it": lambda x, _: [],
    "ragged": lambda x, _: [[0.0], [0.0, 1.0]],
    "objects without numbers": lambda x, _: np.full(x.shape, None),
    "huge whole numbers": lambda x, _: np.full(x.shape, 10**400, dtype=object),
    "dictionary": lambda x, _: {"q": x},
    "strange": lambda x, _: Strange(),
    "a type": lambda x, _: np.ndarray,
    "more than memory": lambda x, _: np.broadcast_to(np.zeros(x.shape[-1]), (10**14, x.shape[-1])),
}
_OF_ELEMENTS = ("objects without numbers", "huge whole numbers")  # without elements there is nothing wrong with them
