"""A pendulum on a cart, steered through futures that are not known in advance.

What you learn
- `aba_derivatives` gives the linear model of a robot at a state; a zero-order hold makes it discrete in time.
- `scenario_tree` finds controls on a tree of futures: scenarios share a control until it is known which of them it is.
- Terminal states are equality constraints: every branch ends at rest, exactly at its goal. The work is linear in the
  number of stages.
"""

from __future__ import annotations

import sys

import numpy as np
from rich.console import Console

import sarrus

DT, GUST_AT, GOAL_AT, END = 0.05, 12, 24, 60  # seconds; steps
GUSTS = {"from the left": 1.2, "none": 0.0, "from the right": -1.2}  # N on the pendulum's tip, for two steps
GOALS = {"stay": 0.0, "go left": -1.0, "go right": 1.0}  # metres


def cart() -> sarrus.Model:
    builder = sarrus.ModelBuilder("cart with pendulum")
    builder.add_body("cart", joint="prismatic", axis=(1, 0, 0), mass=1.0, inertia=np.eye(3))
    builder.add_body(
        "pole", "cart", joint="revolute", axis=(0, 1, 0), mass=0.3, com=(0, 0, 0.5), inertia=0.01 * np.eye(3)
    )
    return builder.build()


def linear_model(robot: sarrus.Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x = (q, v), upright: x' = A x + B u + G gust, over one step of a zero-order hold."""
    zero = np.zeros(robot.nv)
    by = sarrus.aba_derivatives(robot, zero, zero, zero)
    n, m = 2 * robot.nv, robot.nv
    F = np.zeros((n + m, n + m))
    F[:2, 2:4], F[2:4, :2], F[2:4, 2:4], F[2:4, 4:] = np.eye(2), by.dqdd_dq, by.dqdd_dv, by.dqdd_dtau
    step, term = np.eye(n + m), np.eye(n + m)
    for k in range(1, 20):  # the exponential of F dt
        term = term @ F * (DT / k)
        step = step + term
    tip = sarrus.frame_jacobian(robot, zero, frame="pole", reference="local_world_aligned")[0] + np.array([0.0, 1.0])
    return step[:n, :n], step[:n, n : n + 1], step[:n, n:] @ tip  # a force along x, one metre up the pole


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    A, B, G = linear_model(cart())
    cost, effort = np.diag([0.1, 20.0, 0.1, 0.1]), np.array([[0.02]])
    stages, names, ends, tip = [], {}, {}, [("", 0.0, 1.0, -1)]  # of each open branch: name, goal, probability, stage
    for k in range(END):
        if k in (GUST_AT, GOAL_AT):
            futures = GUSTS if k == GUST_AT else GOALS
            tip = [(f"{w}, {name}".strip(", "), x, p / 3, i) for w, _, p, i in tip for name, x in futures.items()]
        for j, (words, x, p, parent) in enumerate(tip):
            gust = x * G if GUST_AT <= k < GUST_AT + 2 else np.zeros(4)
            goal = np.array([x if k >= GOAL_AT else 0.0, 0.0, 0.0, 0.0])
            stages.append(sarrus.LqrStage(parent, A, B, gust, p * cost, -p * cost @ goal, p * effort))
            tip[j] = (words, x, p, len(stages) - 1)
    rest = []
    for words, x, _, i in tip:
        names[i], ends[i] = words, x
        rest.append(sarrus.LqrConstraint({i: np.eye(4)}, [x, 0.0, 0.0, 0.0]))
    found = sarrus.scenario_tree(stages, np.zeros(4), rest)
    console.print(f"{len(stages)} stages, {len(names)} scenarios, {4 * len(rest)} terminal rows: {found.status.words}")
    for i, words in names.items():
        path = [i]
        while stages[path[-1]].parent >= 0:
            path.append(stages[path[-1]].parent)
        lean = max(abs(np.degrees(found.x[k + 1][1])) for k in path)
        console.print(
            f"  gust {words:<24} ends at {found.x[i + 1][0]:+.3f} m (goal {ends[i]:+g}), leans up to {lean:.1f} deg"
        )
    if "--plot" in sys.argv:
        plot(stages, names, found, sys.argv[sys.argv.index("--plot") + 1])


def plot(stages: list[sarrus.LqrStage], names: dict[int, str], found: sarrus.ScenarioResult, path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 1, figsize=(9, 7), sharex=True, layout="constrained")
    colors = dict(zip(GUSTS, ("tab:red", "tab:gray", "tab:blue"), strict=True))
    for i, words in names.items():
        line = [i]
        while stages[line[-1]].parent >= 0:
            line.append(stages[line[-1]].parent)
        x = np.array([found.x[0], *(found.x[k + 1] for k in reversed(line))])
        u = [float(found.u[stages[k].parent + 1][0]) for k in reversed(line)]
        t, color = DT * np.arange(len(x)), colors[words.split(", ")[0]]
        axes[0].plot(t, x[:, 0], color=color)
        axes[1].plot(t, np.degrees(x[:, 1]), color=color)
        axes[2].step(t, [*u, u[-1]], color=color, where="post")
    for axis, label in zip(axes, ("cart [m]", "lean of the pole [deg]", "force on the cart [N]"), strict=True):
        axis.set_ylabel(label)
        axis.axvline(DT * GUST_AT, color="k", lw=0.5, ls=":")
        axis.axvline(DT * GOAL_AT, color="k", lw=0.5, ls=":")
        axis.grid(alpha=0.3)
    axes[0].set_title("One control until the gust is known, then one per gust until the goal is known (dotted)")
    lines = [plt.Line2D([], [], color=color, label=f"gust: {words}") for words, color in colors.items()]
    axes[0].legend(handles=lines, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)  # beside the curves
    axes[2].set_xlabel("time [s]")
    figure.savefig(path, dpi=90)


if __name__ == "__main__":
    main()
