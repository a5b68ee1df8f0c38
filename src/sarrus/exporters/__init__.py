"""Models to files of other formats; what a format cannot say is in the report of what was written."""

from sarrus.exporters.mjcf import to_mjcf
from sarrus.exporters.urdf import to_urdf
from sarrus.exporters.written import Written

__all__ = ["Written", "to_mjcf", "to_urdf"]
