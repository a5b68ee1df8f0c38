"""Generators of mechanisms, by family and seed. Each family is a class of ways to go wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.adversary.mechanisms_contacts import CONTACTS
from benchmarks.adversary.mechanisms_known import KNOWN
from benchmarks.adversary.mechanisms_loops import LOOPS
from sarrus.errors import IllPosedError
from sarrus.model.model import Model

FAMILIES: dict[str, Callable[[np.random.Generator], Model | None]] = {**CONTACTS, **LOOPS, **KNOWN}


@dataclass(frozen=True)
class Mechanism:
    """A model and where it came from: `make(family, seed)` gives it again."""

    family: str
    seed: int
    model: Model


def generator(*parts: object) -> np.random.Generator:
    """A generator that depends on these names and numbers only."""
    return np.random.default_rng(int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:8], "little"))


def make(family: str, seed: int) -> Mechanism | None:
    """The mechanism of that family and seed; None where it cannot be (a robot that is not installed)."""
    rng = generator(family, seed)
    for _ in range(20):
        try:
            model = FAMILIES[family](rng)
        except IllPosedError:
            continue  # a point mass on an axis: no accelerations to ask for
        return None if model is None else Mechanism(family, seed, model)
    return None
