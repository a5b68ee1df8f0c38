"""What a free motion conserves: energy and momentum along a trajectory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.tree.center_of_mass import center_of_mass as center_of_mass_at
from sarrus.algorithms.tree.centroidal_momentum import centroidal_momentum
from sarrus.algorithms.tree.energy import energy as energy_at
from sarrus.calls.evaluator import evaluate
from sarrus.model.model import Model
from sarrus.simulation.joint_forces import elastic_energy
from sarrus.spatial.arrays import Array


class Energy(NamedTuple):
    """Joules, (T,) or (B, T). `elastic`: springs of joints and tendons; zero of `potential`: see `sarrus.energy`."""

    kinetic: Array
    potential: Array
    elastic: Array

    @property
    def total(self) -> Array:
        return self.kinetic + self.potential + self.elastic


class Momentum(NamedTuple):
    """In the world's axes, (T, 3) or (B, T, 3); without the rotors' armature."""

    linear: Array
    angular: Array  # about the world's origin
    centroidal: Array  # angular, about the centre of mass


class Drift(NamedTuple):
    """How far what should stay the same did not, at worst over time; floats, or one per robot of a batch."""

    energy: Array  # change of the total, relative to what was turned over: kinetic at its peak + range of the rest
    linear_momentum: Array  # kg m/s
    angular_momentum: Array  # kg m^2/s, about the world's origin
    closure: Array  # largest closure error, metres or radians


def energy(model: Model, q: Array, v: Array) -> Energy:
    """The energy at states (..., nq), (..., nv)."""
    found = evaluate(model, energy_at, {"q": q, "v": v})
    return Energy(found["kinetic"], found["potential"], elastic_energy(model, q))


def momentum(model: Model, q: Array, v: Array) -> Momentum:
    """The momentum at states (..., nq), (..., nv); zero of what has no mass, and so no centre of mass."""
    if not float(model.mass):
        return Momentum(*np.zeros((3, *q.shape[:-1], 3)))
    h = evaluate(model, centroidal_momentum, {"q": q, "v": v})["h"]
    linear, centroidal = h[..., :3], h[..., 3:]
    return Momentum(linear, centroidal + np.cross(center_of_mass(model, q), linear), centroidal)


def center_of_mass(model: Model, q: Array) -> Array:
    """(..., 3) at configurations (..., nq)."""
    return evaluate(model, center_of_mass_at, {"q": q})["position"]


def drift(energy: Energy, momentum: Momentum, closure_error: Array) -> Drift:
    """The drift of what is given over time, (T, ...) or (B, T, ...)."""
    turned_over = energy.kinetic.max(-1) + np.ptp(energy.potential + energy.elastic, axis=-1)
    changed = np.abs(energy.total - energy.total[..., :1]).max(-1)
    linear, angular = (np.linalg.norm(x - x[..., :1, :], axis=-1).max(-1) for x in (momentum.linear, momentum.angular))
    relative = changed / np.where(turned_over > 0.0, turned_over, 1.0)
    return Drift(relative, linear, angular, closure_error.max(-1))
