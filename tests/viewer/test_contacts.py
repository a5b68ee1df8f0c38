"""What touches, as it is drawn: who slips, cones, and nothing where nothing touches."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.model.visuals import Box
from sarrus.viewer import Viewer
from sarrus.viewer.contacts import SLIPS, STICKS, Touching, cone
from sarrus.viewer.recording import recording_of

pytest.importorskip("viser", reason='needs viser: pip install "sarrus[viewer]"')


@pytest.fixture(scope="module")
def slid() -> sarrus.Trajectory:
    """A block that is thrown along the ground, 1 cm above it: it lands, slides and stops."""
    builder = sarrus.ModelBuilder("block").add_body("block", joint="free", mass=1.0, inertia=np.eye(3) / 150.0)
    builder.add_geometry("block", Box((0.2, 0.2, 0.2)), name="block", friction=0.5)
    model = builder.build().with_ground(friction=0.2)
    start = [0.0, 0.0, 0.11, 0.0, 0.0, 0.0, 1.0]
    return sarrus.Simulation(model, 1e-3).run(start, [1.0, 0, 0, 0, 0, 0], duration=0.5)


def test_what_slides_slips_and_what_stands_does_not(slid):
    recording = recording_of(slid.model, slid)
    assert recording.contacts is not None
    in_air, sliding, standing = (Touching.of(recording.contacts[0, step]) for step in (10, 100, 450))
    assert len(in_air.points) == 0
    assert sliding.slips.all()
    assert not standing.slips.any()
    np.testing.assert_allclose(sliding.friction, 0.5)  # the larger of the two
    np.testing.assert_allclose(sliding.forces.sum(axis=0), [-0.5 * 9.81, 0.0, 9.81], atol=1e-2)


def test_a_cone_opens_along_the_normal_with_the_angle_of_friction():
    normal = np.array([0.6, 0.0, 0.8])
    lines = cone(np.ones(3), normal, 0.5, 2.0)
    rays = lines[: len(lines) // 2, 1] - 1.0
    np.testing.assert_allclose(rays @ normal, 2.0)
    np.testing.assert_allclose(np.linalg.norm(rays - 2.0 * normal, axis=1), 1.0)


def test_contacts_are_drawn_while_it_is_played(slid):
    with Viewer(slid.model, trajectory=slid, port=9200) as viewer:
        assert viewer.playback is not None
        viewer.playback.play(False)
        for seconds, color in ((0.1, SLIPS), (0.45, STICKS)):
            viewer.playback.seek(seconds)
            viewer._show_step()
            points, *_ = viewer.touching._nodes
            np.testing.assert_array_equal(np.asarray(points.colors).reshape(-1, 3)[0], color)
        viewer.show_cones.value = True
        viewer.redraw()
        assert len(viewer.touching._nodes) == 3  # points, forces, cones
        viewer.show(slid.q[0])  # another configuration than the one that is played
        assert viewer.touching._nodes == []
        viewer.playback.seek(0.45)
        viewer.show_contacts.value = False
        viewer._show_step()
        assert viewer.touching._nodes == []
