"""Derivatives that an algorithm of the catalog has in closed form, as those of the algorithm that it differentiates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sarrus.codegen.tape.tangent_space import tangent_shape
from sarrus.codegen.tape.tape import Port, Tape
from sarrus.model.model import Model
from sarrus.registry.algorithm import Algorithm, AnyAlgorithm, Input


@dataclass(frozen=True)
class ClosedForm:
    """The text of a derivative: it calls the closed form, which has outputs `dqdd_dq` and so on, and takes of it what
    is asked for. The closed form's other outputs are values: those of the algorithm, and statuses.
    """

    closed: AnyAlgorithm
    kind: str  # see `derivative.py`
    wrt: tuple[str, ...]
    inputs: tuple[Port, ...]  # of the algorithm that is differentiated
    outputs: tuple[Port, ...]  # those of them that have derivatives

    @staticmethod
    def of(closed: AnyAlgorithm, kind: str, wrt: tuple[str, ...], tape: Tape) -> ClosedForm | None:
        """None: it does not have all that is asked for."""
        known = closed.output_names
        outputs = tuple(x for x in tape.outputs if all(f"d{x.name}_d{name}" in known for name in wrt))
        takes_all = {port.name for port in tape.inputs} <= set(closed.input_names)
        return ClosedForm(closed, kind, wrt, tape.inputs, outputs) if outputs and takes_all else None

    def algorithm(self, model: Model) -> AnyAlgorithm:
        """To be traced."""
        varied = [port for port in self.inputs if port.name in self.wrt]
        names = {"jacobian": (), "jvp": [(x, f"d{x.name}") for x in varied]}
        more = names.get(self.kind, [(x, f"{x.name}_bar") for x in self.outputs])
        inputs = [Input(x.name, False) for x in self.inputs]
        inputs += [Input(name, False, tangent_shape(model, x)) for x, name in more]
        return Algorithm(f"{self.closed.name}_{self.kind}", self, tuple(inputs), None, fields=self._fields)

    @property
    def _values(self) -> tuple[str, ...]:
        products = {f"d{x.name}_d{name}" for x in self.outputs for name in self.closed.input_names}
        return tuple(name for name in self.closed.output_names if name not in products)

    @property
    def _fields(self) -> tuple[str, ...]:
        outputs = [x.name for x in self.outputs]
        found = {
            "jacobian": [f"d{x}_d{name}" for name in self.wrt for x in outputs],
            "jvp": [f"d{x}" for x in outputs],
            "vjp": [f"{name}_bar" for name in self.wrt],
        }
        return (*self._values, *found[self.kind])

    def __call__(self, model: Model, **arrays: Any) -> tuple[Any, ...]:
        result = self.closed.text(model, **{port.name: arrays[port.name] for port in self.inputs})._asdict()
        if self.kind == "jvp":
            for x in self.outputs:
                terms = [result[f"d{x.name}_d{name}"] @ arrays[f"d{name}"] for name in self.wrt]
                result[f"d{x.name}"] = np.sum(terms, axis=0)
        if self.kind == "vjp":
            for name in self.wrt:
                terms = [result[f"d{x.name}_d{name}"].T @ arrays[f"{x.name}_bar"] for x in self.outputs]
                result[f"{name}_bar"] = np.sum(terms, axis=0)
        return tuple(result[name] for name in self._fields)
