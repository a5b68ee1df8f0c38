"""Public algorithms: every file in these rooms enters one into the catalog."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from sarrus.registry.table import FAMILIES

for _family in FAMILIES:
    for _file in iter_modules([str(Path(__file__).with_name(_family))]):
        import_module(f"{__name__}.{_family}.{_file.name}")
