"""Plans that were made: in memory with their model, and on disk by content, beside kernels and under the same seal."""

from __future__ import annotations

from sarrus.algorithms.embedded.hybrid import with_clusters
from sarrus.codegen.runtime import cache as disk
from sarrus.codegen.runtime.cache_names import model_key
from sarrus.errors import SarrusError
from sarrus.model.model import Model
from sarrus.planning.plan import Plan
from sarrus.registry.table import find

_VARIANT = "plan 1"


def kept_plan(model: Model, batch: bool = True) -> Plan | None:
    """The plan of this model, if there is one."""
    found = known_plan(model, batch)
    if found is None and not model.remembered.get(_looked(batch)):
        model.remembered[_looked(batch)] = True  # once: calls ask this every time
        found = disk.load(_name(model, batch), Plan.from_json)
        if found is not None and found.batch == batch and _fits(model, found):
            model.remembered[_place(batch)] = found
        else:
            found = None
    return found


def _fits(model: Model, plan: Plan) -> bool:
    """Whether a plan is of this model, and all that it names exists."""
    try:
        find(plan.chosen.method)
        with_clusters(model, plan.clusters)
    except SarrusError:
        return False
    return plan.digest == model.digest


def known_plan(model: Model, batch: bool = True) -> Plan | None:
    """The plan of this model that is in memory."""
    return model.remembered.get(_place(batch))


def keep(model: Model, plan: Plan, on_disk: bool = True) -> None:
    """For this model, and for all that are equal to it, in whatever process."""
    model.remembered[_place(plan.batch)] = plan
    if on_disk:
        disk.save(_name(model, plan.batch), plan.to_json().encode())


def _name(model: Model, batch: bool) -> str:
    return model_key(model.digest, f"plan, batch={batch}", _VARIANT, "planning")


def _place(batch: bool) -> tuple[str, bool]:
    return "plan", batch


def _looked(batch: bool) -> tuple[str, bool]:
    return "looked for a plan", batch
