"""Our text beside the papers': every line of a paper's algorithm is in its page, what we quote there is in the source.

A table has the columns paper, ours and remark. A quotation is of the page's own algorithm, or of the file that was
named before it in the same cell; where one of ours is abridged, each part of it is a quotation of its own.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "sarrus"
FILES = {path.relative_to(ROOT / "src").as_posix(): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}
HEADING = "## Beside the paper"


def numbers(count: int, part: str = "") -> list[str]:
    return [f"{part}{line}" for line in range(1, count + 1)]


# What each algorithm has: its lines, without those that only say `end`. `2.7` is line 7 of its second part.
LINES: dict[str, list[str]] = {
    "aba": numbers(24),
    "pv": numbers(17),
    "pv_early": [
        *numbers(12),
        *("(56)", "(57)", "(58)", "(59)", "(60)", "(61)", "(65)", "(66)", "(67)", "(68)", "(63)"),
        *("13", "14", "15", "(62)", "(64)", "16", "17"),
    ],
    "lcaba": [*numbers(26, "1."), *numbers(12, "2."), *numbers(12, "3.")],
    "prox_bbo": [*numbers(23, "4."), *numbers(16, "5."), *numbers(11, "6.")],
    "ce_aba": [
        *(line for line in numbers(18, "1.") if line != "1.10"),
        *numbers(10, "2."),
        *numbers(5, "3."),
        *numbers(2, "4."),
    ],
    "pv_osimr": numbers(28),
}


def section(page: str) -> str:
    text = (ROOT / "docs" / "algorithms" / f"{page}.md").read_text()
    assert text.count(HEADING) == 1, f"{page}.md has no section {HEADING!r}, or several"
    return re.split(r"\n## ", text.split(HEADING)[1])[0]


def table(page: str) -> list[list[str]]:
    """The cells of every row, without headings."""
    rows = [line.strip().strip("|").split("|") for line in section(page).splitlines() if line.startswith("|")]
    return [
        [cell.strip() for cell in row]
        for row in rows
        if not set(row[0].strip()) <= set("-: ") and row[0].strip() != "paper"
    ]


def normalized(code: str) -> str:
    return re.sub(r"\s+", "", code)


def file_of(name: str) -> str:
    found = [path for path in FILES if path == name or path.endswith(f"/{name}")]
    assert len(found) == 1, f"{name}: {len(found)} files of that name"
    return FILES[found[0]]


def own_text(page: str) -> str:
    return file_of(next(path for path in FILES if re.fullmatch(rf"sarrus/algorithms/\w+/{page}\.py", path)))


@pytest.mark.parametrize("page", LINES)
def test_every_line_of_the_paper_is_there_in_order(page: str) -> None:
    rows = table(page)
    assert all(len(row) == 3 for row in rows), [row for row in rows if len(row) != 3]
    assert [re.split(r"[: ]", row[0])[0] for row in rows] == LINES[page]
    assert all(re.split(r"[: ]", row[0], maxsplit=1)[1].strip() for row in rows)


@pytest.mark.parametrize("page", LINES)
def test_every_quotation_is_in_the_source(page: str) -> None:
    for row in table(page):
        text = own_text(page)
        for quotation in re.findall(r"`([^`]+)`", row[1]):
            assert "..." not in quotation, quotation
            if re.fullmatch(r"[\w/]+\.py", quotation):
                text = file_of(quotation)
            else:
                assert normalized(quotation) in normalized(text), f"{page}, line {row[0]}: {quotation}"


@pytest.mark.parametrize("page", LINES)
def test_every_line_is_answered(page: str) -> None:
    """By code of ours, or, where there is none, by words that say why."""
    for _, ours, remark in table(page):
        assert "`" in ours or (ours == "none" and remark)


@pytest.mark.parametrize("page", LINES)
def test_remarks_name_what_exists(page: str) -> None:
    everything = normalized("".join(FILES.values()))
    for row in table(page):
        for name in re.findall(r"`([^`]+)`", row[2]):
            if re.fullmatch(r"[\w/]+\.py", name):
                file_of(name)
            else:
                assert normalized(name) in everything, f"{page}, line {row[0]}: {name}"
