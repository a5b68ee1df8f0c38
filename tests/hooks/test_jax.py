"""Algorithms and simulation steps in JAX: the kernels' bits, under every transformation."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import sarrus
from sarrus.errors import StateError, UnsupportedError

jax = pytest.importorskip("jax", reason="needs JAX: pip install 'sarrus[jax]'")
jnp = jax.numpy
jax.config.update("jax_enable_x64", True)

MODEL = sarrus.zoo.stem(3, 2)
ARM = sarrus.zoo.chain(3)


@pytest.fixture(scope="module")
def states():
    q, v = sarrus.random_state(MODEL, rng=0, batch=37)
    return q, v, np.random.default_rng(1).normal(size=v.shape)


def test_bits_are_the_kernels(states):
    f, kernel = sarrus.jax.function(MODEL, "aba"), sarrus.compile(MODEL, "aba")
    one = [x[0] for x in states]
    expected = kernel(*states)
    assert np.array_equal(f(*states), expected)
    assert np.array_equal(jax.jit(f)(*states), expected)
    assert np.array_equal(jax.jit(f)(*one), kernel(*one))
    assert np.array_equal(jax.vmap(f)(*map(jnp.asarray, states)), expected)


def test_some_arrays_alike_for_all_states(states):
    f, (q, v, tau) = sarrus.jax.function(MODEL, "aba"), states
    expected = sarrus.compile(MODEL, "aba")(q, np.tile(v[0], (len(q), 1)), tau)
    assert np.array_equal(jax.vmap(f, in_axes=(0, None, 0))(jnp.asarray(q), v[0], jnp.asarray(tau)), expected)
    assert np.array_equal(f(q, v[0], tau), expected)
    twice = jax.vmap(jax.vmap(f))(*(jnp.asarray(x[:36]).reshape(4, 9, -1) for x in (q, np.tile(v[0], (37, 1)), tau)))
    assert np.array_equal(twice.reshape(36, -1), expected[:36])


def test_no_states_at_all(states):
    f = sarrus.jax.function(MODEL, "aba")
    assert f(*(x[:0] for x in states)).shape == (0, MODEL.nv)


def test_inside_scan(states):
    f, kernel = sarrus.jax.function(MODEL, "aba"), sarrus.compile(MODEL, "aba")
    q, v, tau = (x[0] for x in states)
    found, _ = jax.jit(lambda v: jax.lax.scan(lambda v, _: (1e-3 * f(q, v, tau), None), v, None, length=20))(v)
    for _ in range(20):
        v = 1e-3 * kernel(q, v, tau)
    assert np.array_equal(found, v)


def test_float32(states):
    small = [x.astype(np.float32) for x in states]
    f, kernel = sarrus.jax.function(MODEL, "aba", dtype="float32"), sarrus.compile(MODEL, "aba", dtype="float32")
    found = jax.jit(f)(*small)
    assert found.dtype == np.float32
    assert np.array_equal(found, kernel(*small))


def test_results_with_names_and_whole_numbers(states):
    model = MODEL.with_constraints(sarrus.contact("tip_0", 3))
    f, kernel = sarrus.jax.function(model, "pv"), sarrus.compile(model, "pv")
    found, expected = jax.jit(f)(*states), kernel(*states)
    assert type(found).__name__ == type(expected).__name__
    assert found.status.dtype == np.int32
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def test_options_reach_the_algorithm(states):
    f = sarrus.jax.function(MODEL, "frame_jacobian", frame="tip_1")
    assert np.array_equal(f(states[0]), sarrus.compile(MODEL, "frame_jacobian", frame="tip_1")(states[0]))


def test_many_threads_at_once(states):
    """More calls at once than there are cores, of one kernel."""
    from concurrent.futures import ThreadPoolExecutor

    f, kernel = jax.jit(sarrus.jax.function(MODEL, "aba")), sarrus.compile(MODEL, "aba")
    parts = [tuple(np.roll(x, k, axis=0) for x in states) for k in range(16)]
    with ThreadPoolExecutor(16) as pool:
        for _ in range(20):
            for part, found in zip(parts, pool.map(lambda part: np.asarray(f(*part)), parts), strict=True):
                assert np.array_equal(found, kernel(*part))


def test_donated_buffers(states):
    f = sarrus.jax.function(MODEL, "aba")
    expected = sarrus.compile(MODEL, "aba")(*states)
    g = jax.jit(f, donate_argnums=2)
    assert np.array_equal(g(*map(jnp.array, states)), expected)


def test_several_devices():
    """`shard_map` over two CPU devices, in a process of its own: their number is fixed when JAX starts."""
    code = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, numpy as np, sarrus
from jax.sharding import Mesh, PartitionSpec as P
jax.config.update("jax_enable_x64", True)
model = sarrus.zoo.chain(3)
q, v = sarrus.random_state(model, rng=0, batch=64)
f = sarrus.jax.function(model, "aba")
mesh = Mesh(np.array(jax.devices()), ("states",))
g = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=(P("states"),) * 3, out_specs=P("states")))
assert len(jax.devices()) == 2
assert np.array_equal(g(q, v, v), sarrus.compile(model, "aba")(q, v, v))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda q, v, tau: (q[:, :-1], v, tau), "q is float64 of shape"),
        (lambda q, v, tau: (q, v.astype(np.float32), tau), "v is float32"),
        (lambda q, v, tau: (q[:5], v, tau), "do not go together"),
        (lambda q, v, tau: (q, v), "takes q, v, tau, each once"),
    ],
)
def test_what_does_not_fit_is_said_while_tracing(states, change, words):
    f = sarrus.jax.function(MODEL, "aba")
    with pytest.raises(StateError, match=words):
        jax.jit(f).lower(*map(jnp.asarray, change(*states)))


def test_float64_must_be_enabled(monkeypatch):
    jax.config.update("jax_enable_x64", False)
    try:
        assert sarrus.jax.function(ARM, "aba").kernel.dtype == np.float32
        with pytest.raises(UnsupportedError, match="jax_enable_x64"):
            sarrus.jax.function(ARM, "aba", dtype="float64")
    finally:
        jax.config.update("jax_enable_x64", True)


class TestSteps:
    def test_bits_of_a_simulation(self):
        simulation = sarrus.Simulation(sarrus.zoo.four_bar(), 1e-3, project_every=3)
        tau = np.random.default_rng(0).normal(size=(20, 3))
        motion = simulation.run(steps=20, tau=tau)
        step = sarrus.jax.simulation_step(simulation, inputs=("tau",))
        carry, out = jax.jit(lambda c, u: jax.lax.scan(lambda c, tau: step(c, tau=tau), c, u))(step.start(), tau)
        assert np.array_equal(carry["q"], motion.q[-1])
        assert np.array_equal(out["qdd"], motion.qdd[:-1])
        assert not out["status"].any()

    def test_on_the_ground(self):
        robot = sarrus.zoo.geared_quadruped().with_ground()
        simulation = sarrus.Simulation(sarrus.embed(robot), controller=sarrus.pd(400.0, 8.0, robot.home))
        motion = simulation.run(steps=30)
        step = sarrus.jax.simulation_step(simulation)
        start = step.start(np.tile(robot.home, (5, 1)))
        carry, _ = jax.jit(lambda c: jax.lax.scan(lambda c, _: step(c), c, None, length=30))(start)
        assert np.array_equal(carry["q"], np.tile(motion.q[-1], (5, 1)))

    def test_what_it_does_not_do(self):
        simulation = sarrus.Simulation(ARM)
        step = sarrus.jax.simulation_step(simulation, inputs=("tau",))
        with pytest.raises(UnsupportedError, match=r"takes \['tau'\]"):
            step(step.start())
        with pytest.raises(UnsupportedError, match="derivatives are not known"):
            jax.grad(lambda v: step(step.start() | {"v": v}, tau=v)[0]["q"].sum())(jnp.zeros(ARM.nv))
        with pytest.raises(UnsupportedError, match="no Python function"):
            sarrus.jax.simulation_step(sarrus.Simulation(ARM, controller=lambda t, q, v: -v))
