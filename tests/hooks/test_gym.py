"""Gymnasium environments: Gymnasium's own checks, every autoreset mode, and the bits of single environments."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import sarrus
from sarrus.errors import StateError, UnknownNameError, UnsupportedError
from tests.hooks.robots import table

gymnasium = pytest.importorskip("gymnasium", minversion="1.1", reason="needs Gymnasium: pip install 'sarrus[gym]'")
SETTINGS = {"kp": 40.0, "kd": 1.0, "dt": 5e-3, "substeps": 4}


def task(**settings):
    return sarrus.gym.locomotion(table(), **{**SETTINGS, **settings})


@pytest.fixture(scope="module")
def envs():
    return sarrus.gym.VectorEnv(table(), task(seconds=0.2), 5)


def walked(env, steps: int, seed: int = 3, count: int | None = None):
    """Everything that an environment says under random actions."""
    said = [env.reset(seed=seed)]
    rng = np.random.default_rng(0)
    for _ in range(steps):
        actions = rng.uniform(-1.0, 1.0, (count or env.num_envs, 3))
        said.append(env.step(actions))
    return said


def equal(a, b) -> bool:
    return all(np.array_equal(x, y) for p, q in zip(a, b, strict=True) for x, y in zip(p[:-1], q[:-1], strict=True))


def test_gymnasium_finds_nothing_wrong_with_one():
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*infinity.*")  # observations have no bounds
        check_env(sarrus.gym.Env(table(), task()), skip_render_check=True)


def test_the_zoo_is_registered():
    found = [name for name in gymnasium.registry if name.startswith("Sarrus/")]
    assert found == [f"Sarrus/{name}-v0" for name in sarrus.gym.ENVIRONMENTS]


def test_shapes_and_spaces(envs):
    observation, info = envs.reset(seed=1)
    assert observation in envs.observation_space
    assert info == {}
    observation, reward, terminated, truncated, info = envs.step(envs.action_space.sample())
    assert observation in envs.observation_space
    assert reward.shape == terminated.shape == truncated.shape == (5,)
    assert (reward.dtype, terminated.dtype, truncated.dtype) == (np.float64, bool, bool)


def test_what_is_returned_is_not_written_again(envs):
    first, _ = envs.reset(seed=1)
    kept = first.copy()
    later = envs.step(np.ones((5, 3)))[0]
    kept_later = later.copy()
    envs.step(np.zeros((5, 3)))
    assert np.array_equal(first, kept)
    assert np.array_equal(later, kept_later)


def test_seeds(envs):
    assert equal(walked(envs, 12), walked(envs, 12))
    assert not equal(walked(envs, 2), walked(envs, 2, seed=4))


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_many_are_as_many_single_ones(mode):
    """Gymnasium's own vector of single environments says the same, to the last bit, through several episodes."""
    from gymnasium.vector import AutoresetMode, SyncVectorEnv

    short = task(seconds=0.16, start_speed=0.5)
    ours = sarrus.gym.VectorEnv(table(), short, 4, autoreset_mode=mode)
    theirs = SyncVectorEnv([lambda: sarrus.gym.Env(table(), short)] * 4, autoreset_mode=AutoresetMode(mode))
    a, b = walked(ours, 25), walked(theirs, 25)
    assert equal(a, b)
    assert sum(x[3].sum() for x in a[1:]) > 4
    for x, y in zip(a[1:], b[1:], strict=True):
        done = x[4].get("_final_obs", np.zeros(4, bool))
        assert np.array_equal(done, y[4].get("_final_obs", np.zeros(4, bool)))
        for k in np.flatnonzero(done):
            assert np.array_equal(x[4]["final_obs"][k], y[4]["final_obs"][k])


def test_reset_by_hand():
    envs = sarrus.gym.VectorEnv(table(), task(seconds=0.06), 3, autoreset_mode="Disabled")
    first, _ = envs.reset(seed=0)
    for _ in range(3):
        before, _, _, truncated, _ = envs.step(np.zeros((3, 3)))
    assert truncated.all()
    with pytest.raises(StateError, match="are over"):
        envs.step(np.zeros((3, 3)))
    after, _ = envs.reset(seed=0, options={"reset_mask": np.array([True, False, True])})
    assert np.array_equal(after[[0, 2]], first[[0, 2]])
    assert np.array_equal(after[1], before[1])
    with pytest.raises(StateError, match="reset_mask"):
        envs.reset(options={"reset_mask": np.zeros(3, bool)})


def test_an_episode_that_fails_is_terminated():
    short = replace(task(), fallen=lambda s: s.time > 0.05)
    envs = sarrus.gym.VectorEnv(table(), short, 2)
    envs.reset(seed=0)
    ends = [envs.step(np.zeros((2, 3)))[2] for _ in range(8)]
    assert [bool(x.all()) for x in ends] == [False, False, True, False, False, False, True, False]


def test_episodes_begin_on_the_ground():
    from sarrus.hooks.gym.starts import starting_states

    q, v = starting_states(table(), 0.2, 0.5, 50)
    motion = sarrus.Simulation(table(), 1e-4).run(q, np.zeros_like(v), steps=1)
    assert np.abs(motion.contacts[:, 0].gaps.min(axis=-1)).max() < 1e-5
    assert np.ptp(q[:, 2]) > 0.01


def test_episodes_begin_on_the_loops():
    from sarrus.hooks.gym.starts import starting_states

    model = sarrus.zoo.four_bar()
    q, v = starting_states(model, 0.2, 0.5, 50)
    found = sarrus.closure(model, q, v)
    assert np.abs(found.position).max() < 1e-9
    assert np.abs(found.velocity).max() < 1e-8
    assert np.ptp(q, axis=0).min() > 0.05


def test_a_mechanism_with_a_loop_and_a_task_of_ones_own():
    """CasADi functions are compiled, torques are actions, and the loop stays closed."""
    ca = pytest.importorskip("casadi")
    model = sarrus.zoo.four_bar()
    q, v, action = ca.SX.sym("q", model.nq), ca.SX.sym("v", model.nv), ca.SX.sym("action", 1)
    swing = sarrus.gym.Task(
        ca.Function("seen", [q, v], [ca.vertcat(ca.sin(q), ca.cos(q), v)], ["q", "v"], ["values"]),
        ca.Function("reward", [v, action], [v[0] - 0.1 * action**2], ["v", "action"], ["value"]),
        lambda s: np.abs(s.v[:, 0]) > 50.0,
        joints=(model.joint_names[0],), torques=True, action_scale=3.0, seconds=1.0,
    )  # fmt: skip
    envs = sarrus.gym.VectorEnv(model, swing, 6)
    envs.reset(seed=0)
    for _ in range(20):
        observation, reward, *_ = envs.step(np.full((6, 1), 0.02))
    s = envs.situation
    assert observation == pytest.approx(np.hstack([np.sin(s.q), np.cos(s.q), s.v]).astype(np.float32), abs=1e-6)
    assert reward == pytest.approx(s.v[:, 0] - 0.1 * 0.02**2)
    assert np.abs(sarrus.closure(model, s.q, s.v).position).max() < 1e-6
    assert np.array_equal(s.tau[:, 0], np.full(6, 0.06))


def test_steps_are_those_of_the_simulation(envs):
    envs.reset(seed=7)
    q, v = envs.situation.q.copy(), envs.situation.v.copy()
    envs.step(np.full((5, 3), 0.3))
    target = table().home if table().home is not None else sarrus.neutral(table())
    target = target + np.r_[np.zeros(7), np.full(3, 0.3 * envs.task.action_scale)]
    gains = np.r_[np.zeros(6), np.ones(3)]
    settings = replace(envs.simulation, controller=sarrus.pd(40.0 * gains, 1.0 * gains, target))
    assert np.array_equal(settings.run(q, v, steps=4).q[:, -1], envs.situation.q)


def test_in_the_shape_of_rsl_rl(envs):
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    pytest.importorskip("tensordict", reason="needs tensordict")
    with pytest.raises(UnsupportedError, match="SameStep"):
        sarrus.gym.RslRlEnv(envs)
    env = sarrus.gym.RslRlEnv(sarrus.gym.VectorEnv(table(), task(seconds=0.1), 4, autoreset_mode="SameStep"))
    assert env.get_observations()["policy"].shape == (4, env.envs.single_observation_space.shape[0])
    env.episode_length_buf = torch.arange(4)
    out = [env.step(torch.zeros(4, env.num_actions)) for _ in range(5)]
    assert [int(extras["time_outs"].sum()) for *_, extras in out] == [0, 1, 1, 1, 1]
    observations, rewards, dones, _ = out[-1]
    assert observations["policy"].dtype == rewards.dtype == torch.float32
    assert dones.dtype == torch.bool


def made(simulation=None, **settings):
    names = [name for name in settings if name in ("observation", "reward", "fallen")]
    functions = {name: settings.pop(name) for name in names}
    envs = sarrus.gym.VectorEnv(table(), replace(task(**settings), **functions), 5, **(simulation or {}))
    return envs.step(np.zeros((5, 3)))


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (lambda envs: envs.step(np.zeros((4, 3))), StateError, "expected shape"),
        (lambda envs: envs.step(np.full((5, 3), np.nan)), StateError, "finite"),
        (lambda envs: envs.reset(seed=[1, 2]), StateError, "or 5 of them"),
        (lambda envs: sarrus.gym.make_vec("dog"), UnknownNameError, "Valid: quadruped"),
        (lambda envs: sarrus.gym.make_vec(table(), "fly"), UnknownNameError, "Valid: stand, walk"),
        (lambda envs: sarrus.gym.make_vec(sarrus.zoo.four_bar()), UnsupportedError, "first joint is free"),
        (lambda envs: task(joints=("knee",)), UnknownNameError, "leg_0"),
        (lambda envs: task(substeps=0), StateError, "substeps"),
        (lambda envs: task(dt=-1.0), StateError, "dt is -1.0"),
        (lambda envs: task(gait={"leg_0": 0.0}), StateError, "give its frequency"),
        (lambda envs: task(gait={"hoof": 0.0}, frequency=1.0), UnknownNameError, "leg_0"),
        (lambda envs: task(randomization={"colour": (1.0, 2.0)}), UnknownNameError, "masses, friction, gains"),
        (lambda envs: task(randomization={"masses": (-1.0, 2.0)}), StateError, "0 < least <= most"),
        (lambda envs: made(randomization={"gains": (0.9, 1.1)}, torques=True), StateError, "no controller has gains"),
        (
            lambda envs: made({"contacts": False}, randomization={"friction": (0.9, 1.1)}),
            StateError,
            "without contacts",
        ),
        (lambda envs: sarrus.gym.VectorEnv(table(), task(), 0), StateError, "num_envs"),
        (
            lambda envs: sarrus.gym.VectorEnv(table(), task(), 2, autoreset_mode="Sometimes"),
            UnknownNameError,
            "NextStep",
        ),
        (lambda envs: sarrus.gym.VectorEnv(table(), "walk", 2), StateError, "a sarrus.gym.Task, got Model and str"),
        (lambda envs: envs.reset(options=3), StateError, "reset_mask"),
        (lambda envs: envs.step([["up"] * 3] * 5), StateError, "expected numbers"),
        (lambda envs: made(reward=3.0), StateError, "reward is 3.0"),
        (lambda envs: made(reward=sarrus.gym.Traced(lambda m, s: 1.0 if s.q[2] > 0.2 else 0.0)), StateError, "choose"),
        (lambda envs: made(reward=sarrus.gym.Traced(lambda m, s: s.q)), StateError, "expected one number"),
        (lambda envs: made(reward=lambda s: s.q), StateError, "reward: expected shape"),
        (lambda envs: made(observation=lambda s: s.q[:, 0]), StateError, "observation: expected shape"),
    ],
)
def test_errors_are_in_words(envs, wrong, error, words):
    with pytest.raises(error, match=words):
        wrong(envs)


def test_robots_differ_in_masses_friction_and_gains():
    """A robot with factors moves as one that was built so, and each episode draws its own."""
    ranges = {"masses": (0.5, 2.0), "friction": (0.2, 1.0), "gains": (0.7, 1.4)}
    envs = sarrus.gym.VectorEnv(table(), task(randomization=ranges, seconds=1.0), 3)
    envs.reset(seed=5)
    for name, (least, most) in ranges.items():
        assert least <= envs.factors[name].min() < envs.factors[name].max() <= most
    first = {name: x.copy() for name, x in envs.factors.items()}
    envs.reset(seed=5)
    assert all(np.array_equal(x, first[name]) for name, x in envs.factors.items())
    q, v = envs.situation.q.copy(), envs.situation.v.copy()
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (12, 3, 3))
    for action in actions:
        envs.step(action)
    for k in range(3):
        factors = {name: x[k] for name, x in first.items()}
        expected = built_with(table(), factors, actions[:, k]).run(q[k], v[k], steps=4 * len(actions))
        assert envs.situation.q[k] == pytest.approx(expected.q[-1], abs=1e-8)
        assert envs.situation.v[k] == pytest.approx(expected.v[-1], abs=1e-6)
    envs.reset()
    assert not np.array_equal(envs.factors["masses"], first["masses"])


def built_with(model, factors, actions):
    """A simulation of the model with these factors in its numbers, and actions as targets of its controller."""
    from sarrus.spatial.inertia import Inertia

    inertias = [body.inertia for body in model.bodies]
    scaled = [
        Inertia(k * x.mass, k * x.h, k * x.Sigma) for k, x in zip(factors["masses"].tolist(), inertias, strict=True)
    ]
    bodies = tuple(replace(body, inertia=x) for body, x in zip(model.bodies, scaled, strict=True))
    friction = [
        replace(x.friction, sliding=float(factors["friction"][0]) * x.friction.sliding) for x in model.geometries
    ]
    geometries = tuple(replace(x, friction=k) for x, k in zip(model.geometries, friction, strict=True))
    model = replace(model, bodies=bodies, geometries=geometries)
    home = model.home if model.home is not None else sarrus.neutral(model)
    target = np.tile(home, (4 * len(actions), 1))
    target[:, 7:] += 0.5 * np.repeat(actions, 4, axis=0)
    kp, kd = factors["gains"] * [SETTINGS["kp"], SETTINGS["kd"]]
    driven = np.r_[np.zeros(6), np.ones(3)]
    return sarrus.Simulation(model, SETTINGS["dt"], controller=sarrus.pd(kp * driven, kd * driven, target))
