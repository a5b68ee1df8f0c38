"""Every method on top of embedded clusters: contacts, loops and couplings between and inside clusters, soft contacts.

The reference is the dense oracle on the spanning model with all constraints as rows.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import sarrus
from sarrus.calls.delassus import delassus_methods
from sarrus.errors import UnsupportedError
from sarrus.model.model import Model
from tests.algorithms.embedded_cases import BASES, Dense, State, dense, loop_on_a_loop, pinned, state_of
from tests.mechanisms import relative_error

METHODS = {name: entry for name, entry in sarrus.methods().items() if entry.family == "constrained"}
LOOPS = [name for name, entry in METHODS.items() if sarrus.Feature.LOOPS in entry.supports]
ON_LINKS = [name for name in METHODS if name not in LOOPS]
SOFT = [name for name, entry in METHODS.items() if sarrus.Feature.SOFT in entry.supports]
HARD = [name for name in METHODS if name not in SOFT]

# Two seen bodies of different clusters, one of a cluster that nothing sees, another of its bodies, two joints.
PARTS = {
    "link and rotor": ("b0_1_link", "b1_1_link", "b0_1_rotor", "b0_1_link", "b0_0_link_joint", "b1_1_rotor_joint"),
    "link and unbalanced rotor": ("b0_0_link", "b1_0_link", "b0_0_rotor", "b0_0_link", "b0_0_rotor_joint",
                                  "b1_0_link_joint"),
    "parallel belt": ("b0_0_link_2", "b1_0_link_1", "b0_0_rotor_2", "b0_0_link_1", "b0_0_rotor_2_joint",
                      "b1_0_link_2_joint"),
    "four-bar": ("b0_0_output", "b1_0_output", "b0_0_rod", "b0_0_input", "b0_0_output_joint", "b1_0_rod_joint"),
    "parallel chains": ("link_1_4", "link_2_3", "rod", "link_2_1", "link_1_1_joint", "link_2_4_joint"),
}  # fmt: skip


def apart(model: Model, a: str, b: str, name: str = "rod_between") -> sarrus.Distance:
    """A massless rod between two frames, as long as they are apart where q is neutral."""
    at = sarrus.forward_kinematics(model, sarrus.neutral(model), frames=(a, b)).position
    return sarrus.distance(a, b, float(np.linalg.norm(at[1] - at[0])), name=name)


def constraints(base: str, what: str) -> Model:
    """A base with further constraints on top."""
    model = BASES[base]()
    one, two, hidden, beside, joint, other = PARTS[base]
    if what == "point":
        return model.with_constraints(sarrus.contact(one, 3, stabilization=0.1))
    if what == "weld":
        return model.with_constraints(sarrus.contact(one, 6))
    if what == "on an unseen body":
        row = np.random.default_rng(0).normal(size=(1, 6))
        return model.with_constraints(sarrus.contact(hidden, 3), sarrus.link_rows(beside, row))
    if what == "between clusters":
        return pinned(model, one, two).with_constraints(sarrus.connect("pin_a", "pin_b"))
    if what == "inside a cluster":
        model = pinned(pinned(model, hidden, hidden, "at"), beside, beside, "to", (-0.06, 0.01, 0.02))
        return model.with_constraints(apart(model, "at_a", "to_b"))
    if what == "to the world":
        return pinned(model, one, "world").with_constraints(sarrus.loop("pin_a", "pin_b", "universal"))
    if what == "coupling":
        return model.with_constraints(sarrus.coupling({joint: 1.0, other: -1.5}, stabilization=0.1))
    if what == "center of mass":
        return model.with_constraints(sarrus.center_of_mass_constraint("xz"), sarrus.contact(one, 3))
    if what == "mixed":
        model = pinned(model, one, two)
        return model.with_constraints(
            sarrus.connect("pin_a", "pin_b"), sarrus.contact(two, 3), sarrus.coupling({joint: 1.0, other: -1.5})
        )
    assert what == "soft"
    return model.with_constraints(sarrus.contact(one, 6, R=1e-2), sarrus.contact(two, 3, R=[0.1, 0.2, 0.3]))


@cache
def problem(base: str, what: str) -> tuple[Model, State, Dense]:
    model = constraints(base, what)
    embedded = sarrus.embed(model, [c.name for c in BASES[base]().constraints])
    state = state_of(model)
    return embedded, state, dense(embedded, state)


CONTACTS = ("point", "weld", "on an unseen body")
RELATIONS = ("between clusters", "inside a cluster", "to the world", "coupling", "center of mass", "mixed")
UNBALANCED = "link and unbalanced rotor"  # where only bodies matter, not what ties them
CASES = [(base, what) for base in BASES for what in (CONTACTS if base == UNBALANCED else (*CONTACTS, *RELATIONS))]


def hard_methods(what: str) -> list[str]:
    able = HARD if what in CONTACTS else [name for name in HARD if name in LOOPS]
    return [
        name for name in able if what != "center of mass" or sarrus.Feature.CENTER_OF_MASS in METHODS[name].supports
    ]


@pytest.mark.parametrize(("base", "what"), CASES)
def test_hard_constraints(base, what):
    embedded, state, truth = problem(base, what)
    expected = truth.hard(state.tau)
    JN = truth.J @ truth.N
    full_rank = np.linalg.matrix_rank(JN, 1e-9) == len(JN)
    for method in hard_methods(what):
        if not full_rank and sarrus.Feature.REDUNDANT not in METHODS[method].supports:
            continue
        found = sarrus.forward_dynamics(embedded, *state, method=method)
        # LCABA loses digits where rows are nearly immobile: its penalty is then stiff against everything else.
        assert relative_error(found.qdd, expected, 1.0) < (1e-8 if full_rank else 1e-6), method
        assert found.status == 0.0, method
        assert found.forces.shape == (embedded.n_rows,)
        if full_rank and what in CONTACTS:
            needed = truth.N.T @ (truth.M @ found.qdd + truth.c - state.tau)
            assert relative_error(truth.N.T @ (truth.J.T @ found.forces), needed, 1.0) < 1e-7, method


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("method", SOFT)
def test_soft_contacts_on_hard_clusters(base, method):
    embedded, state, truth = problem(base, "soft")
    assert relative_error(sarrus.forward_dynamics(embedded, *state, method=method).qdd, truth.soft(state.tau)) < 1e-8
    embedded, state, truth = problem(base, "weld")
    found = sarrus.forward_dynamics(embedded, *state, method=method, weight=50.0).qdd
    assert relative_error(found, truth.soft(state.tau, 50.0)) < 1e-8


@pytest.mark.parametrize(("base", "what"), [case for case in CASES if case[1] != "to the world"])
def test_delassus_matrix(base, what):
    """J M^-1 J^T of what is left, on the motions that clusters allow. (Rows of a universal joint: in other axes.)"""
    embedded, state, truth = problem(base, what)
    able = [
        name
        for name in delassus_methods()
        if what in CONTACTS or sarrus.Feature.LOOPS in sarrus.catalog()[name].supports
    ]
    assert able
    for method in able:
        assert relative_error(sarrus.delassus(embedded, state.q, method=method), truth.delassus, 1e-6) < 1e-9, method


@pytest.mark.parametrize("method", ON_LINKS)
def test_methods_of_links_refuse_loops_on_clusters(method):
    embedded, state, _ = problem("link and rotor", "between clusters")
    with pytest.raises(UnsupportedError, match="LoopClosure"):
        sarrus.forward_dynamics(embedded, *state, method=method)


KERNELS = {
    "lcaba": "mixed",
    "prox_bbo": "coupling",
    "pv_early": "point",
    "constrained_aba": "on an unseen body",
    "prox_ltl": "between clusters",
}


@pytest.mark.parametrize(("method", "what"), KERNELS.items())
def test_batches_and_kernels_are_single_states(method, what):
    embedded, state, _ = problem("parallel chains", what)  # clusters with several seen bodies
    tau = np.random.default_rng(3).normal(size=(3, embedded.nv))
    options = {} if method == "pv_early" else {"max_iterations": 4}
    single = [sarrus.forward_dynamics(embedded, state.q, state.v, x, method=method, **options) for x in tau]
    found = sarrus.compile(embedded, method, **options)(np.tile(state.q, (3, 1)), np.tile(state.v, (3, 1)), tau)
    for field in ("qdd", "status"):
        expected = np.stack([getattr(x, field) for x in single])
        assert relative_error(getattr(found, field), expected, 1.0) < 1e-8, field


@pytest.mark.parametrize("method", ["lcaba", "prox_bbo", "prox_ltl"])
def test_run_time_accelerations_and_external_forces(method):
    model = BASES["parallel belt"]().with_constraints(sarrus.contact("b0_0_link_2", 3, k="input"))
    embedded = sarrus.embed(model)
    state = state_of(model)
    rng = np.random.default_rng(2)
    k, forces = rng.normal(size=3), rng.normal(size=(model.nb, 6))
    fixed = BASES["parallel belt"]().with_constraints(sarrus.contact("b0_0_link_2", 3, k=k))
    expected = dense(sarrus.embed(fixed), state, forces).hard(state.tau)
    found = sarrus.forward_dynamics(embedded, *state, method=method, k=k, external_forces=forces)
    assert relative_error(found.qdd, expected, 1.0) < 1e-8


def test_constraints_may_be_added_before_or_after_embedding():
    model = BASES["four-bar"]()
    contact = sarrus.contact("b0_0_rod", 3)
    state = state_of(model)
    before = sarrus.forward_dynamics(sarrus.embed(model.with_constraints(contact)), *state)
    after = sarrus.forward_dynamics(sarrus.embed(model).with_constraints(contact), *state)
    assert relative_error(after.qdd, before.qdd) < 1e-12


@pytest.mark.parametrize("method", LOOPS)
def test_one_loop_embedded_the_other_left(method):
    """The second loop hangs on a body of the first, or the first carries the second."""
    model = loop_on_a_loop()
    state = state_of(model)
    for name in ("first", "second"):
        embedded = sarrus.embed(model, [name])
        found = sarrus.forward_dynamics(embedded, *state, method=method)
        if sarrus.Feature.REDUNDANT in METHODS[method].supports:  # three of the five rows of a hinge are, in a plane
            assert relative_error(found.qdd, dense(embedded, state).hard(state.tau), 1.0) < 1e-8
            assert found.status == 0.0


def test_a_redundant_loop_on_top_of_a_cluster():
    """The same closure again, as a row: nothing changes, and nothing breaks."""
    model = BASES["four-bar"]()
    pin = model.constraints[0]
    doubled = model.with_constraints(sarrus.connect(pin.frame_a, pin.frame_b, name="again"))
    embedded = sarrus.embed(doubled, [c.name for c in model.constraints])
    state = state_of(model)
    expected = sarrus.ce_aba(sarrus.embed(model), *state).qdd
    for method in ("lcaba", "prox_bbo", "prox_ltl"):
        found = sarrus.forward_dynamics(embedded, *state, method=method)
        assert relative_error(found.qdd, expected, 1.0) < 1e-6, method
        assert found.status == 0.0, method
