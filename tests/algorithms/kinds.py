"""Small models of every kind, by what of `Feature` they have, and states of them: what test matrices are made of."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import sarrus
from sarrus import Feature, zoo
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import Constraint, Kind
from sarrus.model.independent import independent_positions, independent_velocities
from sarrus.model.model import Model
from tests.algorithms.embedded_cases import pinned, state_of
from tests.mechanisms import random_inertial


def limbs(*constraints: Constraint, root: str = "revolute", middle: tuple[str, str] = ("revolute",) * 2) -> Model:
    """Two limbs of three joints each on a base, with a frame on each tip; oblique everywhere."""
    rng = np.random.default_rng(4)
    builder = ModelBuilder("limbs", gravity=(0.3, -0.7, -9.81))
    builder.add_body("base", joint=root, **random_inertial(rng))
    for limb, joint in zip("ab", middle, strict=True):
        parent = "base"
        for k, kind in enumerate(("revolute", joint, "revolute")):
            axis = {} if kind == "spherical" else {"axis": rng.normal(size=3)}
            place = {"position": 0.25 * rng.normal(size=3), "rotation": rng.normal(size=3)}
            builder.add_body(f"{limb}{k}", parent, joint=kind, **axis, **place, **random_inertial(rng))
            parent = f"{limb}{k}"
        builder.add_frame(f"tip_{limb}", parent, position=0.1 * rng.normal(size=3), rotation=rng.normal(size=3))
    return builder.build().with_constraints(*constraints)


TWO_ROWS = np.random.default_rng(5).normal(size=(2, 6))
ON_LINKS = (sarrus.contact("tip_a", 3), sarrus.link_rows("b1", TWO_ROWS[:1], k="input"))
ON_ALL = (
    sarrus.connect("tip_a", "tip_b"),
    sarrus.distance("b2", "base", 0.4),
    sarrus.coupling({"a0_joint": 1.0, "b0_joint": -1.5}),
    sarrus.center_of_mass_constraint("x"),
)


class Unheard(Constraint):
    """A type of constraint that no algorithm knows."""

    kind = Kind.LOOP
    size = 0

    def in_words(self) -> tuple[str, str]:
        return "unheard of", "nothing"


def clusters(*constraints: Constraint) -> Model:
    """Two four-bars, one on the other, both embedded, with further constraints on top."""
    model = pinned(zoo.tree_of("four_bar", 1, 2), "b0_1_output", "world")
    return sarrus.embed(model).with_constraints(*constraints)


def massless() -> Model:
    builder = ModelBuilder("massless").add_body("arm", mass=1.0, com=(0.1, 0.0, 0.2), inertia=0.1 * np.eye(3))
    return builder.add_body("feather", "arm", axis=(0.0, 1.0, 0.0)).build(allow_ill_posed=True)


ON_CLUSTERS = Feature.EMBEDDED | Feature.MULTI_DOF
KINDS: dict[str, tuple[Feature, Callable[[], Model]]] = {
    "tree": (Feature.NOTHING, limbs),
    "multi-dof joints": (Feature.MULTI_DOF, lambda: limbs(root="free", middle=("spherical", "cylindrical"))),
    "links": (Feature.LINKS, lambda: limbs(*ON_LINKS)),
    "loop": (Feature.LOOPS, lambda: limbs(sarrus.connect("tip_a", "tip_b"))),
    "distance": (Feature.DISTANCES, lambda: limbs(sarrus.distance("tip_a", "tip_b", 0.4, stabilization=0.1))),
    "coupling": (Feature.COUPLINGS, lambda: limbs(sarrus.coupling({"a0_joint": 1.0, "b1_joint": -6.0}))),
    "centre of mass": (Feature.CENTER_OF_MASS, lambda: limbs(sarrus.center_of_mass_constraint("xz"))),
    "unheard of": (Feature.OTHER, lambda: limbs(Unheard("strange"))),
    "massless": (Feature.MASSLESS, massless),
    "links twice": (
        Feature.LINKS | Feature.REDUNDANT,
        lambda: limbs(sarrus.contact("tip_a", 3), sarrus.contact("tip_a", 3, name="again")),
    ),
    "loop twice": (
        Feature.LOOPS | Feature.REDUNDANT,
        lambda: limbs(sarrus.connect("tip_a", "tip_b"), sarrus.connect("tip_a", "tip_b", name="again")),
    ),
    "links in conflict": (
        Feature.LINKS | Feature.REDUNDANT | Feature.CONFLICTING,
        lambda: limbs(sarrus.contact("tip_a", 3), sarrus.contact("tip_a", 3, name="again", k=[1.0, 0.0, 0.0])),
    ),
    "embedded": (ON_CLUSTERS, clusters),
    "embedded, links": (ON_CLUSTERS | Feature.LINKS, lambda: clusters(sarrus.link_rows("b0_1_output", TWO_ROWS))),
    "embedded, loop": (ON_CLUSTERS | Feature.LOOPS, lambda: clusters(sarrus.connect("pin_a", "pin_b"))),
    "embedded, coupling": (
        ON_CLUSTERS | Feature.COUPLINGS,
        lambda: clusters(sarrus.coupling({"b0_0_output_joint": 1.0, "b0_1_rod_joint": -1.5})),
    ),
    "links, multi-dof joints": (
        Feature.LINKS | Feature.MULTI_DOF,
        lambda: limbs(*ON_LINKS, root="free", middle=("spherical", "cylindrical")),
    ),
    "everything but clusters": (
        Feature.ON_ALL & ~Feature.EMBEDDED | Feature.MULTI_DOF,
        lambda: limbs(*ON_LINKS, *ON_ALL, root="free", middle=("spherical", "cylindrical")),
    ),
}  # fmt: skip


@cache
def model_of(kind: str) -> Model:
    return KINDS[kind][1]()


class Inputs(NamedTuple):
    """What an algorithm may be given, by name, for one state on the constraints."""

    model: Model
    values: dict[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.values[name]

    def arguments(self, names: tuple[str, ...]) -> dict[str, np.ndarray]:
        return {name: self.values[name] for name in names}


@cache
def inputs_of(kind: str, seed: int = 1) -> Inputs:
    model, rng = model_of(kind), np.random.default_rng(seed)
    known = model if kind != "unheard of" else limbs()
    q, v, tau = state_of(known, seed)
    values: dict[str, Any] = {"q": q, "v": v, "tau": tau, "a": rng.normal(size=model.nv), "near": q}
    values |= {"external_forces": rng.normal(size=(model.nb, 6)), "k": rng.normal(size=model.n_input_rows)}
    values |= {"forces0": rng.normal(size=model.n_rows), "rhs": rng.normal(size=model.n_rows)}
    values |= {"held": np.eye(1, model.nv)[0], "y": q[list(independent_positions(model))]}
    values |= {"yd": v[list(independent_velocities(model))], "ydd": rng.normal(size=model.ny)}
    return Inputs(model, values | {"tau_y": rng.normal(size=model.ny)})
