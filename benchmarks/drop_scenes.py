"""Robots and things that are dropped, and how they are thrown: for `benchmarks.random_drops`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import sarrus
from benchmarks.robots import shared_directory
from sarrus.model.geometries import Plane
from sarrus.model.model import Model
from sarrus.model.state import integrate, limits, starting_configuration
from sarrus.model.visuals import Box
from sarrus.simulation.contact.put_down import gaps_between, loose_bodies, put_down
from sarrus.simulation.contact.settings import ContactOptions, contact_settings
from sarrus.spatial.arrays import Array

FILES = {
    "go1": "go1/scene.xml", "anymal_c": "anymal_c/scene.xml", "h1": "h1/scene.xml", "g1": "g1/scene_mjx.xml",
    "cassie": "cassie/scene.xml", "talos": "talos/scene_position.xml", "digit": "digit/digit-v3.xml",
    "shadow_hand": "shadow_hand/scene_right.xml",
}  # fmt: skip
HEIGHTS = (0.01, 0.5)  # metres between the lowest point and the ground
SPREAD = 0.15  # metres: standard deviation of where several things are, sideways, so that they meet
NEAR_HOME = 0.15  # radians or metres: of the joints of robots with loops
SPEED = 1.0  # standard deviation of velocities, in m/s and rad/s
_ATTEMPTS = 20  # at bodies that do not overlap each other


class Scene:
    """A model that is dropped, and all places where it may touch something."""

    def __init__(self, name: str, model: Model, options: ContactOptions | None = None) -> None:
        self.name, self.model, self.options = name, model, options or ContactOptions()
        settings = contact_settings(model, self.options)
        assert settings is not None, f"{name}: nothing touches"
        self.contacts = settings.contacts

    def gaps(self, q: Array) -> Array:
        """(..., candidates) at configurations (..., nq)."""
        return gaps_between(self.model, self.contacts, q)

    def throw(self, rng: np.random.Generator, count: int) -> tuple[Array, Array]:
        """Random states above the ground, of which no two bodies overlap."""
        q, v = self._thrown(rng, count)
        for _ in range(_ATTEMPTS):
            overlap = np.flatnonzero((self.gaps(q) < 0.0).any(axis=-1))
            if not len(overlap):
                break
            q[overlap], v[overlap] = self._thrown(rng, len(overlap))
        return q, v

    def _thrown(self, rng: np.random.Generator, count: int) -> tuple[Array, Array]:
        q, v = sarrus.random_state(self.model, rng, count)
        if self.model.active_constraints:  # anywhere on their loops, leaf springs would hold kilojoules
            q, v = self._near_home(rng, q, v)
        q = put_down(self.model, self.contacts, q, rng.uniform(*HEIGHTS, size=count))
        loose = loose_bodies(self.model)
        if len(loose) > 1:
            for at in loose.values():
                q[:, at.start : at.start + 2] = rng.normal(scale=SPREAD, size=(count, 2))
        return q, SPEED * v

    def _near_home(self, rng: np.random.Generator, q: Array, v: Array) -> tuple[Array, Array]:
        """Joints near those of the first keyframe, or of the file; what is fixed to nothing stays as thrown."""
        keyframes = [keyframe.q for keyframe in self.model.keyframes.values()]
        home = keyframes[0] if keyframes else starting_configuration(self.model)
        near = integrate(self.model, np.tile(home, (len(q), 1)), rng.normal(scale=NEAR_HOME, size=v.shape))
        near = np.clip(near, *limits(self.model))
        for body in loose_bodies(self.model):
            at = self.model.layout.q[body]
            near[:, at] = q[:, at]
        found = sarrus.project(self.model, near, v)
        return found.q, found.v


def free_box() -> Model:
    builder = sarrus.ModelBuilder("free box")
    builder.add_body("box", joint="free", mass=1.0, inertia=np.diag([13.0, 10.0, 5.0]) / 1200.0)
    builder.add_geometry("box", Box((0.1, 0.2, 0.3)), name="shape", friction=0.6)
    return builder.build().with_ground(friction=0.6)


def box_stack(count: int = 3) -> Model:
    """Boxes that are thrown together: they meet in the air, on the ground and on each other."""
    builder, size = sarrus.ModelBuilder("boxes"), 0.2
    for k in range(count):
        mass = 1.0 + k
        builder.add_body(f"box_{k}", joint="free", mass=mass, inertia=mass * size**2 / 6.0 * np.eye(3))
        builder.add_geometry(f"box_{k}", Box((size, size, size)), name=f"shape_{k}", friction=0.5)
    builder.add_geometry("world", Plane(), name="ground", friction=0.5)
    return builder.build()


MADE: dict[str, Callable[[], Model]] = {"box_stack": box_stack, "free_box": free_box}
NAMES = (*FILES, *MADE)


def scene(name: str, **options: Any) -> Scene | None:
    """By name; None where its file is not here."""
    chosen = ContactOptions(**options)
    if name in MADE:
        return Scene(name, MADE[name](), chosen)
    path = shared_directory() / "robots" / FILES[name]
    if not path.is_file():
        return None
    model = sarrus.load(path)
    has_ground = any(isinstance(geometry.shape, Plane) for geometry in model.geometries)
    return Scene(name, model if has_ground else model.with_ground(), chosen)
