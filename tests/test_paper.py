"""The report on the papers: every table and figure has its row, and a difference has a reason."""

from __future__ import annotations

import numpy as np

from benchmarks.paper import a_pv, report
from benchmarks.paper.__main__ import ITEMS, stamp
from benchmarks.paper.item import Item, Panel, Table, Verdict

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
    assert "| <faster> | 1 \\| 2 | differs | because |" in text
    assert "&lt;faster&gt;" in html
    assert html.count("data:image/png") == 2
    assert results["A.fig4a"]["stamp"]["commit"] in html
    assert np.all([f"### {k}" in text for k in ("A, Fig. 4a", "B, Fig. 7")])
