"""What a user should know of shapes on height fields: a ridge between the points that are tested is not seen."""

from __future__ import annotations

from sarrus.mechanics.contact.contact_set import ContactSet
from sarrus.mechanics.contact.height_fields import TESTED
from sarrus.model.geometries import HeightField


def ridge_notes(contacts: ContactSet) -> list[str]:
    """A line, where shapes may touch a height field."""
    pairs = [(pair.a.shape, pair.b.shape) for pair in contacts.pairs]
    on_fields = {type(x) for pair in pairs if any(isinstance(y, HeightField) for y in pair) for x in pair}
    points = [words for kind, words in TESTED.items() if kind in on_fields]
    if not points:
        return []
    return [
        f"on height fields, only {' and '.join(points)} are tested, each against the triangle below it: a spike or a "
        "ridge that is narrower than the shape goes into it"
    ]
