"""The README's example runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_readme_example_runs(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert len(example.splitlines()) <= 24
    exec(compile(example, "README.md", "exec"), {})
    assert "pv_early of 'stem_3_2_7'" in capsys.readouterr().out


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md"))]
)
def test_links_between_pages_lead_somewhere(page):
    path = ROOT / page
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
        assert (path.parent / target).exists(), target
