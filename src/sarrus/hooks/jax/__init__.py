"""Algorithms and simulation steps as JAX functions (`pip install "sarrus[jax]"`)."""

from sarrus.hooks.jax.function import Function, function
from sarrus.hooks.jax.simulation import SimulationStep, simulation_step

__all__ = ["Function", "SimulationStep", "function", "simulation_step"]
