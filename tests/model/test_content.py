"""One hash for everything that a model declares."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest

from sarrus import zoo
from sarrus.model.content import hash_of


@dataclass(frozen=True, eq=False)
class Pair:
    first: object
    second: object


@dataclass(frozen=True, eq=False)
class Couple:
    first: object
    second: object


def test_equal_parts_count_alike_whether_or_not_they_are_one_object():
    part = np.arange(3.0)
    assert hash_of(Pair(part, part)) == hash_of(Pair(part, part.copy()))
    assert hash_of((part, np.asfortranarray(np.eye(2)))) == hash_of((part.copy(), np.eye(2)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Pair(1.0, 2.0), Couple(1.0, 2.0)),
        (Pair(1.0, 2.0), Pair(2.0, 1.0)),
        (Pair("a", None), ("a", None)),
        (np.zeros(4), np.zeros((2, 2))),
        (np.zeros(2), np.zeros(4, np.float32)),
        (np.zeros(1), np.array([-0.0])),
        (np.zeros(1), np.array([5e-324])),
        ((np.zeros(1), np.zeros(1)), (np.zeros(2),)),
        (("ab", "c"), ("a", "bc")),
    ],
)
def test_what_differs_counts_as_different(one, other):
    assert hash_of(one) != hash_of(other)


def test_every_field_of_every_part_of_a_robot_counts():
    body = zoo.chain(3).bodies[1]
    for part in (body.joint, body.inertia, body.placement):
        for field in fields(part):
            changed = replace(part, **{field.name: "something else"})
            assert hash_of((body.name, changed)) != hash_of((body.name, part)), field.name


def test_a_copy_of_a_robot_has_its_digest():
    model = zoo.geared_quadruped()
    assert pickle.loads(pickle.dumps(model)).digest == model.digest
