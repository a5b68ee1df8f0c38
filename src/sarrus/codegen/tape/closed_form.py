"""Derivatives that an algorithm of the catalog has in closed form, as those of the algorithm that it differentiates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sarrus.codegen.tape.tape import Port, Tape
from sarrus.model.model import Model
from sarrus.registry.algorithm import Algorithm, AnyAlgorithm, Input


@dataclass(frozen=True)
class ClosedForm:
    """The text of a derivative: it calls the closed form, which has outputs `dqdd_dq` and so on, and takes of it what
    is asked for. The closed form's other outputs are values: those of the algorithm, and statuses.
    """

    closed: AnyAlgorithm
    wrt: tuple[str, ...]
    inputs: tuple[Port, ...]  # of the algorithm that is differentiated, but for the model's parameters
    outputs: tuple[Port, ...]  # those of them that have derivatives
    options: tuple[tuple[str, Any], ...] = ()  # of the closed form

    @staticmethod
    def of(closed: AnyAlgorithm, wrt: tuple[str, ...], tape: Tape, **options: Any) -> ClosedForm | None:
        """None: it does not have all that is asked for."""
        known = closed.output_names
        outputs = tuple(x for x in tape.outputs if all(f"d{x.name}_d{name}" in known for name in wrt))
        inputs = tuple(port for port in tape.inputs if port.name != "parameters")
        takes_all = {port.name for port in inputs} <= set(closed.input_names)
        return ClosedForm(closed, wrt, inputs, outputs, tuple(options.items())) if outputs and takes_all else None

    def algorithm(self, model: Model) -> AnyAlgorithm:
        """To be traced."""
        inputs = tuple(Input(x.name, False) for x in self.inputs)
        return Algorithm(f"{self.closed.name}_jacobian", self, inputs, None, fields=self._fields)

    @property
    def _values(self) -> tuple[str, ...]:
        products = {f"d{x.name}_d{name}" for x in self.outputs for name in self.closed.input_names}
        return tuple(name for name in self.closed.output_names if name not in products)

    @property
    def _fields(self) -> tuple[str, ...]:
        return (*self._values, *(f"d{x.name}_d{name}" for name in self.wrt for x in self.outputs))

    def __call__(self, model: Model, **arrays: Any) -> tuple[Any, ...]:
        given = {port.name: arrays[port.name] for port in self.inputs}
        result = self.closed.text(model, **given, **dict(self.options))._asdict()
        return tuple(result[name] for name in self._fields)
