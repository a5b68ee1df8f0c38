"""The pages about other libraries: their code runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "hooks"
NEEDED = {"jax": "jax", "gym": "gymnasium", "torch": "torch", "casadi": "casadi", "ray": "ray"}


@pytest.mark.parametrize("path", sorted(PAGES.glob("*.md")), ids=lambda path: path.stem)
def test_the_code_of_a_page_runs(path: Path, tmp_path):
    for library in re.findall(r"^import (\w+)", path.read_text(), re.MULTILINE):
        pytest.importorskip(library)
    pytest.importorskip(NEEDED[path.stem])
    code = re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
    assert code
    file = tmp_path / "page.py"
    file.write_text("\n".join(code))
    # In a process of its own: libraries that start threads, and those that fork, do not get on in one.
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
