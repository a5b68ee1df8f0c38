"""Declared constraints as rows on nodes; the files enter what their types ask in one table (`rows.EQUATIONS`)."""

from sarrus.mechanics.constraints import center_of_mass_rows, coupling_rows, link_rows, loop_rows

__all__ = ["center_of_mass_rows", "coupling_rows", "link_rows", "loop_rows"]
