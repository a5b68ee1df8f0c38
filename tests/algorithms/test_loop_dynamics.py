"""Constrained dynamics with loops: every method that takes them, on every constraint type, against the dense oracle."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import sarrus
from benchmarks.robots import shared_directory
from sarrus.errors import UnsupportedError
from sarrus.mechanics.solvers.proximal import penalties
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import CLOSURES
from sarrus.model.state import random_state
from tests.mechanisms import random_inertial, relative_error
from tests.oracles.loops import assembled, kkt, solve

METHODS = {name: entry for name, entry in sarrus.methods().items() if sarrus.Feature.LOOPS in entry.supports}
ROBUST = [name for name, entry in METHODS.items() if sarrus.Feature.REDUNDANT in entry.supports]
PROXIMAL = [name for name, entry in sarrus.methods().items() if "forces0" in {port.name for port in entry.inputs}]
WITH_MU = [name for name, entry in sarrus.methods().items() if "mu" in entry.options]
ON_LINKS = [name for name in PROXIMAL if name not in METHODS]
zoo = sarrus.zoo


def two_chains(
    *constraints, base="free", joints=("revolute",) * 5 + ("prismatic", "spherical", "universal", "revolute"), seed=0
):
    """Two chains on one base, with a frame on each tip and one on the world; oblique everywhere."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder("two_chains", gravity=(0.3, -0.7, -9.81))

    parents = ["world", "world"]
    if base == "free":
        builder.add_body("base", joint="free", **random_inertial(rng))
        parents = ["base", "base"]
    for x, joint in enumerate(joints):
        side = x % 2
        kwargs = {} if joint == "spherical" else {"axis": rng.normal(size=3)}
        if joint == "universal":
            kwargs["second_axis"] = np.cross(kwargs["axis"], rng.normal(size=3))
        kwargs |= {"position": 0.25 * rng.normal(size=3), "rotation": rng.normal(size=3)}
        builder.add_body(f"b{x}", parents[side], joint=joint, **kwargs, **random_inertial(rng))
        parents[side] = f"b{x}"
    for name, body in (
        ("tip_a", parents[0]),
        ("tip_b", parents[1]),
        ("mid_a", "b2"),
        ("mid_b", "b3"),
        ("anchor", "world"),
    ):
        builder.add_frame(name, body, position=0.1 * rng.normal(size=3), rotation=rng.normal(size=3))
    return builder.build().with_constraints(*constraints)


def state_of(model, seed=0, q=None):
    rng = np.random.default_rng(seed)
    q0, v0 = random_state(model, rng)
    q, v = assembled(model, q0 if q is None else q, v0)
    return q, v, rng.normal(size=model.nv)


GEAR = sarrus.coupling({"b0_joint": 1.0, "b1_joint": -6.0, "b4_joint": 0.5})
MIMIC = sarrus.coupling(
    {"b3_joint": 1.0}, driver="b2_joint", polynomial=(0.1, 0.5, -0.3, 0.2), references={"b2_joint": 0.1}
)


SEEDS = {"helical": 2}  # axes that are aligned, not opposite: an angle about them is defined


@cache
def mechanism(name):
    """(model, state) by name."""
    kind, _, what = name.partition(": ")
    if kind == "full rank":
        if what == "distance":
            model = two_chains(sarrus.distance("tip_a", "tip_b", 0.4, stabilization=0.1))
        elif what == "gear":
            model = two_chains(GEAR)
        elif what == "mimic":
            model = two_chains(MIMIC, base="fixed")
        else:
            pitch = 0.05 if what == "helical" else 0.0
            loop = sarrus.loop("tip_a", "tip_b", what, axis=(0.2, 0.5, 0.7), pitch=pitch, stabilization=0.05)
            model = two_chains(loop)
        return model, state_of(model, seed=SEEDS.get(what, 0))
    if kind == "against the world":
        model = two_chains(sarrus.loop("anchor", "tip_b", what))
        return model, state_of(model)
    if kind == "mixed":
        model = two_chains(
            sarrus.contact("mid_a", 3), sarrus.loop("tip_a", "tip_b", "revolute"), GEAR,
            sarrus.contact("mid_b", 3, k=[0.1, 0.2, 0.3]),
        )  # fmt: skip
        return model, state_of(model)
    if kind == "several":
        model = two_chains(
            sarrus.connect("tip_a", "tip_b"),
            sarrus.distance("mid_a", "mid_b", 0.5),
            sarrus.connect("mid_a", "anchor"),
            MIMIC,
        )
        return model, state_of(model)
    if kind == "center of mass":
        model = CENTER_OF_MASS[what]()
        q, v, tau = state_of(model, q=sarrus.neutral(model) if what == "of a ring" else None)
        # A centre of mass that moves: its rows ask for its acceleration, not for its velocity.
        moving = model if "loops" in what or "ring" in what else model.without_constraints()
        return model, (q, v if moving is model else random_state(moving, 5)[1], tau)
    if kind == "zoo":
        model = ZOO[what]()
        return model, state_of(model, q=sarrus.neutral(model))
    raise AssertionError(name)


center = sarrus.center_of_mass_constraint
CENTER_OF_MASS = {
    "floating": lambda: two_chains(center()),
    "fixed base, some axes": lambda: two_chains(center("zx", k=[0.3, -0.2]), base="fixed"),
    "with contacts": lambda: two_chains(
        sarrus.contact("mid_a", 6), center("xy", at=[0.1, 0.2], stabilization=0.1), sarrus.contact("tip_b", 3)
    ),
    "with loops": lambda: two_chains(
        sarrus.loop("tip_a", "tip_b", "revolute"), center("z", stabilization=0.2), GEAR, sarrus.contact("mid_b", 3)
    ),
    "of a ring": lambda: zoo.cycle(9).with_constraints(center()),
}


ZOO = {
    "four-bar, revolute": zoo.four_bar,
    "four-bar, connect": lambda: zoo.four_bar("connect"),
    "four-bar, welded": lambda: zoo.four_bar("weld"),
    "flat four-bar": zoo.flat_four_bar,
    "slider-crank": zoo.slider_crank,
    "Sarrus": zoo.sarrus_linkage,
    "Bennett": zoo.bennett,
    "Stewart": zoo.stewart,
    "delta": zoo.delta,
    "cycle": lambda: zoo.cycle(9),
    "chain of loops": lambda: zoo.chain_of_loops(2),
    "coupled loops": lambda: zoo.coupled_loops(3),
    "star of pairs": lambda: zoo.star_pairs(2),
    "doubled rows": lambda: doubled(zoo.cycle(9)),
}
SINGULAR = (
    "four-bar, revolute", "four-bar, connect", "four-bar, welded", "flat four-bar", "slider-crank", "Sarrus", "Bennett",
    "doubled rows",
)  # fmt: skip


def doubled(model):
    """The first closure twice, the second time as a ball joint too."""
    a, b = model.constraints[0].frame_a, model.constraints[0].frame_b
    return model.with_constraints(sarrus.weld(a, b, name="again"), sarrus.connect(b, a, name="and_again"))


FULL_RANK = [
    *(f"full rank: {joint}" for joint in (*CLOSURES, "distance", "gear", "mimic")),
    "against the world: connect", "against the world: universal", "mixed", "several",
    *(f"center of mass: {name}" for name in CENTER_OF_MASS),
    *(f"zoo: {name}" for name in ZOO if name not in SINGULAR),
]  # fmt: skip
REDUNDANT = [f"zoo: {name}" for name in SINGULAR]


@cache
def truth(name):
    model, (q, v, tau) = mechanism(name)
    problem = kkt(model, q, v)
    return problem, *solve(problem, tau)


def check(method, name):
    model, (q, v, tau) = mechanism(name)
    problem, qdd, Jf = truth(name)
    result = sarrus.forward_dynamics(model, q, v, tau, method=method)
    assert all(np.isfinite(x).all() for x in result)
    assert relative_error(result.qdd, qdd, 1.0) < 1e-8
    # What forces do: what the accelerations need.
    assert relative_error(problem.M @ result.qdd + problem.c - tau, Jf, 1.0) < 1e-7
    return result, problem


@pytest.mark.parametrize("name", FULL_RANK)
@pytest.mark.parametrize("method", METHODS)
def test_independent_rows(method, name):
    result, problem = check(method, name)
    assert result.status == 0.0
    assert np.abs(result.residual).max() < 1e-8 * (1.0 + np.abs(result.qdd).max())
    assert result.iterations <= 6.0
    assert np.linalg.norm(problem.J @ result.qdd - problem.k) < 1e-7 * (1.0 + np.abs(result.qdd).max())


@pytest.mark.parametrize("name", REDUNDANT)
@pytest.mark.parametrize("method", ROBUST)
def test_redundant_and_singular_rows(method, name):
    result, problem = check(method, name)
    assert np.linalg.matrix_rank(problem.J, 1e-9) < len(problem.J)
    consistent = np.linalg.norm(problem.J @ truth(name)[1] - problem.k) < 1e-7 * (1.0 + np.linalg.norm(problem.k))
    assert result.status == (0.0 if consistent else 2.0)
    assert result.iterations <= 6.0 or not consistent


@pytest.mark.parametrize("method", PROXIMAL)
def test_forces_are_those_of_the_declared_rows(method):
    model = two_chains(sarrus.contact("mid_a", 6), sarrus.contact("tip_b", 3))
    q, v, tau = state_of(model)
    problem = kkt(model, q, v)
    result = sarrus.forward_dynamics(model, q, v, tau, method=method)
    assert relative_error(problem.J.T @ result.forces, problem.M @ result.qdd + problem.c - tau, 1.0) < 1e-8
    assert relative_error(result.qdd, solve(problem, tau)[0], 1.0) < 1e-8


@pytest.mark.parametrize("joint", ["weld", "connect"])
@pytest.mark.parametrize("method", METHODS)
def test_forces_of_a_closure_act_on_frame_b_in_the_axes_of_frame_a(method, joint):
    model, (q, v, tau) = mechanism(f"full rank: {joint}")
    problem, _, Jf = truth(f"full rank: {joint}")
    result = sarrus.forward_dynamics(model, q, v, tau, method=method)
    assert relative_error(problem.J.T @ result.forces, Jf, 1.0) < 1e-7


@pytest.mark.parametrize("method", PROXIMAL)
def test_conflicting_rows_give_the_least_squares_answer(method):
    constraints = [sarrus.contact("tip_a", 3), sarrus.contact("tip_a", 3, name="again", k=[1.0, 0.0, 0.0])]
    model = two_chains(*constraints, base="fixed")
    q, v, tau = state_of(model)
    result = sarrus.forward_dynamics(model, q, v, tau, method=method)
    assert result.status == 2.0
    expected, _ = solve(
        kkt(model, q, v), tau, penalties(model, None, dual=method not in ("lcaba", "constrained_aba")).mu
    )
    assert relative_error(result.qdd, expected, 1.0) < 1e-6
    assert np.abs(result.forces).max() < 1e3  # they do not grow with the iterations


@pytest.mark.parametrize("method", METHODS)
def test_rows_that_do_nothing(method):
    """A row of zeros: met where it asks for nothing."""
    model = two_chains(sarrus.link_rows("tip_a", np.zeros((1, 6))), sarrus.connect("tip_a", "tip_b"))
    q, v, tau = state_of(model)
    result = sarrus.forward_dynamics(model, q, v, tau, method=method)
    assert relative_error(result.qdd, solve(kkt(model, q, v), tau)[0], 1.0) < 1e-8
    assert all(np.isfinite(x).all() for x in result)


@pytest.mark.parametrize("method", PROXIMAL)
def test_without_constraints_it_is_aba(method):
    model = zoo.random_tree(7, 8)
    q, v = random_state(model, 0)
    result = sarrus.forward_dynamics(model, q, v, v, method=method)
    assert relative_error(result.qdd, sarrus.aba(model, q, v, v)) < 1e-10
    assert result.forces.shape == (0,)


@pytest.mark.parametrize("method", [name for name in PROXIMAL if name in WITH_MU])
def test_a_warm_start_saves_iterations(method):
    model = two_chains(sarrus.contact("tip_a", 3), sarrus.contact("mid_b", 6))
    q, v, tau = state_of(model)
    options = {"mu": 10.0, "max_iterations": 200}
    cold = sarrus.forward_dynamics(model, q, v, tau, method=method, **options)
    warm = sarrus.forward_dynamics(model, q, v, tau, method=method, forces0=cold.forces, **options)
    assert cold.status == warm.status == 0.0
    assert warm.iterations < 0.5 * cold.iterations
    assert relative_error(warm.qdd, cold.qdd) < 1e-6


@pytest.mark.parametrize("method", [name for name in ROBUST if name in WITH_MU])
def test_iterations_can_be_too_few(method):
    model, (q, v, tau) = mechanism("full rank: weld")
    result = sarrus.forward_dynamics(model, q, v, tau, method=method, mu=1.0, max_iterations=3)
    assert result.status == 3.0
    assert result.iterations == 3.0


@pytest.mark.parametrize("method", ROBUST)
def test_a_batch_and_a_kernel_are_the_single_states(method):
    """Of redundant rows; those of mixed ones are in test_three_ways.py."""
    model, (q, v, tau) = mechanism("zoo: Sarrus")
    rng = np.random.default_rng(3)
    tau = rng.normal(size=(5, model.nv))
    single = [sarrus.forward_dynamics(model, q, v, x, method=method, max_iterations=4) for x in tau]
    several = np.tile(q, (5, 1)), np.tile(v, (5, 1)), tau
    kernel = sarrus.compile(model, method, max_iterations=4)
    for batch in (sarrus.forward_dynamics(model, *several, method=method, max_iterations=4), kernel(*several)):
        for field in ("qdd", "iterations", "status"):
            expected = np.stack([getattr(r, field) for r in single])
            assert relative_error(getattr(batch, field), expected, 1.0) < 1e-8


@pytest.mark.parametrize("method", ON_LINKS)
def test_methods_of_links_refuse_loops(method):
    model, (q, v, tau) = mechanism("full rank: connect")
    with pytest.raises(UnsupportedError, match="LoopClosure"):
        sarrus.forward_dynamics(model, q, v, tau, method=method)


ROBOTS = shared_directory() / "robots"


@pytest.mark.parametrize("file", ["cassie/cassie.xml", "digit/digit-v3.xml"])
@pytest.mark.parametrize("method", METHODS)
def test_robots(method, file):
    if not (ROBOTS / file).exists():
        pytest.skip(f"no {file} beside the repository")
    model = robot(file)
    q, v, tau = robot_state(file)
    result = sarrus.forward_dynamics(model, q, v, tau, method=method)
    qdd, _ = solve(kkt(model, q, v), tau)
    assert relative_error(result.qdd, qdd) < 1e-8
    assert result.status == 0.0
    assert result.iterations <= 4.0


@cache
def robot(file):
    return sarrus.load(ROBOTS / file)


@cache
def robot_state(file):
    return state_of(robot(file), q=sarrus.neutral(robot(file)))
