"""Algorithms as objects: what they say about themselves, how they are called, counted, compiled, pickled, added."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
from pathlib import Path

import numpy as np
import pytest

import sarrus
from sarrus import Algorithm, Feature
from sarrus.errors import UnknownNameError, UnsupportedError
from sarrus.registry import table
from sarrus.registry.table import bibliography

CHAIN = sarrus.zoo.chain(3)
STATE = sarrus.random_state(CHAIN, 0)


@pytest.mark.parametrize("name", sarrus.catalog())
def test_every_algorithm_says_what_it_is(name):
    algorithm = sarrus.catalog()[name]
    assert algorithm.summary
    assert algorithm.summary.endswith((".", ":"))
    assert algorithm.cost.startswith("O(")
    assert all(key in bibliography() for key in algorithm.references)
    assert algorithm.needs in algorithm.supports
    assert not algorithm.supports & algorithm.ignores & (Feature.ROWS | Feature.EMBEDDED)
    assert algorithm.required == tuple(x.name for x in algorithm.inputs if not x.optional)
    assert repr(algorithm).startswith(f"<Algorithm {name}(model, ")


@pytest.mark.parametrize("name", sarrus.catalog())
def test_pickles_and_copies_are_the_algorithm_itself(name):
    algorithm = sarrus.catalog()[name]
    assert pickle.loads(pickle.dumps(algorithm)) is algorithm
    assert copy.deepcopy(algorithm) is algorithm


def test_one_made_on_the_fly_is_pickled_by_what_it_is():
    made = Algorithm("twice", _twice, (table.Input("q", False),), "x")
    assert pickle.loads(pickle.dumps(made)) == made
    assert np.array_equal(pickle.loads(pickle.dumps(made)).compile(CHAIN)(STATE[0]), 2.0 * STATE[0])


def _twice(model, q):
    return 2.0 * q


def test_help_and_signature_are_those_of_the_text():
    assert sarrus.aba.__name__ == "aba"
    assert sarrus.aba.__module__ == "sarrus.algorithms.tree.aba"
    assert list(inspect.signature(sarrus.aba).parameters) == ["model", "q", "v", "tau", "external_forces"]
    page = pydoc.plain(pydoc.render_doc(sarrus.aba))
    assert "aba(model, q, v, tau, external_forces=None)" in page
    assert "M qdd + c = tau" in page
    assert "references  featherstone2008" in page
    assert "supports    contacts and link rows, " in sarrus.pv.__doc__


def test_the_example_of_the_docs(capsys):
    page = Path(__file__).parents[1] / "docs" / "constraints.md"
    example = page.read_text().partition("## Algorithms are objects")[2].partition("```python")[2].partition("```")[0]
    exec(compile(example, page.name, "exec"), {"sarrus": sarrus, "np": np})
    assert capsys.readouterr().out.startswith("contacts and link rows, embedded constraints, joints of several")


def test_called_counted_and_compiled():
    q, v = STATE
    kernel = sarrus.aba.compile(CHAIN, dtype=np.float32)
    assert kernel.dtype == np.float32
    assert np.allclose(kernel(q, v, v), sarrus.aba(CHAIN, q, v, v), rtol=1e-4)
    assert sarrus.aba.op_count(CHAIN) == sarrus.op_count(CHAIN, "aba") == sarrus.op_count(CHAIN, sarrus.aba)
    assert sarrus.frame_jacobian.op_count(CHAIN, frame="tip") == sarrus.op_count(CHAIN, "frame_jacobian", frame="tip")
    assert np.array_equal(sarrus.forward_dynamics(CHAIN, q, v, v, sarrus.aba).qdd, sarrus.aba(CHAIN, q, v, v))
    assert np.array_equal(sarrus.aba.text(CHAIN, q, v, v), sarrus.aba(CHAIN, q, v, v))


def test_the_catalog_is_a_copy_by_family_and_name():
    sarrus.catalog().clear()
    families = [algorithm.family for algorithm in sarrus.catalog().values()]
    assert families == sorted(families, key=table.FAMILIES.index)
    assert next(iter(sarrus.methods())) == "aba"
    assert set(sarrus.methods()) - {"aba", "ce_aba", "hybrid"} == {
        x.name for x in sarrus.catalog().values() if x.family == "constrained"
    }


def test_adding_an_algorithm_is_one_function(monkeypatch):
    """Everybody finds it by the registry: the package, the tracer, the compiler, the methods of forward dynamics."""
    monkeypatch.setattr(table, "_entered", dict(table._entered))

    @table.algorithm(outputs="qdd", cost="O(1)")
    def lazy(model, q, v, tau=None):
        """Accelerations as one would like them."""
        return -v if tau is None else tau - v

    assert sarrus.lazy is lazy
    assert list(sarrus.catalog())[-1] == "lazy"
    assert sarrus.methods()["lazy"] is lazy
    q, v = STATE
    assert np.array_equal(sarrus.lazy(CHAIN, q, v), -v)
    assert np.array_equal(sarrus.lazy(CHAIN, np.stack([q, q]), np.stack([v, v]), v), np.zeros((2, 3)))
    assert np.array_equal(sarrus.compile(CHAIN, "lazy")(q, v), -v)
    assert lazy.op_count(CHAIN).total == CHAIN.nv

    @table.algorithm(outputs="qdd", cost="O(1)", supports=Feature.NOTHING)
    def simple(model, q, v, tau):
        """Only for joints of one degree of freedom."""
        return tau

    spherical = sarrus.ModelBuilder().add_body("ball", joint="spherical", mass=1.0, inertia=np.eye(3)).build()
    with pytest.raises(UnsupportedError, match=r"^simple does not support joints of several degrees.* Use aba, bbo, "):
        simple(spherical, sarrus.neutral(spherical), np.zeros(3), np.zeros(3))
    monkeypatch.undo()
    with pytest.raises(UnknownNameError, match="unknown algorithm 'lazy'"):
        sarrus.op_count(CHAIN, "lazy")
