"""Algorithms in PyTorch: the kernels' bits, and PyTorch's own checks of operators."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import sarrus
from sarrus.errors import StateError, UnsupportedError

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'sarrus[torch]'")


@pytest.fixture(scope="module")
def model():
    """Rotations, and a hinge."""
    builder = sarrus.ModelBuilder("small").add_body("base", joint="free", mass=2.0, inertia=np.eye(3))
    return builder.add_body("arm", "base", axis=(0.0, 1.0, 0.0), mass=1.0, com=(0.1, 0.2, 0.3)).build()


@pytest.fixture
def states(model):
    q, v = sarrus.random_state(model, rng=0, batch=5)
    return [torch.from_numpy(x) for x in (q, v, np.random.default_rng(1).normal(size=v.shape))]


def unit(q):
    return torch.cat([q[..., :3], torch.nn.functional.normalize(q[..., 3:7], dim=-1), q[..., 7:]], dim=-1)


def test_bits_are_the_kernels(model, states):
    f, kernel = sarrus.torch.function(model, "aba"), sarrus.compile(model, "aba")
    assert np.array_equal(f(*states), kernel(*(x.numpy() for x in states)))
    one = [x[0] for x in states]
    assert np.array_equal(f(*one), kernel(*(x.numpy() for x in one)))
    assert f(*(x[:0] for x in states)).shape == (0, model.nv)
    grid = [x[:4].reshape(2, 2, -1) for x in states]
    assert np.array_equal(f(*grid).reshape(4, -1), f(*states)[:4])
    assert np.array_equal(f(states[0], states[1], one[2]), f(states[0], states[1], one[2].expand(5, -1)))


def test_float32(model, states):
    small = [x.float() for x in states]
    f, kernel = sarrus.torch.function(model, "aba", dtype=torch.float32), sarrus.compile(model, "aba", dtype="float32")
    assert np.array_equal(f(*small), kernel(*(x.numpy() for x in small)))


def test_vmap(model, states):
    f = sarrus.torch.function(model, "aba")
    assert torch.equal(torch.vmap(f)(*states), f(*states))
    assert torch.equal(
        torch.vmap(f, in_dims=(0, None, 0))(states[0], states[1][0], states[2]), f(states[0], states[1][0], states[2])
    )
    last = [x.T.contiguous() for x in states]
    assert torch.equal(torch.vmap(f, in_dims=1)(*last), f(*states))


def test_opcheck(model, states):
    """Schema, fake tensors, autograd, and ahead-of-time dispatch with dynamic shapes: all of PyTorch's checks."""
    f = sarrus.torch.function(model, "aba")
    result = torch.library.opcheck(f.operator, (states,))
    assert set(result.values()) == {"SUCCESS"}
    tracked = [x.clone().requires_grad_() for x in states]
    assert set(torch.library.opcheck(f.operator, (tracked,)).values()) == {"SUCCESS"}


@pytest.mark.parametrize("method", ["aba", "rnea", "crba", "energy"])
def test_gradcheck(model, states, method):
    f = sarrus.torch.function(model, method)
    by_name = dict(zip(("q", "v", "tau"), states, strict=True)) | {"a": states[2]}
    given = [by_name[name][:2].clone().requires_grad_() for name in f.kernel.input_names]

    def values(q, *others):
        found = f(unit(q), *others)
        return found if isinstance(found, torch.Tensor) else tuple(found)

    assert torch.autograd.gradcheck(values, given)


def test_gradients_of_many_states_by_vmap(model, states):
    f = sarrus.torch.function(model, "aba")
    one = torch.func.grad(lambda q, v, tau: f(q, v, tau).square().sum(), argnums=(0, 1, 2))
    together = torch.vmap(one)(*states)
    for k in range(5):
        for a, b in zip(together, one(*(x[k] for x in states)), strict=True):
            assert torch.allclose(a[k], b, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of inductor about PyTorch
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled(model, states, backend):
    """By `torch.compile` without breaks in the graph, backward included."""
    if backend == "inductor" and shutil.which("g++") is None:
        pytest.skip("inductor needs a C++ compiler")
    f = sarrus.torch.function(model, "aba")

    def loss(q, v, tau):
        return (f(q, v, torch.tanh(tau)) ** 2).sum()

    compiled = torch.compile(loss, fullgraph=True, backend=backend)
    expected, found = ([x.clone().requires_grad_() for x in states] for _ in range(2))
    loss(*expected).backward()
    compiled(*found).backward()
    for a, b in zip(expected, found, strict=True):
        assert torch.allclose(a.grad, b.grad, rtol=1e-12)


def test_results_with_names_and_whole_numbers():
    model = sarrus.zoo.chain(5).with_constraints(sarrus.contact("tip", 3))
    f, kernel = sarrus.torch.function(model, "pv"), sarrus.compile(model, "pv")
    q, v = sarrus.random_state(model, rng=0, batch=3)
    found, expected = f(*map(torch.from_numpy, (q, v, v))), kernel(q, v, v)
    assert found.status.dtype == torch.int32
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
    tau = torch.from_numpy(v).requires_grad_()
    f(torch.from_numpy(q), torch.from_numpy(v), tau).qdd.sum().backward()
    assert tau.grad.isfinite().all()


def test_no_copy(model, states):
    """A tensor that is as the kernel wants it is read where it is."""
    f = sarrus.torch.function(model, "aba")
    before = f(*states).clone()
    states[2].numpy()[:] += 1.0
    assert not torch.equal(f(*states), before)


def test_there_are_no_second_derivatives(model, states):
    f = sarrus.torch.function(model, "aba")
    q = states[0][0].clone().requires_grad_()
    (g,) = torch.autograd.grad(f(q, states[1][0], states[2][0]).sum(), q, create_graph=True)
    with pytest.raises(UnsupportedError, match="second derivatives"):
        g.sum().backward()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda q, v, tau: (q[:, :-1], v, tau), r"q is torch.float64 of shape \(5, 7\)"),
        (lambda q, v, tau: (q, v.float(), tau), "v is torch.float32"),
        (lambda q, v, tau: (q[:3], v, tau), "do not match"),
        (lambda q, v, tau: (q, v), "takes q, v, tau, each once"),
        (lambda q, v, tau: (q.to("meta"), v, tau), "on meta"),
    ],
)
def test_errors_are_in_words(model, states, change, words):
    with pytest.raises(StateError, match=words):
        sarrus.torch.function(model, "aba")(*change(*states))
