"""What an audit broke, one test per class: every answer is right, or it is told that it is not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import sarrus
from benchmarks.adversary.mechanisms import make
from benchmarks.adversary.states import generic
from sarrus import Status, zoo
from sarrus.errors import ModelError, RankWarning, UnsupportedError
from sarrus.mechanics.solvers.mobility import leverage
from tests.oracles.loops import kkt, solve

FULL_RANK = ("pv", "pv_early", "ltl")
LINKS = (*FULL_RANK, "constrained_aba", "prox_pv", "prox_ltl")
LOOPS = ("lcaba", "prox_bbo", "prox_ltl", "bbo")


def answers(model, q, v, tau, method, compiled=True, **options):
    """Of the text, and of the kernel."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        text = sarrus.forward_dynamics(model, q, v, tau, method=method, **options)
    return (text, sarrus.compile(model, method, **options)(q, v, tau)) if compiled else (text,)


def assert_right_or_told(model, q, v, tau, method, tolerance=1e-6, compiled=True, **options) -> list[int]:
    """Text and kernel agree in their status; where it is ok, accelerations and the balance of momentum are right."""
    problem = kkt(model, q, v)
    expected, _ = solve(problem, tau)
    found = answers(model, q, v, tau, method, compiled, **options)
    for result in found:
        if result.status == Status.OK:
            scale = 1.0 + np.abs(expected).max()
            assert np.abs(result.qdd - expected).max() <= tolerance * scale, (method, options)
            J = sarrus.closure(model, q, v).jacobian
            left = problem.M @ result.qdd + problem.c - tau - J.T @ result.forces
            assert np.abs(left).max() <= tolerance * (1.0 + np.abs(problem.c).max() + np.abs(J.T @ result.forces).max())
    assert (found[0].status == Status.OK) == (found[-1].status == Status.OK)
    return [result.status for result in found]


def assert_right(*arguments, **options) -> None:
    assert set(assert_right_or_told(*arguments, **options)) == {Status.OK}


# --- what is not a number, and what overflows --------------------------------------------------------------------


@pytest.mark.parametrize("method", LINKS)
@pytest.mark.parametrize("size", [1e79, 1e160, 1e300, np.nan, np.inf])
def test_what_is_not_finite_is_never_ok(method, size):
    model = zoo.chain_welded_tip(7)
    q, v = sarrus.random_state(model, 0)
    kernel = sarrus.compile(model, method)
    for arrays in ((q, v * size, v), (q, v, v * size)):
        result = kernel(*arrays)
        finite = np.isfinite(result.qdd).all() and np.isfinite(result.forces).all()
        assert finite or result.status != Status.OK


@pytest.mark.parametrize("method", [*LINKS, "lcaba", "prox_bbo", "bbo"])
def test_forces_of_short_rows_that_overflow_where_accelerations_do_not(method):
    """Rows have unit length inside: the force along one of a picometre is 1e12 times its multiplier."""
    base = zoo.chain(4)
    model = base.with_constraints(sarrus.link_rows(base.body_names[-1], 1e-12 * np.eye(6)[:2]))
    q, v = sarrus.random_state(model, 0)
    for result in answers(model, q, v, np.full(model.nv, 1e297), method):
        assert not np.isfinite(result.forces).all()
        assert result.status == Status.NOT_FINITE


@pytest.mark.parametrize("method", ["lcaba", "bbo"])
def test_squares_that_overflow(method):
    model = zoo.cycle(4)
    q, v = sarrus.random_state(model, 0)
    kernel = sarrus.compile(model, method)
    for size in (1e79, 1e100, 1e160):
        result = kernel(q, v * size, np.zeros(model.nv))
        met = np.abs(result.residual).max() <= 1e-6 * np.abs(result.qdd).max()
        assert met or result.status != Status.OK


@pytest.mark.parametrize("method", FULL_RANK)
def test_joints_that_are_almost_straight(method):
    model = zoo.chain_welded_tip(7)
    q = np.zeros(7)
    expected, _ = solve(kkt(model, q, np.zeros(7)), np.ones(7))
    q[3] = 1e-160
    for options in ({}, {"fallback": None}):
        for result in answers(model, q, np.zeros(7), np.ones(7), method, **options):
            assert result.status != Status.OK or np.abs(result.qdd - expected).max() < 1e-6


# --- ok includes the balance of momentum -------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [1e3, 1e6, 1e8, 1e10, 1e12, 1e14, 1e15, 1e16])
def test_any_mu_is_right_or_told(mu):
    model = zoo.four_bar()
    q, v = sarrus.random_state(model, 0)
    assert_right_or_told(model, q, v, np.zeros(3), "lcaba", mu=mu)


@pytest.mark.parametrize("seed", range(6))
def test_quarter_turns(seed):
    model = zoo.chain_welded_tip(7)
    rng = np.random.default_rng(seed)
    q = rng.integers(-2, 3, size=7) * (np.pi / 2)
    v, tau = rng.normal(size=(2, 7))
    for method in FULL_RANK:
        assert_right_or_told(model, q, v, tau, method, tolerance=1e-5)
        assert_right_or_told(model, q, v, tau, method, tolerance=1e-5, fallback=None)


@pytest.mark.parametrize("method", LOOPS)
@pytest.mark.parametrize("angle", [1e-3, 1e-4, 1e-6])
def test_a_parallelogram_that_is_almost_flat(method, angle):
    """Slow for a fixed point, and false 'infeasible': 47 to 2000 iterations, or an error of 0.2."""
    model = zoo.flat_four_bar()
    q = np.array([angle, -angle, angle])
    found = sarrus.project(model, q, np.array([0.7, -0.7, 0.7]))
    assert_right(model, found.q, found.v, np.zeros(3), method, tolerance=1e-6)


@pytest.mark.parametrize("method", LOOPS)
def test_a_hinge_made_of_two_points(method):
    builder = sarrus.ModelBuilder("door")
    builder.add_body("frame", joint="revolute", axis=(0, 1, 0), mass=2.0, com=(0.1, 0, 0), inertia=np.eye(3) * 0.1)
    builder.add_body("door", joint="free", mass=1.0, com=(0.3, 0, 0.2), inertia=np.eye(3) * 0.05)
    for name, body in (("a", "frame"), ("b", "door")):
        builder.add_frame(f"{name}1", body, position=(0, 0, 0))
        builder.add_frame(f"{name}2", body, position=(0, 0, 1e-3))
    model = builder.build().with_constraints(sarrus.connect("a1", "b1"), sarrus.connect("a2", "b2"))
    q = sarrus.neutral(model)
    v = np.zeros(model.nv)
    assert_right(model, q, v, np.arange(model.nv, dtype=float), method)


# --- limbs that are singular by themselves -----------------------------------------------------------------------


def walker(joint: str, foot: tuple[float, float, float]) -> sarrus.Model:
    """A floating base on two point feet: at the ends of ball-joint legs, or at a point of the last link of 3R legs."""
    builder = sarrus.ModelBuilder("walker")
    inertia = np.diag([0.02, 0.03, 0.04])
    builder.add_body("base", joint="free", mass=5.0, inertia=np.diag([0.1, 0.2, 0.3]))
    for side, y in (("left", 0.1), ("right", -0.1)):
        if joint == "spherical":
            builder.add_body(side, "base", joint="spherical", position=(0, y, 0), mass=1.0, inertia=inertia)
            builder.add_frame(f"{side}_foot", side, position=foot)
            continue
        parent = "base"
        for k, axis in enumerate(((1, 0, 0), (0, 1, 0), (0, 1, 0))):
            builder.add_body(
                f"{side}{k}", parent, axis=axis, position=(0, y * (k == 0), -0.2 * (k == 2)), mass=1.0,
                com=(0, 0, -0.1), inertia=inertia,
            )  # fmt: skip
            parent = f"{side}{k}"
        builder.add_frame(f"{side}_foot", parent, position=foot)
    return builder.build().with_constraints(sarrus.contact("left_foot", 3), sarrus.contact("right_foot", 3))


@pytest.mark.parametrize("distance", [0.0, 1e-12, 1e-8, 1e-6, 1e-4])
def test_straight_legs(distance):
    model = walker("revolute", (0.0, 0.0, -0.2))
    rng = np.random.default_rng(0)
    for _ in range(3):
        q = sarrus.integrate(model, sarrus.neutral(model), distance * rng.normal(size=model.nv))
        v, tau = rng.normal(size=(2, model.nv))
        for method in LINKS:
            assert_right(model, q, v, tau, method, tolerance=1e-8)
        for method in FULL_RANK:
            assert_right_or_told(model, q, v, tau, method, fallback=None)


def test_only_states_that_need_it_fall_back_and_say_so():
    model = zoo.stem(2, 1, length=4)
    model = model.with_constraints(*(sarrus.contact(f"tip_{k}", 3) for k in range(2)))
    q, v = sarrus.random_state(model, 0, batch=32)
    q[5] = sarrus.neutral(model)
    kernel, alone = (sarrus.compile(model, "pv_early", **options) for options in ({}, {"fallback": None}))
    with_it, without = kernel(q, v, 0.0 * v), alone(q, v, 0.0 * v)
    took_over = np.asarray(without.status) != Status.OK
    np.testing.assert_array_equal(with_it.fallback, took_over)
    assert took_over[5]
    assert not took_over.all()
    np.testing.assert_allclose(with_it.qdd[~took_over], without.qdd[~took_over], rtol=1e-7, atol=1e-7)


def test_a_fallback_that_is_none_of_them():
    model = zoo.chain_welded_tip(7)
    q, v = sarrus.random_state(model, 0)
    with pytest.raises(sarrus.errors.UnknownNameError, match="prox_pv"):
        sarrus.pv(model, q, v, v, fallback="aba")


@pytest.mark.parametrize("method", LINKS)
@pytest.mark.parametrize("joint", ["spherical", "revolute"])
def test_groups_of_rows_that_counting_joints_misjudges(method, joint):
    """Ball-joint legs with point feet; 3R legs with the contact at the knee's origin."""
    model = walker(joint, (0.0, 0.0, -0.4 if joint == "spherical" else 0.0))
    rng = np.random.default_rng(0)
    for seed in range(3):
        q, v = sarrus.random_state(model, seed)
        assert_right(model, q, v, rng.normal(size=model.nv), method, tolerance=1e-8)


@pytest.mark.parametrize("method", LINKS)
def test_rows_that_are_zero_but_for_rounding(method):
    builder = sarrus.ModelBuilder("arm")
    axis = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)
    builder.add_body("l0", axis=axis, mass=1.0, com=(0.1, 0.2, 0), inertia=np.eye(3) * 0.1)
    builder.add_body("l1", "l0", axis=(0, 1, 0), position=(0.3, 0.1, 0), mass=1.0, com=(0.1, 0, 0.1), inertia=np.eye(3))
    model = builder.build().with_constraints(sarrus.contact("l0", 3))
    for seed in range(3):
        q, v = sarrus.random_state(model, seed)
        assert_right(model, q, v, np.array([1.0, -2.0]), method, tolerance=1e-8)


@pytest.mark.parametrize("method", LINKS)
@pytest.mark.parametrize("length", [1e-9, 1e-6, 1.0, 1e3])
def test_rows_of_any_length(method, length):
    builder = sarrus.ModelBuilder("arm")
    for k in range(3):
        parent = "world" if k == 0 else f"l{k - 1}"
        builder.add_body(f"l{k}", parent, axis=(0, 1, 0), position=(0.3, 0, 0), mass=1.0, com=(0.15, 0, 0.01),
                         inertia=np.eye(3) * 0.01)  # fmt: skip
    row = length * np.array([[0.0, 0.0, 1.0, 0.0, 0.2, 0.0]])
    met = builder.build().with_constraints(sarrus.link_rows("l2", row))
    conflict = met.with_constraints(sarrus.link_rows("l2", row, name="again", k=length * np.array([1.0])))
    q, v = sarrus.random_state(met, 0)
    compiled = length in (1e-9, 1e3)  # of what lies between, the text
    assert_right(met, q, v, np.ones(3), method, tolerance=1e-8, compiled=compiled)
    for result in answers(conflict, q, v, np.ones(3), method, compiled):
        assert result.status == Status.INFEASIBLE


@pytest.mark.parametrize("method", LINKS)
def test_more_than_six_rows_on_a_link(method):
    """A foot on three points: redundant, and more rows than a link has freedoms."""
    builder = sarrus.ModelBuilder("foot")
    builder.add_body("base", joint="free", mass=5.0, inertia=np.diag([0.1, 0.2, 0.3]))
    for k, axis in enumerate(((1, 0, 0), (0, 1, 0))):
        builder.add_body(f"l{k}", "base" if k == 0 else f"l{k - 1}", axis=axis, position=(0, 0, -0.2), mass=1.0,
                         com=(0, 0, -0.1), inertia=np.eye(3) * 0.02)  # fmt: skip
    for k, (x, y) in enumerate(((-0.05, -0.03), (-0.05, 0.03), (0.1, 0.0))):
        builder.add_frame(f"p{k}", "l1", position=(x, y, -0.1))
    model = builder.build().with_constraints(*(sarrus.contact(f"p{k}", 3) for k in range(3)))
    q, v = sarrus.random_state(model, 0)
    assert_right(model, q, 0.0 * v, np.ones(model.nv), method, tolerance=1e-8)


# --- constraints that are special --------------------------------------------------------------------------------


def two_links() -> sarrus.ModelBuilder:
    builder = sarrus.ModelBuilder("two links")
    for k in range(2):
        parent = "world" if k == 0 else "l0"
        builder.add_body(f"l{k}", parent, axis=(0, 1, 0), position=(0.5 * k, 0, 0), mass=1.0, com=(0.25, 0, 0),
                         inertia=np.eye(3) * 0.02)  # fmt: skip
    builder.add_frame("here", "l0", position=(0.1, 0, 0))
    return builder.add_frame("there", "l0", position=(0.3, 0.1, 0.05))


@pytest.mark.parametrize("method", LOOPS)
@pytest.mark.parametrize("kind", ["distance", "connect", "weld", "revolute"])
def test_both_frames_on_one_body_hold_nothing(method, kind):
    plain = two_links().build()
    length = float(np.linalg.norm([0.2, 0.1, 0.05]))
    constraint = {
        "distance": lambda: sarrus.distance("here", "there", length),
        "connect": lambda: sarrus.connect("here", "there"),
        "weld": lambda: sarrus.weld("here", "there"),
        "revolute": lambda: sarrus.loop("here", "there", "revolute", axis=(0, 1, 0)),
    }[kind]()
    q, v, tau = np.array([0.3, -0.4]), np.array([1.0, 2.0]), np.array([0.5, -0.2])
    for result in answers(plain.with_constraints(constraint), q, v, tau, method):
        assert result.status == Status.OK
        np.testing.assert_allclose(result.qdd, sarrus.aba(plain, q, v, tau), rtol=1e-9)


@pytest.mark.parametrize("constraint", [sarrus.connect("w1", "w2"), sarrus.contact("w1", 6)], ids=["loop", "contact"])
def test_frames_that_are_all_on_the_world_are_an_error_in_words(constraint):
    model = two_links().add_frame("w1", "world").add_frame("w2", "world", position=(1, 0, 0)).build()
    model = model.with_constraints(constraint)
    for method in LOOPS:
        with pytest.raises(UnsupportedError, match="on the world"):
            sarrus.forward_dynamics(model, np.zeros(2), np.zeros(2), np.zeros(2), method=method)


@pytest.mark.parametrize("kind", ["connect", "weld", "revolute", "universal", "prismatic", "cylindrical", "planar"])
def test_forces_of_open_loops_balance_with_the_jacobian_of_closure(kind):
    builder = sarrus.ModelBuilder("open", gravity=(0, 0, -9.81))
    builder.add_body("base", joint="free", mass=3.0, com=(0.1, 0, 0), inertia=np.diag([0.1, 0.2, 0.3]))
    for k in range(3):
        builder.add_body(f"l{k}", "base" if k == 0 else f"l{k - 1}", joint="spherical" if k == 1 else "revolute",
                         position=(0.3, 0.1 * k, 0), mass=1.0, com=(0.1, 0, 0.1), inertia=np.diag([0.1, 0.05, 0.08]),
                         **({} if k == 1 else {"axis": (0, 1, 0)}))  # fmt: skip
    builder.add_frame("a", "base", position=(0.2, 0.3, 0.1)).add_frame("b", "l2", position=(0.1, 0.2, 0.3))
    axis = {} if kind in ("connect", "weld") else {"axis": (0.0, 0.6, 0.8)}
    make = {"connect": sarrus.connect, "weld": sarrus.weld}.get(kind, lambda a, b: sarrus.loop(a, b, kind, **axis))
    model = builder.build().with_constraints(make("a", "b"))
    rng = np.random.default_rng(3)
    q = sarrus.integrate(model, sarrus.neutral(model), rng.normal(size=model.nv))
    v, tau = rng.normal(size=model.nv), np.linspace(-1.0, 1.0, model.nv)
    M, c = sarrus.crba(model, q), sarrus.bias_forces(model, q, v)
    J = sarrus.closure(model, q, v).jacobian
    for method in LOOPS:
        result = sarrus.forward_dynamics(model, q, v, tau, method=method)
        if result.status == Status.OK:
            scale = 1.0 + np.abs(c).max() + np.abs(J.T @ result.forces).max()
            np.testing.assert_allclose(M @ result.qdd + c, tau + J.T @ result.forces, atol=1e-8 * scale)


@pytest.mark.parametrize("method", ["constrained_aba", "prox_pv", "lcaba", "prox_bbo", "prox_ltl"])
def test_with_one_mu_for_all_rows_least_squares_are_those_of_the_declared_rows(method):
    """Two welds of a frame 2 m out that ask for different things: (2 a)^2 + a^2 + (2 a - 1)^2 + a^2 is least at 0.2."""
    builder = sarrus.ModelBuilder("hinge", gravity=(0, 0, 0))
    builder.add_body("link", axis=(0, -1, 0), mass=1.0, com=(1.0, 0, 0), inertia=np.eye(3) * 0.1)
    builder.add_frame("end", "link", position=(2.0, 0, 0))
    still, moving = sarrus.contact("end", 6), sarrus.contact("end", 6, name="again", k=[0, 0, 1.0, 0, 0, 0])
    model = builder.build().with_constraints(still, moving)
    for result in answers(model, np.zeros(1), np.zeros(1), np.zeros(1), method, mu=1e5):
        assert result.status == Status.INFEASIBLE
        np.testing.assert_allclose(result.qdd, [0.2], atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [{"mu": 0.0}, {"mu": -1.0}, {"mu": np.nan}, {"mu": np.inf}, {"mu": np.ones(3)}, {"mu": "stiff"},
     {"tolerance": -1.0}, {"tolerance": np.nan}, {"tolerance": 2.0}, {"max_iterations": -3}, {"max_iterations": 0},
     {"max_iterations": 2.5}, {"max_iterations": True}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("method", ["lcaba", "prox_bbo", "prox_ltl"])
def test_options_are_checked(method, options):
    model = zoo.four_bar()
    q, v = sarrus.random_state(model, 0)
    with pytest.raises(UnsupportedError, match=next(iter(options))):
        sarrus.forward_dynamics(model, q, v, 0.0 * v, method=method, **options)


# --- embedding ---------------------------------------------------------------------------------------------------


def tilted_four_bar(tilt: float) -> sarrus.Model:
    builder = sarrus.ModelBuilder("tilted")
    positions = {"crank": ("world", (0, 0, 0)), "coupler": ("crank", (0, 0, 0.15)), "rocker": ("world", (0.4, 0, 0))}
    for name, (parent, position) in positions.items():
        axis = np.array([tilt, 1.0, 0.5 * tilt]) if name == "coupler" else np.array([0.0, 1.0, 0.0])
        builder.add_body(name, parent, axis=axis, position=position, mass=1.0, com=(0.05, 0, 0.05),
                         inertia=np.eye(3) * 0.01)  # fmt: skip
    builder.add_frame("a", "coupler", position=(0.35, 0, 0.1)).add_frame("b", "rocker", position=(-0.05, 0, 0.25))
    return builder.build().with_constraints(sarrus.loop("a", "b", "revolute", axis=(0, 1, 0)))


@pytest.fixture(scope="module")
def flat() -> sarrus.Model:
    return sarrus.embed(tilted_four_bar(0.0))


@pytest.mark.parametrize("tilt", [0.0, 1e-16, 1e-12, 1e-10, 1e-8, 1e-7, 1e-6, 1e-5])
def test_a_planar_loop_with_rounded_axes_is_no_lock(tilt, flat):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        model = sarrus.embed(tilted_four_bar(tilt))
    assert model.ny == 1
    q, v = model.embedding.samples[0], np.zeros(3)
    found = sarrus.ce_aba(model, q, v, np.ones(3))
    assert found.status == Status.OK
    np.testing.assert_allclose(found.qdd, sarrus.ce_aba(flat, q, v, np.ones(3)).qdd, rtol=1e-3, atol=1e-3)


def test_a_rank_that_hangs_on_a_small_number_is_reported():
    with pytest.warns(RankWarning, match=r"singular value of .*e-0[678].*tolerance"):
        sarrus.embed(tilted_four_bar(1e-6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sarrus.embed(tilted_four_bar(0.0))
    with pytest.raises(UnsupportedError, match="tolerance"):
        sarrus.embed(tilted_four_bar(0.0), tolerance=np.nan)


def test_attach_keeps_an_embedding_or_refuses():
    geared = sarrus.embed(zoo.four_bar())
    arm = zoo.chain(2)
    joined = sarrus.attach(geared, arm, "world", "arm_")
    y = np.zeros(joined.ny)
    assert sarrus.expand(joined, y).q.shape == (joined.nq,)
    with pytest.raises(ModelError, match="spanning"):
        sarrus.attach(arm, geared, "world", "bar_")


def test_a_mass_matrix_that_is_singular_here_is_told():
    """Two crossed massless gimbals: aligned, the outer one moves nothing."""
    builder = sarrus.ModelBuilder("gimbal")
    builder.add_body("outer", axis=(0, 0, 1), mass=0.0)
    builder.add_body("middle", "outer", axis=(0, 1, 0), mass=0.0)
    builder.add_body("inner", "middle", axis=(1, 0, 0), mass=0.0)
    builder.add_body("ball", "inner", axis=(0, 1, 0), position=(0.5, 0, 0), mass=1.0, inertia=np.eye(3) * 0.01)
    model = builder.build()
    locked = np.array([0.3, np.pi / 2, 0.2, 0.1])
    held = model.with_constraints(sarrus.contact("ball", 3))
    for q, ok in ((np.array([0.3, 0.5, 0.2, 0.1]), True), (locked, False)):
        for result in answers(model, q, np.zeros(4), np.ones(4), "aba")[:1]:
            assert (result.status == Status.OK) == ok
        for method in LINKS:
            for result in answers(held, q, np.zeros(4), np.ones(4), method):
                assert ok or result.status != Status.OK


# --- links of 200 m ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["lcaba", "constrained_aba", "prox_bbo"])
@pytest.mark.parametrize("seed", [1100001, 1100004, 1100008])
def test_what_holds_rows_is_carried_far_by_long_links(seed, method):
    """Where it is a trillion times what links have themselves, rounding is not: rows are held less stiffly there."""
    found = make("far away, contacts", seed)
    assert found is not None
    q, v, tau = generic(found.model, 40, np.random.default_rng(0))
    expected = sarrus.compile(found.model, "pv")(q, v, tau)
    result = sarrus.compile(found.model, method)(q, v, tau)
    assert not result.status.any()
    assert not expected.status.any()
    off = np.abs(result.qdd - expected.qdd).max(axis=1) / np.abs(expected.qdd).max(axis=1)
    assert off.max() < 3e-7


def test_rows_of_robots_are_held_as_stiffly_as_ever():
    for model in (zoo.chain_welded_tip(7), zoo.four_bar(), zoo.biped()):
        assert leverage(model) < 1e4


# --- rows that are left out as dependent, and contradict the others slightly -----------------------------------------


@pytest.mark.parametrize("method", [*FULL_RANK, "bbo"])
def test_full_rank_methods_accept_no_conflict_that_robust_ones_report(method):
    """A straight chain cannot move its tip along its axis. Asked to, however gently, robust methods have the word."""
    model = zoo.chain(6).with_constraints(sarrus.contact("tip", 6, k="input"))
    q, v, tau = sarrus.neutral(model), np.zeros(6), np.random.default_rng(1).normal(size=6)
    along = np.linalg.svd(sarrus.closure(model, q, v).jacobian)[0][:, -1]
    asked = 10.0 ** np.arange(-16.0, 0.5, 0.5)
    states = [np.tile(x, (len(asked), 1)) for x in (q, v, tau)]
    found, robust = (
        sarrus.compile(model, name, inputs=("q", "v", "tau", "k"))(*states, asked[:, None] * along)
        for name in (method, "prox_ltl")
    )
    np.testing.assert_array_equal(found.status, robust.status)
    assert set(robust.status) == {Status.OK, Status.NOT_DETERMINED, Status.INFEASIBLE}
    assert not found.fallback[0]  # nothing is asked of a robust method where rows do not contradict each other


# --- welds of links that weigh next to nothing -----------------------------------------------------------------------


@pytest.mark.parametrize("method", LOOPS)
def test_penalties_of_a_point_do_not_drown_those_of_angles(method):
    """Rods of a gram that meet in balls of milligrams, welded to each other: turned, these have 1e-11 kg m^2.

    Found with the file of a small delta robot: 5e-4 of the accelerations with status ok.
    """
    builder = sarrus.ModelBuilder("balls")
    for name, x, way in (("a", 0.0, 1.0), ("b", 0.12, -1.0)):
        rod = {"mass": 2e-3, "com": (0.02 * way, 0.0, 0.0), "inertia": np.eye(3) * 1e-6, "axis": (0, 0, 1)}
        builder.add_body(f"{name}1", "world", position=(x, 0.0, 0.0), **rod)
        builder.add_body(f"{name}2", f"{name}1", position=(0.04 * way, 0.03, 0.0), **rod)
        at = (0.02 * way, -0.03, 0.0)
        builder.add_body(name, f"{name}2", position=at, axis=(0, 0, 1), mass=6e-6, inertia=np.eye(3) * 1.6e-11)
        builder.add_frame(f"{name}_ball", name)
    model = builder.build().with_constraints(sarrus.LoopClosure("weld", "a_ball", "b_ball", "weld"))
    q, v, tau = sarrus.neutral(model), np.zeros(6), np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    expected, _ = solve(kkt(model, q, v), tau)
    for result in answers(model, q, v, tau, method):
        assert result.status == Status.OK
        assert np.abs(result.qdd - expected).max() < 1e-8 * np.abs(expected).max()
