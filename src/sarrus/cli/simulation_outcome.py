"""What came of a simulation: what touches at the end, where it went wrong and what to try."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.simulation.contact.limits import HELD, limits_of
from sarrus.simulation.joint_forces import JointForces
from sarrus.simulation.stable_steps import too_stiff
from sarrus.simulation.stiffness import stiff_joints
from sarrus.simulation.trajectory import Trajectory
from sarrus.spatial.arrays import Array
from sarrus.status import Status


def contacts_at_end(trajectory: Trajectory) -> dict[str, Any] | None:
    """How many contacts carry something at the end, how much, and of whom; None: none were recorded."""
    contacts = trajectory.contacts
    if contacts is None or trajectory.batch is not None or not len(trajectory):
        return None
    end = contacts[-1]
    touching = end.touching
    return {
        "count": int(touching.sum()),
        "normal_force": float(end.normal_forces[touching].sum()),
        "deepest": float(max(0.0, -end.gaps[touching].min(initial=0.0))),
        "geometries": sorted({contacts.names[number][0] for number in end.numbers[touching]}),
    }


def what_was_left_out(trajectory: Trajectory) -> list[str]:
    """When contacts or joint limits found no slot, and what to try; nothing if all found one."""
    missed = np.atleast_2d(trajectory.arrays["status"]) == float(Status.CONTACTS_LEFT_OUT)
    slots, limit_slots = (trajectory.settings.get(name) for name in ("slots", "limit_slots"))
    if not missed.any() or slots is None or limit_slots is None:
        return []
    robot = int(np.argmax(missed.any(axis=1)))
    when = trajectory.time[int(np.argmax(missed[robot]))]
    contacts, limits = _are_slots_taken(trajectory, missed, limit_slots)
    kinds = [("contacts", slots, "--slots")] if contacts or not limits else []
    kinds += [("joint limits", limit_slots, "--limit-slots")] if limits or not contacts else []
    what = " or ".join(f"more {kind} than the {count} slots" for kind, count, _ in kinds)
    tries = " or ".join(f"{option} {2 * max(count, 1)}" for _, count, option in kinds)
    return [
        f"{what} at once, or too suddenly, first after {when:.4g} s: something sank in by more than 0.1 mm, or passed "
        f"its limit by more than 0.1 mrad, in such a step. Try {tries} (compiling takes longer), or a smaller --dt"
    ]


def _are_slots_taken(trajectory: Trajectory, missed: Array, limit_slots: int) -> tuple[bool, bool]:
    """Whether in one of the states (B, T) in which something was left out, all slots of contacts had one, and whether
    more joint limits were reached than have slots.
    """
    contacts, model = trajectory.contacts, trajectory.model
    taken = contacts is not None and bool((contacts.numbers.reshape(*missed.shape, -1)[missed] >= 0).all(axis=1).any())
    q = trajectory.q.reshape(*missed.shape, -1)[missed]
    reached = sum((limit.sign * (q[:, limit.q] - limit.bound) < HELD for limit in limits_of(model)), np.zeros(len(q)))
    return taken, bool((reached > limit_slots).any())


def where_it_diverged(trajectory: Trajectory, limits: bool, controlled: bool) -> list[str]:
    """When and where a state was lost, and what to try; nothing if none was."""
    status = np.atleast_2d(trajectory.arrays["status"])
    lost = status == float(Status.DIVERGED)
    if not lost.any():
        return []
    robot = int(np.argmax(lost.any(axis=1)))
    row = int(np.argmax(lost[robot]))
    one = trajectory if trajectory.batch is None else trajectory.robot(robot)
    model, v = one.model, one.v[max(0, row - 1)]
    k = int(np.argmax(np.abs(v)))
    joint = next(n for n in model.joint_names if k in range(model.nv)[model.layout.v_of(n)])
    of = f" of robot {robot}" if trajectory.batch is not None else ""
    lines = [f"diverged after {one.time[row]:.4g} s{of}: {joint} was the fastest, {v[k]:.3g} rad/s or m/s"]
    if one.contacts is not None:
        before = one.contacts[max(0, row - 1)]
        if before.touching.any():
            slot = int(np.argmax(before.normal_forces * before.touching))
            a, b = before.names[before.numbers[slot]]
            lines.append(f"the hardest contact was {a} on {b}, {before.normal_forces[slot]:.3g} N")
    dt, of_file = float(one.settings["dt"]), model.time_step
    held = bool(model.spanning.active_constraints) and one.settings["project_every"] != 1
    explicit = too_stiff(model, JointForces(), [], dt, one.settings["integrator"])
    stable = min((found.largest for found in explicit), default=dt)
    if stable < dt:
        smaller = f"--dt {stable:g} (for which {' and '.join(dict.fromkeys(x.what for x in explicit))} are stable)"
    else:
        smaller = f"--dt {of_file:g} (the file's)" if of_file is not None and of_file < dt else f"--dt {0.5 * dt:g}"
    tries = [*["--project-every 1"] * held, smaller]
    may_help = controlled or bool(stiff_joints(model, JointForces(), [], dt))
    if one.settings["integrator"] != "implicit" and may_help:
        tries.append("--integrator implicit (springs, dampers and PD gains of joints)")
    if limits and any(np.isfinite([*body.joint.lower, *body.joint.upper]).any() for body in model.bodies):
        tries.append("--no-limits (are joints outside their limits?)")
    gains = ", or smaller gains of the controller" if controlled else ""
    lines.append(f"try {' or '.join(tries)}{gains}")
    if model.spanning.active_constraints:
        lines.append("`sarrus check` shows whether the loops close and which constraint rows are redundant")
    return lines
