"""`Simulation`: settings as data, checked once; `run`, `rollout` and `step` are the same motion."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest

import sarrus
from sarrus.codegen.runtime.native import NativeKernel
from sarrus.errors import StateError, UnknownNameError, UnsupportedError
from sarrus.simulation.integrators import INTEGRATORS
from tests.simulation.mechanisms_in_motion import on_the_loop

MODEL = sarrus.zoo.four_bar()
STEPS = 23  # two projections, and some
CONTROLLERS = {"none": None, "python": lambda t, q, v: -0.1 * v * np.cos(t), "pd": sarrus.pd(2.0, 0.1, np.zeros(3))}


def test_it_is_data():
    simulation = sarrus.Simulation(MODEL, dt=1e-3, integrator="rk4", record=["q", "v"], options={"tolerance": 1e-8})
    assert simulation.record == ("q", "v")
    coarse = replace(simulation, dt=2e-3)
    assert (coarse.dt, coarse.integrator, coarse.options) == (2e-3, "rk4", {"tolerance": 1e-8})
    with pytest.raises(FrozenInstanceError):
        simulation.dt = 2e-3
    again = pickle.loads(pickle.dumps(simulation))
    np.testing.assert_array_equal(again.run(duration=0.01).q, simulation.run(duration=0.01).q)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"dt": 0.0}, StateError, "dt is 0.0"),
        ({"integrator": "rk5"}, UnknownNameError, "Did you mean 'rk4'"),
        ({"method": "aba"}, UnsupportedError, "aba supports no constraints"),
        ({"options": {"tolerence": 1.0}}, UnknownNameError, "option of lcaba"),
        ({"options": 5}, StateError, "expected a dictionary"),
        ({"project_every": "often"}, StateError, "project_every is 'often'"),
        ({"stabilization": -1.0}, StateError, "a time constant in seconds"),
        ({"record": ("qd",)}, UnknownNameError, "recorded array 'qd'"),
        ({"record_every": 0}, StateError, "record_every is 0"),
        ({"threads": 0}, StateError, "threads is 0"),
        ({"accuracy": "x"}, StateError, "accuracy is 'x'"),
        ({"controller": 3}, UnsupportedError, "controller is 3. Valid: None"),
    ],
)
def test_settings_are_checked_when_they_are_made(settings, error, words):
    with pytest.raises(error, match=words):
        sarrus.Simulation(MODEL, **settings)


@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize(
    ("integrator", "controller"),
    [(i, c) for i in INTEGRATORS for c in CONTROLLERS if (i, c) != ("adaptive", "python")],  # which takes no functions
)
def test_steps_are_those_of_a_run_to_the_last_bit(integrator, controller, batch):
    simulation = sarrus.Simulation(MODEL, integrator=integrator, controller=CONTROLLERS[controller])
    q, v = on_the_loop(MODEL) if batch is None else (np.tile(x, (batch, 1)) for x in on_the_loop(MODEL))
    tau = np.random.default_rng(0).normal(size=(STEPS, 3) if batch is None else (batch, STEPS, 3))
    run = simulation.rollout(q, v, tau)
    state = simulation.start(q, v)
    for k in range(STEPS):
        state = simulation.step(state, tau=tau[..., k, :])
        for name in ("tau", "qdd", "forces", "residual"):  # of the dynamics at the beginning of the step
            np.testing.assert_array_equal(getattr(state, name), run.arrays[name][..., k, :], err_msg=name)
    np.testing.assert_array_equal(state.q, run.q[..., -1, :])
    np.testing.assert_array_equal(state.v, run.v[..., -1, :])
    assert state.time == pytest.approx(STEPS * 1e-3)
    assert np.all(state.status == sarrus.Status.OK)


@pytest.mark.parametrize("batch", [None, 1, 5])
def test_forces_on_bodies_act_in_steps_runs_and_rollouts(batch):
    """On an arm whose motors can do nothing: effort limits do not cut what acts from outside."""
    builder = sarrus.ModelBuilder("arm")
    for name, parent in (("upper", "world"), ("lower", "upper")):
        builder.add_body(name, parent, joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0.2, 0.0, 0.0),
                         inertia=0.1 * np.eye(3), effort_limit=0.0)  # fmt: skip
    model = builder.build()
    rng = np.random.default_rng(0)
    lead = () if batch is None else (batch,)
    pushes = rng.normal(size=(*lead, STEPS, 2, 6))
    simulation = sarrus.Simulation(model)
    q, v = rng.normal(size=(*lead, 2)), rng.normal(size=(*lead, 2))
    run = simulation.rollout(q, v, external_forces=pushes)
    state = simulation.start(q, v)
    for k in range(STEPS):
        push = pushes[k] if batch is None else np.ascontiguousarray(pushes[:, k])
        wanted = sarrus.aba(model, state.q, state.v, np.zeros(model.nv), external_forces=push)
        state = simulation.step(state, external_forces=push)
        np.testing.assert_allclose(state.qdd, wanted, rtol=1e-10)
    np.testing.assert_array_equal(state.q, run.q[..., -1, :])
    with pytest.raises(StateError, match=r"external_forces: expected shape \(2, 6\)"):
        simulation.step(state, external_forces=np.zeros(6))
    with pytest.raises(StateError, match="must be finite"):
        simulation.step(state, external_forces=np.full((*lead, 2, 6), np.nan))


def test_results_of_a_batch_do_not_share_memory_with_those_that_are_kept():
    simulation = sarrus.Simulation(MODEL)
    q, v = (np.tile(x, (64, 1)) for x in on_the_loop(MODEL))
    states = [simulation.step(simulation.start(q, v))]
    for _ in range(12):
        states.append(simulation.step(states[-1]))
    kept = [state.q.copy() for state in states]
    seen = states[3].v[5]  # a view
    number = float(seen[0])
    del states[3:6]
    last = states[-1]
    for _ in range(12):
        last = simulation.step(last)
    assert seen[0] == number
    for state, wanted in zip(states, [*kept[:3], *kept[6:]], strict=True):
        np.testing.assert_array_equal(state.q, wanted)


def test_a_long_series_of_steps_stays_on_the_loop():
    simulation = sarrus.Simulation(MODEL)
    state = simulation.start(*on_the_loop(MODEL))
    for _ in range(20_000):
        state = simulation.step(state)
    assert state.status == sarrus.Status.OK
    assert np.abs(sarrus.closure(MODEL, state.q).position).max() < 1e-9


def test_a_start_is_on_the_constraints():
    simulation = sarrus.Simulation(MODEL)
    np.testing.assert_array_equal(simulation.start().q, sarrus.neutral(MODEL))
    with pytest.raises(StateError, match="'coupler_rocker' is off by"):
        simulation.start([0.3, 0.0, 0.0])


def test_a_step_leaves_the_state_before_it_as_it_was_and_may_be_taken_again():
    simulation = sarrus.Simulation(MODEL)
    before = simulation.step(simulation.start(*on_the_loop(MODEL)))
    kept = before.q.copy()
    first, second = simulation.step(before), simulation.step(before)
    np.testing.assert_array_equal(before.q, kept)
    np.testing.assert_array_equal(first.q, second.q)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "adaptive"])
def test_a_state_that_diverged_stays_where_it_was(integrator):
    simulation = sarrus.Simulation(MODEL, integrator=integrator)
    q, v = (np.tile(x, (2, 1)) for x in on_the_loop(MODEL))
    push = np.array([[0.0, 0.0, 0.0], [1e300, 0.0, 0.0]])
    state = simulation.step(simulation.start(q, v), tau=push)
    assert state.status.tolist() == [sarrus.Status.OK, sarrus.Status.DIVERGED]
    np.testing.assert_array_equal(state.q[1], q[1])
    state = simulation.step(state)
    assert state.status.tolist() == [sarrus.Status.OK, sarrus.Status.DIVERGED]
    np.testing.assert_array_equal(state.q[1], q[1])


def test_steps_of_a_batch_use_the_threads_that_are_asked_for(monkeypatch):
    simulation, used = sarrus.Simulation(MODEL, threads=3), []
    run_checked = NativeKernel.run_checked

    def recorded(self, arrays, batch, threads, **options):
        used.append(threads)
        return run_checked(self, arrays, batch, threads, **options)

    state = simulation.start(*(np.tile(x, (64, 1)) for x in on_the_loop(MODEL)))
    state = simulation.step(state)
    monkeypatch.setattr(NativeKernel, "run_checked", recorded)
    simulation.step(state)
    assert set(used) == {3}


def test_controls_of_a_step():
    b = sarrus.ModelBuilder("motor")
    b.add_body("a", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0.2, 0.0, 0.0), inertia=0.1 * np.eye(3))
    b.add_actuator("m", "a_joint", gear=5.0)
    simulation = sarrus.Simulation(b.build())
    assert simulation.step(simulation.start(), controls=[2.0]).tau == 10.0
    many = simulation.step(simulation.start(np.zeros((2, 1))), controls=[[2.0], [1.0]])
    np.testing.assert_array_equal(many.tau, [[10.0], [5.0]])


def test_a_wrong_name_is_answered_with_the_valid_ones():
    with pytest.raises(
        UnknownNameError, match=r"'durations'. Did you mean 'duration'\? Valid: .*integrator.*tau.*record"
    ):
        sarrus.simulate(MODEL, durations=1.0)
    with pytest.raises(UnknownNameError, match=r"'duration'.*Valid: .*steps.*project_every"):
        sarrus.rollout(MODEL, np.zeros((2, 3)), duration=1.0)


@pytest.mark.parametrize("function", [sarrus.simulate, sarrus.rollout])
def test_the_help_names_everything_that_can_be_given(function):
    names = [field.name for field in fields(sarrus.Simulation)][1:]
    names += [x.name for x in inspect.signature(sarrus.Simulation.run).parameters.values() if x.kind is x.KEYWORD_ONLY]
    for name in names:
        assert f"\n{name} " in function.__doc__ or f"`{name}`" in function.__doc__, name


@pytest.mark.parametrize("project_every", [None, 5])
def test_single_precision(project_every):
    """The same motion to its digits, in runs and in steps; the adaptive integrator is refused in words."""
    q, v = (np.tile(x, (5, 1)) for x in on_the_loop(MODEL))
    both = [sarrus.Simulation(MODEL, dtype=dtype, project_every=project_every) for dtype in ("float64", "float32")]
    runs = [simulation.run(q, v, steps=200) for simulation in both]
    assert runs[1].statuses == {"ok": 5 * 201}
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-4)
    state = both[1].start(q, v)
    for _ in range(200):
        state = both[1].step(state)
    assert state.q.dtype == np.float32
    np.testing.assert_array_equal(state.q, runs[1].q[:, -1].astype(np.float32))
    with pytest.raises(UnsupportedError, match="adaptive integrator needs float64"):
        sarrus.Simulation(MODEL, dtype="float32", integrator="adaptive")
    with pytest.raises(UnknownNameError, match="float64, float32"):
        sarrus.Simulation(MODEL, dtype="half")


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
def test_step_sizes_share_a_kernel(integrator):
    """dt is an input of the kernel: another one needs no new code, and is obeyed."""
    q, v = on_the_loop(MODEL)
    both = [sarrus.Simulation(MODEL, dt=dt, integrator=integrator, project_every=None) for dt in (1e-3, 5e-4)]
    states = [simulation.step(simulation.step(simulation.start(q, v))) for simulation in both]
    digests = {kernels.step.source_hash for simulation in both for kernels in simulation._kernels.values()}
    assert len(digests) == 1
    finer = both[1].step(both[1].step(states[1]))
    assert states[0].time == pytest.approx(finer.time)
    np.testing.assert_allclose(states[0].q, finer.q, atol=1e-4)
    assert np.abs(states[0].q - finer.q).max() > 0.0


def test_shapes_of_what_is_wrong_are_those_that_were_given():
    """Forces on bodies are flattened on the way, and steps have no axis of time: messages show neither."""
    simulation = sarrus.Simulation(sarrus.zoo.chain(2), dt=1e-3)
    on_bodies = r"external_forces: expected shape \(2, 6\), \(10, 2, 6\) or \(1, 10, 2, 6\), got "
    for shape, shown in (((12,), r"\(12,\)"), ((3, 2, 6), r"\(3, 2, 6\)"), ((2, 10, 2, 6), r"\(2, 10, 2, 6\)")):
        with pytest.raises(StateError, match=on_bodies + shown):
            simulation.run(steps=10, external_forces=np.zeros(shape))
    pushes = np.zeros((10, 2, 6))
    pushes[3, 1, 2] = np.inf
    with pytest.raises(StateError, match=r"external_forces\[3, 1, 2\] is inf"):
        simulation.run(steps=10, external_forces=pushes)
    state = simulation.start(np.zeros((3, 2)))
    for given, words in (
        (
            {"external_forces": np.zeros((2, 2, 6))},
            r"external_forces: expected shape \(2, 6\) or \(3, 2, 6\), got \(2, 2, 6\)",
        ),
        ({"tau": np.zeros((2, 2))}, r"tau: expected shape \(2,\) or \(3, 2\), got \(2, 2\)"),
        ({"tau": np.zeros((3, 1, 2))}, r"tau: expected shape \(2,\) or \(3, 2\), got \(3, 1, 2\)"),
    ):
        for ask in (simulation.step, simulation.linearize):
            with pytest.raises(StateError, match=words):
                ask(state, **given)
