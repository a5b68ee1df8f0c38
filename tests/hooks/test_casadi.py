"""Kernels as external functions of CasADi: numbers, Jacobians and sparsities of the expression."""

from __future__ import annotations

import ctypes
import sys
from importlib import import_module

import numpy as np
import pytest

import sarrus
from sarrus.errors import UnsupportedError

ca = pytest.importorskip("casadi", reason="needs CasADi: pip install 'sarrus[casadi]'")
pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="external functions are written for Linux on x86-64"
)

CASES = {
    "chain": (lambda: sarrus.zoo.chain(4), "aba", {}),
    "floating": (lambda: sarrus.zoo.stem(1, 1, 2), "rnea", {}),
    "loop": (sarrus.zoo.five_bar, "lcaba", {}),
    "matrix": (lambda: sarrus.zoo.chain(4), "crba", {}),
    "forces on bodies": (lambda: sarrus.zoo.chain(3), "aba", {"external_forces": True}),
    "poses": (lambda: sarrus.zoo.chain(3), "forward_kinematics", {"frames": ("link_1", "tip")}),
}


@pytest.fixture(params=list(CASES))
def case(request):
    make, method, options = CASES[request.param]
    model = make()
    expression = sarrus.compile(model, method, **options).to_casadi(jacobian=False)
    rng = np.random.default_rng(0)
    q, v = sarrus.random_state(model, rng=0)
    known = {"q": q, "v": v}
    arrays = [known.get(name, rng.normal(size=expression.size_in(k))) for k, name in enumerate(expression.name_in())]
    return model, sarrus.casadi.external(model, method, **options), expression, arrays


def test_numbers_names_and_shapes(case):
    _, external, expression, arrays = case
    assert external.name_in() == expression.name_in()
    assert external.name_out() == expression.name_out()
    for k, (a, b) in enumerate(zip(external.call(arrays), expression.call(arrays), strict=True)):
        assert external.size_out(k) == expression.size_out(k)
        assert np.array(a) == pytest.approx(np.array(b), rel=1e-7, abs=1e-10)  # loops at a random state


def test_jacobians(case):
    """In CasADi's order of elements; of quaternions along what keeps them at length one."""
    model, external, expression, arrays = case
    symbols = [ca.MX.sym(name, *external.size_in(k)) for k, name in enumerate(external.name_in())]
    for out in range(external.n_out()):
        if external.name_out(out) not in ("qdd", "forces", "tau", "M", "position", "rotation"):
            continue
        for k, name in enumerate(external.name_in()):
            blocks = [
                ca.Function("J", symbols, [ca.jacobian(ca.densify(f.call(symbols)[out]), symbols[k])])
                for f in (external, expression)
            ]
            found, expected = (np.array(J.call(arrays)[0]) for J in blocks)
            if name == "q":
                for _, start in model.layout.quaternions:
                    quaternion, part = arrays[k][start : start + 4], np.s_[:, start : start + 4]
                    across = np.eye(4) - np.outer(quaternion, quaternion)
                    assert np.abs(found[part] @ quaternion).max() < 1e-9
                    expected[part] = expected[part] @ across
            if external.name_out(out) == "forces":
                continue  # of redundant rows: shared otherwise
            assert found == pytest.approx(expected, rel=1e-7, abs=1e-7 * max(1.0, np.abs(expected).max()))


def test_zeros_that_are_always_zero_are_not_there():
    model = sarrus.zoo.stem(1, 1, 2)
    M = sarrus.casadi.external(model, "crba", jacobian=False)
    always = (sarrus.crba(model, sarrus.random_state(model, rng=0, batch=20)[0]) == 0.0).all(axis=0)
    assert M.nnz_out(0) == model.nv**2 - always.sum()
    assert always.any()


def test_an_argument_that_is_zero_and_a_result_nobody_wants():
    model = sarrus.zoo.chain(3)
    f = sarrus.casadi.external(model, "aba")
    q = ca.MX.sym("q", 3)
    g = ca.Function("g", [q], [f(q, 0, ca.MX(3, 1))])
    assert np.array(g(np.ones(3))).ravel() == pytest.approx(sarrus.aba(model, np.ones(3), np.zeros(3), np.zeros(3)))


def test_mapped_over_threads():
    model = sarrus.zoo.chain(3)
    f = sarrus.casadi.external(model, "aba")
    q, v = sarrus.random_state(model, rng=0, batch=32)
    found = f.map(32, "thread", 4)(q.T, v.T, v.T)
    assert pytest.approx(sarrus.aba(model, q, v, v), rel=1e-12) == np.array(found).T


def test_reverse_and_forward_through_a_map():
    model = sarrus.zoo.chain(3)
    f, g = sarrus.casadi.external(model, "aba"), sarrus.compile(model, "aba").to_casadi(jacobian=False)
    x = ca.MX.sym("x", 3, 5)
    slopes = [
        ca.Function("s", [x], [ca.gradient(ca.sumsqr(h.map(5)(x, x, x)), x), ca.jtimes(h.map(5)(x, x, x), x, x)])
        for h in (f, g)
    ]
    at = np.random.default_rng(0).normal(size=(3, 5))
    for a, b in zip(slopes[0](at), slopes[1](at), strict=True):
        assert np.array(a) == pytest.approx(np.array(b), rel=1e-9)


def test_a_library_written_by_hand_is_one(tmp_path):
    """The system's loader finds every function, and no other."""
    from sarrus.codegen.emit import jit
    from sarrus.codegen.emit.image import link_flat
    from sarrus.hooks.casadi.shared_object import shared_object

    names = [f"number_{k}" for k in range(20)]
    ir = "\n".join(f"define i64 @{name}() {{ ret i64 {k} }}" for k, name in enumerate(names))
    path = tmp_path / "library.so"
    path.write_bytes(shared_object(*link_flat(jit.compile_object(ir), names)))
    library = ctypes.CDLL(str(path))
    assert [library[name]() for name in names] == list(range(20))
    with pytest.raises(AttributeError):
        _ = library.number_20


def test_second_derivatives_are_refused():
    model = sarrus.zoo.chain(2)
    f, q = sarrus.casadi.external(model, "aba"), ca.MX.sym("q", 2)
    with pytest.raises(RuntimeError, match="Derivatives cannot be calculated"):
        ca.hessian(ca.sum1(f(q, q, q)), q)


def test_elsewhere_it_says_what_to_do(monkeypatch):
    from sarrus.codegen.emit.image import NotFlatError

    def other(*_):
        raise NotFlatError("not an x86-64 ELF object")

    module = import_module("sarrus.hooks.casadi.external")
    monkeypatch.setattr(module, "link_flat", other)
    with pytest.raises(UnsupportedError, match="to_c"):
        sarrus.casadi.external(sarrus.zoo.chain(2), "aba")
