"""`sarrus bench` beside Pinocchio, of files that it refuses."""

from __future__ import annotations

import pytest

import sarrus
from sarrus.cli.pinocchio_twin import pinocchio_twin
from sarrus.errors import UnsupportedError

BENT = """
<robot name="bent"><link name="base"/>
  <link name="arm"><inertial><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="-0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>
"""


def test_an_inertia_that_pinocchio_refuses_is_told():
    pytest.importorskip("pinocchio")
    model = sarrus.load_urdf(BENT, allow_nonphysical=True)
    with pytest.raises(UnsupportedError, match="it refuses the inertia of 'arm'"):
        pinocchio_twin(model)
