"""The Sarrus linkage: an over-constrained loop that moves in an exactly straight line.

What you learn
- `diagnose` finds redundant rows: counting (5 joints - 5 rows = 0) says that the linkage is stuck, but it moves.
- Proximal methods (lcaba, prox_bbo, prox_ltl) do not need full rank, and agree with each other.
- A controller as a CasADi function, compiled into the step: a spring that pushes the platform up.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console

import sarrus

try:
    import casadi as ca
except ImportError:
    raise SystemExit("this example needs CasADi: pip install casadi") from None

METHODS = ("lcaba", "prox_bbo", "prox_ltl")
SECONDS = 2.0


def main() -> None:
    console = Console(highlight=False)
    model = sarrus.zoo.sarrus_linkage()
    found = sarrus.diagnose(model)
    console.print(f"{found.rows} rows of rank {found.rank}: mobility {found.mobility}, not {model.nv - found.rows}")

    # One state, several methods: none of them has trouble with redundant rows.
    q, v = sarrus.random_state(model, rng=1)
    reference = sarrus.forward_dynamics(model, q, v, np.zeros(model.nv)).qdd
    for method in METHODS:
        result = sarrus.forward_dynamics(model, q, v, np.zeros(model.nv), method=method)
        away = np.abs(result.qdd - reference).max() / np.abs(reference).max()
        assert result.status == 0
        console.print(
            f"  {method:9} {sarrus.op_count(model, method).total:5,} operations, accelerations differ by {away:.0e}"
        )

    # Springs at the two lower hinges unfold it; dampers bring it to rest.
    spring = sarrus.controller(spring_and_damper(model))
    trajectory = sarrus.simulate(model, controller=spring, duration=SECONDS, integrator="rk4", project_every=1)
    heights, aside = platform(model, trajectory)
    console.print(
        f"the platform goes from {heights[0]:.3f} to {heights[-1]:.3f} m in {SECONDS:g} s; sideways: {aside:.1e} m"
    )
    console.print(f"largest closure error {trajectory.closure_error.max():.1e}; statuses {trajectory.statuses}")
    assert aside < 1e-8, "a straight line is what Pierre-Frederic Sarrus found in 1853"


def spring_and_damper(model: sarrus.Model) -> ca.Function:
    """tau of (q, v): springs that open the lower hinges by 0.35 rad, and a little damping everywhere."""
    q, v = ca.SX.sym("q", model.nq), ca.SX.sym("v", model.nv)
    tau = -0.3 * v
    for name, sign in (("lower_x_joint", -1.0), ("lower_y_joint", 1.0)):
        at = model.layout.v_of(name).start
        tau[at] += 40.0 * (0.35 * sign - q[at])
    return ca.Function("spring", [q, v], [tau])


def platform(model: sarrus.Model, trajectory: sarrus.Trajectory) -> tuple[np.ndarray, float]:
    """Heights of the platform, and how far it ever leaves the vertical."""
    p = sarrus.forward_kinematics(model, trajectory.q, frames=("platform",)).position[:, 0]
    return p[:, 2], float(np.abs(p[:, :2] - p[0, :2]).max())


if __name__ == "__main__":
    main()
