"""LCABA's couplings between links: images that merge when a link sees too many, points beyond ball joints.

A coupling may be kept in several ways, which cost more or less. Here each is made to occur, and the accelerations are
still those of the dense oracle.
"""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.algorithms.constrained.lcaba import augmented_lagrangian
from sarrus.mechanics.mechanism import mechanism as mechanism_at
from sarrus.mechanics.mechanism import rows_of
from sarrus.mechanics.solvers.couplings import Couplings
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import LoopClosure
from sarrus.model.state import random_state
from tests.mechanisms import random_inertial, relative_error
from tests.oracles.loops import kkt, solve

TOLERANCE = 1e-12  # of the iterations: what is compared is what they converge to


def mechanism(rng, joints: list[tuple[str, str, str]], closures: list[tuple[str, str, str]]) -> sarrus.Model:
    """Bodies (name, parent, joint), a free body "platform", and closures (body, other body, type)."""
    builder = ModelBuilder("held", gravity=(0.2, -0.4, -9.81))
    for name, parent, joint in joints:
        axes = {} if joint in ("spherical", "free") else {"axis": rng.normal(size=3)}
        if joint == "universal":
            axes["second_axis"] = np.cross(axes["axis"], rng.normal(size=3))
        place = {} if joint == "free" else {"position": 0.3 * rng.normal(size=3), "rotation": rng.normal(size=3)}
        builder.add_body(name, parent, joint=joint, **axes, **place, **random_inertial(rng))
    builder.add_body("platform", joint="free", **random_inertial(rng))
    for k, (*bodies, _) in enumerate(closures):
        for side, body in zip("ab", bodies, strict=True):
            builder.add_frame(f"{side}_{k}", body, position=0.2 * rng.normal(size=3), rotation=rng.normal(size=3))
    loops = [LoopClosure(f"loop_{k}", f"a_{k}", f"b_{k}", kind) for k, (_, _, kind) in enumerate(closures)]
    return builder.build().with_constraints(*loops)


def assert_right(model: sarrus.Model, seed: int = 0) -> None:
    q, v = random_state(model, seed)
    tau = np.random.default_rng(seed).normal(size=model.nv)
    qdd, _ = solve(kkt(model, q, v), tau)
    result = sarrus.forward_dynamics(model, q, v, tau, method="lcaba", tolerance=TOLERANCE, max_iterations=30)
    assert relative_error(result.qdd, qdd) < 1e-8


ARM = ("revolute", "spherical", "revolute")


def three_legs() -> sarrus.Model:
    """Two legs meet in a link below the base, which the third leaves: 6 rows meet there, 9 at the base."""
    joints = [("base", "world", "free"), ("hip", "base", "revolute")]
    for leg, root in enumerate(("hip", "hip", "base")):
        for k, joint in enumerate(ARM):
            joints.append((f"leg_{leg}_{k}", root if k == 0 else f"leg_{leg}_{k - 1}", joint))
    return mechanism(np.random.default_rng(3), joints, [(f"leg_{leg}_2", "platform", "connect") for leg in range(3)])


def watch_merging(monkeypatch) -> list[tuple[int, list[tuple[int, int]]]]:
    """(node that is eliminated, pairs of coupled images) of every merging that is to come."""
    found, eliminating = [], []
    take, merged = Couplings.take, Couplings._merged

    def watched_take(self, i):
        eliminating.append(i)
        return take(self, i)

    def watched_merged(self, j, seen):
        before = list(self._live[j])
        pairs = [(c, d) for c in before for d in self._W[c] if d in before and c < d]
        seen = merged(self, j, seen)
        if set(before) - set(self._live[j]):
            found.append((eliminating[-1], pairs))
        return seen

    monkeypatch.setattr(Couplings, "take", watched_take)
    monkeypatch.setattr(Couplings, "_merged", watched_merged)
    return found


def test_images_that_are_coupled_with_each_other_merge(monkeypatch):
    found = watch_merging(monkeypatch)
    assert_right(three_legs())
    assert any(pairs for _, pairs in found), "no two images that merge were coupled: this mechanism tests nothing"


def test_images_merge_only_where_a_link_sees_more_rows_than_the_other_has_accelerations(monkeypatch):
    found = watch_merging(monkeypatch)
    model = three_legs()
    assert_right(model)
    assert {model.bodies[i].name for i, _ in found} == {"base"}


def rods(kind: str) -> sarrus.Model:
    """A chain whose links are held by rods, which hang on balls further up; on one of them another rod."""
    joints = [("base", "world", "free"), ("a", "base", "revolute"), ("b", "a", "revolute"), ("c", "b", "revolute")]
    joints += [("rod_0", "base", "spherical"), ("rod_1", "a", "spherical"), ("tail", "rod_1", "spherical")]
    loops = [("rod_0", "b", kind), ("tail", "c", "connect"), ("c", "platform", "connect")]
    return mechanism(np.random.default_rng(5), joints, loops)


@pytest.mark.parametrize("kind", ["connect", "universal", "revolute"])
def test_beyond_a_ball_joint_a_point_is_seen(kind, monkeypatch):
    sizes = []
    original = Couplings.image

    def image(self, node, E):
        sizes.append(E.shape)
        return original(self, node, E)

    monkeypatch.setattr(Couplings, "image", image)
    sarrus.op_count(rods(kind), "lcaba")
    assert (3, 6) in sizes
    assert_right(rods(kind))


def random_mechanism(rng) -> sarrus.Model:
    """Many ball joints, closures with one body and among each other, rows that are independent."""
    while True:
        joints = [("body_0", "world", str(rng.choice(["free", "revolute"])))]
        for k in range(1, int(rng.integers(6, 11))):
            parent = f"body_{rng.integers(max(0, k - 3), k)}"
            joints.append((f"body_{k}", parent, str(rng.choice(["revolute", "spherical", "spherical", "universal"]))))
        names = [f"body_{k}" for k in rng.choice(len(joints), size=int(rng.integers(2, 5)), replace=False)]
        kinds = ["connect", "connect", "universal", "revolute"]
        loops = [(name, "platform", str(rng.choice(kinds))) for name in names]
        model = mechanism(rng, joints, [*loops, (names[0], names[1], "connect")])
        if np.linalg.cond(kkt(model, *random_state(model, 0)).J) < 1e3:
            return model


@pytest.mark.parametrize("seed", range(12))
def test_random_mechanisms_with_ball_joints(seed):
    assert_right(random_mechanism(np.random.default_rng(seed)))


def test_any_order_gives_the_same():
    """The order decides what it costs, not what comes out: which couplings meet depends on it."""
    model = rods("universal")
    rng = np.random.default_rng(2)
    q, v = random_state(model, rng)
    tau = rng.normal(size=model.nv)
    qdd, _ = solve(kkt(model, q, v), tau)
    at = mechanism_at(model, q, v, tau)
    rows = rows_of(at, np.zeros(model.n_input_rows), "test")
    for _ in range(10):
        order: list[int] = []
        left = set(range(model.nb))
        while left:
            leaves = sorted(i for i in left if not left & set(at.tree.children[i]))
            order.append(int(rng.choice(leaves)))
            left.remove(order[-1])
        result = augmented_lagrangian(at, rows, order, None, None, TOLERANCE, 30, 1e-7)
        assert relative_error(result.qdd, qdd) < 1e-8
