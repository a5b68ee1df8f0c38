"""Hostile arguments of compiled kernels: right numbers or an error in words; memory that is not ours is never read."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

import sarrus
from sarrus.codegen.runtime import crew
from sarrus.codegen.runtime.program import Copy, Gather, Program, Run, Scatter
from sarrus.errors import StateError, UnsupportedError

MODEL = sarrus.zoo.chain(2)
N = MODEL.nv


@pytest.fixture(scope="module")
def aba():
    return sarrus.compile(MODEL, "aba")


@pytest.fixture(scope="module")
def kinematics():
    """Two outputs."""
    return sarrus.compile(MODEL, "forward_kinematics", inputs=("q", "v"))


def state(batch: int | None = None, seed: int = 0) -> list[np.ndarray]:
    size = (3, N) if batch is None else (3, batch, N)
    return list(np.random.default_rng(seed).normal(size=size))


def memory(*arrays: np.ndarray) -> list[np.ndarray]:
    """Copies one behind the other in one piece of memory."""
    whole = np.concatenate([x.ravel() for x in arrays])
    ends = np.cumsum([0, *(x.size for x in arrays)])
    return [whole[a:b].reshape(x.shape) for (a, b), x in zip(itertools.pairwise(ends), arrays, strict=True)]


class TestEmptyBatches:
    """An empty batch is a number of states, not an unknown one."""

    KINDS = ("single", "empty", "one", "64")

    @pytest.mark.parametrize("kinds", list(itertools.product(KINDS, repeat=3)), ids="-".join)
    @pytest.mark.parametrize("how", ["plain", "status", "named", "out"])
    def test_in_every_position(self, aba, kinds, how):
        sizes = {"single": None, "empty": 0, "one": 1, "64": 64}
        arrays = [state(sizes[kind])[k] for k, kind in enumerate(kinds)]
        batches = {sizes[kind] for kind in kinds} - {None}
        expected = (N,) if not batches else (*batches, N)
        named = dict(zip(("q", "v", "tau"), arrays, strict=True))
        if how == "out":
            call = lambda: aba(*arrays, out=np.empty(expected))  # noqa: E731
        else:
            call = {"plain": lambda: aba(*arrays), "named": lambda: aba(**named)}.get(
                how, lambda: aba(*arrays, return_status=True)
            )
        if len(batches) > 1:
            with pytest.raises(StateError, match="batches of different sizes"):
                call()
            return
        result = call()
        if how == "status":
            result, status = result
            assert np.shape(status) == expected[:-1]
            assert not np.any(status)
        assert result.shape == expected
        np.testing.assert_allclose(result, sarrus.aba(MODEL, *arrays), rtol=1e-10)

    def test_eager_functions(self):
        q, v, tau = state(0)
        assert sarrus.aba(MODEL, q, v, tau).shape == (0, N)
        assert sarrus.aba(MODEL, q, v[:0], tau).shape == (0, N)
        assert sarrus.rnea(MODEL, q, state()[1], tau).shape == (0, N)

    def test_several_outputs(self, kinematics):
        result, status = kinematics(np.zeros((0, N)), np.zeros(N), return_status=True)
        assert all(len(x) == 0 for x in result)
        assert status.shape == (0,)

    @pytest.mark.parametrize("integrator", ["semi_implicit_euler", "adaptive"])
    def test_rollouts(self, integrator):
        done = sarrus.rollout(MODEL, np.zeros((0, N)), steps=3, integrator=integrator)
        assert done.q.shape == (0, 4, N)


class TestOverlap:
    """`out` over an input gives what a new array would; two outputs in the same place are an error."""

    @pytest.mark.parametrize("batch", [None, 1, 2, 9, 64])
    @pytest.mark.parametrize("which", range(3))
    def test_exactly_an_input(self, aba, batch, which):
        arrays = state(batch)
        expected = aba(*arrays)
        assert aba(*arrays, out=arrays[which]) is arrays[which]
        np.testing.assert_array_equal(arrays[which], expected)

    def test_the_status_is_that_of_the_input_that_was_there(self, aba):
        q, v, tau = state(5)
        tau[2, 0] = np.inf
        _, status = aba(q, v, tau, out=tau, return_status=True)
        assert status.tolist() == [0, 0, sarrus.Status.INPUT_NOT_FINITE, 0, 0]

    @pytest.mark.parametrize("shift", [-3, -2, -1, 1, 2, 3, 7])
    @pytest.mark.parametrize("threads", [1, 2])
    def test_shifted_by_some_elements(self, aba, shift, threads):
        q, v, tau = state(64)
        expected = aba(q, v, tau)
        for which in range(3):
            whole = np.zeros(64 * N + 20)
            arrays = [q, v, tau]
            arrays[which] = whole[10 : 10 + 64 * N].reshape(64, N)
            arrays[which][:] = (q, v, tau)[which]
            out = whole[10 + shift : 10 + shift + 64 * N].reshape(64, N)
            aba(*arrays, out=out, threads=threads)
            np.testing.assert_array_equal(out, expected)

    def test_an_output_within_a_wider_input(self):
        kernel = sarrus.compile(MODEL, "aba", external_forces=True)
        q, v, tau = state(8)
        forces = np.random.default_rng(1).normal(size=(8, MODEL.nb, 6))
        expected = kernel(q, v, tau, forces)
        out = forces.reshape(-1)[5 : 5 + 8 * N].reshape(8, N)
        np.testing.assert_array_equal(kernel(q, v, tau, forces, out=out), expected)

    def test_neighbours_do_not_overlap(self, aba):
        arrays = state(8)
        expected = aba(*arrays)
        *inputs, out = memory(*arrays, np.zeros((8, N)))
        np.testing.assert_array_equal(aba(*inputs, out=out), expected)
        np.testing.assert_array_equal(inputs, arrays)

    def test_two_outputs(self, kinematics):
        q, v, _ = state(5)
        fresh = kinematics(q, v)
        whole = np.zeros(sum(x.size for x in fresh))
        outs, start = [], 0
        for x in fresh:
            outs.append(whole[start : start + x.size].reshape(x.shape))
            start += x.size
        for got, wanted in zip(kinematics(q, v, out=tuple(outs)), fresh, strict=True):
            np.testing.assert_array_equal(got, wanted)
        shared = [whole[: x.size].reshape(x.shape) for x in fresh]
        with pytest.raises(StateError, match="share memory"):
            kinematics(q, v, out=tuple(shared))


class Liar(np.ndarray):
    """An array that says it is larger than it is."""

    shape = property(lambda self: (64, N))  # type: ignore[assignment]
    size = property(lambda self: 64 * N)  # type: ignore[assignment]
    nbytes = property(lambda self: 512 * N)  # type: ignore[assignment]


class TestKinds:
    """Every kind of array: understood, or refused in words that name it."""

    @pytest.mark.parametrize("batch", [None, 8])
    def test_understood(self, aba, batch):
        q, v, tau = state(batch)
        expected = aba(q, v, tau)
        frozen = v.copy()
        frozen.flags.writeable = False
        wide = np.zeros((*v.shape[:-1], 5 * N))
        wide[..., ::-5] = v
        askew = np.zeros(v.nbytes + 1, np.uint8)[1:].view(float).reshape(v.shape)
        askew[...] = v
        kinds = [
            frozen, wide[..., ::-5], askew, v.astype(">f8"), v.astype(object), v.tolist(), np.asfortranarray(v),
            v.astype(np.longdouble), v.view(type("Sub", (np.ndarray,), {})),
        ]  # fmt: skip
        if batch:
            kinds.append(v.view(np.matrix))
        for kind in kinds:
            np.testing.assert_array_equal(aba(q, kind, tau), expected)
        for dtype in (bool, np.int8, np.uint64, np.float16):
            whole = np.ones(v.shape, dtype)
            np.testing.assert_array_equal(aba(q, whole, tau), aba(q, np.ones(v.shape), tau))

    @pytest.mark.parametrize(
        "value",
        [
            np.zeros(N, complex), np.zeros(N, "U3"), np.zeros(N, "S3"), np.zeros(N, "M8[s]"), np.zeros(N, "m8[s]"),
            np.zeros(N, [("a", float)]), "00", b"00", None, {}, {"a": 1}, [1.0, "x"], [1.0, [2.0]], [None] * N,
            object(), np.float64(3.0), 3, True, 3j, [], [[[0.0] * N]], np.zeros((N, 1)), np.zeros(N + 1),
            np.zeros((3, N + 1)),
            np.ma.masked_array(np.zeros(N), mask=[True] + [False] * (N - 1)), [10**400] * N, [float, int],
        ],
        ids=lambda value: type(value).__name__,
    )  # fmt: skip
    def test_refused(self, aba, value):
        q, v, tau = state()
        for arrays in ((value, v, tau), (q, v, value), (np.tile(q, (4, 1)), value, tau)):
            name = ("q", "v", "tau")[next(k for k, x in enumerate(arrays) if x is value)]
            with pytest.raises(StateError, match=f"^{name}: expected"):
                aba(*arrays)
            with pytest.raises(StateError, match=f"^{name}: expected|is missing"):
                sarrus.aba(MODEL, *arrays)

    def test_an_object_that_cannot_become_an_array(self, aba):
        class Hostile:
            def __array__(self, *_, **__):
                raise RuntimeError("never")

        q, _, tau = state()
        with pytest.raises(StateError, match="never"):
            aba(q, Hostile(), tau)
        endless: list = []
        endless.append(endless)
        with pytest.raises(StateError, match=r"^v: expected"):
            aba(q, endless, tau)

    def test_more_states_than_there_is_memory(self, aba):
        q, v, tau = state()
        with pytest.raises(StateError, match="no memory"):
            aba(np.broadcast_to(q, (10**14, N)), v, tau)

    def test_arrays_that_lie_about_their_size(self, aba):
        q, v, tau = state(64)
        short = np.zeros((1, N)).view(Liar)
        with pytest.raises(StateError):
            aba(q, short, tau)
        with pytest.raises(StateError, match="must be"):
            aba(q, v, tau, out=short)
        with pytest.raises(StateError, match="Liar"):
            aba.native.run([q, short, tau], [np.empty((64, N))], 64)

    def test_a_masked_array_is_no_output(self, aba):
        with pytest.raises(StateError, match="masked"):
            aba(*state(4), out=np.ma.zeros((4, N)))

    def test_an_output_of_another_class_is_returned_as_it_is(self, aba):
        out = np.zeros((4, N)).view(np.matrix)
        assert aba(*state(4), out=out) is out
        np.testing.assert_array_equal(np.asarray(out), aba(*state(4)))


class TestNumbers:
    @pytest.mark.parametrize("threads", [0, -1, 2.5, 2.0, True, "2", [], np.array([1, 2]), np.nan])
    def test_threads_that_are_no_number_of_threads(self, aba, threads):
        for batch in (None, 0, 8):
            with pytest.raises(StateError, match=r"threads is .*: expected a whole number, at least 1"):
                aba(*state(batch), threads=threads)

    @pytest.mark.parametrize("threads", [10**9, 2**70, np.int8(2), np.uint64(3)])
    def test_more_threads_than_make_sense(self, aba, threads, monkeypatch):
        monkeypatch.setattr("sarrus.codegen.runtime.native.MOST_THREADS", 3)
        arrays = state(1000)
        np.testing.assert_array_equal(aba(*arrays, threads=threads), aba(*arrays, threads=1))

    def test_no_more_threads_are_started_than_the_system_has(self, aba, monkeypatch):
        def refuse(self):
            raise RuntimeError("can't start new thread")

        arrays = state(1000)
        expected = aba(*arrays, threads=1)
        monkeypatch.setattr(crew, "_free_workers", lambda process: [])
        monkeypatch.setattr(threading.Thread, "start", refuse)
        np.testing.assert_array_equal(aba(*arrays, threads=8), expected)

    @pytest.mark.parametrize("lanes", [0, 3, -1, "x", 2.5, True, None, 32, 2**70, "4", [4], np.array([1, 2])])
    def test_lanes(self, lanes):
        with pytest.raises(UnsupportedError, match="Valid: 'auto', 1, 2, 4, 8, 16"):
            sarrus.compile(MODEL, "aba", lanes=lanes)

    @pytest.mark.parametrize("dtype", ["x", int, complex, ">f8", object, "f8,f8", 5, {}, [], np.longdouble, "O"])
    def test_dtype(self, dtype):
        with pytest.raises(UnsupportedError, match="Valid: float64, float32"):
            sarrus.compile(MODEL, "aba", dtype=dtype)

    def test_other_arguments_of_compile(self):
        for model in (None, "chain", 5, [MODEL]):
            with pytest.raises(UnsupportedError, match=r"first argument must be a sarrus\.Model"):
                sarrus.compile(model, "aba")
        for method in (5, [], aba):
            with pytest.raises(UnsupportedError, match="method is"):
                sarrus.compile(MODEL, method)
        for inputs in (5, "q", 2.5):
            with pytest.raises(UnsupportedError, match="Valid: q, v, tau"):
                sarrus.compile(MODEL, "aba", inputs=inputs)

    @pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16])
    @pytest.mark.parametrize("dtype", ["float64", "float32"])
    def test_all_lanes(self, lanes, dtype):
        kernel = sarrus.compile(MODEL, "aba", lanes=np.int64(lanes), dtype=dtype)
        for batch in (1, 15, 16, 17, 33):
            arrays = [x.astype(dtype) for x in state(batch)]
            np.testing.assert_allclose(kernel(*arrays), sarrus.aba(MODEL, *arrays), rtol=1e-3, atol=1e-3)

    @pytest.mark.parametrize("steps", [-1, 2.5, True, "3", np.nan, None])
    def test_steps(self, steps):
        with pytest.raises(StateError, match="steps"):
            sarrus.rollout(MODEL, np.zeros((2, N)), steps=steps)

    @pytest.mark.parametrize(
        "arguments",
        [
            {"dt": "x"}, {"dt": np.nan}, {"dt": 0.0}, {"dt": True}, {"dt": 10**400}, {"duration": "x"},
            {"duration": 1e300}, {"duration": 1e9}, {"record_every": 2.5}, {"record_every": 0}, {"record_every": True},
            {"threads": 2.5}, {"threads": 0}, {"project_every": 2.5}, {"project_every": "x"}, {"accuracy": "x"},
            {"integrator": 5}, {"integrator": []}, {"record": 5}, {"record": "q"}, {"options": 5}, {"tau": "x"},
            {"tau": [[1.0], [1.0, 2.0]]}, {"tau": np.zeros(N, complex)}, {"stabilization": "x"},
            {"controller": lambda t, q, v: "no"}, {"controller": lambda t, q, v: np.zeros(N, complex)},
        ],
        ids=lambda arguments: next(iter(arguments)),
    )  # fmt: skip
    def test_arguments_of_simulate(self, arguments):
        with pytest.raises(sarrus.errors.SarrusError):
            sarrus.simulate(MODEL, **({"duration": 0.01} | arguments))


class TestNative:
    """What is below `Kernel`: nothing becomes a pointer or a count unchecked."""

    def test_run(self, aba):
        arrays, out = state(4), np.empty((4, N))
        run = aba.native.run
        for batch in (-1, 2.5, True, "4", 3, 5, 2**62, 2**70):
            with pytest.raises(StateError):
                run(arrays, [out], batch)
        for threads in (0, -1, 2.5, True):
            with pytest.raises(StateError, match="threads"):
                run(arrays, [out], 4, threads)
        for bad in (
            None,
            "x",
            [0.0],
            arrays[0].tolist(),
            arrays[0].astype(np.float32),
            arrays[0].T,
            out.view(np.matrix),
        ):
            with pytest.raises(StateError):
                run([arrays[0], bad, arrays[2]], [out], 4)
            with pytest.raises(StateError):
                run(arrays, [bad], 4)
        with pytest.raises(StateError, match="3 inputs"):
            run(arrays[:2], [out], 4)
        expected = aba(*arrays)
        run(arrays, [arrays[1]], 4)
        np.testing.assert_array_equal(arrays[1], expected)

    def test_programs(self, aba):
        q, v, _ = state(4)
        (out,) = aba.output_names
        rows = np.zeros((4, 3, N))
        good = {"before": [Gather(0, "q", q)], "each": [Run(0)], "after": [Scatter(0, out, v)]}
        for batch, steps, start, threads in (
            (-1, 1, 0, 1), (5, 1, 0, 1), (4, -1, 0, 1), (4, 2.5, 0, 1), (4, 1, -1, 1), (4, 1, 0, 0), (2**62, 1, 0, 1),
        ):  # fmt: skip
            with pytest.raises(StateError):
                Program((aba.native,), **good).run(batch, steps, start, threads)
        for wrong in (
            Run(0, every=0), Run(0, every=2, phase=2), Run(0, phase=-1), Copy((0, out), (0, "v"), every=0),
            Scatter(0, out, rows, per_step=True, every=0), Scatter(0, out, rows, per_step=True, first_row=1),
            Gather(0, "q", q.view(Liar)),
        ):  # fmt: skip
            with pytest.raises(StateError):
                Program((aba.native,), [], [wrong], []).run(4, 3)
        for place in ("before", "after"):  # these see the first step even where there are no steps
            with pytest.raises(StateError):
                Program((aba.native,), **(good | {place: [Scatter(0, out, rows, per_step=True)]})).run(4, 0, start=3)

    def test_builtins_decline_whatever_is_not_exactly_right(self, aba):
        q, v, tau = state()
        into, new = aba.native.call_into, aba.native.call_new
        out = np.empty(N)
        assert new(q, v, tau) is not None
        assert into(q, v, tau, out) is True
        hostile = [
            None, 1, "x", [0.0] * N, q[:1], q[::-1], q[None], q.astype(np.float32), q.astype(">f8"), q.view(np.matrix),
            np.array(1.0), q.astype(object), np.zeros(0), np.ma.zeros(N), np.ndarray, object(), q.view(Liar),
        ]  # fmt: skip
        for bad in hostile:
            for k in range(3):
                arrays = [q, v, tau]
                arrays[k] = bad
                assert new(*arrays) is None
                assert into(*arrays, out) is None
            assert into(q, v, tau, bad) is None
        frozen = out.copy()
        frozen.flags.writeable = False
        assert into(q, v, tau, frozen) is None
        for count in (0, 1, 2, 4, 50):
            assert new(*[q] * count) is None

    def test_builtins_of_batches_decline_whatever_is_not_exactly_right(self, aba):
        q, v, tau = state(4)
        out, call = np.full((4, N), 7.0), aba.native.call_batch
        hostile = [
            None, 1, "x", q.tolist(), q[:3], q[::-1], q[0], q[None], q.astype(np.float32), q.astype(">f8"),
            q.view(np.matrix), np.array(1.0), q.astype(object), np.zeros((0, N)), np.zeros((4, 0)), np.zeros(0),
            np.ma.zeros((4, N)), np.ndarray, object(), q.view(Liar), np.zeros((4, 2 * N))[:, ::2], q.reshape(4, N, 1),
        ]  # fmt: skip
        for bad in hostile:
            for k in range(4):
                arrays = [q, v, tau, out]
                arrays[k] = bad
                assert call(arrays) is None
                assert call(arrays, validate=True) is None
        frozen = out.copy()
        frozen.flags.writeable = False
        assert call([q, v, tau, frozen]) is None
        for count in (0, 1, 2, 3, 5, 50):
            assert call([*[q] * (count - 1), *[out] * min(count, 1)]) is None
        for rows in (0, 1):  # which other code does
            assert call([x[:rows] for x in (q, v, tau, out)]) is None
        memory = np.zeros(9 * N)  # of an input and the output, which share a row
        memory[: 4 * N] = v.ravel()
        assert call([q, memory[: 4 * N].reshape(4, N), tau, memory[3 * N : 7 * N].reshape(4, N)]) is None
        assert call([q, memory[: 4 * N].reshape(4, N), tau, memory[4 * N : 8 * N].reshape(4, N)]) is True
        np.testing.assert_array_equal(memory[: 4 * N], v.ravel())
        assert (out == 7.0).all()
        assert call([q, v, tau, out]) is True
        np.testing.assert_array_equal(out, [aba(*x) for x in zip(q, v, tau, strict=True)])
        np.testing.assert_array_equal(out, memory[4 * N : 8 * N].reshape(4, N))

    def test_builtins_of_batches_look_at_numbers_if_they_are_asked_to(self, aba):
        q, v, tau = state(19)
        out = np.empty((19, N))
        assert aba.native.call_batch([q, v, tau, out], validate=True) is True
        for bad in (np.nan, np.inf):
            for row in (0, 7, 18):
                broken = v.copy()
                broken[row, -1] = bad
                assert aba.native.call_batch([q, broken, tau, out], validate=True) is False
                assert aba.native.call_batch([q, broken, tau, out]) is True
        assert aba.native.call_batch([q, v, tau, out], validate=True) is True

    @pytest.mark.parametrize("threads", [1, 2])
    def test_arrays_that_another_thread_changes(self, aba, threads):
        """Values may be anything then; memory is not freed under the kernel."""
        q, v, tau = state(20000)
        stop, refused = threading.Event(), []

        def meddle():
            while not stop.is_set():
                q[:] = np.nan
                q[:] = 1e308
                try:
                    q.resize((1, N), refcheck=False)
                    q.resize((20000, N), refcheck=False)
                except ValueError:
                    refused.append(1)

        thread = threading.Thread(target=meddle)
        thread.start()
        try:
            for _ in range(30):
                try:
                    assert aba(q, v, tau, threads=threads).shape == (20000, N)
                except StateError as error:
                    said = str(error)
                    assert "batches of different sizes" in said or "resized" in said
        finally:
            stop.set()
            thread.join()
        assert refused
