"""A gripper squeezes a cube, lifts it by friction alone, and relaxes its grip until the cube slips.

What you learn
- A robot and an object in one model: trees that hang from the world separately can touch each other by default.
- Spherical fingertips on a box: contacts that come and go, and forces that balance each other.
- `ContactOptions(pairs=...)`: only the named pairs can touch.
- When the cube slips, compared with the textbook: two fingers carry at most 2 mu F.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console

import sarrus
from sarrus.model.visuals import Box, Sphere

MASS, SIDE, FRICTION = 0.3, 0.05, 0.7
OPEN, TIP = 0.06, 0.01  # metres: distance of the open fingers from the middle, radius of their tips
DT, CLOSED, LIFTED, SECONDS = 1e-3, 0.3, 1.2, 4.0  # seconds
GRIP, STIFFNESS = 10.0, 1000.0  # N, N/m
HEIGHT = 0.1  # metres
FINGERS = {"left": 1.0, "right": -1.0}


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    model = gripper_and_cube()
    tips = [name for name in (g.name for g in model.geometries) if "tip" in name]
    pairs = (*((tip, "cube") for tip in tips), ("cube", "ground"))
    kp, kd = np.zeros(model.nv), np.zeros(model.nv)
    kp[:3], kd[:3] = (50.0 * STIFFNESS, STIFFNESS, STIFFNESS), (500.0, 20.0, 20.0)
    simulation = sarrus.Simulation(
        model, DT, controller=sarrus.pd(kp, kd, targets(model)), contacts=sarrus.ContactOptions(pairs=pairs)
    )
    motion = simulation.run(duration=SECONDS)

    height = motion.q[:, model.layout.q_of("cube_joint")][:, 2]
    contacts, weight = motion.contacts, 9.81 * MASS
    squeezed = on(contacts, "left")
    console.print(f"{len(tips)} fingertips, {len(contacts.names)} possible contacts")
    held = round(LIFTED / DT)
    console.print(
        f"held at {1e3 * height[held]:.1f} mm, each finger squeezes with {squeezed[held]:.2f} N; weight {weight:.2f} N"
    )
    lifts = contacts.forces[held, contacts.numbers[held] >= 0, 2].sum()
    console.print(f"friction carries {-lifts:.3f} N (forces act on the first shape of a pair: here, the fingers)")
    slips = held + int(np.argmax(height[held:] < height[held] - 1e-3))
    began = held + int(np.argmax(height[held:] < height[held] - 1e-5))
    console.print(
        f"as the grip relaxes, it slips at {motion.time[began]:.2f} s with {squeezed[began]:.3f} N per finger; "
        f"textbook: {weight / (2.0 * FRICTION):.3f} N (slip is seen after 10 um)"
    )
    console.print(
        f"a millimetre lower after {1e3 * (motion.time[slips] - motion.time[began]):.0f} ms, and "
        f"{'on the ground' if abs(height[-1]) < 1e-4 else 'still falling'} at the end; statuses {motion.statuses}"
    )
    assert height[held] > 0.9 * HEIGHT
    assert abs(squeezed[began] - weight / (2.0 * FRICTION)) < 0.05 * weight


def gripper_and_cube() -> sarrus.Model:
    """A hand that moves up and down, two fingers that slide along it, and a cube that lies between them."""
    builder = sarrus.ModelBuilder("gripper_and_cube")
    builder.add_body("hand", joint="prismatic", axis=(0.0, 0.0, 1.0), mass=1.0, inertia=1e-3 * np.eye(3))
    for name, side in FINGERS.items():
        at = (0.0, side * OPEN, 0.6 * SIDE)  # above the middle of the cube, so that it hangs
        builder.add_body(
            name, "hand", joint="prismatic", axis=(0.0, -side, 0.0), position=at, mass=0.2, inertia=1e-4 * np.eye(3)
        )
        builder.add_geometry(name, Sphere(TIP), name=f"{name}_tip", friction=FRICTION)
    builder.add_body(
        "cube", joint="free", position=(0.0, 0.0, 0.5 * SIDE), mass=MASS, inertia=MASS * SIDE**2 / 6.0 * np.eye(3)
    )
    builder.add_geometry("cube", Box((SIDE, SIDE, SIDE)), name="cube", friction=FRICTION)
    return builder.build().with_ground()


def targets(model: sarrus.Model) -> np.ndarray:
    """(T, nq): close, lift, relax. A finger whose target is inside the cube squeezes it like a spring."""
    time = DT * np.arange(round(SECONDS / DT))
    q = np.tile(sarrus.neutral(model), (len(time), 1))
    grip = GRIP * (1.0 - np.clip((time - LIFTED) / (SECONDS - LIFTED - 0.2), 0.0, 1.0))
    touching = OPEN - 0.5 * SIDE - TIP
    q[:, 1] = q[:, 2] = np.minimum(1.0, time / CLOSED) * (touching + grip / STIFFNESS)
    q[:, 0] = HEIGHT * np.clip((time - CLOSED - 0.1) / 0.6, 0.0, 1.0)
    return q


def on(contacts: sarrus.ContactRecord, finger: str) -> np.ndarray:
    """Normal force (T,) of a finger."""
    of_finger = np.array([a.startswith(finger) for a, _ in contacts.names] + [False])  # the last: empty slots
    return np.sum(contacts.normal_forces * of_finger[contacts.numbers], axis=-1)


if __name__ == "__main__":
    main()
