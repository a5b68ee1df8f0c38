"""What is left out cannot meet within the limits of joints: against random configurations, and examples by hand."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.mechanics.contact.broad_phase import own_pairs
from sarrus.mechanics.contact.joint_ranges import _around, may_meet_within_limits
from sarrus.mechanics.contact.narrow_phase import is_supported, touches
from sarrus.model.meeting_pairs import meeting_pairs
from sarrus.model.visuals import Box, Capsule, Cylinder, Sphere

SHAPES = (Capsule(0.03, 0.2), Sphere(0.05), Box((0.1, 0.05, 0.15)), Cylinder(0.04, 0.1))


def robot(seed: int) -> sarrus.Model:
    """A random arm with a shape or two on every body and joints of small ranges."""
    rng = np.random.default_rng(seed)
    b = sarrus.ModelBuilder("arm")
    parent = "world"
    for k in range(5):
        lower = rng.uniform(-1.5, 0.5)
        b.add_body(
            f"link_{k}", parent, joint="prismatic" if k == 3 and seed % 2 else "revolute", axis=rng.normal(size=3),
            position=0.25 * rng.normal(size=3), mass=1.0, inertia=0.01 * np.eye(3),
            lower=lower, upper=lower + rng.uniform(0.1, 1.0),
        )  # fmt: skip
        b.add_geometry(f"link_{k}", SHAPES[rng.integers(4)], position=tuple(0.1 * rng.normal(size=3)))
        parent = f"link_{rng.integers(k + 1)}" if seed % 3 == 0 else f"link_{k}"
    return b.build()


@pytest.mark.parametrize("seed", range(8))
def test_what_is_left_out_never_meets(seed: int) -> None:
    model = robot(seed)
    pairs = [p for p in meeting_pairs(model) if p.b >= 0]
    kept = {(p.a, p.b) for p in own_pairs(model)}
    q, _ = sarrus.random_state(model, seed, 60)  # within limits
    poses = sarrus.forward_kinematics(model, q)
    for pair in pairs:
        a, b = model.geometries[pair.a], model.geometries[pair.b]
        if (pair.a, pair.b) in kept or not is_supported(a.shape, b.shape):
            continue
        for k in range(60):
            R, p = poses.rotation[k], poses.position[k]
            placed = [(R[x.body] @ x.placement.R, p[x.body] + R[x.body] @ x.placement.p) for x in (a, b)]
            assert min(float(t.gap) for t in touches(a.shape, placed[0], b.shape, placed[1])) > 0.0


def arm(lower: float, upper: float) -> sarrus.Model:
    """An upper arm along z, a forearm that turns about y at its end, and a hand at the end of that."""
    b = sarrus.ModelBuilder("arm")
    common = {"mass": 1.0, "inertia": 0.01 * np.eye(3)}
    b.add_body("upper", joint="revolute", axis=(0, 1, 0), lower=-1.0, upper=1.0, **common)
    b.add_geometry("upper", Capsule(0.04, 0.4), position=(0, 0, 0.2), name="upper")
    b.add_body(
        "fore", "upper", joint="revolute", axis=(0, 1, 0), position=(0, 0, 0.5), lower=lower, upper=upper, **common
    )
    b.add_body("wrist", "fore", joint="revolute", axis=(0, 0, 1), position=(0, 0, 0.3), lower=-1.0, upper=1.0, **common)
    b.add_geometry("wrist", Sphere(0.05), position=(0.02, 0, 0.05), name="hand")
    return b.build()


def test_an_elbow_that_does_not_fold_keeps_the_hand_away() -> None:
    def pairs(model: sarrus.Model) -> int:
        return len(own_pairs(model))

    assert pairs(arm(-1.5, 1.5)) == 0
    assert pairs(arm(-3.1, 1.5)) == 1
    model = arm(-1.5, 1.5)
    a, b = (model.geometry(name) for name in ("upper", "hand"))
    assert not may_meet_within_limits(model, a, b)


def test_the_capsule_is_around_the_points() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        points = rng.normal(size=(20, 3)) * rng.uniform(0.01, 1.0, 3)
        hull = _around(points)
        way = hull.ends[1] - hull.ends[0]
        t = np.clip((points - hull.ends[0]) @ way / max(way @ way, 1e-30), 0.0, 1.0)
        assert (np.linalg.norm(points - hull.ends[0] - t[:, None] * way, axis=1) <= hull.radius + 1e-9).all()


def test_a_simulation_says_which_pairs_may_touch() -> None:
    def simulation(lower: float) -> sarrus.Simulation:
        return sarrus.Simulation(arm(lower, 1.5), contacts=sarrus.ContactOptions(self_collision=True))

    assert simulation(-3.1).touching_pairs == [("upper", "hand")] or simulation(-3.1).touching_pairs == [
        ("hand", "upper")
    ]
    assert simulation(-1.5).touching_pairs == []
    assert any("0 of 1 pairs can meet within the limits" in note for note in simulation(-1.5).notes)
