"""What is embedded, and which velocities are independent: chosen, wanted, declared in a file, or refused in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.errors import ModelError, StateError, UnknownNameError, UnsupportedError
from sarrus.mechanics.clusters.embedded import rows_of_cluster
from sarrus.model.bodies import Placement
from sarrus.model.constraints import LoopClosure
from sarrus.model.independent import independent_velocities
from sarrus.model.model import Model
from sarrus.spatial.arrays import as_field
from sarrus.spatial.inertia import Inertia
from tests.oracles import loops


def independent_joints(model: Model) -> tuple[str, ...]:
    """Names of the joints that have independent velocities."""
    free = set(independent_velocities(model))
    spans = zip(model.joint_names, model.layout.v, strict=True)
    return tuple(name for name, v in spans if free & set(range(v.start, v.stop)))


# name: model, independent velocities that its constraints leave
MOBILITY = {
    "link and rotor": (zoo.link_and_rotor, 1),
    "parallel belt": (zoo.parallel_belt, 2),
    "differential": (lambda: zoo.differential("rods"), 2),
    "four-bar of ball joints": (lambda: zoo.four_bar("connect"), 1),
    "four-bar of hinges": (zoo.four_bar, 1),
    "four-bar, welded: rigid": (lambda: zoo.four_bar("weld"), 0),
    "slider-crank": (zoo.slider_crank, 1),
    "five-bar": (zoo.five_bar, 2),
    "Sarrus' linkage: redundant rows": (zoo.sarrus_linkage, 1),
    "Bennett's linkage: redundant rows": (zoo.bennett, 1),
    "ring": (lambda: zoo.cycle(9), 8),
    "loops of a chain": (lambda: zoo.chain_of_loops(1), 7),
}


@pytest.mark.parametrize("name", MOBILITY)
def test_rank_and_well_conditioned_choice(name):
    """The rows that are kept determine the dependent velocities, as well as any could within a factor."""
    make, ny = MOBILITY[name]
    model = make()
    embedded = sarrus.embed(model)
    assert embedded.ny == ny
    assert embedded.nv == model.nv
    assert embedded.active_constraints == ()
    q = embedded.embedding.samples[-1]
    for cluster in embedded.embedding.clusters:
        K = rows_of_cluster(model, cluster, q)
        column = {v: k for k, v in enumerate(sorted(cluster.independent + cluster.dependent))}
        rows = [row for block, _ in cluster.blocks for row in block]
        kept = K[np.ix_(rows, [column[v] for _, block in cluster.blocks for v in block])]
        assert np.linalg.matrix_rank(K, 1e-7) == len(rows) == len(cluster.dependent)
        sigma = np.linalg.svd(K, compute_uv=False)
        assert np.linalg.svd(kept, compute_uv=False)[-1] > 0.02 * sigma[len(rows) - 1]


def test_samples_are_on_the_constraints():
    model = zoo.differential("rods")
    for q in sarrus.embed(model).embedding.samples:
        assert np.abs(loops.closure_error(model, q)[0]).max() < 1e-9


def test_some_constraints_are_embedded_and_others_stay():
    model = zoo.tree_of("link_and_rotor", 2, 1).with_constraints(sarrus.contact("tip_0"))
    one = sarrus.embed(model, ["b0_0_rotor_gear"])
    assert one.embedding.constraints == {"b0_0_rotor_gear"}
    assert [c.name for c in one.active_constraints] == ["b1_0_rotor_gear", "contact_tip_0"]
    assert (one.ny, one.n_rows, one.constraints) == (model.nv - 1, 4, model.constraints)
    assert sarrus.embed(model).active_constraints == model.constraints[2:]
    assert one.spanning.active_constraints == model.active_constraints
    assert one.without_constraints().embedding is None


def test_names_that_are_not_there():
    model = zoo.tree_of("link_and_rotor").with_constraints(sarrus.contact("tip_0"))
    with pytest.raises(UnknownNameError, match=r"Valid: b0_0_rotor_gear$"):
        sarrus.embed(model, ["gear"])
    with pytest.raises(UnknownNameError, match=r"Valid: b0_0_rotor_gear$"):
        sarrus.embed(model, ["contact_tip_0"])  # a contact cannot be embedded
    with pytest.raises(UnknownNameError, match=r"Valid: .*b0_0_link_joint"):
        sarrus.embed(model, independent=["b0_0_link"])


def test_nothing_to_embed():
    with pytest.raises(UnsupportedError, match="no loop closures, distances or couplings"):
        sarrus.embed(zoo.chain(3))
    with pytest.raises(UnsupportedError, match="no loop closures, distances or couplings"):
        sarrus.embed(zoo.chain(3).with_constraints(sarrus.contact("tip")))


def test_embedding_twice():
    with pytest.raises(ModelError, match=r"already has embedded constraints.*model\.spanning"):
        sarrus.embed(sarrus.embed(zoo.four_bar()))


def test_loops_that_do_not_close():
    builder = sarrus.ModelBuilder("apart")
    for k, x in enumerate((0.0, 5.0)):
        builder.add_body(f"b{k}", position=(x, 0.0, 0.0), axis=(0, 1, 0), mass=1.0, inertia=np.eye(3))
    model = builder.add_constraint(sarrus.connect("b0", "b1", name="far")).build()
    with pytest.raises(StateError, match=r"no configuration of 'apart' was found that closes far; give one as `at`"):
        sarrus.embed(model)


# --- independent velocities ----------------------------------------------------------------------------


@pytest.mark.parametrize("joint", zoo.four_bar().joint_names)
def test_the_user_s_choice_is_respected(joint):
    embedded = sarrus.embed(zoo.four_bar(), independent=[joint])
    assert independent_joints(embedded) == (joint,)


def test_joints_that_depend_on_each_other_are_refused():
    model = zoo.link_and_rotor()
    with pytest.raises(ModelError, match=r"leave 1 of 2 velocities independent, and '.*' cannot be among them"):
        sarrus.embed(model, independent=model.joint_names)


def test_the_wish_of_a_file_is_respected():
    """URDF+: `independent` of a joint. The default is the same choice without that, here the heavy links."""
    model = zoo.tree_of("differential", 1, 1, kind="rods")
    assert set(independent_joints(sarrus.embed(model))) == {"base_joint", "b0_0_rotor_1_joint", "b0_0_rotor_2_joint"}
    model = zoo.tree_of("differential", 1, 1)
    assert set(independent_joints(sarrus.embed(model))) == {"base_joint", "b0_0_gimbal_joint", "b0_0_link_joint"}


def test_actuated_joints_come_first():
    """Of a gear between two joints the one with an effort limit is independent, wherever it is."""
    for driven in ("a", "b"):
        builder = sarrus.ModelBuilder("gear")
        for name in ("a", "b"):
            limit = {"effort_limit": 5.0} if name == driven else {}
            builder.add_body(name, axis=(0, 1, 0), joint_name=f"{name}_joint", mass=1.0, inertia=np.eye(3), **limit)
        builder.add_constraint(sarrus.coupling({"a_joint": 1.0, "b_joint": -3.0}))
        assert independent_joints(sarrus.embed(builder.build())) == (f"{driven}_joint",)


@pytest.mark.parametrize("make", [zoo.hand_cube, zoo.two_hands_cube])
def test_home_is_not_singular(make):
    """What is chosen at one configuration determines the dependent velocities at the others, home included."""
    model = make()
    embedded = sarrus.embed(model)
    for cluster in embedded.embedding.clusters:
        column = {v: k for k, v in enumerate(sorted(cluster.independent + cluster.dependent))}
        for q in embedded.embedding.samples:
            K = rows_of_cluster(model, cluster, q)[:, [column[v] for v in cluster.dependent]]
            sigma = np.linalg.svd(K / np.linalg.norm(K, axis=0), compute_uv=False)
            assert sigma[len(cluster.dependent) - 1] > 1e-2 * sigma[0]


def test_a_configuration_to_choose_from():
    model = zoo.four_bar()
    other = sarrus.expand(sarrus.embed(model), np.array([0.3])).q
    found = sarrus.embed(model, at=other).embedding.samples[0]
    assert np.abs(found - other).max() < 1e-9


def test_inertias_may_be_symbols():
    """The same coordinates and dynamics as with numbers; lengths must be numbers."""
    ca = pytest.importorskip("casadi")
    model = zoo.differential("rods")
    masses = [ca.SX.sym(body.name) for body in model.bodies]
    bodies = []
    for body, m in zip(model.bodies, masses, strict=True):
        inertia, per = body.inertia, m / float(body.inertia.mass)
        h = as_field([per * x for x in inertia.h], (3,))
        Sigma = as_field([[per * x for x in row] for row in inertia.Sigma], (3, 3))
        bodies.append(replace(body, inertia=Inertia(as_field(m, ()).item(), h, Sigma)))
    embedded, numbers = sarrus.embed(replace(model, bodies=tuple(bodies))), sarrus.embed(model)
    assert embedded.ny == numbers.ny
    q, v = sarrus.random_state(model, 3)
    x = [ca.SX.sym(name, n) for name, n in (("q", model.nq), ("v", model.nv), ("tau", model.nv))]
    text = ca.Function("qdd", [*x, *masses], [sarrus.ce_aba(embedded, *x).qdd])
    found = np.array(text(q, v, np.ones(model.nv), *(float(b.inertia.mass) for b in model.bodies))).ravel()
    expected = sarrus.ce_aba(numbers, q, v, np.ones(model.nv)).qdd
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()
    length = ca.SX.sym("length")
    moved = replace(bodies[0], placement=Placement(np.eye(3), as_field([length, 0.0, 0.0], (3,))))
    with pytest.raises(UnsupportedError, match="symbols in lengths"):
        sarrus.embed(replace(model, bodies=(moved, *bodies[1:])))


@pytest.mark.parametrize("make", [zoo.connecting_rod, zoo.biped])
def test_it_makes_no_difference_which_frame_of_a_ball_joint_comes_first(make):
    """Rows are seen from the better side; forces are those of the declared axes all the same."""
    model = make()
    balls = [c for c in model.active_constraints if isinstance(c, LoopClosure) and c.joint == "connect"]
    assert balls
    turned = [replace(c, frame_a=c.frame_b, frame_b=c.frame_a) if c in balls else c for c in model.constraints]
    other = replace(model, constraints=tuple(turned))
    embedded, from_b = sarrus.embed(model), sarrus.embed(other)
    assert sum(len(cluster.seen_from_b) for cluster in clusters_of(from_b)) >= len(balls) // 2
    counts = [sarrus.op_count(x, "ce_aba").total for x in (embedded, from_b)]
    assert counts[1] <= 1.01 * counts[0]
    q, v = sarrus.random_state(model, 5)
    tau = np.random.default_rng(5).normal(size=model.nv)
    for x, y in ((model, embedded), (other, from_b)):
        found, expected = sarrus.hybrid(x, q, v, tau, clusters=clusters_of(y)), sarrus.prox_bbo(x, q, v, tau)
        assert found.status == expected.status == found.fallback == 0
        assert np.abs(found.qdd - expected.qdd).max() < 1e-8 * (1.0 + np.abs(expected.qdd).max())
        assert np.abs(found.forces - expected.forces).max() < 1e-8 * (1.0 + np.abs(expected.forces).max())


def clusters_of(model):
    assert model.embedding is not None
    return model.embedding.clusters
