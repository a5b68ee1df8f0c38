"""Five boxes stacked on top of each other, each heavier than the one below: they stand still.

What you learn
- Several free bodies form one model; `home` says where they stand, and thus which contacts are the usual ones.
- Twenty contacts at a time, sixty unknowns: `slots` says how many are solved for at once, `pairs` which are possible.
- Redundant contacts are fine: their forces are not unique, but the sums are; nothing jitters, nothing sinks.
- Several impacts in one step, and how exactly the stack comes back to rest.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from rich.console import Console

import sarrus
from sarrus.model.visuals import Box

COUNT, HEAVIER = 5, 1000.0  # boxes; the mass of the top one over that of the bottom one
DT, SECONDS, GAP = 1e-3, 1.0, 1e-3  # s, s, m


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    model = stack()
    names = [f"box_{k}" for k in range(COUNT)]
    pairs = (("box_0", "ground"), *zip(names[1:], names[:-1], strict=True))
    options = sarrus.ContactOptions(pairs=pairs, slots=4 * COUNT)
    simulation = sarrus.Simulation(model, DT, contacts=options)
    console.print(f"masses {', '.join(f'{float(b.inertia.mass):.3g}' for b in model.bodies)} kg, from the bottom up")

    standing = simulation.run(duration=SECONDS)
    contacts = standing.contacts
    moved = 1e3 * np.abs(standing.q - standing.q[0])[:, heights(model)].max()
    console.print(f"after {SECONDS:g} s no box has moved by more than {moved:.1e} mm; statuses {standing.statuses}")
    for k, (upper, lower) in enumerate(pairs):
        above = 9.81 * sum(float(b.inertia.mass) for b in model.bodies[k:])
        number = [n for n, pair in enumerate(contacts.names) if set(pair) == {upper, lower}]
        carried = contacts.normal_forces[-1, np.isin(contacts.numbers[-1], number)].sum()
        console.print(f"  {lower:6} carries {carried:10.3f} N of {above:10.3f} N above it")
        assert abs(carried - above) < 1e-4 * above
    steps = standing.iterations
    console.print(f"{steps.mean():.1f} Newton steps per time step on average, {steps.max():.0f} at most")

    dropped = np.array(model.home)
    dropped[heights(model)] += GAP * np.arange(1, COUNT + 1)
    fallen = simulation.run(dropped, duration=SECONDS)
    lost = 1e3 * np.abs(fallen.q[-1] - model.home)[heights(model)].max()
    console.print(
        f"dropped with gaps of {1e3 * GAP:g} mm, it stands again, heights within {lost:.1e} mm; {fallen.statuses}"
    )
    assert lost < 0.1


def stack() -> sarrus.Model:
    """Boxes, each a little smaller than the one below."""
    builder, home, top = sarrus.ModelBuilder("stack"), [], 0.0
    for k in range(COUNT):
        side, mass = 0.2 - 0.01 * k, HEAVIER ** (k / (COUNT - 1.0))
        builder.add_body(f"box_{k}", joint="free", mass=mass, inertia=mass * side**2 / 6.0 * np.eye(3))
        builder.add_geometry(f"box_{k}", Box((side, side, side)), name=f"box_{k}", friction=0.6)
        home += [0.0, 0.0, top + 0.5 * side, 0.0, 0.0, 0.0, 1.0]
        top += side
    return replace(builder.build().with_ground(friction=0.6), home=np.array(home))


def heights(model: sarrus.Model) -> list[int]:
    return [at.start + 2 for at in model.layout.q]


if __name__ == "__main__":
    main()
