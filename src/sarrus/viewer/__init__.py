"""Robots in the browser. `view` shows one; viser is imported when it is called."""

from sarrus.viewer.view import Viewer, view

__all__ = ["Viewer", "view"]
