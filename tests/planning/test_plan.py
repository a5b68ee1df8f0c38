"""Plans: what is chosen, that it is right, kept, taken by default, and explained."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.calls import defaults
from sarrus.codegen.runtime import cache as disk
from sarrus.errors import UnsupportedError
from sarrus.mechanics.solvers.elimination_order import minimum_degree, minimum_fill, plain_minimum_degree
from sarrus.planning.cost import cost_of
from sarrus.planning.kept_plans import _name, kept_plan, known_plan
from sarrus.planning.orders import coupled_links, estimate, proposed_orders
from sarrus.planning.plan import Plan
from sarrus.planning.search import structural_plan
from tests.mechanisms import relative_error


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SARRUS_CACHE_DIR", str(tmp_path / "cache"))


def state(model, seed=0):
    q, v = sarrus.random_state(model, seed)
    return q, v, np.random.default_rng(seed).normal(size=model.nv)


class TestChoice:
    def test_gears_are_embedded(self):
        found = sarrus.plan(zoo.humanoid_leg(), cache=False)
        assert found.algorithm == "hybrid"
        assert found.chosen.method in ("ce_aba", "ltl")
        assert found.chosen.fallback == "prox_ltl"
        assert {c.name for c in zoo.humanoid_leg().active_constraints} == set(found.chosen.embedded)

    def test_the_chosen_one_costs_least(self):
        found = sarrus.plan(zoo.five_bar(), cache=False)
        costs = [x.weighted for x in found.candidates if not x.ruled_out]
        assert len(costs) > 3
        assert found.chosen.weighted == min(costs)

    def test_redundant_rows_rule_full_rank_out(self):
        model = zoo.sarrus_linkage()
        found = sarrus.plan(model, cache=False)
        assert (found.rows, found.rank) == (5, 4)
        (bbo,) = [x for x in found.candidates if x.method == "bbo"]
        assert "independent" in bbo.ruled_out

    def test_a_tree(self):
        found = sarrus.plan(zoo.chain(3), cache=False)
        assert (found.algorithm, found.options) == ("aba", {})

    def test_contacts_alone(self):
        model = zoo.chain_welded_tip(7)
        found = sarrus.plan(model, cache=False)
        assert found.algorithm in ("pv", "pv_early", "ltl", "constrained_aba", "prox_pv")
        x = state(model)
        assert (
            relative_error(
                sarrus.forward_dynamics(model, *x, method=found.algorithm, **found.options).qdd,
                sarrus.prox_ltl(model, *x).qdd,
            )
            < 1e-8
        )

    def test_operations_are_those_of_the_tracer(self):
        model = zoo.five_bar()
        for x in sarrus.plan(model, cache=False).candidates:
            if x.method == "lcaba" and not x.embedded and not x.ruled_out:
                options = {} if x.order is None else {"order": x.order}
                count = sarrus.op_count(model, "lcaba", **options)
                assert np.isclose(x.operations, count.total + (x.iterations - 2.0) * count.per_iteration, rtol=1e-12)

    def test_symbols_have_no_plan(self):
        ca = pytest.importorskip("casadi")
        builder = sarrus.ModelBuilder("symbolic")
        builder.add_body("a", mass=ca.SX.sym("m"), com=(0.1, 0.0, 0.0), inertia=np.eye(3))
        with pytest.raises(UnsupportedError, match="contains symbols"):
            sarrus.plan(builder.build())
        with pytest.raises(UnsupportedError, match=r"sarrus\.Model"):
            sarrus.plan("digit")  # type: ignore[arg-type]


MECHANISMS = [
    zoo.four_bar, zoo.five_bar, zoo.bennett, zoo.slider_crank, zoo.humanoid_leg, zoo.differential, zoo.connecting_rod,
    zoo.sarrus_linkage, lambda: zoo.star_pairs(2),
]  # fmt: skip


@pytest.mark.parametrize("make", MECHANISMS)
def test_the_plan_gives_what_a_robust_method_gives(make):
    model = make()
    found = sarrus.plan(model, cache=False)
    for seed in range(3):
        x = state(model, seed)
        planned = sarrus.forward_dynamics(model, *x, method=found.algorithm, **found.options)
        robust = sarrus.prox_ltl(model, *x)
        assert planned.status == robust.status == 0
        assert relative_error(planned.qdd, robust.qdd) < 1e-8
        # Bennett's linkage: rows that are redundant where loops are closed are nearly so where they are open by 1e-12.
        assert relative_error(planned.forces, robust.forces) < 1e-6
        assert np.abs(planned.residual).max() < 1e-6


class TestOrders:
    def test_any_order_with_children_first_is_right(self):
        model = zoo.coupled_loops(2)
        x = state(model)
        expected = sarrus.prox_ltl(model, *x).qdd
        for order in proposed_orders(model).values():
            assert relative_error(sarrus.lcaba(model, *x, order=order).qdd, expected) < 1e-7

    def test_a_wrong_order_is_an_error_in_words(self):
        model = zoo.five_bar()
        x, n = state(model), len(coupled_links(zoo.five_bar())[0].nodes)
        with pytest.raises(UnsupportedError, match="children come first"):
            sarrus.lcaba(model, *x, order=tuple(range(n)))
        with pytest.raises(UnsupportedError, match=f"numbers 0 to {n - 1} once"):
            sarrus.lcaba(model, *x, order=(0, 0))

    def test_rules_give_permutations(self):
        tree, groups, rows = coupled_links(zoo.star_pairs(4))
        for rule in (minimum_degree, plain_minimum_degree, minimum_fill):
            order = rule(tree, groups)
            assert sorted(order) == list(range(len(tree.nodes)))
            assert all(order.index(i) < order.index(p) for i, p in enumerate(tree.parents) if p >= 0)
            assert estimate(tree, groups, rows, order) > 0.0


class TestKept:
    def test_on_disk_by_content(self, cache):
        made = sarrus.plan(zoo.four_bar())
        again = zoo.four_bar()
        assert known_plan(again) is None
        assert kept_plan(again) == made
        assert kept_plan(zoo.five_bar()) is None
        assert kept_plan(again, batch=False) is None

    def test_damage_is_seen(self, cache, tmp_path):
        sarrus.plan(zoo.four_bar())
        (file,) = (tmp_path / "cache").glob("*.kernel")
        file.write_bytes(file.read_bytes()[:-1] + b"!")
        with pytest.warns(sarrus.errors.CacheWarning):
            assert kept_plan(zoo.four_bar()) is None

    def test_json_and_back(self):
        made = sarrus.plan(zoo.differential(), cache=False)
        assert Plan.from_json(made.to_json()) == made
        for text in ("", "{}", "[]", '{"candidates": []}', made.to_json().replace("model_name", "name")):
            with pytest.raises(UnsupportedError, match="not a plan"):
                Plan.from_json(text)


class TestDefault:
    def test_without_a_plan_the_structure_decides(self, cache):
        model = zoo.four_bar()
        x = state(model)
        assert np.array_equal(sarrus.forward_dynamics(model, *x).qdd, sarrus.lcaba(model, *x).qdd)
        assert structural_plan(model).algorithm == "lcaba"
        assert known_plan(model) is None

    def test_with_one_it_decides(self, cache):
        model = zoo.four_bar()
        x = state(model)
        found = sarrus.plan(model)
        planned = sarrus.forward_dynamics(model, *x)
        assert planned.iterations == 0  # of ce_aba; lcaba has two
        assert relative_error(planned.qdd, sarrus.lcaba(model, *x).qdd) < 1e-9
        kernel = sarrus.compile(model)
        assert kernel.method == found.algorithm == "hybrid"
        assert relative_error(kernel(*x).qdd, planned.qdd) < 1e-12
        assert sarrus.forward_dynamics(model, *x, mu=1e5).iterations > 0  # which only the structural default takes

    def test_auto_plans_at_once(self, cache):
        model = zoo.four_bar()
        x = state(model)
        planned = sarrus.forward_dynamics(model, *x, method="auto")
        assert known_plan(model) is not None
        assert planned.iterations == 0  # of ce_aba; lcaba has two
        assert sarrus.compile(model, "auto").method == "hybrid"
        assert sarrus.simulate(zoo.four_bar(), *x[:2], steps=1, dt=1e-3, method="auto").settings["method"] == "hybrid"
        expected = sarrus.forward_dynamics_derivatives(model, *x)
        assert np.array_equal(sarrus.forward_dynamics_derivatives(model, *x, method="auto").dqdd_dq, expected.dqdd_dq)
        arm = zoo.chain_welded_tip(7)
        q = sarrus.neutral(arm)
        assert np.array_equal(sarrus.delassus(arm, q, method="auto"), sarrus.delassus(arm, q))

    def test_compile_plans(self, cache):
        model = zoo.five_bar()
        sarrus.compile(model)
        assert known_plan(model) is not None
        assert sarrus.compile(zoo.chain(3)).method == "aba"

    def test_simulate_goes_by_it(self, cache):
        model = zoo.four_bar()
        before = sarrus.simulate(model, duration=0.05)
        sarrus.plan(model)
        after = sarrus.simulate(model, duration=0.05)
        assert (before.settings["method"], after.settings["method"]) == ("lcaba", "hybrid")
        assert relative_error(after.q[-1], before.q[-1]) < 1e-6

    def test_calls_plan_once_it_pays(self, cache, monkeypatch):
        monkeypatch.setattr(defaults, "_PER_PART", 0.0)
        model = zoo.four_bar()
        sarrus.forward_dynamics(model, *state(model))
        assert known_plan(model) is not None
        monkeypatch.setenv("SARRUS_PLAN", "never")
        other = zoo.five_bar()
        sarrus.forward_dynamics(other, *state(other))
        assert known_plan(other) is None


def test_explained():
    found = sarrus.plan(zoo.sarrus_linkage(), cache=False)
    text = found.explain()
    for words in ("sarrus_linkage", "candidates", "ruled out", "operations", found.chosen.method):
        assert words in text
    assert json.loads(found.to_json())["candidates"][0]["method"] == found.chosen.method
    assert "not planned" in structural_plan(zoo.four_bar()).explain()


def test_a_loop_is_counted_as_often_as_it_runs():
    tape = sarrus.lcaba.compile(zoo.four_bar(), cache=False).tape
    count = tape.op_count
    assert cost_of(tape, 2.0).operations == count.total
    assert cost_of(tape, 5.0).operations == count.total + 3 * count.per_iteration
    assert cost_of(tape, 1.0).operations == count.total - count.per_iteration


def test_a_model_of_nothing_has_a_plan():
    assert sarrus.plan(sarrus.ModelBuilder("nothing").build(), cache=False).candidates[0].method == "aba"


def test_long_chains_are_planned_without_tracing_what_factors_their_mass_matrix():
    """A hundred links deep: 330,000 operations for L^T D L alone, and seconds to trace; the best takes 25,000."""
    model = sarrus.zoo.chain(100).with_constraints(sarrus.contact("tip", 6))
    found = sarrus.plan(model, cache=False)
    left_out = {x.method: x.ruled_out for x in found.candidates if x.ruled_out}
    assert set(left_out) == {"ltl", "prox_ltl"}
    assert all("factoring the mass matrix alone takes some 3" in why for why in left_out.values())
    assert found.chosen.operations < 30_000


def test_clusters_of_another_model_are_refused():
    """A plan's options are data, which may be handed to the wrong model: a loop of the same name, with more links."""
    six, eight = sarrus.zoo.cycle(6), sarrus.zoo.cycle(8)
    plan = sarrus.plan(six, cache=False)
    assert plan.clusters
    assert [c.name for c in six.constraints] == [c.name for c in eight.constraints]
    q, v = sarrus.random_state(eight, 0)
    with pytest.raises(UnsupportedError, match="these clusters are of another model"):
        sarrus.forward_dynamics(eight, q, v, 0.0 * v, method=plan.algorithm, **plan.options)
    q, v = sarrus.random_state(six, 0)
    assert sarrus.forward_dynamics(zoo.cycle(6), q, v, 0.0 * v, method=plan.algorithm, **plan.options).status == 0


@pytest.mark.parametrize("damage", [{"method": "nonsense"}, {"bodies": [98, 99]}, {"bodies": [0]}, {"digest": "0"}])
def test_a_plan_on_disk_that_does_not_fit_is_made_again(damage, cache):
    """Sealed, and all the same of no use: of another version, say, in which a method had another name."""
    good = sarrus.plan(sarrus.zoo.four_bar())
    data = json.loads(good.to_json())
    for where in (data, data["candidates"][0], data["clusters"][0]):
        where.update({name: x for name, x in damage.items() if name in where})
    model = sarrus.zoo.four_bar()
    disk.save(_name(model, True), json.dumps(data).encode())
    assert kept_plan(model) is None
    assert sarrus.plan(model) == good
