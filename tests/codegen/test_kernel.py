"""Compiled kernels as users see them: what a call of the algorithm returns, for every shape, type and misuse.

That every algorithm compiles to what its text says is in tests/algorithms/test_three_ways.py.
"""

from __future__ import annotations

import gc
import pickle
import shutil
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest

import sarrus
from sarrus.errors import StateError, UnknownNameError, UnsupportedError
from tests.mechanisms import relative_error

CHAIN = sarrus.zoo.chain(5, floating=True)
GEARED = sarrus.embed(sarrus.zoo.link_and_rotor())
OPTIONS = {"frame": "tip", "weight": 1e3}


def inputs_of(kernel, batch: int | None = None, seed: int = 0, model=CHAIN) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    q, v = sarrus.random_state(model, rng, batch)
    size = () if batch is None else (batch,)
    known = {"q": q, "v": v, "near": q}
    return [known.get(port.name, rng.normal(size=(*size, *port.shape))) for port in kernel.tape.inputs]


def options_of(entry) -> dict:
    return {name: OPTIONS[name] for name in entry.options if name in OPTIONS}


def fields(result) -> tuple:
    return tuple(result) if isinstance(result, tuple) else (result,)


@pytest.fixture(scope="module")
def aba():
    return sarrus.compile(CHAIN, "aba")


def test_every_mechanism_of_the_zoo_and_every_joint_type():
    for model in (sarrus.zoo.tree(9, 3, floating=True), sarrus.zoo.random_tree(1, 12)):
        q, v = sarrus.random_state(model, 0, batch=9)
        tau = np.random.default_rng(0).normal(size=v.shape)
        assert relative_error(sarrus.compile(model, "aba")(q, v, tau), sarrus.aba(model, q, v, tau)) < 1e-12


class TestCalling:
    def test_single_states_and_batches_have_the_same_bits(self, aba):
        q, v, tau = inputs_of(aba, 67)
        whole = aba(q, v, tau)
        for batch in range(1, 68):
            assert np.array_equal(aba(q[:batch], v[:batch], tau[:batch]), whole[:batch])
        for i in (0, 1, 33, 66):
            assert np.array_equal(aba(q[i], v[i], tau[i]), whole[i])
        for threads in (1, 2, 3, 8):
            assert np.array_equal(aba(q, v, tau, threads=threads), whole)

    def test_positions_in_the_batch_do_not_matter(self, aba):
        q, v, tau = inputs_of(aba, 33)
        order = np.random.default_rng(3).permutation(33)
        assert np.array_equal(aba(q[order], v[order], tau[order]), aba(q, v, tau)[order])

    def test_one_state_that_is_not_finite_disturbs_no_other(self, aba):
        q, v, tau = inputs_of(aba, 21)
        expected = aba(q, v, tau)
        for poison in (np.nan, np.inf, -np.inf):
            bad = q.copy()
            bad[13, 8] = poison
            got, status = aba(bad, v, tau, return_status=True)
            others = np.arange(21) != 13
            assert np.array_equal(got[others], expected[others])
            assert not np.isfinite(got[13]).all()
            assert status[13] == sarrus.Status.INPUT_NOT_FINITE
            assert not status[others].any()

    def test_out_is_written_and_returned(self, aba):
        q, v, tau = inputs_of(aba, 6)
        out = np.empty_like(v)
        assert aba(q, v, tau, out=out) is out
        assert np.array_equal(out, aba(q, v, tau))

    def test_out_of_one_state_may_be_an_input(self, aba):
        q, v, tau = inputs_of(aba)
        expected = aba(q, v, tau)
        assert aba(q, v, tau, out=tau) is tau
        assert np.array_equal(tau, expected)
        with pytest.raises(StateError, match="missing tau"):
            aba(q, v, out=tau)
        with pytest.raises(StateError, match="out: "):
            aba(q, v, tau, out=q)

    def test_outputs_of_one_state_must_not_share_memory(self):
        kernel = sarrus.compile(sarrus.zoo.chain(3), "rnea_derivatives")
        q, v, qdd = np.random.default_rng(0).normal(size=(3, 3))
        outputs = tuple(np.zeros(port.shape) for port in kernel.tape.outputs)
        kernel(q, v, qdd, out=outputs)
        assert all(np.array_equal(x, y) for x, y in zip(outputs, kernel(q, v, qdd), strict=True))
        with pytest.raises(StateError, match="share memory"):
            kernel(q, v, qdd, out=(outputs[0], outputs[1], outputs[1], *outputs[3:]))

    def test_one_state_does_not_pass_through_python(self):
        kernel = sarrus.compile(sarrus.zoo.chain(3), "rnea_derivatives")
        q, v, qdd = np.random.default_rng(0).normal(size=(3, 3))
        called = []
        try:
            sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_name) if event == "call" else None)
            found = kernel(q, v, qdd)
        finally:
            sys.setprofile(None)
        assert not called
        try:
            sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_name) if event == "call" else None)
            kernel(q, v, qdd, out=None, threads=None)
        finally:
            sys.setprofile(None)
        assert "_explained" not in called  # keywords at their defaults change nothing
        assert type(found) is type(kernel(q, v, a=qdd))
        assert all(np.array_equal(x, y) for x, y in zip(found, kernel(q, v, a=qdd), strict=True))

    def test_results_of_one_state_do_not_leak(self):
        kernel = sarrus.compile(sarrus.zoo.chain(3), "rnea_derivatives")
        q, v, qdd = np.random.default_rng(0).normal(size=(3, 3))
        kind = type(kernel(q, v, qdd))

        def counts() -> list[int]:
            gc.collect()
            return [sys.getrefcount(x) for x in (kind, q, None, True, kernel.calls)]  # (np.empty leaks its dtype)

        before = counts()
        for _ in range(500):
            kernel(q, v, qdd)  # native
            kernel(q[None], v[None], qdd[None])  # declined, and then done by Python
            kernel.calls.checked(q, v, qdd)
            kernel.calls.checked(q, v, np.nan * qdd)
            with suppress(StateError):  # (pytest.raises keeps things alive)
                kernel(q, v)
        assert max(abs(a - b) for a, b in zip(counts(), before, strict=True)) < 250  # a leak would be 500

    def test_garbage_that_calls_the_kernel_while_it_runs_changes_nothing(self):
        kernel = sarrus.compile(sarrus.zoo.chain(3), "rnea_derivatives")
        q, v, qdd = np.random.default_rng(0).normal(size=(3, 3))
        expected, again = kernel(q, v, qdd), []

        class Garbage:
            def __init__(self) -> None:
                self.itself = self

            def __del__(self) -> None:
                again.append(kernel(2 * q, v, qdd))

        kept = gc.get_threshold()
        try:
            gc.set_threshold(1, 1, 1)
            for _ in range(50):
                Garbage()
                found = kernel(q, v, qdd)
                assert all(np.array_equal(x, y) for x, y in zip(found, expected, strict=True))
        finally:
            gc.set_threshold(*kept)
        assert again

    def test_a_kernel_goes_with_its_last_name_and_its_call_may_outlive_it(self):
        kernel = sarrus.compile(sarrus.zoo.chain(3), "aba")
        q, v, tau = np.random.default_rng(0).normal(size=(3, 3))
        expected, call, gone = kernel(q, v, tau), kernel.__call__, weakref.ref(kernel)
        gc.disable()
        try:
            del kernel
            assert gone() is None
        finally:
            gc.enable()
        assert np.array_equal(call(q, v, tau), expected)
        assert np.array_equal(call(q, v=v, tau=tau.tolist()), expected)

    def test_inputs_by_name_and_broadcast(self, aba):
        q, v, tau = inputs_of(aba, 4)
        assert np.array_equal(aba(q, v=v, tau=tau), aba(q, v, tau))
        assert np.array_equal(aba(q, v, tau[0])[1], aba(q[1], v[1], tau[0]))

    def test_any_layout_is_understood(self, aba):
        q, v, tau = inputs_of(aba, 8)
        expected = aba(q, v, tau)
        assert np.array_equal(aba(np.asfortranarray(q), v[:, ::1], tau.tolist()), expected)
        assert np.array_equal(aba(np.repeat(q, 2, axis=0)[::2], v, tau), expected)

    def test_float32(self):
        kernel = sarrus.compile(CHAIN, "aba", dtype=np.float32)
        arrays = inputs_of(kernel, 9)
        got = kernel(*(x.astype(np.float32) for x in arrays))
        assert got.dtype == np.float32
        assert relative_error(got, sarrus.aba(CHAIN, *arrays)) < 2e-4

    def test_external_forces_and_parameters(self):
        import casadi as ca

        kernel = sarrus.compile(CHAIN, "aba", external_forces=True)
        assert kernel.input_names == ("q", "v", "tau", "external_forces")
        m = ca.SX.sym("m")
        builder = sarrus.ModelBuilder("weighted")
        builder.add_body("bob", axis=(0, 1, 0), mass=m, com=(0, 0, -0.5), inertia=0.01 * np.eye(3))
        weighted = sarrus.compile(builder.build(), "aba", parameters=[m])
        q, v, tau = np.array([0.3]), np.array([0.1]), np.array([0.2])
        heavy = sarrus.ModelBuilder("heavy").add_body(
            "bob", axis=(0, 1, 0), mass=2.5, com=(0, 0, -0.5), inertia=0.01 * np.eye(3)
        )
        assert relative_error(weighted(q, v, tau, np.array([2.5])), sarrus.aba(heavy.build(), q, v, tau)) < 1e-12

    def test_empty_batch(self, aba):
        q, v, tau = (x[:0] for x in inputs_of(aba, 2))
        assert aba(q, v, tau).shape == (0, CHAIN.nv)


class TestMisuse:
    @pytest.mark.parametrize("change", [lambda q: q[:-1], lambda q: q[None, None], lambda q: np.float64(1.0)])
    def test_wrong_shapes_name_the_input(self, aba, change):
        q, v, tau = inputs_of(aba)
        with pytest.raises(StateError, match=r"q: expected float64 of shape \(12,\) or \(B, 12\)"):
            aba(change(q), v, tau)

    def test_wrong_types(self, aba):
        q, v, tau = inputs_of(aba)
        with pytest.raises(StateError, match="complex128"):
            aba(q.astype(complex), v, tau)
        with pytest.raises(StateError, match="q: expected"):
            aba(["x"] * 12, v, tau)

    def test_wrong_number_and_names_of_inputs(self, aba):
        q, v, tau = inputs_of(aba)
        with pytest.raises(StateError, match="missing tau"):
            aba(q, v)
        with pytest.raises(StateError, match="takes 3 arrays"):
            aba(q, v, tau, tau)
        with pytest.raises(StateError, match="'torque'"):
            aba(q, v, torque=tau)

    def test_batches_of_different_sizes(self, aba):
        q, v, tau = inputs_of(aba, 4)
        with pytest.raises(StateError, match="q has 4, v has 3"):
            aba(q, v[:3], tau)

    def test_bad_out(self, aba):
        q, v, tau = inputs_of(aba, 4)
        for out in (np.empty(3), np.empty((4, 11), np.float32), "x", np.empty((11, 4)).T, (v, v)):
            with pytest.raises(StateError, match="out: "):
                aba(q, v, tau, out=out)
        frozen = np.empty_like(v)
        frozen.flags.writeable = False
        with pytest.raises(StateError, match="writeable"):
            aba(q, v, tau, out=frozen)
        askew = np.zeros(v.nbytes + 1, dtype=np.uint8)[1:].view(float).reshape(v.shape)
        with pytest.raises(StateError, match="aligned"):
            aba(q, v, tau, out=askew)

    def test_what_is_not_ready_for_native_code_is_made_ready(self, aba):
        """The quick way through a call takes only arrays that it need not change."""
        q, v, tau = inputs_of(aba, 5)
        expected = aba(q, v, tau)
        askew = np.zeros(v.nbytes + 1, dtype=np.uint8)[1:].view(float).reshape(v.shape)
        askew[:] = v
        for other in (v.tolist(), np.asfortranarray(v), np.repeat(v, 2, axis=0)[::2], v.astype(np.float32), askew):
            got = aba(q, other, tau)
            assert (
                np.allclose(got, expected, rtol=1e-5) if np.asarray(other).dtype != float else (got == expected).all()
            )
        assert np.array_equal(aba(q, v[0], tau), aba(q, np.tile(v[0], (5, 1)), tau))

    def test_bad_arguments_of_compile(self):
        with pytest.raises(UnsupportedError, match="float64, float32"):
            sarrus.compile(CHAIN, "aba", dtype=np.int32)
        with pytest.raises(UnknownNameError, match="aba"):
            sarrus.compile(CHAIN, "abba")
        with pytest.raises(UnknownNameError, match="external_forces"):
            sarrus.compile(CHAIN, "aba", inputs=("q", "v", "tau", "forces"))
        with pytest.raises(StateError, match="threads"):
            sarrus.compile(CHAIN, "aba")(*inputs_of(sarrus.compile(CHAIN, "aba"), 2), threads=0)


class TestKernelObject:
    def test_it_explains_itself(self, aba):
        text = aba.explain()
        assert "aba of 'chain_5_floating'" in text
        assert f"{aba.op_count.total:,}" in text
        assert aba.source_hash == sarrus.compile(CHAIN, "aba").source_hash

    def test_it_pickles(self, aba):
        twin = pickle.loads(pickle.dumps(aba))
        arrays = inputs_of(aba, 5)
        assert np.array_equal(twin(*arrays), aba(*arrays))

    def test_it_works_in_threads(self, aba):
        arrays = inputs_of(aba, 40)
        expected = aba(*arrays)
        with ThreadPoolExecutor(4) as pool:
            for got in pool.map(lambda _: aba(*arrays, threads=2), range(20)):
                assert np.array_equal(got, expected)

    @pytest.mark.parametrize("start", ["fork", "spawn"])
    def test_it_works_in_other_processes(self, aba, start, tmp_path):
        arrays = inputs_of(aba, 12)
        expected = aba(*arrays, threads=2)
        # In a process of its own: forking one that runs pytest's threads is not ours to try.
        script = tmp_path / "child.py"
        np.savez(tmp_path / "data.npz", expected=expected, q=arrays[0], v=arrays[1], tau=arrays[2])
        script.write_text(
            "import multiprocessing, sys, numpy as np, sarrus\n"
            f"data = np.load({str(tmp_path / 'data.npz')!r})\n"
            "def child(kernel):\n"
            "    return kernel(data['q'], data['v'], data['tau'], threads=2)\n"
            "if __name__ == '__main__':\n"
            "    kernel = sarrus.compile(sarrus.zoo.chain(5, floating=True), 'aba')\n"
            "    kernel(data['q'], data['v'], data['tau'], threads=2)\n"
            f"    with multiprocessing.get_context({start!r}).Pool(2) as pool:\n"
            "        results = pool.map(child, [kernel] * 4)\n"
            "    sys.exit(0 if all(np.array_equal(r, data['expected']) for r in results) else 1)\n"
        )
        subprocess.run([sys.executable, str(script)], check=True, timeout=120)

    def test_casadi_function(self, aba):
        q, v, tau = inputs_of(aba)
        function = aba.to_casadi()
        assert function.name_in() == ["q", "v", "tau"]
        assert relative_error(np.array(function(q, v, tau)).ravel(), aba(q, v, tau)) < 1e-12
        kinematics = sarrus.compile(CHAIN, "forward_kinematics", inputs=("q",))
        rotation = kinematics.to_casadi()(q)[0]
        assert relative_error(np.array(rotation).reshape(-1, 3, 3), kinematics(q).rotation) < 1e-12


def test_a_kernel_says_how_often_it_iterates_and_what_only_some_states_pay():
    """Loops of a fallback were called iterations of 0 operations."""
    model = sarrus.zoo.chain_welded_tip(7)
    assert "operations each" in sarrus.compile(model, "prox_ltl").explain()
    text = sarrus.compile(model, "pv_early").explain()
    assert "operations more, for states that need it" in text
    assert "iterations" not in text.split("gives")[1].split("\n", 1)[1]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler")
class TestC:
    @pytest.mark.parametrize("method", ["aba", "rnea"])
    @pytest.mark.parametrize("robot", ["chain", "tree", "every joint type"])
    def test_exported_c_compiles_without_warnings_and_agrees(self, method, robot, tmp_path):
        import ctypes

        model = {
            "chain": CHAIN,
            "tree": sarrus.zoo.tree(12, 2, floating=True),
            "every joint type": sarrus.zoo.random_tree(2, 12),
        }[robot]
        kernel = sarrus.compile(model, method)
        source = kernel.to_c(tmp_path, name=f"robot_{method}")
        library = tmp_path / "robot.so"
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC"]
        subprocess.run(["gcc", *flags, str(source), "-o", str(library), "-lm"], check=True)
        function = getattr(ctypes.CDLL(str(library)), f"robot_{method}")
        q, v = sarrus.random_state(model, 0)
        arrays = [q, v, np.random.default_rng(0).normal(size=model.nv)]
        out = np.empty(model.nv)
        function(*(x.ctypes.data_as(ctypes.c_void_p) for x in (*arrays, out)))
        assert relative_error(out, kernel(*arrays)) < 1e-12

    def test_float_and_comparisons(self, tmp_path):
        model = sarrus.zoo.chain(7).with_constraints(sarrus.contact("tip", 6))
        source = sarrus.compile(model, "pv_early", dtype=np.float32).to_c(tmp_path)
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O0", "-c"]
        subprocess.run(["gcc", *flags, str(source), "-o", str(tmp_path / "x.o")], check=True)
        assert "float" in source.with_suffix(".h").read_text()


def test_who_waits_is_told(capsys, monkeypatch):
    heard: list[str] = []
    sarrus.compile(sarrus.zoo.chain(2), "aba", cache=False, progress=heard.append)
    assert heard[0] == "tracing"
    assert heard[1].startswith("machine code of")
    from sarrus.codegen.runtime import compile as module

    monkeypatch.setattr(module, "_PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    sarrus.compile(sarrus.zoo.chain(3), "aba", cache=False)
    assert "compiling aba of" in capsys.readouterr().err


def test_arrays_of_four_dimensions_and_those_after_them():
    """Derivatives of rotations: (frames, 3, 3, n). What comes after them in the kernel's table of arrays is right."""
    model = sarrus.zoo.chain(3)
    kernel = sarrus.compile(model, "forward_kinematics", derivative="jacobian", frames=("link_1", "tip"))
    q = sarrus.random_state(model, rng=0, batch=5)[0]
    step = 1e-6 * np.eye(3)

    def at(q):
        return sarrus.forward_kinematics(model, q, frames=("link_1", "tip"))

    for states in (q, q[:1], q[0]):
        found = kernel(states)
        for name in ("rotation", "position"):
            changes = [(getattr(at(states + d), name) - getattr(at(states - d), name)) / 2e-6 for d in step]
            assert getattr(found, f"d{name}_dq") == pytest.approx(np.stack(changes, axis=-1), abs=1e-8)
