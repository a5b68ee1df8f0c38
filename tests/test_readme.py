"""Examples of the README and of pages run as they stand; links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def blocks(page: str) -> list[str]:
    """The Python of a page, block by block."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)


def test_the_readme_examples_run(capsys):
    example, on_the_ground = blocks("README.md")
    assert len(example.splitlines()) <= 24
    exec(compile(example, "README.md", "exec"), {})
    assert "pv_early of 'stem_3_2_7'" in capsys.readouterr().out
    assert len(on_the_ground.splitlines()) <= 10
    names = {}
    exec(compile(on_the_ground, "README.md", "exec"), names)
    assert names["contacts"].touching.sum() == 4
    assert "implicit steps" in capsys.readouterr().out


@pytest.mark.parametrize("page", ["docs/contact.md", "docs/simulation.md"])
def test_the_examples_of_a_page_run_one_after_the_other(page):
    names = {}
    for block in blocks(page):
        if "cassie.xml" not in block:  # a file that is not ours
            exec(compile(block, page, "exec"), names)


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md"))]
)
def test_links_between_pages_lead_somewhere(page):
    path = ROOT / page
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
        assert (path.parent / target).exists(), target
