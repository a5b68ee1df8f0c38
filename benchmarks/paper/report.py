"""One report of all results: Markdown, and HTML that needs nothing else."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.paper.item import PAPERS, Item, Panel, Table, Verdict

WORDS = {True: "agrees", False: "differs", None: "not measured"}
_UNITS = re.compile(r"(?<=\d) (?:%|us|N m)(?!\w)")
_MANY = {True: "agree", False: "differ", None: "not measured"}
STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:1em 0;font-size:13px;display:block;overflow-x:auto}
td,th{border:1px solid #ddd;padding:3px 8px;text-align:left;vertical-align:top}th{background:#f4f4f4}
h1,h2,h3{overflow-wrap:break-word}h2{margin-top:2.5em}
.agrees{color:#176b2c;font-weight:600}.differs{color:#a4260d;font-weight:600}.not{color:#777}img{max-width:100%}
.numbers td,.numbers th{white-space:nowrap}.numbers td+td,.numbers th+th{text-align:right}
.claims td:first-child,.claims td:nth-child(2){min-width:13em}.claims td:nth-child(4){min-width:16em}
@media(max-width:700px){body{margin:1em auto}h1,h2{font-size:1.3em}.verdicts tr:first-child{display:none}
.verdicts tr,.verdicts td{display:block;border:0}.verdicts tr{border-top:1px solid #ddd;padding:.5em 0}
.verdicts td:not(:first-child)::before{content:attr(data-column) ": ";color:#777;font-weight:400}
.verdicts td:first-child{font-weight:600}.verdicts td:empty{display:none}.verdicts tbody{display:block}}"""


def totals(items: Sequence[Item], results: dict[str, dict[str, Any]]) -> dict[bool | None, int]:
    found: dict[bool | None, int] = {True: 0, False: 0, None: 0}
    for item in items:
        for v in item.verdicts(results[item.key]["result"]):
            found[v.agrees] += 1
    return found


def write(items: Sequence[Item], results: dict[str, dict[str, Any]], folder: Path) -> tuple[Path, Path]:
    """The two files. Pictures are drawn beside them where matplotlib is installed."""
    pictures = {item.key: _draw(item, results[item.key]["result"], folder) for item in items}
    text, html = _markdown(items, results, pictures), _html(items, results, pictures, folder)
    markdown, page = folder / "report.md", folder / "report.html"
    markdown.write_text(text, encoding="utf-8")
    page.write_text(html, encoding="utf-8")
    return markdown, page


def _stamp(results: dict[str, dict[str, Any]]) -> list[str]:
    """Where and with what: a line for each, with all commits of a run that went on while there were new ones."""
    commits: dict[str, list[str]] = {}
    for stamp in (result["stamp"] for result in results.values()):
        words = ", ".join(f"{k} {v}" for k, v in sorted(stamp.items()) if k != "commit")
        commits.setdefault(words, []).append(stamp["commit"])
    return [f"{words}, commit {', '.join(dict.fromkeys(of))}" for words, of in commits.items()]


def _summary(items: Sequence[Item], results: dict[str, dict[str, Any]]) -> list[tuple[str, str, str, str]]:
    rows = []
    for item in items:
        verdicts = item.verdicts(results[item.key]["result"])
        parts = [
            f"{sum(v.agrees is k for v in verdicts)} {w}"
            for k, w in _MANY.items()
            if any(v.agrees is k for v in verdicts)
        ]
        rows.append((f"{item.paper}, {item.name}", item.where, item.theirs, ", ".join(parts)))
    return rows


def _intro(items: Sequence[Item], results: dict[str, dict[str, Any]]) -> list[str]:
    n = totals(items, results)
    missing = f"; {n[None]} were not measured here" if n[None] else ""
    return [
        f"{len(items)} tables and figures with numbers of five papers; {sum(n.values())} claims: {n[True]} "
        f"agree and {n[False]} differ, each with its reason{missing}. Where the papers "
        "give times, we first compare exact operation counts and orderings, which do not depend on the machine. A "
        "claim agrees if we find the ordering, the direction or the growth that the paper states; both figures are "
        "printed. The section in which a claim is made is given beside it (the texts that we worked from have no page "
        "numbers). Where only a picture has numbers, we compare with what the text says about it.",
        *(f"Measured: {line}." for line in _stamp(results)),
    ]


def _markdown(items: Sequence[Item], results: dict[str, dict[str, Any]], pictures: dict[str, list[str]]) -> str:
    out = ["# The papers on trial", "", *(line + "\n" for line in _intro(items, results))]
    out += _md_table(Table("", ("what", "section", "theirs", "ours"), _summary(items, results)))
    for paper, title in PAPERS.items():
        out += ["", f"## {paper}: {title}"]
        for item in (i for i in items if i.paper == paper):
            result = results[item.key]["result"]
            out += ["", f"### {paper}, {item.name} (section {item.where})", f"Theirs: {item.theirs}.", ""]
            out += _md_table(_verdict_table(item.verdicts(result)))
            out += [line for name in pictures[item.key] for line in ("", f"![{item.name}]({name})")]
            for table in item.tables(result):
                out += ["", f"{table.title}:", "", *_md_table(table)]
    return "\n".join(out) + "\n"


def differences(items: Sequence[Item], results: dict[str, dict[str, Any]]) -> str:
    """For the guide: how many claims agree, and those that differ, with the reasons. In Markdown."""
    n = totals(items, results)
    rows = [
        (f"{item.paper}, {item.name}", v.claim, v.ours, _sentence(v.reason))
        for item in items
        for v in item.verdicts(results[item.key]["result"])
        if v.agrees is False
    ]
    missing = f"; {n[None]} were not measured" if n[None] else ""
    counted = f"{sum(n.values())} claims: {n[True]} agree and {n[False]} differ{missing}."
    return "\n".join([counted, "", *_md_table(Table("", ("figure", "the paper says", "here", "reason"), rows))])


def _verdict_table(verdicts: list[Verdict]) -> Table:
    """With a column for reasons where there are any."""
    columns = ("the paper says", "here", "verdict", "reason")
    width = 4 if any(v.reason for v in verdicts) else 3
    rows = [(v.claim, v.ours, WORDS[v.agrees], _sentence(v.reason))[:width] for v in verdicts]
    return Table("", columns[:width], rows)


def _sentence(text: str) -> str:
    """With a capital letter, unless it begins with a name that has none, and a full stop."""
    first = text.partition(" ")[0]
    begun = text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text
    return begun if not text or text.endswith(".") else f"{begun}."


def _md_table(table: Table) -> list[str]:
    def row(cells: Sequence[str]) -> str:
        return "| " + " | ".join(str(c).replace("|", "\\|") for c in cells) + " |"

    return [row(table.columns), "|" + "---|" * len(table.columns), *(row(r) for r in table.rows)]


def _html(
    items: Sequence[Item], results: dict[str, dict[str, Any]], pictures: dict[str, list[str]], folder: Path
) -> str:
    out = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        f"<title>The papers on trial</title><style>{STYLE}</style><h1>The papers on trial</h1>",
    ]
    out += [f"<p>{escape(line)}</p>" for line in _intro(items, results)]
    out.append(_html_table(Table("", ("what", "section", "theirs", "ours"), _summary(items, results)), "verdicts"))
    for paper, title in PAPERS.items():
        out.append(f"<h2>{paper}: {escape(title)}</h2>")
        for item in (i for i in items if i.paper == paper):
            result = results[item.key]["result"]
            out.append(
                f"<h3 id='{item.key}'>{paper}, {escape(item.name)} (section {item.where})</h3>"
                f"<p>Theirs: {escape(item.theirs)}.</p>"
            )
            out.append(_html_table(_verdict_table(item.verdicts(result)), "claims verdicts"))
            for name in pictures[item.key]:
                data = b64encode((folder / name).read_bytes()).decode()
                out.append(f"<img alt='{escape(item.name)}' src='data:image/png;base64,{data}'>")
            out += [f"<p>{escape(t.title)}:</p>{_html_table(t, 'numbers')}" for t in item.tables(result)]
    return "\n".join(out) + "</html>\n"


def _html_table(table: Table, style: str = "") -> str:
    head = "".join(f"<th>{escape(c)}</th>" for c in table.columns)
    body = "".join("<tr>" + "".join(map(_html_cell, row, table.columns)) + "</tr>" for row in table.rows)
    return f"<table class='{style}'><tr>{head}</tr>{body}</table>"


def _html_cell(cell: str, column: str) -> str:
    """Verdicts have a colour; a number and its unit stay on one line. Narrow screens show the column's name."""
    colour = f" class='{cell.split()[0]}'" if cell in WORDS.values() else ""
    text = _UNITS.sub(lambda unit: unit[0].replace(" ", "\N{NO-BREAK SPACE}"), escape(cell))
    return f"<td{colour} data-column='{escape(column)}'>{text}</td>"


def _draw(item: Item, result: dict[str, Any], folder: Path) -> list[str]:
    """A picture for each panel: a page puts as many side by side as it has room for."""
    panels = item.panels(result)
    try:
        import matplotlib
    except ImportError:
        return []
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = []
    for number, panel in enumerate(panels, start=1):
        figure, axis = plt.subplots(figsize=(5.2, 4.0), layout="constrained")
        _panel(axis, panel)
        names.append(f"{item.key}.png" if len(panels) == 1 else f"{item.key}.{number}.png")
        figure.savefig(folder / names[-1], dpi=100)
        plt.close(figure)
    return names


def _panel(axis: Any, panel: Panel) -> None:
    words = next(iter(panel.curves.values()))[0]
    if words and isinstance(words[0], str):
        width = 0.8 / len(panel.curves)
        for k, (name, (_, heights)) in enumerate(panel.curves.items()):
            axis.bar(
                [i + (k - 0.5 * (len(panel.curves) - 1)) * width for i in range(len(words))], heights, width, label=name
            )
        axis.set_xticks(range(len(words)), words, rotation=60, ha="right", fontsize=7)
        if panel.logarithmic:
            axis.set_yscale("log")
    else:
        for name, (x, y) in panel.curves.items():
            axis.plot(x, y, marker="o" if len(x) < 20 else None, ms=4, label=name)
        if panel.logarithmic:
            axis.set(xscale="log", yscale="log")
        sizes = sorted({k for x, _ in panel.curves.values() for k in x})
        if len(sizes) < 9 and all(isinstance(k, int) and k < 1000 for k in sizes):  # sizes, not powers of ten
            axis.set_xticks(sizes, [str(k) for k in sizes])
            axis.set_xticks([], minor=True)
    if panel.y_label.startswith(("operations", "time")):
        _plain_numbers(axis, panel)
    axis.legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.02))  # beside the curves
    axis.set_title(panel.title, fontsize=10)
    axis.set_xlabel(panel.x_label)
    axis.set_ylabel(panel.y_label)
    axis.grid(alpha=0.3)


def _plain_numbers(axis: Any, panel: Panel) -> None:
    """10,000 instead of 10^4, and enough of them where a logarithmic axis is short."""
    from matplotlib.ticker import LogLocator, NullLocator

    if panel.logarithmic:
        low, high = axis.get_ylim()
        axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high > 5.0 * low else range(1, 10)))
        axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter("{x:,.10g}")
