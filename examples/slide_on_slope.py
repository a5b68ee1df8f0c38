"""A block on a slope at its friction angle: with a millionth more friction it sticks, with a millionth less it slips.

What you learn
- How to build a model by hand: a free body with a box as its collision shape, and a plane of the world as the slope.
- Coulomb's law is solved, not approximated by springs: a block that sticks does not creep.
- `ContactOptions(tolerance=...)`: how accurately the contact problem is solved, in m/s.
- The contacts of a trajectory: points, normal forces and friction, compared with the textbook.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console

import sarrus
from sarrus.model.geometries import Plane
from sarrus.model.visuals import Box

ANGLE, MASS, SIZE, SECONDS = 0.4, 2.0, (0.2, 0.2, 0.1), 1.0
G = 9.81


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"a slope of {np.degrees(ANGLE):.2f} degrees is the friction angle of mu = {np.tan(ANGLE):.6f}")
    for name, mu in (
        ("a millionth more", np.tan(ANGLE) * (1.0 + 1e-6)),
        ("a millionth less", np.tan(ANGLE) * (1.0 - 1e-6)),
        ("half of that", np.tan(ANGLE) / 2.0),
    ):
        model, start = block_on_slope(mu)
        options = sarrus.ContactOptions(tolerance=1e-12)
        motion = sarrus.Simulation(model, dt=1e-3, contacts=options).run(start, duration=SECONDS)
        moved = np.linalg.norm(motion.q[-1, :3] - motion.q[0, :3])
        speed = np.linalg.norm(motion.v[-1, :3])
        textbook = max(0.0, G * (np.sin(ANGLE) - mu * np.cos(ANGLE))) * SECONDS
        contacts = motion.contacts[-1]
        used = contacts.friction_forces.sum() / contacts.normal_forces.sum()
        console.print(
            f"  mu {name:16}: {'slips' if speed > 1e-8 else 'sticks':6} speed {speed:.3e} m/s (textbook {textbook:.3e})"
            f", moved {moved:.1e} m, friction / normal force {used:.6f}"
        )
        assert abs(speed - textbook) < 1e-8
    normal = contacts.normal_forces.sum()
    console.print(
        f"{contacts.touching.sum()} contacts carry {normal:.4f} N; m g cos(angle) is {MASS * G * np.cos(ANGLE):.4f} N"
    )


def block_on_slope(mu: float) -> tuple[sarrus.Model, np.ndarray]:
    """The model, and the block's place on the slope. The friction of a pair is the larger of its two coefficients."""
    builder = sarrus.ModelBuilder("block")
    squares = np.square(SIZE)
    builder.add_body("block", joint="free", mass=MASS, inertia=np.diag(MASS / 12.0 * (squares.sum() - squares)))
    builder.add_geometry("block", Box(SIZE), friction=mu)
    builder.add_geometry("world", Plane(), name="slope", rotation=(0.0, ANGLE, 0.0), friction=0.0)
    normal = np.array([np.sin(ANGLE), 0.0, np.cos(ANGLE)])
    turned = (0.0, np.sin(0.5 * ANGLE), 0.0, np.cos(0.5 * ANGLE))
    return builder.build(), np.array([*(0.5 * SIZE[2] * normal), *turned])


if __name__ == "__main__":
    main()
