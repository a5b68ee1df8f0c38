"""Files and other libraries' models to Sarrus models. What a model does not represent is in its `import_report`."""

from sarrus.importers.load import load
from sarrus.importers.mjcf import load_mjcf
from sarrus.importers.mujoco_model import from_mujoco
from sarrus.importers.mujoco_state import from_mujoco_state, to_mujoco_state
from sarrus.importers.pinocchio_model import from_pinocchio, from_pinocchio_configuration, to_pinocchio_configuration
from sarrus.importers.urdf import load_urdf

__all__ = [
    "from_mujoco", "from_mujoco_state", "from_pinocchio", "from_pinocchio_configuration", "load", "load_mjcf",
    "load_urdf", "to_mujoco_state", "to_pinocchio_configuration",
]  # fmt: skip
