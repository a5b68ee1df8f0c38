"""How large a robot file may be. Robots have a thousandth of each of these; a file that exceeds one is refused in words
before it can exhaust memory or time.
"""

from __future__ import annotations

from sarrus.errors import ImportFileError

BYTES = 100_000_000  # of a file
ELEMENTS = 500_000  # of XML, after `<replicate>` and the like are carried out
BODIES = 50_000  # that MuJoCo would make of `<replicate>`, `<composite>`, `<flexcomp>`
CELLS = 10_000_000  # of a height field, of a texture
FILES = 1_000  # that include one another
YAML_BYTES = 1_000_000
YAML_DEPTH = 20


def check_limit(name: str, what: str, count: float, most: float) -> None:
    """name: of the file."""
    if not count <= most:
        raise ImportFileError(f"{name}: {what}: {count:,.15g}, more than the limit of {most:,.15g}")
