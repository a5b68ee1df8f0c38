"""The viewer without a browser: what it puts on its page, how it plays, and how it ends."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import sarrus
from sarrus.cli import main as command_line
from sarrus.errors import StateError
from sarrus.model.geometries import ConvexMesh, HeightField, Plane
from sarrus.model.visuals import Capsule, Mesh, Sphere, Triangles, Visual
from sarrus.viewer import Viewer
from sarrus.viewer.geometries import height_surface, touching_shapes
from sarrus.viewer.panels import facts
from sarrus.viewer.shapes import MeshLibrary

pytest.importorskip("viser", reason='needs viser: pip install "sarrus[viewer]"')


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SARRUS_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "viewer cache"))


def test_importing_sarrus_does_not_import_the_viewer():
    code = "import sys, sarrus; sys.exit('sarrus.viewer' in sys.modules or 'viser' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_bodies_are_where_forward_kinematics_has_them():
    model = sarrus.zoo.chain(3)
    q, _ = sarrus.random_state(model, rng=1)
    with Viewer(model, q, port=9200) as viewer:
        np.testing.assert_allclose(
            [node.position for node in viewer.scene.nodes], sarrus.forward_kinematics(model, q).position, atol=1e-12
        )
        viewer.show(np.zeros(3))
        assert viewer.joints.sliders[0].value == pytest.approx(0.0, abs=0.01)
        with pytest.raises(StateError, match="one configuration"):
            viewer.show(np.zeros((2, 3)))


def test_missing_meshes_are_said_and_replaced_by_a_skeleton(tmp_path):
    model = sarrus.load(
        f"""<robot name="r"><link name="base"/>
        <link name="arm"><inertial><mass value="1"/><origin xyz="0 0 0.2"/>
          <inertia ixx="0.02" iyy="0.02" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
          <visual><geometry><mesh filename="{tmp_path}/gone.stl"/></geometry></visual></link>
        <joint name="j" type="continuous"><parent link="base"/><child link="arm"/></joint></robot>"""
    )
    with Viewer(model, port=9200) as viewer:
        assert viewer.missing_meshes == {str(tmp_path / "gone.stl"): "there is no such file"}
        assert viewer.notes == [f"not drawn: {tmp_path / 'gone.stl'}: there is no such file"]
        assert viewer.scene.layers["visuals"]


def test_a_mesh_is_read_and_drawn(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box((0.1, 0.2, 0.3)).export(tmp_path / "box.stl")
    builder = sarrus.ModelBuilder().add_body("b", mass=1.0, com=(1, 0, 0))
    builder.add_visual("b", Mesh(str(tmp_path / "box.stl"), (1.0, -1.0, 1.0)), color=(1.0, 0.0, 0.0, 0.5))
    with Viewer(builder.build(), port=9200) as viewer:
        assert not viewer.missing_meshes
        assert len(viewer.scene.layers["visuals"]) == 1
        np.testing.assert_allclose(viewer.scene.high - viewer.scene.low, (0.1, 0.2, 0.3), atol=1e-6)


def test_a_collada_file_is_drawn_unless_it_declares_entities(tmp_path):
    pytest.importorskip("collada")
    file = tmp_path / "box.dae"
    pytest.importorskip("trimesh").creation.box((0.1, 0.2, 0.3)).export(file)
    meshes = MeshLibrary()
    np.testing.assert_allclose(meshes.find(str(file)).extents, (0.1, 0.2, 0.3), atol=1e-6)
    bomb = tmp_path / "bomb.dae"
    bomb.write_text(file.read_text().replace("<COLLADA", "<!DOCTYPE a [<!ENTITY b 'b'>]><COLLADA", 1))
    assert meshes.find(str(bomb)) is None
    assert "declares entities" in meshes.missing[str(bomb)]


def test_a_long_path_fits_into_the_panel():
    said = facts(sarrus.zoo.chain(2), None, ["not drawn: /a/long/path.dae"])
    assert "/\u200ba/\u200blong/\u200bpath.dae" in said


def test_layers_errors_and_forces_are_shown_and_hidden():
    model = sarrus.zoo.four_bar()
    with Viewer(model, port=9200) as viewer:
        assert not viewer.scene._errors
        viewer.show(viewer.q + np.array([0.3, 0.0, 0.0]))
        assert viewer.scene._errors
        assert "open" in viewer.closure_text.content
        viewer.show(np.zeros(3))
        viewer.show_forces.value = True
        assert viewer.scene._arrows is not None
        viewer.show_forces.value = False
        assert viewer.scene._arrows is None
        viewer.scene.show_layer("names", True)
        assert all(node.visible for node in viewer.scene.layers["names"])


def test_moving_a_joint_keeps_the_loop_closed_and_says_where_it_ends():
    with Viewer(sarrus.zoo.four_bar(), port=9200) as viewer:
        viewer._joint_moved(0, 0.5)
        assert viewer.q[0] == pytest.approx(0.5)
        assert "hold" in viewer.closure_text.content
        assert viewer.joints.sliders[1].value == pytest.approx(viewer.q[1], abs=0.01)
        viewer._joint_moved(2, 3.0)
        assert "rocker_joint gets no farther" in viewer.message.content


def test_playing_a_batch_of_trajectories():
    model = sarrus.zoo.chain(2)
    time_, q = np.linspace(0.0, 1.0, 11), np.linspace(0.0, 1.0, 44).reshape(2, 11, 2)
    q[1, 5:] = np.nan
    with Viewer(model, trajectory={"time": time_, "q": q}, port=9200) as viewer:
        playback = viewer.playback
        assert playback is not None
        until_moved = time.monotonic() + 20.0
        while playback.time == 0.0 and time.monotonic() < until_moved:
            time.sleep(0.02)
        assert playback.time > 0.0  # it plays by itself
        playback.play(False)
        playback.seek(0.52)
        viewer._show_step()
        np.testing.assert_array_equal(viewer.q, q[0, 5])
        playback.rollout.value = 1
        viewer._show_step()
        assert "rollout 1 is not finite at 0.5 s" in viewer.message.content
        playback.speed.value = "2"
        playback.seek(0.9)
        playback.advance(0.2)
        assert playback.time == 0.0  # again from the start
        playback.loop.value = False
        playback.seek(0.9)
        playback.play(True)
        playback.advance(0.2)
        assert (playback.time, playback.playing) == (1.0, False)


def test_the_zoo_is_drawn_as_it_is_built():
    model = sarrus.zoo.four_bar()
    assert [type(v.shape) for v in model.visuals] == [Capsule] * 3
    assert all(isinstance(v, Visual) for v in model.visuals)


def test_what_touches_is_drawn_with_the_ground_where_it_is():
    builder = sarrus.ModelBuilder().add_body("b", mass=1.0, com=(1, 0, 0))
    builder.add_geometry("world", Plane(), position=(0, 0, -2), rotation=(0.5, 0, 0))
    builder.add_geometry("world", HeightField(np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]), (1.0, 2.0)))
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    builder.add_geometry("b", ConvexMesh(np.vstack([corners, [[0.5, 0.5, 0.5]]]))).add_geometry("b", Sphere(0.1))
    model = builder.build()
    with Viewer(model, port=9200) as viewer:
        (ground,) = viewer.scene.grounds
        np.testing.assert_allclose(ground.position, (0, 0, -2))
        np.testing.assert_allclose(ground.wxyz, [np.cos(0.25), np.sin(0.25), 0, 0], atol=1e-12)
        assert len(viewer.scene.layers["collision"]) == 2
        assert len(viewer.scene.layers["visuals"]) == 3  # hills, and what touches stands in for what nobody drew
        assert viewer.scene.high[0] < 3.0
    (hull, ball) = touching_shapes(model)
    assert isinstance(hull.shape, Triangles)
    assert hull.shape.faces.shape == (12, 3)  # of a cube
    np.testing.assert_allclose(hull.shape.vertices.max(axis=0), 1.0, atol=1e-6)
    assert ball.shape == Sphere(0.1)


def test_hills_are_two_triangles_to_a_cell():
    heights = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    surface = height_surface(HeightField(heights, (1.0, 2.0)))
    assert surface.faces.shape == (4, 3)
    np.testing.assert_allclose(surface.vertices[[0, 2, 3]], [[-1, -2, 0], [1, -2, 2], [-1, 2, 3]])
    a, b, c = (surface.vertices[surface.faces[:, k]] for k in range(3))
    assert (np.cross(b - a, c - a)[:, 2] > 0.0).all()


def test_the_command_says_where_the_page_is(monkeypatch, tmp_path):
    monkeypatch.setattr(Viewer, "wait", lambda self: self.close())
    np.savez(tmp_path / "run.npz", q=np.zeros((3, 3)))
    result = CliRunner().invoke(
        command_line.app, ["view", "zoo:four_bar", "--no-browser", "--port", "9200", "-t", str(tmp_path / "run.npz")]
    )
    assert result.exit_code == 0, result.output
    assert "four_bar is at http://localhost:92" in result.output


def test_ctrl_c_ends_it(monkeypatch):
    with Viewer(sarrus.zoo.chain(1), port=9200) as viewer:
        monkeypatch.setattr(viewer._closed, "wait", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        viewer.wait()
        assert viewer._closed.is_set()


def test_on_a_phone_the_robot_is_above_the_panel():
    """The sheet covers the lowest third of the window: the middle of the robot is where the middle of the rest is."""
    with closing(Viewer(sarrus.zoo.biped(), port=9190)) as viewer:
        middle, start = viewer.scene.middle, np.array([1.0, 2.0, 3.0])
        for width, aspect in ((400, 0.5), (1300, 1.6)):
            camera = SimpleNamespace(image_width=width, aspect=aspect, position=start, look_at=start)
            viewer._look_from_phone(SimpleNamespace(camera=camera))
            if width > 600:
                assert camera.position is start
                continue
            away = camera.position - camera.look_at
            height = 2.0 * np.linalg.norm(away) * np.tan(0.4)  # of what is seen there
            assert np.allclose((middle - camera.look_at) / height, [0.0, 0.0, 0.17])
            assert np.linalg.norm(away) == pytest.approx(2.7 / 0.66 * viewer.scene.extent, rel=0.01)
