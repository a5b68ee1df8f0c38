"""A leg whose motors have gears and rotors: constraint embedding, and what the rotors do.

What you learn
- Gears and belts are couplings, such as `rotor = 12 (knee + ankle)`. Any method for loops solves them exactly as rows.
- `embed` turns them into clusters of the tree: the same accelerations, no rows, about half the operations.
- `expand` and `reduce` convert between the independent coordinates (5) and all coordinates (10).
- How wrong a model is that leaves the rotors out.
"""

from __future__ import annotations

import time

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus

BATCH = 4096


def main() -> None:
    console = Console(highlight=False)
    leg = sarrus.zoo.humanoid_leg()
    embedded = sarrus.embed(leg)
    console.print(f"{leg.nv} joints, {leg.n_rows} gears and belts; embedded: {embedded.n_rows} rows left")

    q, v = sarrus.random_state(leg, rng=0, batch=BATCH)  # consistent with the gears: rotors turn with their joints
    tau = np.random.default_rng(1).normal(size=v.shape)
    table = Table(title=f"forward dynamics, {BATCH} states", title_justify="left")
    for column in ("method", "operations", "us / state", "largest difference"):
        table.add_column(column, justify="left" if column == "method" else "right")
    reference = None
    for name, model, method in (
        ("rows: lcaba", leg, "lcaba"), ("rows: prox_bbo", leg, "prox_bbo"), ("rows: prox_ltl", leg, "prox_ltl"),
        ("embedded: ce_aba", embedded, "ce_aba"),
    ):  # fmt: skip
        kernel = sarrus.compile(model, method)
        qdd = kernel(q, v, tau).qdd
        reference = qdd if reference is None else reference
        away = np.abs(qdd - reference).max() / np.abs(reference).max()
        us = min(timed(lambda: kernel(q, v, tau, threads=1)) for _ in range(5)) / BATCH  # noqa: B023
        table.add_row(name, f"{kernel.op_count.total:,}", f"{1e6 * us:.2f}", f"{away:.0e}")
    console.print(table)

    small = sarrus.reduce(embedded, q[0], v[0])
    back = sarrus.expand(embedded, small.y, small.yd)
    console.print(f"reduce: {leg.nv} coordinates become {len(small.y)}; expand restores them to ", end="")
    console.print(f"{np.abs(back.q - q[0]).max():.0e}")

    # A torque at the hip, and how the rotors change what it does.
    independent = [b.joint.name for b in leg.bodies if b.joint.independent]
    push = np.zeros(leg.nv)
    push[leg.layout.v_of("hip_pitch_joint")] = 10.0
    with_rotors = sarrus.forward_dynamics(leg, leg.home, np.zeros(leg.nv), push).qdd
    free = without_rotors(leg)
    light = sarrus.aba(free, *at_home(leg, free), push_of(free))
    console.print("10 Nm at the hip: accelerations with the rotors, and with the rotors left out")
    for name in independent:
        a, b = with_rotors[leg.layout.v_of(name)].item(), light[free.layout.v_of(name)].item()
        console.print(f"  {name:16} {a:8.2f} {b:8.2f} rad/s^2")


def without_rotors(leg: sarrus.Model) -> sarrus.Model:
    """The same leg with its rotors left out."""
    builder = sarrus.ModelBuilder("leg_without_rotors")
    for body in leg.bodies:
        if not body.name.endswith("_rotor"):
            parent = "world" if body.parent < 0 else leg.bodies[body.parent].name
            mass, com = float(body.inertia.mass), np.asarray(body.inertia.h, float) / float(body.inertia.mass)
            Sigma = np.asarray(body.inertia.Sigma, float)
            about_origin = np.trace(Sigma) * np.eye(3) - Sigma
            inertia = about_origin - mass * (com @ com * np.eye(3) - np.outer(com, com))
            place = {"position": body.placement.p, "rotation": body.placement.R, "axis": body.joint.axes[0]}
            builder.add_body(body.name, parent, mass=mass, com=com, inertia=inertia, **place)
    return builder.build()


def at_home(leg: sarrus.Model, free: sarrus.Model) -> tuple[np.ndarray, np.ndarray]:
    q = np.array([leg.home[leg.layout.q_of(name)].item() for name in free.joint_names])
    return q, np.zeros(free.nv)


def push_of(free: sarrus.Model) -> np.ndarray:
    tau = np.zeros(free.nv)
    tau[free.layout.v_of("hip_pitch_joint")] = 10.0
    return tau


def timed(run) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
