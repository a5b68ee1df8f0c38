"""Where a simulation starts and how it is stepped, if the user leaves that open; and what to say about it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import sarrus
from sarrus.cli import arguments
from sarrus.errors import UnsupportedError
from sarrus.model.keyframes import Keyframe
from sarrus.model.model import Model
from sarrus.model.state import check_configuration
from sarrus.simulation.contact.limits import limits_of
from sarrus.simulation.contact.settings import contact_settings
from sarrus.simulation.joint_forces import JointForces
from sarrus.simulation.stiffness import stiff_joints
from sarrus.spatial.arrays import Array

_CLOSED = 1e-9  # metres or radians: what is nearer to its loops is not worth a word
_SUNK = 1e-3  # metres inside the ground that are nothing to worry about
_NOTHING = 1e-6  # by which a joint may be outside its limits without a word


class Start(NamedTuple):
    """A state to start from, with what should be said about it."""

    q: Array  # (nq,) or (B, nq)
    v: Array
    notes: list[str]


def initial_state(model: Model, wanted: str | tuple[Keyframe, str], batch: int | None, seed: int) -> Start:
    """Where it starts: at rest, in a random state or at a keyframe (with its name); loops closed."""
    held = bool(model.spanning.active_constraints)
    v, notes = np.zeros(model.nv), []
    if isinstance(wanted, tuple):
        (q, v, notes), held = start_at(model, *wanted), False  # closed already
    elif wanted == "random":
        return Start(*sarrus.random_state(model, seed, batch), [])
    elif wanted in ("home", "neutral"):
        q = sarrus.neutral(model) if wanted == "neutral" or model.home is None else np.array(model.home)
    else:
        q, held = check_configuration(model, arguments.configuration(model, wanted)), False  # where it is put, it stays
    if held:
        q = np.array(sarrus.diagnose(model, q).q)  # the nearest one with its loops closed
    if batch is not None:
        q, v = np.tile(q, (batch, 1)), np.random.default_rng(seed).normal(size=(batch, model.nv))
    moving = bool(model.spanning.active_constraints) and bool(v.any())
    return Start(q, sarrus.project(model, q, v).v if moving else v, notes)


def integrator_for(
    model: Model, wanted: str | None, contacts: sarrus.ContactOptions | bool, dt: float, controlled: bool
) -> tuple[str, list[str]]:
    """The integrator that is asked for, or the file's if it can be had; and why not, if it cannot.

    Where neither says anything: rk4 for what moves without end, since the energy that steps of first order add stays;
    adaptive where hinges make up ball joints, which are as fast as it takes where two axes come to lie on each other.
    """
    hint = model.integrator_hint
    touches = isinstance(contacts, sarrus.ContactOptions) and contact_settings(model, contacts) is not None
    if wanted is None and hint == "rk4" and touches:
        return "auto", ["the file asks for rk4, which knows no impacts: not taken (--no-contacts lets it)"]
    if wanted is None and hint in ("rk4", "implicit"):
        return hint, []
    if wanted is not None or touches or controlled or brakes(model) or stiff_joints(model, JointForces(), [], dt):
        return wanted or "auto", []
    hinges = [body.joint.name for body in model.bodies if body.inertia.mass == 0.0]
    if hinges and model.spanning.active_constraints:
        return "adaptive", [f"adaptive steps: hinges with nothing between them make ball joints, as {hinges[0]} does"]
    return "rk4", ["nothing touches and nothing brakes: rk4 (--integrator semi_implicit_euler is faster, and drifts)"]


def brakes(model: Model) -> bool:
    """Whether joints take energy away, or have limits, which do."""
    joints = [body.joint for body in model.bodies]
    return any(np.any(x.damping) or np.any(x.friction) or np.isfinite([*x.lower, *x.upper]).any() for x in joints)


def start_at(model: Model, keyframe: Keyframe, name: str) -> Start:
    """A keyframe's state; where its loops are not quite closed, the nearest one whose are."""
    q, v = np.array(keyframe.q), np.array(keyframe.v)
    if not model.spanning.active_constraints:
        return Start(q, v, [])
    found = sarrus.diagnose(model, q)
    closed = np.array(found.q)
    change = np.abs(sarrus.difference(model, q, closed))
    if change.max(initial=0.0) < _CLOSED:
        return Start(q, v, [])
    k = int(np.argmax(change))
    joint = next(n for n in model.joint_names if k in range(model.nv)[model.layout.v_of(n)])
    return Start(
        closed, v,
        [f"keyframe {name!r} is not quite on the loops: projected onto them, which moves {joint} by {change[k]:.2g}"],
    )  # fmt: skip


def above_ground(model: Model, start: Start, lift: bool) -> Start:
    """What would start inside the ground: lifted onto it (a floor that was added knows no pose), or a word about it."""
    try:
        standing = sarrus.put_down(model, start.q)
    except UnsupportedError:  # no ground, or nothing that could be lifted
        return start
    depth = (standing - start.q).max(axis=-1)  # (B,) or ()
    if not (depth > _SUNK).any():
        return start
    if not lift:
        note = f"starts {depth.max():.3g} m inside the ground, which pushes it out (`sarrus.put_down` lifts it onto it)"
        return start._replace(notes=[*start.notes, note])
    note = f"lifted by {depth.max():.3g} m onto the floor, in which it would start (--q says where else)"
    return Start(np.where(depth[..., None] > _SUNK, standing, start.q), start.v, [*start.notes, note])


def outside_limits(model: Model, q: Array) -> list[str]:
    """A line about joints that are outside their limits where it starts; none if there are none."""
    outside: dict[str, float] = {}
    names = {k: name for name in model.joint_names for k in range(model.nv)[model.layout.v_of(name)]}
    for limit in limits_of(model):
        gap = float(np.min(limit.gap(q.T)))
        if gap < -_NOTHING:
            outside[names[limit.v]] = max(outside.get(names[limit.v], 0.0), -gap)
    if not outside:
        return []
    worst = sorted(outside, key=lambda name: -outside[name])
    words = ", ".join(f"{name} by {outside[name]:.3g}" for name in worst[:3])
    more = f" and {len(worst) - 3} more" if len(worst) > 3 else ""
    return [f"starts outside joint limits: {words}{more}; they push back, which is a kick (--no-limits lets them)"]
