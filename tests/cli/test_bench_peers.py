"""What `sarrus bench` compares with: every method that Pinocchio or MuJoCo has, validated before it is timed.

What disagrees would be an error or a note, and no row.
"""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.cli import bench
from sarrus.cli.bench import measure
from sarrus.cli.peer import Peer
from sarrus.cli.pinocchio_methods import OF_TREES
from sarrus.errors import UnsupportedError


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SARRUS_CACHE_DIR", str(tmp_path / "cache"))


def compared(model: sarrus.Model, method: str, **options: str) -> tuple[set[str], list[str]]:
    """Whose single calls were timed, and the notes."""
    found = measure(model, method, 4, 1, options, float32=False)
    singles = {row["name"].removesuffix(", single call") for row in found["rows"] if "single call" in row["name"]}
    return singles - {"Sarrus"}, found["notes"]


@pytest.fixture(scope="module")
def humanoid() -> sarrus.Model:
    """With a free joint, branches, and no joint whose axes move relative to each other."""
    return sarrus.attach(zoo.chain(3, True), zoo.chain(2), "link_1", prefix="arm_")


@pytest.mark.parametrize("method", OF_TREES)
def test_what_pinocchio_computes_of_trees(method, humanoid):
    pytest.importorskip("pinocchio", exc_type=ImportError)
    options = {"frame": humanoid.frame_names[-1]} if "frame_" in method else {}
    peers, notes = compared(humanoid, method, **options)
    assert "Pinocchio" in peers, notes


def test_a_frame_that_no_joint_turns_has_zeros_which_agree(humanoid):
    pytest.importorskip("pinocchio", exc_type=ImportError)
    peers, notes = compared(humanoid, "frame_jacobian_derivative", frame=humanoid.body_names[0])
    assert "Pinocchio" in peers, notes


@pytest.mark.parametrize("method", [name for name, found in OF_TREES.items() if not found.moving_axes])
def test_what_pinocchio_has_wrong_at_universal_joints_is_told(method):
    pytest.importorskip("pinocchio", exc_type=ImportError)
    peers, notes = compared(zoo.biped().without_constraints(), method)
    assert not peers
    assert "(universal) for fixed relative to each other" in notes[0]


def test_pinocchio_is_wrong_there():
    """Its own rnea, differentiated numerically, decides between its derivatives and ours."""
    pin = pytest.importorskip("pinocchio", exc_type=ImportError)
    from sarrus.cli.pinocchio_twin import pinocchio_twin

    robot = zoo.biped().without_constraints()
    twin, (q, v), step = pinocchio_twin(robot), sarrus.random_state(robot, rng=1), 1e-6
    data, a = twin.createData(), np.linspace(-1.0, 1.0, robot.nv)

    def forces(along: np.ndarray) -> np.ndarray:
        return np.array(pin.rnea(twin, data, pin.integrate(twin, q, along), v, a))

    differences = np.array([forces(step * e) - forces(-step * e) for e in np.eye(robot.nv)]).T / (2.0 * step)
    ours = sarrus.rnea_derivatives(robot, q, v, a).dtau_dq
    size = np.abs(differences).max()
    assert np.abs(ours - differences).max() < 1e-8 * size
    assert np.abs(pin.computeRNEADerivatives(twin, data, q, v, a)[0] - differences).max() > 1e-4 * size


@pytest.mark.parametrize("method", ["pv", "forward_dynamics_derivatives"])
def test_pinocchios_constrained_methods(method):
    pytest.importorskip("pinocchio", exc_type=ImportError)
    peers, notes = compared(zoo.chain_welded_tip(7), method)
    expected = {
        "pv": {"Pinocchio constraintDynamics", "Pinocchio lcaba"},
        "forward_dynamics_derivatives": {"Pinocchio constraintDynamics and derivatives"},
    }
    assert peers == expected[method], notes


FACTORED = "Pinocchio ConstraintCholeskyDecomposition"


@pytest.mark.parametrize("method", [name for name, x in sarrus.catalog().items() if x.family == "delassus"])
def test_pinocchios_delassus_matrices(method):
    pytest.importorskip("pinocchio", exc_type=ImportError)
    peers, notes = compared(zoo.chain(7).with_constraints(sarrus.contact("tip", 3)), method)
    assert FACTORED in peers, notes
    assert ("Pinocchio computeDelassusMatrix" in peers) == (method != "pv_osim_fast"), notes


def test_the_delassus_matrix_of_loops_and_contacts():
    """Whose rows have opposite signs in Pinocchio, so that blocks between them have, too."""
    pytest.importorskip("pinocchio", exc_type=ImportError)
    robot = zoo.biped()
    held = robot.with_constraints(sarrus.contact(robot.frame_names[-1], 6))
    peers, notes = compared(held, "ltl_osim")
    assert peers == {FACTORED}, notes
    assert "Pinocchio computeDelassusMatrix: it is wrong for loops between two moving bodies" in notes


def test_peers_are_not_asked_about_interleaved_branches():
    """Pinocchio's sparse factor of the mass matrix is wrong then, and says nothing; MuJoCo orders joints otherwise."""
    pytest.importorskip("pinocchio", exc_type=ImportError)
    arm = sarrus.attach(zoo.chain(2), zoo.chain(1), "world", prefix="other_")
    both = sarrus.attach(arm, zoo.chain(1), "tip", prefix="hand_")
    _, notes = compared(both, "crba")
    assert "Pinocchio: it needs the bodies of each branch to be numbered one after the other" in notes
    assert "MuJoCo: it has other joints, or in another order: it numbers them branch by branch" in notes


@pytest.mark.parametrize(
    ("method", "name"), [("aba", "mj_forward"), ("bias_forces", "mj_rne"), ("crba", "mj_fullM"), ("rnea", "mj_inverse")]
)
def test_mujoco_on_a_robot_of_no_file(method, name, humanoid):
    """In its coordinates, free joints move otherwise: nothing would agree if these were not converted."""
    peers, notes = compared(humanoid, method)
    assert f"MuJoCo ({name})" in peers, notes


def test_another_inertia_in_mujoco_is_a_note():
    """`to_mjcf` writes what MuJoCo accepts, which is another robot here."""
    text = """
    <robot name="thin"><link name="base"/>
      <link name="arm"><inertial><mass value="1"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.5" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="1 0 0"/></joint>
    </robot>"""
    peers, notes = compared(sarrus.load_urdf(text, allow_nonphysical=True), "crba")
    assert not any("MuJoCo" in peer for peer in peers)
    assert any("MuJoCo (mj_fullM) (M) disagrees with Sarrus" in n and "more about every axis" in n for n in notes)


def test_a_peer_that_disagrees_is_an_error(monkeypatch):
    def wrong(model, method, arrays, options):
        return [Peer("Oracle", lambda: None, None, {"M": np.eye(model.nv)})]

    monkeypatch.setattr(bench, "peers", wrong)
    with pytest.raises(UnsupportedError, match=r"Oracle \(M\) disagrees with Sarrus by"):
        compared(zoo.chain(2), "crba")
