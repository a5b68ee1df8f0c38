"""`simulation_step`: a step of a `Simulation` as a JAX function, to scan over."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.errors import UnsupportedError, check_name
from sarrus.hooks.jacobian import Jacobian
from sarrus.hooks.jax.call_frame import jax_package
from sarrus.hooks.jax.function import arrays_of, differentiable, refusing
from sarrus.simulation.simulation import Simulation
from sarrus.spatial.arrays import Array

_INPUTS = ("tau", "controls", "external_forces")
Carry = dict[str, Any]  # what states carry from one step to the next, by name; q and v among it


def simulation_step(simulation: Simulation, inputs: tuple[str, ...] = ()) -> SimulationStep:
    """A step of this simulation as a function of JAX arrays, for jit, vmap and `lax.scan`.

    inputs  which of tau, controls and external_forces it takes, by name

    >>> step = sarrus.jax.simulation_step(simulation, inputs=("tau",))
    >>> carry, out = jax.lax.scan(lambda c, tau: step(c, tau=tau), step.start(q, v), taus)

    Bits are those of `Simulation.step`, loops and contacts included. Derivatives, with respect to q, v and inputs, are
    those of trees without contacts: methods that iterate, contacts and projections have none, and say so.
    """
    return SimulationStep(simulation, inputs)


class SimulationStep:
    """See `simulation_step`."""

    def __init__(self, simulation: Simulation, inputs: tuple[str, ...]) -> None:
        model, self._jax = simulation.stepped_model, jax_package()
        if simulation.dtype == "float64" and not self._jax.config.jax_enable_x64:
            raise UnsupportedError('float64 in JAX needs jax.config.update("jax_enable_x64", True); or dtype="float32"')
        for name in inputs:
            check_name("input of a step", name, _INPUTS)
        sizes = {"tau": (model.nv,), "controls": (model.nu,), "external_forces": (model.nb, 6)}
        zeros: dict[str, Any] = {name: np.zeros(sizes[name]) if name in inputs else None for name in _INPUTS}
        self._kernels, self._held = simulation.step_kernels(**zeros)
        self._call = differentiable(self._kernels.step, Jacobian(*self._kernels.asked))
        self._taken, self._start = tuple(inputs), simulation.start

    def start(self, q: Any = None, v: Any = None) -> Carry:
        """What states carry at first, from arrays (n,) or (B, n); default: as `Simulation.run` starts."""
        jnp = self._jax.numpy
        begun = self._start(None if q is None else np.asarray(q), None if v is None else np.asarray(v))
        single = begun.q.ndim == 1
        carry = self._kernels.begin(np.atleast_2d(begun.q), np.atleast_2d(begun.v))
        out: Carry = {name: jnp.asarray(x[0] if single else x) for name, x in carry.items()}
        return out | {"steps": jnp.zeros((), "int32")}

    def __call__(self, carry: Carry, **inputs: Array) -> tuple[Carry, dict[str, Any]]:
        """The carry after a step, and what the step found out at its beginning (qdd, forces, status, contacts, ...)."""
        kernels, kernel = self._kernels, self._kernels.step
        if set(inputs) != set(self._taken):
            raise UnsupportedError(f"this step takes {list(self._taken)} beside the carry, got {list(inputs)}")
        given = self._held | carry | inputs
        arrays = arrays_of(kernel, [given[name] for name in kernel.input_names])
        results = self._call(*arrays)
        found = dict(zip(kernel.output_names, results, strict=True))
        after = carry | {name: found[output] for output, name in kernels.carried.items()}
        after["steps"] = carry["steps"] + 1
        if kernels.projection is not None:
            after = self._projected(after, carry["steps"])
        whole = {name: found[name].astype("int32") for name in ("status", "iterations")}
        return after, {name: x for name, x in found.items() if name not in kernels.carried} | whole

    def _projected(self, carry: Carry, before: Any) -> Carry:
        """On the constraints: every so many steps, and where they are open."""
        projection, every = self._kernels.projection, self._kernels.project_every
        assert projection is not None
        given = carry | {"due": (before % every == every - 1).astype(projection.dtype)}
        results = refusing(projection)(*arrays_of(projection, [given[name] for name in projection.input_names]))
        return carry | dict(zip(projection.output_names, results, strict=True))
