"""Examples of the README and of pages run as they stand; links lead somewhere."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import sarrus
from benchmarks import api_page, contact_counts, count_pages, gradient_counts, numbers, readme_table
from benchmarks.written_figures import figures
from sarrus.cli.main import app

ROOT = Path(__file__).parents[1]


def blocks(page: str) -> list[str]:
    """The Python of a page, block by block."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)


def test_the_readme_examples_run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    example, on_the_ground, many = blocks("README.md")
    assert len(example.splitlines()) <= 24
    exec(compile(example, "README.md", "exec"), {})
    assert "pv_early of 'stem_3_2_7'" in capsys.readouterr().out
    assert len(on_the_ground.splitlines()) <= 10
    names = {}
    exec(compile(on_the_ground, "README.md", "exec"), names)
    assert names["contacts"].touching.sum() == 4
    assert "implicit steps" in capsys.readouterr().out
    exec(compile(many, "README.md", "exec"), names)
    assert names["many"].statuses == {"ok": 64 * 101}
    assert (tmp_path / "exported" / "robot.xml").is_file()


# About other libraries, which not everybody has: tests/hooks/test_pages.py. The tutorial: tests/test_notebooks.py.
PAGES = sorted(
    str(p.relative_to(ROOT))
    for p in ROOT.glob("docs/**/*.md")
    if p.parent.name != "hooks" and (p.stem != "tutorial" or find_spec("nbclient") is None)
)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)])
def test_the_examples_of_a_page_run_one_after_the_other(page, monkeypatch, tmp_path):
    """As they are pasted, in one session per page. No window is opened: `view` is a stand-in here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sarrus, "view", lambda *args, **kwargs: SimpleNamespace(show=lambda q: None), raising=False)
    names = {}
    for block in blocks(page):
        exec(compile(block, page, "exec"), names)


@pytest.mark.parametrize(
    "page", [str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md") if "```console" in p.read_text()]
)
def test_what_commands_of_a_page_print(page, monkeypatch):
    """But for rounding (the gap between singular values is a multiple of it), and for what is left out: "..."."""
    monkeypatch.setenv("COLUMNS", "200")
    for command, printed in re.findall(r"```console\n\$ sarrus (.*?)\n(.*?)```", (ROOT / page).read_text(), re.DOTALL):
        result = CliRunner().invoke(app, command.split())
        found = [rounded(line) for line in result.output.splitlines()]
        assert [line for line in printed.splitlines() if line != "..." and rounded(line) not in found] == []


def rounded(line: str) -> str:
    return re.sub(r"\d\.\d+e[+-]\d+", "#", line).rstrip()


def test_the_reference_has_every_public_name():
    page = (ROOT / "docs" / "reference.md").read_text()
    assert page == api_page.page(), "run `make numbers`"
    assert page.count("\n::: ") == len(sarrus.__all__)


def test_counts_in_the_guide_are_not_stale():
    """What needs no robot files, and little time; `python -m benchmarks.count_pages --check` counts all."""
    assert figures("contact.md", "contact_counts").strip() == contact_counts.table(), "run `make numbers`"
    for name in ("hand + cube", "two hands + cube"):
        assert count_pages.loop_system(name) in figures("loops.md", "loop systems"), "run `make numbers`"
    assert count_pages.stem(4) in figures("algorithms/efpa.md", "stems"), "run `make numbers`"
    for name, robot in (("rnea", "chain(30)"), ("lcaba", "stewart")):
        model = sarrus.zoo.chain(30) if name == "rnea" else sarrus.zoo.stewart()
        assert gradient_counts.row(name, robot, model) in figures("differentiation.md", "gradient_counts")
    found = figures("derivatives.md", "derivative_counts")
    assert f"| chain(30) | {sarrus.op_count(sarrus.zoo.chain(30), 'aba_derivatives').total:,} |" in found
    leg = count_pages.left_out_rotors_of(count_pages.LEG)
    assert leg in figures("embedding.md", "left-out rotors"), "run `make numbers`"


def test_counts_in_the_readme_are_not_stale():
    """Of robots whose files are here."""
    table = readme_table.table()
    assert len([row for row in readme_table.COUNTED if row in table]) == len(readme_table.COUNTED)
    assert readme_table.with_counts(table) == table, "run `make numbers`"


def test_every_algorithm_has_a_page_whose_counts_are_not_stale():
    """Robots, which take seconds to trace, are counted for a few; `python -m benchmarks.numbers --check` counts all."""
    stale = []
    for name, algorithm in sarrus.catalog().items():
        path = numbers.PAGES / f"{name}.md"
        robots = name in ("aba", "pv_early", "lcaba", "ce_aba")
        if not path.is_file() or path.read_text() != numbers.written(algorithm, robots):
            stale.append(name)
    assert stale == [], "run `make numbers`"


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md"))]
)
def test_links_between_pages_lead_somewhere(page):
    """To files that exist, and to headings that they have (`make docs` is strict about both, on the site)."""
    path = ROOT / page
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    for target, _, anchor in (link.partition("#") for link in re.findall(r"\]\(([^):\s]+)\)", text)):
        file = path.parent / target if target else path
        assert file.exists(), target
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """Of the headings of a page, as Markdown makes them."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL), flags=re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}
