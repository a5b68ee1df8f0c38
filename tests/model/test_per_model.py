"""What is computed from a model is remembered per model, and only there."""

from __future__ import annotations

import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import numpy as np

import sarrus
from sarrus import zoo
from sarrus.model.cluster_tree import cluster_tree_of, spinning_tree_of
from sarrus.model.model import Model
from sarrus.model.per_model import per_model
from sarrus.model.tree import tree_of


def test_a_result_is_computed_once() -> None:
    model = sarrus.embed(zoo.tree_of("link_and_rotor", 1, 2))
    for function in (tree_of, cluster_tree_of, spinning_tree_of):
        assert function(model) is function(model)


def test_another_model_has_results_of_its_own() -> None:
    model = zoo.chain(3)
    heavier = replace(model, gravity=np.array([0.0, 0.0, -20.0]))
    assert tree_of(model).gravity[2] == -9.81
    assert tree_of(heavier).gravity[2] == -20.0


def test_a_result_lives_as_long_as_its_model() -> None:
    model = sarrus.embed(zoo.tree_of("link_and_rotor", 1, 2))
    alive = [weakref.ref(model), *(weakref.ref(f(model)) for f in (tree_of, cluster_tree_of, spinning_tree_of))]
    del model
    gc.collect()
    assert [ref() for ref in alive] == [None] * 4


def test_threads_share_one_result() -> None:
    barrier = Barrier(8)
    calls: list[Model] = []

    @per_model
    def count(model: Model) -> list[Model]:
        calls.append(model)
        return []

    model = zoo.chain(2)

    def ask() -> list[Model]:
        barrier.wait()
        return count(model)

    with ThreadPoolExecutor(8) as pool:
        results = [future.result() for future in [pool.submit(ask) for _ in range(8)]]
    assert len(calls) == 1
    assert all(result is results[0] for result in results)


def test_a_pickle_holds_what_is_declared_only() -> None:
    model = zoo.tree(7)
    fresh = len(pickle.dumps(zoo.tree(7)))
    _ = model.digest, model.layout, model.mass, model.spanning, tree_of(model), model.joint_index("link_3_joint")
    assert len(pickle.dumps(model)) == fresh
    assert pickle.loads(pickle.dumps(model)).digest == model.digest


def test_independent_velocities_are_those_of_the_cluster_tree() -> None:
    for model in (zoo.tree_of("differential", 1, 2), zoo.tree_of("link_and_rotor", 2, 2), zoo.humanoid_leg()):
        embedded = sarrus.embed(model)
        assert embedded.ny == cluster_tree_of(embedded).nv < model.nv
