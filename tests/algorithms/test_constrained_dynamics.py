"""Constrained forward dynamics: every method that the registry has, against the dense oracle."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.errors import ModelError, NameClashError, StateError, UnknownNameError, UnsupportedError
from sarrus.model.builder import ModelBuilder
from tests.mechanisms import relative_error
from tests.oracles.constrained import kkt, solve_hard, solve_soft

METHODS = {name: e for name, e in sarrus.methods().items() if e.family == "constrained"}
HARD = [name for name, entry in METHODS.items() if sarrus.Feature.SOFT not in entry.supports]
# These iterate until the residual is below a tolerance, so their accelerations are good to 1e-8 and not to rounding.
PROXIMAL = [name for name in HARD if sarrus.Feature.REDUNDANT in METHODS[name].supports]
SOFT = [name for name, entry in METHODS.items() if sarrus.Feature.SOFT in entry.supports]
rng = np.random.default_rng(11)


def two_robots():
    """Two roots, one fixed and one floating, each with a contact."""
    builder = ModelBuilder("two_robots")
    inertial = {"mass": 1.0, "com": (0.1, 0.0, -0.2), "inertia": np.diag([0.02, 0.03, 0.01])}
    builder.add_body("base", joint="free", **inertial)
    for k in range(4):
        builder.add_body(
            f"a{k}", "base" if k == 0 else f"a{k - 1}", axis=np.eye(3)[k % 3], position=(0, 0.1, -0.3), **inertial
        )
        builder.add_body(
            f"b{k}", "world" if k == 0 else f"b{k - 1}", axis=np.eye(3)[k % 3], position=(1, 0.1, -0.3), **inertial
        )
    return builder.build().with_constraints(sarrus.contact("a3", 3), sarrus.contact("b3", 3))


zoo = sarrus.zoo
MECHANISMS = {
    "chain, tip welded": zoo.chain(8).with_constraints(sarrus.contact("tip", 6)),
    "chain, tip on a point": zoo.chain(7).with_constraints(sarrus.contact("tip", 3)),
    "floating chain, middle and tip": zoo.chain(9, floating=True).with_constraints(
        sarrus.contact("link_3", 3), sarrus.contact("tip", 3)
    ),
    "tree, arbitrary rows": zoo.tree(15, 3, floating=True).with_constraints(
        sarrus.link_rows("link_14", rng.normal(size=(2, 6))),
        sarrus.link_rows("link_9", rng.normal(size=(3, 6)), k=[0.1, -0.2, 0.3]),
        sarrus.contact("base", 3),
    ),
    "several on one link": zoo.chain(10).with_constraints(
        sarrus.contact("tip", 3), sarrus.link_rows("link_9", rng.normal(size=(2, 6))), sarrus.contact("link_5", 3)
    ),
    "base welded": zoo.tree(31, 2, floating=True).with_constraints(
        sarrus.contact("base", 6), sarrus.contact("link_30", 3)
    ),
    "stem with four welded tips": zoo.stem(2, 2, constrained=True),
    "stem with two welded tips": zoo.stem(1, 1, length=6, constrained=True),
    "every joint type": zoo.random_tree(3, 14).with_constraints(
        sarrus.contact("body_13", 3), sarrus.contact("body_9", 3), sarrus.link_rows("body_12", rng.normal(size=(1, 6)))
    ),
    "multi-dof joints, welded tip": zoo.random_tree(
        5, 6, joints=["spherical", "universal", "cylindrical", "planar"], chain_bias=1.0
    ).with_constraints(sarrus.contact("body_5", 6)),
    "two robots": two_robots(),
}  # fmt: skip


def state_of(model, seed=0):
    random = np.random.default_rng(seed)
    q, v = sarrus.random_state(model, random)
    return q, v, random.normal(size=model.nv)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("method", HARD)
def test_hard_methods_solve_the_dense_problem(method, mechanism):
    model = MECHANISMS[mechanism]
    for seed in range(3):
        q, v, tau = state_of(model, seed)
        options = {"tolerance": 1e-10} if method in PROXIMAL else {}
        result = sarrus.forward_dynamics(model, q, v, tau, method=method, **options)
        problem = kkt(model, q, v)
        qdd, f = solve_hard(problem, tau)
        # The forces' accuracy is that of solving with the Delassus matrix.
        condition = np.linalg.cond(problem.J @ np.linalg.solve(problem.M, problem.J.T))
        tolerance = max(1e-8 if method in PROXIMAL else 1e-9, 1e-14 * condition)
        assert relative_error(result.qdd, qdd) < tolerance
        # Where iterations end, the constraint inertia still multiplies the residual that is left.
        assert relative_error(result.forces, f) < (max(1e-7, tolerance) if method in PROXIMAL else tolerance)
        assert np.abs(result.residual).max() < 1e-9 * max(1.0, np.abs(qdd).max()) + tolerance
        assert result.status == 0.0


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("method", SOFT)
def test_soft_methods_solve_the_penalised_problem(method, mechanism):
    model = MECHANISMS[mechanism]
    q, v, tau = state_of(model)
    result = sarrus.forward_dynamics(model, q, v, tau, method=method, weight=1e3)
    qdd, f = solve_soft(kkt(model, q, v), tau, weight=1e3)
    assert relative_error(result.qdd, qdd) < 1e-8  # the penalty multiplies the condition number
    assert relative_error(result.forces, f) < 1e-8


@pytest.mark.parametrize("method", METHODS)
def test_declared_softness_per_row(method):
    R = [1e-3, 2e-3, 5e-4, 1e-2, 3e-3, 1e-3]
    model = zoo.chain(8).with_constraints(sarrus.contact("tip", 6, R=R), sarrus.contact("link_3", 3, R=1e-2))
    q, v, tau = state_of(model)
    problem = kkt(model, q, v)
    qdd, f = solve_soft(problem, tau) if method in SOFT else solve_hard(problem, tau)
    if method in HARD and np.linalg.matrix_rank(problem.J) < len(problem.J):
        pytest.skip("over-constrained for a hard method")
    result = sarrus.forward_dynamics(model, q, v, tau, method=method)
    assert relative_error(result.qdd, qdd) < 1e-8
    assert relative_error(result.forces, f) < 1e-8


@pytest.mark.parametrize("method", METHODS)
def test_run_time_accelerations_external_forces_and_feedback(method):
    at = (
        np.array([0.1, 0.2, -0.8]),
        sarrus.forward_kinematics(zoo.chain(9), np.full(9, 0.2), frames=["tip"]).rotation[0],
    )
    model = zoo.chain(9).with_constraints(
        sarrus.contact("tip", 6, k="input", stabilization=0.1, at=at, R=1e-4),
        sarrus.contact("link_2", 3, k=[0.1, 0.2, 0.3], stabilization=0.2, at=[0.0, 0.1, -0.5], R=1e-4),
    )
    q, v, tau = state_of(model.without_constraints())  # away from where the constraints want it: feedback acts
    k = np.random.default_rng(5).normal(size=6)
    external = np.random.default_rng(6).normal(size=(model.nb, 6))
    problem = kkt(model, q, v, k, external)
    qdd, f = solve_soft(problem, tau) if method in SOFT else solve_hard(problem, tau)
    result = sarrus.forward_dynamics(model, q, v, tau, method=method, k=k, external_forces=external)
    assert relative_error(result.qdd, qdd) < 1e-8
    assert relative_error(result.forces, f) < 1e-8


@pytest.mark.parametrize("method", METHODS)
def test_without_constraints_every_method_is_aba(method):
    model = zoo.random_tree(7, 8)
    q, v, tau = state_of(model)
    options = {"weight": 1.0} if method in SOFT else {}
    result = sarrus.forward_dynamics(model, q, v, tau, method=method, **options)
    assert relative_error(result.qdd, sarrus.aba(model, q, v, tau)) < 1e-10
    assert result.forces.shape == (0,)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("mechanism", ["floating chain, middle and tip", "stem with two welded tips"])
def test_a_batch_and_a_kernel_are_the_single_states(method, mechanism):
    model = MECHANISMS[mechanism]
    q, v = sarrus.random_state(model, 0, batch=5)
    tau = np.random.default_rng(1).normal(size=v.shape)
    options = {"weight": 1e4} if method in SOFT else {}
    single = [sarrus.forward_dynamics(model, q[i], v[i], tau[i], method=method, **options) for i in range(5)]
    kernel = sarrus.compile(model, method, **options)
    for batch in (sarrus.forward_dynamics(model, q, v, tau, method=method, **options), kernel(q, v, tau)):
        for name in batch._fields:
            expected = np.stack([getattr(r, name) for r in single])
            assert relative_error(getattr(batch, name), expected, 1.0 if name == "residual" else 0.0) < 1e-9


@pytest.mark.parametrize("method", HARD)
def test_redundant_rows_give_finite_numbers_and_the_right_acceleration(method):
    """The same point held twice: forces are not unique, what they do is."""
    model = zoo.chain(7).with_constraints(sarrus.contact("tip", 3), sarrus.contact("tip", 3, name="again"))
    q, v, tau = state_of(model)
    result = sarrus.forward_dynamics(model, q, v, tau, method=method)
    problem = kkt(model, q, v)
    qdd, f = solve_hard(problem, tau)
    assert all(np.isfinite(x).all() for x in result)
    assert relative_error(result.qdd, qdd) < 1e-6 or result.status != 0.0
    assert relative_error(problem.J.T @ result.forces, problem.J.T @ f) < 1e-5 or result.status != 0.0


@pytest.mark.parametrize("method", HARD)
def test_conflicting_rows_are_reported(method):
    model = zoo.chain(7).with_constraints(
        sarrus.contact("tip", 3), sarrus.contact("tip", 3, name="again", k=[1.0, 0.0, 0.0])
    )
    result = sarrus.forward_dynamics(model, *state_of(model), method=method)
    assert all(np.isfinite(x).all() for x in result)
    assert result.status == sarrus.Status.INFEASIBLE
    if method not in PROXIMAL:  # that was their fallback: the answer is the least-squares one
        assert result.fallback == 1
        alone = sarrus.forward_dynamics(model, *state_of(model), method=method, fallback=None)
        assert alone.status == sarrus.Status.CONSTRAINTS_NOT_MET
        assert all(np.isfinite(x).all() for x in alone)


@pytest.mark.parametrize("method", HARD)
def test_a_singular_configuration_is_never_silent(method):
    """A straight arm cannot accelerate its tip along itself: solvable for some demands, else reported."""
    builder = ModelBuilder("planar_arm")
    for k in range(3):
        parent, position = ("world", (0, 0, 0)) if k == 0 else (f"l{k - 1}", (0.3, 0, 0))
        builder.add_body(
            f"l{k}", parent, axis=(0, 0, 1), position=position, mass=1.0, com=(0.15, 0, 0), inertia=0.01 * np.eye(3)
        )
    builder.add_frame("tip", "l2", position=(0.3, 0.0, 0.0))
    model = builder.build().with_constraints(sarrus.link_rows("tip", np.eye(6)[:2], k=[1.0, 0.5]))
    for q in (np.zeros(3), np.array([0.3, 1e-9, 0.0])):
        result = sarrus.forward_dynamics(model, q, np.zeros(3), np.zeros(3), method=method)
        assert all(np.isfinite(x).all() for x in result)
        met = np.abs(result.residual).max() < 1e-6
        assert met or result.status != 0.0


def test_op_counts_order_as_in_the_paper():
    model = zoo.stem(3, 2, constrained=True)
    counts = {name: sarrus.op_count(model, name).total for name in ("pv_early", "pv", "ltl")}
    assert counts["pv_early"] < counts["pv"] < counts["ltl"]
    assert sarrus.op_count(model, "pv_soft", weight=1e6).total < 1.25 * sarrus.op_count(model, "aba").total


class TestErrors:
    model = zoo.chain(4)

    def test_bad_dimension(self):
        with pytest.raises(ModelError, match=r"dim is 4. Valid: 3 \(point\), 6"):
            sarrus.contact("tip", 4)

    def test_unknown_frame_lists_frames(self):
        with pytest.raises(UnknownNameError, match="tip"):
            self.model.with_constraints(sarrus.contact("tipp", 3))

    def test_names_are_unique(self):
        with pytest.raises(NameClashError, match="contact_tip"):
            self.model.with_constraints(sarrus.contact("tip", 3), sarrus.contact("tip", 3))

    def test_rows_of_the_wrong_shape(self):
        with pytest.raises(ModelError, match=r"\(m, 6\)"):
            sarrus.link_rows("tip", np.ones((2, 5)))

    @pytest.mark.parametrize("k", [[1.0], "later", [np.nan] * 3])
    def test_bad_desired_accelerations(self, k):
        with pytest.raises(ModelError, match="k "):
            sarrus.contact("tip", 3, k=k)

    @pytest.mark.parametrize("R", [-1.0, [1.0, 2.0], 0.0])
    def test_bad_softness(self, R):
        with pytest.raises(ModelError, match="R must be positive"):
            sarrus.contact("tip", 3, R=R)

    def test_bad_stabilization(self):
        with pytest.raises(ModelError, match="positive"):
            sarrus.contact("tip", 3, stabilization=0.0)

    def test_aba_refuses_constraints(self):
        model = self.model.with_constraints(sarrus.contact("tip", 3))
        with pytest.raises(UnsupportedError, match="pv_early"):
            sarrus.forward_dynamics(model, np.zeros(4), np.zeros(4), np.zeros(4), method="aba")

    def test_unknown_method_lists_methods(self):
        with pytest.raises(UnknownNameError, match="pv_soft"):
            sarrus.forward_dynamics(self.model, np.zeros(4), np.zeros(4), np.zeros(4), method="pvv")

    def test_soft_methods_need_a_softness(self):
        model = self.model.with_constraints(sarrus.contact("tip", 3))
        with pytest.raises(UnsupportedError, match="weight"):
            sarrus.pv_soft(model, np.zeros(4), np.zeros(4), np.zeros(4))

    def test_loops_are_refused_in_words(self):
        model = self.model.with_constraints(sarrus.LoopClosure("loop", "tip", "link_0", "weld"))
        with pytest.raises(UnsupportedError, match="'loop' is a LoopClosure"):
            sarrus.pv(model, np.zeros(4), np.zeros(4), np.zeros(4))

    def test_a_contact_of_the_world_is_refused(self):
        model = self.model.with_constraints(sarrus.contact("world", 3))
        with pytest.raises(UnsupportedError, match="does not move"):
            sarrus.pv(model, np.zeros(4), np.zeros(4), np.zeros(4))

    def test_missing_run_time_accelerations(self):
        model = self.model.with_constraints(sarrus.contact("tip", 3, k="input"))
        with pytest.raises(UnsupportedError, match="needs k"):
            sarrus.pv(model, np.zeros(4), np.zeros(4), np.zeros(4))
        with pytest.raises(StateError, match=r"k: expected shape \(3,\)"):
            sarrus.pv(model, np.zeros(4), np.zeros(4), np.zeros(4), k=np.zeros(2))
