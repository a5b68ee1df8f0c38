"""Algorithms and simulation steps in JAX: the kernels' bits, under every transformation."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import sarrus
from sarrus.errors import StateError, UnsupportedError
from tests.hooks.robots import table

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
        (lambda q, v, tau: (q[:5], v, tau), "do not match"),
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


def finite_differences(f, x, step: float = 1e-6):
    """Central ones, of a function of one array."""
    columns = []
    for k in range(len(x)):
        up, down = (np.array(x, float) for _ in range(2))
        up[k], down[k] = up[k] + step, down[k] - step
        columns.append((np.asarray(f(up)) - np.asarray(f(down))) / (2.0 * step))
    return np.stack(columns, axis=-1)


def unit(model, q):
    """q with quaternions of length one, in JAX."""
    for _, start in model.layout.quaternions:
        q = q.at[start : start + 4].divide(jnp.linalg.norm(q[start : start + 4]))
    return q


class TestDerivatives:
    @pytest.fixture
    def small(self):
        """Rotations, and motion in axes that turn."""
        builder = sarrus.ModelBuilder("small").add_body("base", joint="free", mass=2.0, inertia=np.eye(3))
        for name, parent, joint in (
            ("ball", "base", "spherical"),
            ("slider", "base", "planar"),
            ("arm", "ball", "revolute"),
        ):
            axis = {} if joint == "spherical" else {"axis": (0.0, 1.0, 0.0)}
            builder.add_body(name, parent, joint=joint, mass=1.0, com=(0.1, 0.2, 0.3), inertia=np.eye(3), **axis)
        model = builder.build()
        q, v = sarrus.random_state(model, rng=0)
        return model, q, v, np.random.default_rng(1).normal(size=model.nv)

    @pytest.mark.parametrize("method", ["aba", "rnea", "crba", "energy", "center_of_mass"])
    def test_as_finite_differences(self, small, method):
        model, q, v, tau = small
        f = sarrus.jax.function(model, method)
        arrays = {"q": q, "v": v, "tau": tau, "a": tau}

        def outputs(name, x):
            given = {key: jnp.asarray(x if key == name else arrays[key]) for key in f.kernel.input_names}
            found = f(**{**given, "q": unit(model, given["q"])})
            leaves = jax.tree_util.tree_leaves(found)
            return jnp.concatenate([jnp.ravel(leaf) for leaf in leaves])

        for name in f.kernel.input_names:
            expected = finite_differences(lambda x, name=name: outputs(name, x), arrays[name])
            for mode in (jax.jacfwd, jax.jacrev):
                found = jax.jit(mode(lambda x, name=name: outputs(name, x)))(jnp.asarray(arrays[name]))
                assert found == pytest.approx(expected, rel=1e-6, abs=1e-6 * np.abs(expected).max())

    def test_along_a_quaternion_itself_nothing_varies(self, small):
        model, q, v, tau = small
        J = jax.jacrev(sarrus.jax.function(model, "aba"))(jnp.asarray(q), v, tau)
        for _, start in model.layout.quaternions:
            assert np.abs(J[:, start : start + 4] @ q[start : start + 4]).max() < 1e-12

    def test_of_many_states(self, small):
        model, *_ = small
        q, v = sarrus.random_state(model, rng=3, batch=7)
        f = sarrus.jax.function(model, "aba")

        def loss(q, v):
            return jnp.sum(f(q, v, v) ** 2)

        each = jax.jit(jax.vmap(jax.grad(loss, argnums=(0, 1))))(q, v)
        together = jax.grad(loss, argnums=(0, 1))(jnp.asarray(q), jnp.asarray(v))
        one = jax.grad(loss, argnums=(0, 1))(jnp.asarray(q[2]), jnp.asarray(v[2]))
        for a, b, c in zip(each, together, one, strict=True):
            assert a == pytest.approx(np.asarray(b), rel=1e-12)
            assert a[2] == pytest.approx(np.asarray(c), rel=1e-12)

    def test_with_constraints(self):
        model = sarrus.zoo.chain(5).with_constraints(sarrus.contact("tip", 3))
        f = sarrus.jax.function(model, "pv")
        q, v = map(jnp.asarray, sarrus.random_state(model, rng=0))
        tau = jnp.ones(5)
        found = jax.jacrev(lambda tau: f(q, v, tau).qdd)(tau)
        assert found == pytest.approx(finite_differences(lambda tau: f(q, v, tau).qdd, tau), rel=1e-5, abs=1e-7)

    def test_of_many_steps(self):
        """A gradient through a rollout on a manifold, against finite differences."""
        builder = sarrus.ModelBuilder("ball").add_body("ball", joint="spherical", mass=1.0, com=(0.1, 0.2, 0.3))
        model = builder.add_body("arm", "ball", axis=(0.0, 1.0, 0.0), mass=1.0, com=(0.1, 0.0, 0.3)).build()
        (q, v), tau = sarrus.random_state(model, rng=0), np.ones(model.nv)
        step = sarrus.jax.simulation_step(sarrus.Simulation(model, 1e-2), inputs=("tau",))
        start = step.start(q, v)

        def loss(x):
            q, v, tau = x[: model.nq], x[model.nq : model.nq + model.nv], x[model.nq + model.nv :]
            begun = start | {"q": unit(model, q), "v": v}
            end, _ = jax.lax.scan(lambda c, _: step(c, tau=tau), begun, None, length=5)
            return jnp.sum(jnp.sin(end["q"])) + jnp.sum(end["v"] ** 2)

        x = np.concatenate([q, v, tau])
        found = jax.jit(jax.grad(loss))(x)
        expected = finite_differences(jax.jit(loss), x)
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-6 * np.abs(expected).max())

    def test_there_are_no_second_ones(self, small):
        model, q, v, tau = small
        with pytest.raises(UnsupportedError, match="has no derivatives"):
            jax.hessian(sarrus.jax.function(model, "aba"))(jnp.asarray(q), v, tau)


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
        q = sarrus.neutral(table())
        q[2] = 0.25
        simulation = sarrus.Simulation(table(), controller=sarrus.pd(40.0, 1.0, q))
        motion = simulation.run(q, steps=200)
        step = sarrus.jax.simulation_step(simulation)
        start = step.start(np.tile(q, (5, 1)))
        carry, _ = jax.jit(lambda c: jax.lax.scan(lambda c, _: step(c), c, None, length=200))(start)
        assert motion.contacts[-1].touching.any()
        assert np.array_equal(carry["q"], np.tile(motion.q[-1], (5, 1)))

    def test_what_it_does_not_do(self):
        simulation = sarrus.Simulation(ARM)
        step = sarrus.jax.simulation_step(simulation, inputs=("tau",))
        with pytest.raises(UnsupportedError, match=r"takes \['tau'\]"):
            step(step.start())
        on_loops = sarrus.jax.simulation_step(sarrus.Simulation(sarrus.zoo.four_bar()))
        with pytest.raises(UnsupportedError, match="nothing differentiates through"):
            jax.grad(lambda v: on_loops(on_loops.start() | {"v": v})[0]["q"].sum())(jnp.zeros(3))
        with pytest.raises(UnsupportedError, match="neither a Python function"):
            sarrus.jax.simulation_step(sarrus.Simulation(ARM, controller=lambda t, q, v: -v))
