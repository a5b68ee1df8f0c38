"""Weights that something bears, as data (MJCF's `gravcomp`): at which frames, and whether it is motors that do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class BorneWeight:
    """A force of -mass times gravity on a frame."""

    frame: str
    mass: float  # kg
    com: tuple[float, float, float]  # (3,) where it acts, in the frame: m


@dataclass(frozen=True)
class GravityCompensation:
    """No part of `Model.digest`: what compiles it in takes it as an option.

    weights  what is borne
    motors   joints at which motors do that (MJCF's `actuatorgravcomp`), within their effort limits; at others it acts
             by itself
    """

    weights: tuple[BorneWeight, ...] = ()
    motors: tuple[str, ...] = ()

    def renamed(self, named: Any) -> GravityCompensation:
        weights = tuple(replace(weight, frame=named(weight.frame)) for weight in self.weights)
        return GravityCompensation(weights, tuple(named(joint) for joint in self.motors))

    def __add__(self, other: GravityCompensation) -> GravityCompensation:
        return GravityCompensation((*self.weights, *other.weights), (*self.motors, *other.motors))


NOTHING_BORNE = GravityCompensation()
