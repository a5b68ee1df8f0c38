"""Kernels in a loop over time in native code give the bits of calling them one after the other."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.codegen.runtime.program import Copy, Gather, Program, Run, Scatter

STEPS = 7
MODEL = sarrus.zoo.chain(3)


@pytest.fixture(scope="module")
def kernel():
    return sarrus.compile(MODEL, "aba")


def data(batch: int):
    rng = np.random.default_rng(batch)
    return rng.normal(size=(batch, 3)), rng.normal(size=(batch, 3)), rng.normal(size=(batch, STEPS, 3))


def accelerations_as_velocities(kernel, q, v, tau, recorded, **how):
    """A program without meaning: the acceleration of a step is the velocity of the next."""
    (out,) = kernel.output_names
    last = np.full_like(v, np.nan)
    program = Program(
        (kernel.native,),
        before=[Gather(0, "q", q), Gather(0, "v", v)],
        each=[
            Gather(0, "tau", tau, per_state=tau.ndim == 3, per_step=True),
            Run(0),
            Scatter(0, out, recorded, per_step=True, **how),
            Copy((0, out), (0, "v")),
        ],
        after=[Scatter(0, "v", last, from_input=True)],
    )
    return program, last


@pytest.mark.parametrize("batch", [1, 2, 3, 4, 5, 8, 13, 33])
@pytest.mark.parametrize("threads", [1, 2])
def test_same_bits_as_calling_the_kernel(kernel, batch, threads):
    q, v, tau = data(batch)
    recorded = np.full((batch, STEPS, 3), np.nan)
    program, last = accelerations_as_velocities(kernel, q, v, tau, recorded)
    program.run(batch, STEPS, threads=threads)
    for t in range(STEPS):
        v = kernel(q, v, np.ascontiguousarray(tau[:, t]))
        np.testing.assert_array_equal(recorded[:, t], v)
    np.testing.assert_array_equal(last, v)


def test_an_input_that_all_states_share_needs_no_copies(kernel):
    q, v, tau = data(6)
    recorded, other = np.empty((2, 6, STEPS, 3))
    accelerations_as_velocities(kernel, q, v, tau[0], recorded)[0].run(6, STEPS)
    accelerations_as_velocities(kernel, q, v, np.tile(tau[0], (6, 1, 1)), other)[0].run(6, STEPS)
    np.testing.assert_array_equal(recorded, other)


def test_every_third_step_is_recorded_and_a_run_may_go_on_where_it_stopped(kernel):
    q, v, tau = data(5)
    all_steps = np.empty((5, STEPS, 3))
    accelerations_as_velocities(kernel, q, v, tau, all_steps)[0].run(5, STEPS)
    some = np.empty((5, 3, 3))
    program, last = accelerations_as_velocities(kernel, q, v, tau, some, every=3)
    program.run(5, 4)
    second, _ = accelerations_as_velocities(kernel, q, last, tau, some, every=3)
    second.run(5, STEPS - 4, start=4)
    np.testing.assert_array_equal(some, all_steps[:, ::3])


def test_rows_may_be_a_window_of_a_longer_record(kernel):
    q, v, tau = data(5)
    whole, window = np.empty((5, STEPS, 3)), np.empty((5, 3, 3))
    program, last = accelerations_as_velocities(kernel, q, v, tau, whole)
    program.run(5, 4)
    accelerations_as_velocities(kernel, q, last, tau, window, first_row=4)[0].run(5, 3, start=4)
    accelerations_as_velocities(kernel, q, v, tau, whole)[0].run(5, STEPS)
    np.testing.assert_array_equal(window, whole[:, 4:])


@pytest.mark.parametrize(
    ("shape", "dtype"), [((5, STEPS - 1, 3), float), ((4, STEPS, 3), float), ((5, STEPS, 2), float),
                         ((5, STEPS, 3), np.float32)],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(kernel, shape, dtype):
    q, v, tau = data(5)
    program, _ = accelerations_as_velocities(kernel, q, v, tau, np.zeros(shape, dtype))
    with pytest.raises(ValueError, match="does not hold"):
        program.run(5, STEPS)


def test_copies_between_ports_of_different_sizes_are_refused(kernel):
    program = Program((kernel.native,), [], [Copy((0, "q"), (0, "nothing"), from_input=True)], [])
    with pytest.raises(KeyError):
        program.run(1, 1)
