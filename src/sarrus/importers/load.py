"""`load`: a robot from a file of either format."""

from __future__ import annotations

from os import PathLike

from sarrus.importers.document import read_document
from sarrus.importers.mjcf import load_mjcf
from sarrus.importers.urdf import load_urdf
from sarrus.model.model import Model


def load(
    source: str | PathLike[str],
    floating_base: bool | None = None,
    *,
    allow_nonphysical: bool = False,
    allow_outside: bool = False,
) -> Model:
    """Read a robot from a URDF or MJCF file (a path), or from a string of XML. The root tag tells which.

    floating_base      True: the root moves freely; False: it is fixed; None: what the file says
    allow_nonphysical  keep inertias that are not positive semidefinite (they are reported) instead of refusing them
                       (URDF; MuJoCo never accepts them)
    allow_outside      read files that an MJCF names also where they are not in its folder

    What the model does not represent is listed in `model.import_report`, physics that is lost (`model.lost_physics`)
    first.
    """
    document = read_document(source)
    if document.tag == "robot":
        return load_urdf(document, floating_base, allow_nonphysical=allow_nonphysical)
    if document.tag == "mujoco":
        return load_mjcf(document, floating_base, allow_outside=allow_outside)
    raise document.error(f"unknown root tag <{document.tag}>. Valid: <robot> (URDF), <mujoco> (MJCF)", document.root)
