"""The report on the papers: every table and figure has its row, and a difference has a reason."""

from __future__ import annotations

import numpy as np

import sarrus
from benchmarks import loop_scaling, osim_counts, unseen_zeros
from benchmarks.paper import a_pv, report
from benchmarks.paper.__main__ import ITEMS, stamp
from benchmarks.paper.item import Item, Panel, Table, Verdict
from sarrus import zoo

EVERY = {
    "A": ("table2", "fig2", "fig3", "fig4a", "fig4c"),
    "B": ("table2", "fig6", "fig7", "fig8", "fig9", "fig9b", "fig10", "fig11"),
    "C": ("fig8", "fig10", "fig12", "fig13"), "D": ("fig2",), "E": ("table1", "fig3", "fig4a", "fig4b", "fig5", "fig6"),
}  # fmt: skip


def test_every_table_and_figure_with_numbers_has_its_row():
    assert [item.key for item in ITEMS] == [f"{paper}.{key}" for paper, keys in EVERY.items() for key in keys]


def test_a_report_is_written(tmp_path):
    """Of one real figure at two sizes, and of one that differs."""
    chain = a_pv._scaling(
        lambda n: a_pv.sarrus.zoo.chain(n).with_constraints(a_pv.sarrus.contact("tip", 6)),
        (6, 8), ("pv", "pv_early", "pv_soft", "ltl", "ltl_soft"), lambda words: None,
    )  # fmt: skip
    made_up = Item(
        "B.fig7", "Fig. 7", "VI", "times", lambda quick, tell: {},
        lambda result: [Verdict("<faster>", "1 | 2", False, "because"), Verdict("x", "y", None, "no file")],
        lambda result: [Table("Operations", ("a", "b"), [("1", "2")])],
        lambda result: [Panel("bars", "", "operations", {"m": (["one", "two"], [1.0, 2.0])})],
    )  # fmt: skip
    items = [next(i for i in ITEMS if i.key == "A.fig4a"), made_up]
    results = {
        "A.fig4a": {"result": chain, "stamp": stamp(True)},
        "B.fig7": {"result": {}, "stamp": stamp(True)},
    }
    markdown, page = report.write(items, results, tmp_path)
    text, html = markdown.read_text(), page.read_text()
    assert "2 tables and figures with numbers of five papers; 4 claims" in text
    assert "| <faster> | 1 \\| 2 | differs | Because. |" in text
    assert "&lt;faster&gt;" in html
    assert html.count("data:image/png") == 2
    assert results["A.fig4a"]["stamp"]["commit"] in html
    assert np.all([f"### {k}" in text for k in ("A, Fig. 4a", "B, Fig. 7")])


def test_zeros_that_are_unknown_are_computed_with():
    """Tips welded in pairs: proxBBO is linear because the zeros of L are known, and only because of that."""
    sizes = (2, 4)
    pairs = next(s for s in loop_scaling.SERIES if s.key == "star_pairs")
    seen = [sarrus.op_count(pairs.make(n), "prox_bbo", mu=unseen_zeros.MU, max_iterations=1).total for n in sizes]
    unseen = loop_scaling.with_dense_L(pairs, sizes)
    rows = [6 * n for n in sizes]
    more = [osim_counts.ldl_count(m) - n * osim_counts.ldl_count(6) for m, n in zip(rows, sizes, strict=True)]
    assert seen[1] < 2.0 * seen[0]
    assert all(
        b - a >= added for a, b, added in zip(seen, unseen, more, strict=True)
    )  # a dense factor, a solve, products
    full = zoo.star_to_one(3)  # where L is full there is nothing to leave out
    counted = sarrus.op_count(full, "prox_bbo", mu=unseen_zeros.MU, max_iterations=1).total
    assert unseen_zeros.operations(full, "prox_bbo", unseen_zeros.dense_factor) == counted


def test_what_pv_osim_fast_does_at_the_root_grows_by_the_same_for_each_leg():
    def held(legs: int) -> sarrus.Model:
        robot = zoo.geared_quadruped().without_constraints()
        return robot.with_constraints(*(sarrus.contact(f, 3) for f in feet(robot)[:legs]))

    def feet(robot: sarrus.Model) -> list[str]:
        return [name for name in robot.frame_names if name.endswith("foot")]

    counts = [osim_counts.fast_count(held(legs)) for legs in (1, 2, 3, 4)]
    assert all(count is not None for count in counts)
    root = [count.at_root for count in counts if count]
    assert root[1] - root[0] == root[2] - root[1] == root[3] - root[2]
    whole = sarrus.op_count(held(4), "pv_osim_fast")
    assert counts[3] is not None
    assert (
        counts[3].total < whole.total - whole.by_stage["applied"] - whole.by_stage["status"]
    )  # the root's D is unused
