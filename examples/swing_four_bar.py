"""A four-bar swings under gravity: integrators, and how a loop stays closed.

What you learn
- `assemble` finds the configuration of a closed loop when some of its joints are given.
- A `Simulation` compiles a whole step (kinematics, constraint rows, solution, integration) into one kernel.
- One joint of the loop is cut and replaced by 5 rows, of which 3 are redundant: no tuning, no NaN.
- What drifts, and what prevents it: Baumgarte's feedback bounds the error, projection removes it.
"""

from __future__ import annotations

import time

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus

SECONDS = 5.0

RUNS = (
    # integrator, what keeps the loop closed, its settings
    ("semi_implicit_euler", "nothing", {"project_every": None}),
    ("semi_implicit_euler", "Baumgarte", {"project_every": None, "stabilization": 0.02}),
    ("semi_implicit_euler", "projection/10", {"project_every": 10}),
    ("rk4", "nothing", {"project_every": None}),
    ("rk4", "projection", {"project_every": 1}),
)


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    model = sarrus.zoo.four_bar()
    console.print(sarrus.diagnose(model).lines()[0], highlight=False)

    # The crank is given; coupler and rocker follow, on the branch in which the robot is defined.
    start = sarrus.assemble(model, {"crank_joint": 0.5}).q
    console.print(f"crank at 0.5 rad: coupler at {start[1]:.3f}, rocker at {start[2]:.3f} rad", highlight=False)

    table = Table(title=f"{SECONDS:g} s at dt = 1 ms", title_justify="left")
    for column in ("integrator", "kept closed by", "energy drift", "loop open by", "us/step"):
        table.add_column(column, justify="left" if column[0] in "ik" else "right", no_wrap=True)
    for integrator, kept, settings in RUNS:
        trajectory, us = timed(sarrus.Simulation(model, integrator=integrator, **settings), start)
        drift = trajectory.drift
        table.add_row(integrator, kept, f"{drift.energy:.1e}", f"{drift.closure:.1e}", f"{us:.2f}")
    console.print(table)

    # More about the last of them, by names instead of indices.
    crank, rocker = trajectory["crank_joint"], trajectory["rocker_joint"]
    force = np.linalg.norm(trajectory.force("coupler_rocker")[:, :3], axis=1)
    console.print(
        f"crank between {crank.min():.2f} and {crank.max():.2f} rad, rocker between {rocker.min():.2f} and ", end=""
    )
    console.print(f"{rocker.max():.2f} rad; force in the cut joint at most {force.max():.1f} N", highlight=False)


def timed(simulation: sarrus.Simulation, q0: np.ndarray) -> tuple[sarrus.Trajectory, float]:
    """A trajectory, and microseconds per step (in the second run: the first one compiles)."""
    for _ in range(2):
        began = time.perf_counter()
        trajectory = simulation.run(q0, duration=SECONDS)
        seconds = time.perf_counter() - began
    return trajectory, 1e6 * seconds / trajectory.settings["steps"]


if __name__ == "__main__":
    main()
