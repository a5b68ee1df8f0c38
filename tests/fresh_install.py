"""What a stranger does first, in an environment with the core dependencies only: `make test-wheel` runs it there.

No test of pytest's: neither it nor any extra is installed where this runs.
"""

from __future__ import annotations

import subprocess
import sys
import time
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path

URDF = """
<robot name="pendulum">
  <link name="base"/>
  <link name="arm">
    <inertial>
      <origin xyz="0 0 -0.5"/><mass value="1"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
</robot>
"""
EXTRAS = ("casadi", "matplotlib", "pyarrow", "viser", "pinocchio", "jax", "torch", "gymnasium", "ray")


def main() -> None:
    present = [name for name in EXTRAS if find_spec(name) is not None]
    assert not present, f"these belong to extras: {present}"
    start = time.perf_counter()
    import sarrus

    import_seconds = time.perf_counter() - start
    package = Path(sarrus.__file__).parent
    assert "site-packages" in package.parts, f"{package} is not what pip installed"
    missing = [name for name in ("py.typed", "registry/references.bib") if not (package / name).is_file()]
    assert not missing, f"the wheel lacks {missing}"
    simulate(sarrus)
    refuse(sarrus)
    for command in ([str(Path(sys.executable).parent / "sarrus")], [sys.executable, "-m", "sarrus.cli.main"]):
        done = subprocess.run([*command, "--help"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "simulate" in done.stdout
    print(f"imported in {import_seconds:.2f} s; {installed_megabytes():.0f} MB installed, pip among them")


def simulate(sarrus) -> None:
    """Load, compile, simulate: a pendulum, and a robot of the zoo on the ground."""
    model = sarrus.load(URDF)
    kernel = sarrus.compile(model, "aba")
    expected = 9.81 * 0.5 / (0.1 + 0.25)  # m g l / (I + m l^2), at a right angle
    found = kernel([1.5707963267948966], [0.0], [0.0])[0]
    assert abs(abs(found) - expected) < 1e-9, found
    swing = sarrus.simulate(model, q0=[1.0], duration=0.5)
    assert not swing.status.any(), swing.statuses
    standing = sarrus.Simulation(sarrus.zoo.geared_quadruped().with_ground()).run(duration=0.05)
    assert not standing.status.any(), standing.statuses


def refuse(sarrus) -> None:
    """What needs an extra says which."""
    kernel, said = sarrus.compile(sarrus.load(URDF), "aba"), ""
    try:
        kernel.to_casadi()
    except sarrus.errors.MissingDependencyError as error:
        said = str(error)
    assert "sarrus[casadi]" in said


def installed_megabytes() -> float:
    files = (file.locate() for found in distributions() for file in found.files or ())
    return sum(Path(str(file)).stat().st_size for file in files if Path(str(file)).is_file()) / 1e6


if __name__ == "__main__":
    main()
