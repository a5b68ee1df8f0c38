"""A plan: how the forward dynamics of a model are computed, what else was tried, and why not that."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from sarrus.errors import UnsupportedError
from sarrus.model.embedding import Cluster
from sarrus.model.model import Model
from sarrus.planning.candidate import Candidate
from sarrus.planning.explanation import explain

HYBRID = "hybrid"


@dataclass(frozen=True)
class Plan:
    """How the forward dynamics of a model are computed. `explain()` gives the reasons; `draw()` shows it.

    >>> plan = sarrus.plan(sarrus.zoo.four_bar())
    >>> print(plan.explain())
    four_bar...
    """

    model_name: str  # of the model that it is for
    digest: str  # of the model that it is for
    batch: bool  # whether for batches of states
    candidates: tuple[Candidate, ...]  # those that were counted, the best first, then those that were ruled out
    clusters: tuple[Cluster, ...] = ()  # what is embedded
    why: str = ""  # in words
    searched: bool = True  # False: from the model's structure alone
    rows: int = 0  # that are not embedded
    rank: int = 0  # of these rows, at the states that were looked at
    notes: tuple[str, ...] = ()  # what else might be done
    seconds: float = field(default=0.0, compare=False)  # that planning took

    @property
    def chosen(self) -> Candidate:
        """The best candidate: its `method`, `operations` per state, `nanoseconds` (about; 0: not known), `fallback`."""
        return self.candidates[0]

    @property
    def algorithm(self) -> str:
        """The name of the algorithm that does it."""
        return HYBRID if self.clusters else self.chosen.method

    @property
    def options(self) -> dict[str, Any]:
        """Options of that algorithm."""
        chosen, options = self.chosen, dict[str, Any]()
        if chosen.order is not None:
            options["order"] = chosen.order
        if self.clusters:
            options |= {"clusters": self.clusters, "solver": chosen.method, "fallback": chosen.fallback}
        elif chosen.fallback is not None:
            options["fallback"] = chosen.fallback
        return options

    def explain(self) -> str:
        """In words: the candidates with their costs, what was chosen and why, what was ruled out and why."""
        return explain(self)

    def draw(self, model: Model) -> str:
        """The mechanism's graph as this plan sees it: tree, loops, clusters, order of elimination.

        model    the one that it is for
        returns  an SVG document, as text
        errors   `UnsupportedError`: this plan is for another model

        >>> robot = sarrus.zoo.four_bar()
        >>> sarrus.plan(robot).draw(robot)[:4]
        '<svg'
        """
        from sarrus.planning.drawing import draw  # only where it is asked for

        return draw(model, self).svg()

    def plot(self, model: Model, ax: Any = None) -> Any:
        """The same drawing by matplotlib.

        model    the one that it is for
        ax       axes to draw on; None: new ones
        returns  the axes
        errors   `UnsupportedError`: this plan is for another model; `MissingDependencyError`: matplotlib is not there
        """
        from sarrus.planning.drawing import draw

        return draw(model, self).plot(ax)

    def to_json(self) -> str:
        """All of it as text, which `from_json` reads."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str | bytes) -> Plan:
        """The plan that `to_json` wrote.

        text     JSON
        returns  a `Plan`
        errors   `UnsupportedError`: this is not a plan

        >>> plan = sarrus.plan(sarrus.zoo.four_bar())
        >>> sarrus.Plan.from_json(plan.to_json()) == plan
        True
        """
        try:
            data = json.loads(text)
            data["candidates"] = tuple(_record(Candidate, x) for x in data["candidates"])
            data["clusters"] = tuple(_record(Cluster, x) for x in data["clusters"])
            plan = _record(Plan, data)
        except (ValueError, TypeError, KeyError) as error:
            raise UnsupportedError(f"this is not a plan: {type(error).__name__}: {error}") from None
        if not plan.candidates:
            raise UnsupportedError("this is not a plan: it has no candidates")
        return plan


def _record(kind: type, data: dict[str, Any]) -> Any:
    known = {f.name for f in fields(kind)}
    if set(data) - known:
        raise TypeError(f"{kind.__name__} has no {sorted(set(data) - known)}")
    return kind(**{name: _tuples(x) for name, x in data.items()})


def _tuples(x: Any) -> Any:
    return tuple(_tuples(part) for part in x) if isinstance(x, list) else x
