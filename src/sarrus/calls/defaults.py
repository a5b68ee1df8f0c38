"""What forward dynamics go by if nobody names a method: the model's plan and, until there is one, its structure.

A plan is there if `sarrus.plan` (or `sarrus.compile(model)`) made it, in this process or in an earlier one: it is on
disk. Without one, calls of `forward_dynamics` take the structural default, which needs no search, and plan once they
have taken as long as planning would: the rule by which calls are compiled (`evaluator.py`).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from typing import Any, NamedTuple

from sarrus.errors import SarrusError
from sarrus.model.model import Model
from sarrus.planning.candidates import structural_method
from sarrus.registry.table import find, unknown_to

_PER_PART = 0.15  # seconds that planning takes per body and row, about
AUTO = "auto"  # as a method: by the plan, which is made if there is none
NEVER = "never"  # of $SARRUS_PLAN: calls do not plan by themselves


def is_auto(method: Any) -> bool:
    """Whether a method is that of the plan, by name."""
    return isinstance(method, str) and method == AUTO


class Default(NamedTuple):
    """An algorithm by name, and options of it."""

    method: str
    options: dict[str, Any]
    planned: bool = False


def default_dynamics(model: Model, wanted: Collection[str] = (), of: Model | None = None) -> Default:
    """By the plan, if there is one; by structure if there is none, or where the planned method takes no `wanted`.

    wanted  names of inputs and options that are given
    of      the model whose plan it is; default: the same. They differ in numbers of constraints, not in structure
    """
    if model.active_constraints and model.is_numeric:
        from sarrus.planning.kept_plans import kept_plan  # native code is imported when it is needed

        plan = kept_plan(of or model) or kept_plan(of or model, batch=False)
        if plan is not None:
            algorithm = find(plan.algorithm)
            fits = not set(wanted) - {*algorithm.options, *algorithm.input_names}
            if fits and not unknown_to(algorithm, model, strict=True):
                return Default(algorithm.name, plan.options, planned=True)
    return Default(structural_method(model), {})


def planned_dynamics(model: Model) -> Default:
    """By the plan, which is made if there is none; of a model without rows, or with symbols, by structure."""
    if model.active_constraints and model.is_numeric:
        from sarrus.planning.search import plan

        plan(model)
    return default_dynamics(model)


def pay(model: Model, seconds: float) -> None:
    """Calls without a plan have taken so much longer: plan once that is as long as planning takes."""
    if not model.active_constraints or not model.is_numeric or os.environ.get("SARRUS_PLAN") == NEVER:
        return
    spent = model.remembered.get(pay, 0.0) + seconds
    model.remembered[pay] = spent
    if spent >= _PER_PART * (model.nb + model.n_rows):
        from sarrus.planning.search import plan

        model.remembered[pay] = float("-inf")  # once, whatever comes of it
        with contextlib.suppress(SarrusError):  # then it stays as it is
            plan(model)
