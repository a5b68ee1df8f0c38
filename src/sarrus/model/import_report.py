"""The import report of a model: what its file says and the model does not represent, by importance."""

from __future__ import annotations

import re

from sarrus.model.model import Model

_PICTURES = ("visual", "camera", "light", "texture", "material", "skin", "color", "picture")
_MOST_IMPORTANT = ("touch nothing", "not represented", "ignored")  # of lost physics: what is gone altogether
_STARTS = ("keyframe",)  # of the rest: where it could have begun


def by_importance(model: Model) -> list[str]:
    """Its lines: lost physics first, what touches nothing before all; pictures last."""
    return sorted(model.import_report, key=lambda line: _importance(model, line))


def is_picture(line: str) -> bool:
    """Whether a line is about what can only be seen; names in it say nothing."""
    words = re.sub("'[^']*'", "", line)
    return any(word in words for word in _PICTURES)


def _importance(model: Model, line: str) -> tuple[int, int]:
    if line in model.lost_physics:
        return 0, _first_of(_MOST_IMPORTANT, line)
    return (2, 0) if is_picture(line) else (1, _first_of(_STARTS, line))


def _first_of(words: tuple[str, ...], line: str) -> int:
    return next((k for k, word in enumerate(words) if word in line), len(words))
