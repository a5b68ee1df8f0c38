"""`Trajectory`: arrays with names, what follows from them, files and pictures."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus import Trajectory, zoo
from sarrus.errors import StateError, UnknownNameError, UnsupportedError
from sarrus.viewer.recording import recording_of


def swinging(count: int = 20, batch: int | None = None, model: sarrus.Model | None = None) -> Trajectory:
    """Random numbers in the shape of a trajectory of a four-bar, with all that can be recorded."""
    model = model or zoo.four_bar()
    rng = np.random.default_rng(0)
    lead = (count,) if batch is None else (batch, count)
    sizes = {"q": model.nq, "v": model.nv, "tau": model.nv, "qdd": model.nv, "forces": model.n_rows,
             "residual": model.n_rows}  # fmt: skip
    arrays = {name: rng.normal(size=(*lead, n)) for name, n in sizes.items()}
    status = np.zeros(lead)
    status[..., -1] = 3.0
    return Trajectory(
        model, 0.1 * np.arange(count), **arrays, iterations=np.ones(lead), status=status, settings={"dt": 0.1}
    )


def same(a: Trajectory, b: Trajectory) -> bool:
    return (
        np.array_equal(a.time, b.time)
        and a.settings == b.settings
        and a.arrays.keys() == b.arrays.keys()
        and all(np.array_equal(x, b.arrays[name]) for name, x in a.arrays.items())
    )


@pytest.mark.parametrize("batch", [None, 3])
def test_parts_by_name(batch):
    x = swinging(batch=batch)
    assert np.array_equal(x["rocker_joint"], x.q[..., 2])
    assert np.array_equal(x.velocity("rocker_joint"), x.v[..., 2])
    assert np.array_equal(x.torque("crank_joint"), x.tau[..., 0])
    assert np.array_equal(x.acceleration("crank_joint"), x.qdd[..., 0])
    assert np.array_equal(x.force("coupler_rocker"), x.forces)
    assert x.statuses == {"ok": 19 * (batch or 1), "stopped at max_iterations": batch or 1}
    assert x.final.time == pytest.approx(1.9)
    assert np.array_equal(x.final.q, x.q[..., -1, :])


def test_parts_in_time():
    x = swinging()
    part = x[5:15:3]
    assert np.array_equal(part.time, x.time[5:15:3])
    assert np.array_equal(part.status, x.status[5:15:3])
    assert np.array_equal(x[-1].q, x.q[-1:])
    assert np.array_equal(x[4].q, x.q[4:5])
    batch = swinging(batch=3)
    assert np.array_equal(batch[2:4].forces, batch.forces[:, 2:4])
    assert same(batch[2:4].robot(1), batch.robot(1)[2:4])


@pytest.mark.parametrize("batch", [None, 2])
def test_append(batch):
    x = swinging(batch=batch)
    assert same(x[:10].append(x[10:]), x)
    assert same(x[:10].append(x[9:]), x)  # the state at which one ends and the other starts is kept once
    with pytest.raises(StateError, match="before"):
        x.append(x[:5])
    with pytest.raises(StateError, match="different models"):
        x.append(swinging(model=zoo.five_bar(), batch=batch))


def test_energy_with_springs():
    builder = sarrus.ModelBuilder("sprung")
    builder.add_body("a", axis=(0, 1, 0), mass=2.0, inertia=np.eye(3), stiffness=8.0)
    model = builder.build()
    q = np.array([[0.0], [0.5]])
    energy = Trajectory(model, [0.0, 1.0], q, np.zeros((2, 1))).energy
    assert energy.elastic == pytest.approx([0.0, 1.0])
    assert energy.total == pytest.approx(energy.kinetic + energy.potential + energy.elastic)


@pytest.mark.parametrize("batch", [None, 2])
def test_what_follows_is_what_the_algorithms_say(batch):
    x = swinging(6, batch)
    q, v = (a.reshape(-1, 3) for a in (x.q, x.v))
    kinetic, potential = sarrus.energy(x.model, q, v)
    assert np.allclose(x.energy.total.ravel(), kinetic + potential, rtol=1e-12)
    h = sarrus.centroidal_momentum(x.model, q, v).reshape(*x.q.shape[:-1], 6)
    assert np.allclose(x.momentum.linear, h[..., :3])
    assert np.allclose(x.momentum.centroidal, h[..., 3:])
    worst = np.abs(sarrus.closure(x.model, q).position).max(axis=-1)
    assert np.allclose(x.closure_error.ravel(), worst, rtol=1e-9)
    assert np.shape(x.drift.closure) == (() if batch is None else (batch,))
    assert np.allclose(x.drift.closure, x.closure_error.max(-1))


def test_momentum_about_the_origin():
    """A point mass that flies past: L = m r x v."""
    builder = sarrus.ModelBuilder("mass")
    builder.add_body("a", joint="free", mass=2.0, inertia=np.eye(3))
    model = builder.build()
    q = np.array([[1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 1.0]])
    v = np.array([[0.0, 3.0, 0.0, 0.0, 0.0, 0.0]])
    momentum = Trajectory(model, [0.0], q, v).momentum
    assert np.allclose(momentum.linear, [[0.0, 6.0, 0.0]])
    assert np.allclose(momentum.angular, [[0.0, 0.0, 6.0]])
    assert np.allclose(momentum.centroidal, 0.0)


@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_files_hold_everything(tmp_path, batch, suffix):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    x = swinging(batch=batch)
    x.save(tmp_path / f"run.{suffix}")
    assert same(Trajectory.load(tmp_path / f"run.{suffix}", zoo.four_bar()), x)
    little = Trajectory(x.model, x.time, x.q, x.v)
    little.save(tmp_path / f"little.{suffix}")
    assert same(Trajectory.load(tmp_path / f"little.{suffix}", x.model), little)


def test_parquet_has_columns_with_names(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    swinging(batch=2).save(tmp_path / "run.parquet")
    table = parquet.read_table(tmp_path / "run.parquet")
    assert table.num_rows == 40
    assert {"robot", "time", "q:crank_joint", "v:rocker_joint", "forces:coupler_rocker[4]", "status"} <= set(
        table.column_names
    )


def test_files_of_other_models_are_refused(tmp_path):
    swinging().save(tmp_path / "run.npz")
    with pytest.raises(StateError, match="recorded with model 'four_bar', but not this 'five_bar'"):
        Trajectory.load(tmp_path / "run.npz", zoo.five_bar())
    with pytest.raises(StateError, match="recorded with a model of the same name"):
        Trajectory.load(tmp_path / "run.npz", zoo.four_bar("connect"))


@pytest.mark.parametrize("file", ["run.npz", "run.parquet", "run"])
def test_what_was_recorded_with_loops_embedded_is_of_the_robot_as_it_was_loaded(tmp_path, file):
    """`sarrus view FILE --trajectory` knows the robot of the file only, and said that its bodies differ."""
    pytest.importorskip("pyarrow")
    robot = zoo.geared_quadruped().with_ground()
    embedded = sarrus.embed(robot)
    simulation = sarrus.Simulation(embedded)
    motion = simulation.run(duration=0.01, save=tmp_path / file) if file == "run" else simulation.run(duration=0.01)
    if file != "run":
        motion.save(tmp_path / file)
    found = Trajectory.load(tmp_path / file, robot)
    np.testing.assert_array_equal(found.q, motion.q)
    np.testing.assert_array_equal(found.contacts.normal_forces, motion.contacts.normal_forces)
    assert found.forces is None
    assert recording_of(robot, tmp_path / file).note == ""
    assert Trajectory.load(tmp_path / file, embedded).forces is not None
    with pytest.raises(StateError, match="recorded with a model of the same name"):
        Trajectory.load(tmp_path / file, sarrus.embed(zoo.geared_quadruped().with_gravity((0, 0, -1))))
    if file == "run":
        with pytest.raises(StateError, match="what is embedded differ"):
            sarrus.Recorder.resume(tmp_path / file, robot)


def test_bad_files_and_shapes_in_words(tmp_path):
    model = zoo.four_bar()
    with pytest.raises(StateError, match=r"ends with .npz or .parquet"):
        swinging().save(tmp_path / "run.csv")
    with pytest.raises(StateError, match="no such file"):
        Trajectory.load(tmp_path / "none.npz", model)
    (tmp_path / "bad.npz").write_bytes(b"not a zip")
    with pytest.raises(StateError, match="not a trajectory"):
        Trajectory.load(tmp_path / "bad.npz", model)
    with pytest.raises(StateError, match=r"v: expected shape \(2, 3\), got \(2, 4\)"):
        Trajectory(model, [0.0, 1.0], np.zeros((2, 3)), np.zeros((2, 4)))
    with pytest.raises(StateError, match=r"time: expected shape"):
        Trajectory(model, 0.0, np.zeros((2, 3)), np.zeros((2, 3)))
    bare = Trajectory(model, [0.0], np.zeros((1, 3)), np.zeros((1, 3)))
    with pytest.raises(StateError, match=r"forces was not recorded. Recorded: q, v"):
        bare.force("coupler_rocker")
    with pytest.raises(UnknownNameError, match="Valid: coupler_rocker"):
        swinging().force("rocker")
    with pytest.raises(UnknownNameError, match="Did you mean 'crank_joint'"):
        bare["crank"]
    with pytest.raises(StateError, match="indexed by"):
        bare[1.5]
    with pytest.raises(IndexError):
        bare[7]
    with pytest.raises(StateError, match="one robot"):
        bare.robot(0)
    with pytest.raises(StateError, match="empty"):
        _ = bare[:0].final


@pytest.mark.parametrize(("make", "batch"), [(zoo.four_bar, 2), (zoo.stewart, None), (lambda: zoo.chain(12), None)])
def test_plots(tmp_path, make, batch):
    pytest.importorskip("matplotlib")
    x = swinging(30, batch, make())
    q = sarrus.normalize(x.model, x.q.reshape(-1, x.model.nq)).reshape(x.q.shape)
    x = Trajectory(x.model, x.time, q, x.v, forces=x.forces)
    figure = x.plot(tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 10_000
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels[0].startswith("position")
    assert ("constraint forces [N, Nm]" in labels) == bool(x.constraint_names)
    assert len(x.plot(joints=[x.joint_names[-1]]).axes[0].lines) <= 3
    with pytest.raises(UnknownNameError):
        x.plot(joints=["nothing"])
    with pytest.raises(UnsupportedError, match=r"run\.docx: .*png"):
        x.plot(tmp_path / "run.docx")


def test_a_plot_shows_what_the_ground_carries_and_its_legends_hide_no_curve():
    pytest.importorskip("matplotlib")
    robot = zoo.geared_quadruped().with_ground(friction=0.8)
    motion = sarrus.Simulation(sarrus.embed(robot), controller=sarrus.pd(400.0, 8.0, robot.home)).run(duration=0.3)
    figure = motion.plot()
    panels = {axes.get_ylabel(): axes for axes in figure.axes}
    carried = [line.get_ydata()[-1] for line in panels["normal forces of contacts [N]"].lines]
    assert len(carried) == 4
    assert sum(carried) == pytest.approx(9.81 * float(robot.mass), rel=1e-2)
    figure.draw_without_rendering()
    for axes in figure.axes:
        legend = axes.get_legend()
        assert legend is None or legend.get_window_extent().x0 >= axes.get_window_extent().x1


def labelled(figure) -> dict:
    return {axes.get_ylabel().partition(" [")[0]: axes for axes in figure.axes}


def test_a_line_that_lies_on_another_does_not_hide_it():
    pytest.importorskip("matplotlib")
    motion = sarrus.simulate(zoo.chain(2), duration=0.1)
    motion.q[:, 1] = motion.q[:, 0]
    styles = [line.get_linestyle() for line in motion.plot().axes[0].lines]
    assert styles == ["-", "--"]


def test_a_plot_of_what_diverged_says_so_and_ends_there():
    """It stands still from then on, for 20 s: no line is about that."""
    pytest.importorskip("matplotlib")
    robot = zoo.chain(30)
    motion = sarrus.simulate(robot, *sarrus.random_state(robot, 0), duration=20.0, dt=0.05)
    lost = int(np.argmax(motion.arrays["status"] == float(sarrus.Status.DIVERGED)))
    assert 0 < lost < 40
    figure = motion.plot()
    assert figure.get_suptitle() == f"chain_30: diverged at {motion.time[lost]:.4g} s of 20 s"
    for axes in figure.axes:
        assert axes.lines
        assert all(line.get_xdata()[-1] == motion.time[lost - 1] for line in axes.lines)
    good = motion[:lost]
    assert good.plot().get_suptitle() == f"chain_30: motion over {good.time[-1]:g} s"
    assert Trajectory(robot, motion.time, motion.q, motion.v).plot().get_suptitle() == "chain_30: motion over 20 s"


def test_a_plot_says_what_it_leaves_out_and_where_energy_is_zero():
    pytest.importorskip("matplotlib")
    motion = swinging(30, None, zoo.chain(30))
    panels = labelled(motion.plot())
    for name in ("position", "velocity"):
        assert panels[name].get_title(loc="left") == "10 of 30 joints, the fastest"
        assert len(panels[name].lines) == len(panels[name].get_legend().get_texts()) == 10
    lowest = motion.energy.potential.min()
    assert panels["energy"].get_title(loc="left") == f"potential energy above its lowest, {lowest:.4g} J"
    few = labelled(motion.plot(joints=list(motion.joint_names[:12])))["position"]
    assert len(few.lines) == 12
    assert few.get_title(loc="left") == ""


def test_joints_that_a_plot_counts_are_drawn():
    """A free joint has up to seven lines, of those that move: the others are left to the next joints."""
    pytest.importorskip("matplotlib")
    robot = zoo.chain(12, True)
    q, v = sarrus.random_state(robot, 1)
    axes = labelled(sarrus.simulate(robot, q, v, duration=0.1).plot())["position"]
    drawn = {line.get_label().partition(" ")[0] for line in axes.lines}
    assert axes.get_title(loc="left") == f"{len(drawn)} of 13 joints, the fastest"
    assert len(axes.lines) <= 10
