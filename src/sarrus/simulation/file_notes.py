"""What a simulation does not have of the file that its robot is from: a few lines, the most important first."""

from __future__ import annotations

from sarrus.model.import_report import by_importance, is_picture
from sarrus.model.model import Model

_MOST = 3  # lines of lost physics


def file_notes(model: Model) -> list[str]:
    """Lines of lost physics, and one about all that is left of the import report but pictures."""
    lines = by_importance(model)
    lost = [line for line in lines if line in model.lost_physics]
    notes = [f"not as in the file: {line}" for line in lost[:_MOST]]
    rest = lost[_MOST:] + [line for line in lines if line not in model.lost_physics and not is_picture(line)]
    if rest:
        more = f", and {len(rest) - 1} more" if len(rest) > 1 else ""
        notes.append(f"nor this: {rest[0]}{more}" if notes else f"not as in the file: {rest[0]}{more}")
    if notes:
        notes[-1] += " (`sarrus info` lists all)"
    return notes
