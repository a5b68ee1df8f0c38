"""What drawings are made of, and how they are written: as SVG, for which nothing but text is needed, or by matplotlib.

Coordinates are in points from the top left corner, y down, as in SVG.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from sarrus.errors import UnsupportedError

Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """From a to b; with `through`, a parabola that leaves a and reaches b towards that point."""

    a: Point
    b: Point
    color: str
    width: float
    dashes: tuple[float, ...] = ()
    through: Point | None = None
    round_ends: bool = False
    tip: str = ""  # what it is, for a pointer that rests on it


@dataclass(frozen=True)
class Circle:
    center: Point
    radius: float
    color: str
    width: float
    tip: str = ""


@dataclass(frozen=True)
class Text:
    at: Point  # the left end of its base line, or the middle
    words: str
    size: float
    color: str = "#222"
    bold: bool = False
    centred: bool = False
    halo: bool = False  # white around the letters, over lines


Shape = Line | Circle | Text


@dataclass(frozen=True)
class Drawing:
    """Shapes, the first at the back."""

    width: float
    height: float
    shapes: tuple[Shape, ...]

    def svg(self) -> str:
        """An SVG document."""
        size = f'width="{self.width:.0f}" height="{self.height:.0f}" viewBox="0 0 {self.width:.0f} {self.height:.0f}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="Helvetica,Arial,sans-serif">'
        return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *map(_svg, self.shapes), "</svg>\n"])

    def plot(self, ax: Any = None) -> Any:
        """The same on matplotlib's axes, which are returned; without any, in a figure of its own."""
        try:
            from matplotlib.figure import Figure
            from matplotlib.patches import Circle as Disc
            from matplotlib.patches import PathPatch
            from matplotlib.path import Path
            from matplotlib.patheffects import withStroke
        except ImportError:
            raise UnsupportedError(
                "this drawing needs matplotlib: pip install sarrus[plots]. As SVG it needs nothing"
            ) from None
        if ax is None:
            ax = Figure(figsize=(self.width / 72.0, self.height / 72.0)).add_axes((0.0, 0.0, 1.0, 1.0))
        ax.set(xlim=(0.0, self.width), ylim=(self.height, 0.0), aspect="equal")
        ax.axis("off")
        for order, x in enumerate(self.shapes):
            if isinstance(x, Text):
                how = {"color": x.color, "weight": "bold" if x.bold else "normal", "zorder": order}
                how |= {"path_effects": [withStroke(linewidth=3.0, foreground="white", alpha=0.8)]} if x.halo else {}
                ax.text(*x.at, x.words, size=x.size, ha="center" if x.centred else "left", va="baseline", **how)
            elif isinstance(x, Circle):
                ax.add_patch(Disc(x.center, x.radius, fc="white", ec=x.color, lw=x.width, zorder=order))
            else:
                points = [x.a, x.b] if x.through is None else [x.a, x.through, x.b]
                path = Path(points, [Path.MOVETO, *([Path.CURVE3] * 2 if x.through else [Path.LINETO])])
                style = (0, x.dashes) if x.dashes else "solid"
                ends = "round" if x.round_ends else "butt"
                ax.add_patch(PathPatch(path, fc="none", ec=x.color, lw=x.width, ls=style, capstyle=ends, zorder=order))
        return ax


def _svg(x: Shape) -> str:
    if isinstance(x, Text):
        more = (' font-weight="bold"' if x.bold else "") + (' text-anchor="middle"' if x.centred else "")
        more += ' paint-order="stroke" stroke="white" stroke-opacity="0.8" stroke-width="3"' if x.halo else ""
        place = f'x="{x.at[0]:.1f}" y="{x.at[1]:.1f}"'
        return f'<text {place} font-size="{x.size:g}" fill="{x.color}"{more}>{escape(x.words)}</text>'
    tip = f"<title>{escape(x.tip)}</title>" if x.tip else ""
    stroke = f'stroke="{x.color}" stroke-width="{x.width:g}"'
    if isinstance(x, Circle):
        cx, cy = x.center
        return f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="{x.radius:g}" fill="white" {stroke}>{tip}</circle>'
    bend = f"Q {_numbers(x.through)} " if x.through is not None else "L "
    dashes = f' stroke-dasharray="{_numbers(x.dashes, "g")}"' if x.dashes else ""
    ends = ' stroke-linecap="round"' if x.round_ends else ""
    return f'<path d="M {_numbers(x.a)} {bend}{_numbers(x.b)}" fill="none" {stroke}{dashes}{ends}>{tip}</path>'


def _numbers(values: Sequence[float], form: str = ".1f") -> str:
    return " ".join(f"{x:{form}}" for x in values)
