"""Spatial algebra on floats and symbols, against plain 6x6 matrices."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sarrus.codegen.tape.graph import Graph
from sarrus.codegen.tape.interpret import run
from sarrus.codegen.tape.tape import Port, tape_of
from sarrus.spatial.arrays import as_field, is_numeric, matrix, vector
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.linear_algebra import ldl, ldl_solve, subtract_product
from sarrus.spatial.parameter import Parameter, is_casadi
from sarrus.spatial.rotations import (
    conjugate,
    cross,
    displacement_screw,
    exp_quaternion,
    log_quaternion,
    multiply_quaternions,
    quaternion_from_rotation,
    rotate_by_quaternion,
    rotation_about,
    rotation_from_quaternion,
    rotation_from_rpy,
    screw_displacement,
    skew,
)
from sarrus.spatial.stages import current_stage, stage
from sarrus.spatial.transforms import Dense, Shift, Transform, Turn, pose

rng = np.random.default_rng(0)
C, S = np.cos(0.7), np.sin(0.7)
TRANSFORMS = {
    "nothing": Transform(),
    "turn x": Transform((Turn(0, C, S),)),
    "turn y": Transform((Turn(1, C, S),)),
    "turn z": Transform((Turn(2, C, S),)),
    "dense": Transform((Dense(rotation_from_rpy(0.1, 0.2, 0.3)),)),
    "shift": Transform((Shift(np.array([1.0, 2.0, 3.0])),)),
    "all": Transform(
        (Turn(0, C, S), Shift(np.array([0.1, 0.2, 0.3])), Dense(rotation_from_rpy(1, 2, 3)), Turn(2, S, C))
    ),
    "pose": pose(rotation_from_rpy(0.4, 0.5, 0.6), np.array([0.3, -0.2, 0.1])),
}


def six(X: Transform) -> np.ndarray:
    """The 6x6 matrix of a transform, for motions from parent to child."""
    E = X.R.T
    return np.block([[E, -E @ skew(X.p)], [np.zeros((3, 3)), E]])


def symmetric(n: int) -> np.ndarray:
    A = rng.normal(size=(n, n))
    return A + A.T


@pytest.mark.parametrize("name", TRANSFORMS)
class TestTransforms:
    def test_pose_is_the_product_of_the_factors(self, name):
        X = TRANSFORMS[name]
        R, p = np.eye(3), np.zeros(3)
        for factor in X.factors:
            one = Transform((factor,))
            R, p = R @ one.R, p + R @ one.p
        assert np.allclose(X.R, R, atol=1e-15)
        assert np.allclose(X.p, p, atol=1e-15)
        assert np.allclose(X.R @ X.R.T, np.eye(3), atol=1e-15)

    def test_motions_and_forces(self, name):
        X, m, f = TRANSFORMS[name], rng.normal(size=6), rng.normal(size=6)
        assert np.allclose(X.apply(m), six(X) @ m, atol=1e-14)
        assert np.allclose(X.apply_T(f), six(X).T @ f, atol=1e-14)
        assert np.isclose(f @ X.apply(m), X.apply_T(f) @ m)  # power does not depend on the frame

    def test_congruence(self, name):
        X, H = TRANSFORMS[name], symmetric(6)
        got = X.congruence(H)
        assert np.allclose(got, six(X).T @ H @ six(X), atol=1e-13)
        assert np.array_equal(got, got.T) or np.allclose(got, got.T, atol=1e-15)

    def test_directions_and_points(self, name):
        X, x = TRANSFORMS[name], rng.normal(size=3)
        assert np.allclose(X.rotate_T(X.rotate(x)), x)
        assert np.allclose(X.point(x), X.R @ x + X.p)

    def test_inverse(self, name):
        X = TRANSFORMS[name]
        both = X @ X.inverse()
        assert np.allclose(both.R, np.eye(3), atol=1e-15)
        assert np.allclose(both.p, 0.0, atol=1e-14)

    def test_inertia_moves_like_its_matrix(self, name):
        X = TRANSFORMS[name]
        body = Inertia.from_com(2.0, np.array([0.1, 0.2, -0.3]), np.diag([0.3, 0.4, 0.5]))
        assert np.allclose(body.transformed(X).matrix(), X.congruence(body.matrix()), atol=1e-14)


def test_pose_drops_what_is_identity():
    assert pose(np.eye(3), np.zeros(3)).factors == ()
    assert len(pose(np.eye(3), np.ones(3)).factors) == 1


def test_inertia_is_that_of_its_points():
    r, m = rng.normal(size=(5, 3)), rng.uniform(1, 2, size=5)
    com = m @ r / m.sum()
    Ic = sum(k * -skew(x - com) @ skew(x - com) for k, x in zip(m, r, strict=True))
    body = Inertia.from_com(m.sum(), com, Ic)
    assert np.allclose(body.Sigma, np.einsum("k,ki,kj", m, r, r))
    assert np.allclose(body.Io, sum(k * -skew(x) @ skew(x) for k, x in zip(m, r, strict=True)))
    v, w, alpha, a = rng.normal(size=(4, 3))
    p = [k * (v + np.cross(w, x)) for k, x in zip(m, r, strict=True)]
    assert np.allclose(body.momentum(np.concatenate([v, w])), np.concatenate([sum(p), sum(map(np.cross, r, p))]))
    assert np.allclose(body.matrix() @ np.concatenate([v, w]), body.momentum(np.concatenate([v, w])))
    Gamma = skew(alpha) + skew(w) @ skew(w)
    f = [k * (a + Gamma @ x) for k, x in zip(m, r, strict=True)]
    assert np.allclose(body.force(Gamma, a), np.concatenate([sum(f), sum(map(np.cross, r, f))]))


def test_inertias_add_and_subtract():
    a, b = (Inertia.from_com(m, np.ones(3) * m, np.eye(3)) for m in (1.0, 2.0))
    assert np.allclose((a + b).matrix(), a.matrix() + b.matrix())
    assert np.allclose((a + b - b).matrix(), a.matrix())
    assert Inertia.zero().is_zero
    assert not a.is_zero
    assert not Inertia(Parameter(ca.SX.sym("m")), np.zeros(3), np.zeros((3, 3))).is_zero


# --- rotations -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", range(20))
def test_quaternions_and_matrices(k):
    x = Rotation.random(random_state=k)
    assert np.allclose(rotation_from_quaternion(x.as_quat()), x.as_matrix(), atol=1e-14)
    back = quaternion_from_rotation(x.as_matrix())
    assert back[3] >= 0.0
    assert np.allclose(rotation_from_quaternion(back), x.as_matrix(), atol=1e-14)
    y = Rotation.random(random_state=k + 100)
    assert np.allclose(
        rotation_from_quaternion(multiply_quaternions(x.as_quat(), y.as_quat())), (x * y).as_matrix(), atol=1e-14
    )
    assert np.allclose(multiply_quaternions(x.as_quat(), conjugate(x.as_quat())), [0, 0, 0, 1], atol=1e-15)
    v = np.array([0.1, 0.2, 0.3])
    assert np.allclose(rotate_by_quaternion(x.as_quat(), v), x.apply(v), atol=1e-15)


@pytest.mark.parametrize("half_turn", [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0.6, 0.8, 0, 0)])
def test_quaternion_of_half_turns(half_turn):
    R = rotation_from_quaternion(np.array(half_turn, float))
    assert np.allclose(rotation_from_quaternion(quaternion_from_rotation(R)), R, atol=1e-15)


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-13, 1e-8, 1e-3, 0.5, 3.0, np.pi])
def test_exp_and_log(angle):
    phi = angle * np.array([0.48, -0.6, 0.64])
    q = exp_quaternion(phi)
    assert np.allclose(rotation_from_quaternion(q), Rotation.from_rotvec(phi).as_matrix(), atol=1e-15)
    assert np.allclose(log_quaternion(q), phi, rtol=1e-14, atol=0.0)
    assert np.allclose(log_quaternion(-q), phi, rtol=1e-14, atol=0.0)  # the same rotation


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-5, 0.01, 1.0, 3.0, np.pi])
def test_a_screw_leads_where_the_mean_rotation_says_and_back(angle):
    """By Gauss quadrature of the definition."""
    phi, linear = angle * np.array([0.48, -0.6, 0.64]), np.array([0.3, 0.2, -0.7])
    x, w = np.polynomial.legendre.leggauss(20)
    mean = sum(0.5 * wk * Rotation.from_rotvec(0.5 * (xk + 1) * phi).as_matrix() for xk, wk in zip(x, w, strict=True))
    displacement = screw_displacement(linear, phi)
    assert np.allclose(displacement, mean @ linear, rtol=0.0, atol=2e-15)
    assert np.allclose(displacement_screw(displacement, phi), linear, rtol=0.0, atol=4e-15)


def test_rotation_about_and_rpy():
    assert np.allclose(rotation_about(np.array([0.6, 0.0, 0.8]), 0.5), Rotation.from_rotvec([0.3, 0, 0.4]).as_matrix())
    assert np.allclose(rotation_from_rpy(0.1, 0.2, 0.3), Rotation.from_euler("xyz", [0.1, 0.2, 0.3]).as_matrix())
    a, b = rng.normal(size=(2, 3))
    assert np.allclose(cross(a, b), np.cross(a, b))
    assert np.allclose(skew(a) @ b, np.cross(a, b))


# --- linear algebra ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 3, 6])
def test_ldl(n):
    A = rng.normal(size=(n, n + 2))
    A = A @ A.T
    factor = ldl(A)
    assert np.allclose(factor.L @ np.diag(1.0 / factor.d_inv) @ factor.L.T, A)
    assert np.allclose(factor.L, np.tril(factor.L))
    b = rng.normal(size=(n, 2))
    assert np.allclose(A @ ldl_solve(factor, b), b)
    assert np.allclose(A @ ldl_solve(factor, b[:, 0]), b[:, 0])


def test_subtract_product():
    H, U = symmetric(6), rng.normal(size=(6, 2))
    assert np.allclose(subtract_product(H, U, U), H - U @ U.T)


@pytest.mark.parametrize("dtype", [float, object])
def test_nothing_is_left_along_a_joint_that_gives_way(dtype):
    """H - U D^-1 U^T with U = H S: zero in the rows of S, exactly; elsewhere what it is."""
    A = rng.normal(size=(6, 6))
    H = A @ A.T
    U = H[:, [1, 4]].astype(dtype)
    D = ldl(U[[1, 4]])
    got = subtract_product(H.astype(dtype), ldl_solve(D, U.T).T, U)
    assert not got[[1, 4]].any()
    assert not got[:, [1, 4]].any()
    expected = H - H[:, [1, 4]] @ np.linalg.solve(H[np.ix_([1, 4], [1, 4])], H[[1, 4]])
    assert np.allclose(got.astype(float), expected)


# --- symbols -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_same_text_on_symbols(name):
    """Traced on a matrix of symbols and evaluated, the result is that on floats."""
    X, H, m = TRANSFORMS[name], symmetric(6), rng.normal(size=6)
    g = Graph()
    a, A = g.inputs(0, 6), g.inputs(1, 36).reshape(6, 6)
    lower = np.tril_indices(6, -1)
    A[lower] = A.T[lower]
    tape = tape_of(g, (Port("m", (6,)), Port("H", (6, 6))), {"a": X.apply(a), "f": X.apply_T(a), "H": X.congruence(A)})
    motion, force, moved = run(tape, [m, H.ravel()])
    assert np.allclose(motion, X.apply(m))
    assert np.allclose(force, X.apply_T(m))
    assert np.allclose(np.reshape(moved, (6, 6)), X.congruence(H))


def test_arrays_of_numbers_are_float_and_of_symbols_are_not():
    assert is_numeric(vector(1, 2.0, np.float64(3)))
    assert is_numeric(matrix([[1, 2], [3, 4]]))
    assert not is_numeric(vector(1.0, Parameter(ca.SX.sym("x"))))
    assert is_casadi(ca.SX(1))
    assert is_casadi(ca.DM(1))
    assert not is_casadi(np.zeros(1))


def test_fields_take_numbers_and_symbols_in_any_mixture():
    x = ca.SX.sym("x")
    field = as_field([1.0, x, np.array([2.0])], (3,))
    assert field[0] == 1.0
    assert isinstance(field[1], Parameter)
    assert not field.flags.writeable
    A = as_field(ca.horzcat(ca.SX([1, 2]), ca.vertcat(x, 4)), (2, 2))  # CasADi counts down columns, NumPy along rows
    assert (A[0, 0], A[1, 0], A[1, 1]) == (1.0, 2.0, 4.0)
    assert repr(A[0, 1]) == "Parameter(x)"


def test_parameters_calculate():
    x = ca.SX.sym("x")
    p = Parameter(x)
    expressions = {
        "p + 1": p + 1, "1 + p": 1 + p, "p - 1": p - 1, "1 - p": 1 - p, "2 * p": 2 * p, "p * p": p * p, "p / 2": p / 2,
        "2 / p": 2 / p, "-p": -p, "np.sin(p)": p.sin(), "np.cos(p)": p.cos(), "np.sqrt(p)": p.sqrt(),
    }  # fmt: skip
    for text, got in expressions.items():
        value = float(ca.Function("f", [x], [got.expression])(0.7))
        assert value == pytest.approx(eval(text, {"p": 0.7, "np": np}), rel=1e-15), text
    assert isinstance(p - p, float)  # constants become numbers, so that they fold
    assert p * 0.0 == 0.0
    with pytest.raises(TypeError):
        p + "a"


def test_stages_nest_and_close_on_errors():
    assert current_stage() == "other"
    with stage("outer"):
        with stage("inner"):
            assert current_stage() == "inner"
        assert current_stage() == "outer"
    with pytest.raises(RuntimeError), stage("broken"):
        raise RuntimeError
    assert current_stage() == "other"
