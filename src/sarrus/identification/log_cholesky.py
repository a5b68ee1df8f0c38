"""Physical inertial parameters, without constraints: the log-Cholesky parametrization.

A density of mass that is nowhere negative has a pseudo-inertia P = [[Sigma, h], [h^T, m]] that is positive definite,
and every such P belongs to one (Wensing, Kim and Slotine, 2018). P = U U^T with U upper triangular and a positive
diagonal, whose logarithms are taken, gives ten free numbers (Rucker and Wensing, 2022):

    U = e^alpha [ e^d1  s12   s13   t1 ]
                [  0    e^d2  s23   t2 ]
                [  0    0     e^d3  t3 ]
                [  0    0     0     1  ]        theta = (alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3)
"""

from __future__ import annotations

import numpy as np

from sarrus.errors import ModelError
from sarrus.identification.inertial_parameters import second_moment
from sarrus.spatial.arrays import Array


def physical_parameters(theta: Array) -> Array:
    """The parameters pi (..., 10) for unconstrained numbers theta (..., 10): always those of a possible mass density.

    theta    (10,) or (..., 10)
    returns  its shape: kg, kg m, kg m^2
    errors   none: every theta is valid

    >>> sarrus.physical_parameters(np.zeros(10)).shape
    (10,)
    """
    theta = np.asarray(theta, float)
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = np.moveaxis(theta, -1, 0)
    zero, one = np.zeros_like(alpha), np.ones_like(alpha)
    rows = [
        [np.exp(d1), s12, s13, t1],
        [zero, np.exp(d2), s23, t2],
        [zero, zero, np.exp(d3), t3],
        [zero, zero, zero, one],
    ]
    U = np.exp(alpha)[..., None, None] * np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    P = U @ U.swapaxes(-1, -2)
    xx, yy, zz = P[..., 0, 0], P[..., 1, 1], P[..., 2, 2]
    moments = [yy + zz, -P[..., 0, 1], xx + zz, -P[..., 0, 2], -P[..., 1, 2], xx + yy]
    return np.stack([P[..., 3, 3], *(P[..., k, 3] for k in range(3)), *moments], axis=-1)


def log_cholesky(pi: Array) -> Array:
    """The unconstrained numbers theta (10,) for the parameters (10,) of a body; an error if these are not physical.

    pi       (10,) in the order of `inertial_parameters`: kg, kg m, kg m^2
    returns  (10,)
    errors   `InertiaError`: no mass density has these parameters

    >>> pi = sarrus.inertial_parameters(sarrus.zoo.chain(1))
    >>> bool(np.allclose(sarrus.physical_parameters(sarrus.log_cholesky(pi)), pi))
    True
    """
    pi = np.asarray(pi, float)
    P = np.block([[second_moment(pi), pi[1:4, None]], [pi[1:4], pi[0]]])
    try:
        U = np.linalg.cholesky(P[::-1, ::-1])[::-1, ::-1]  # upper triangular, P = U U^T
    except np.linalg.LinAlgError:
        raise ModelError(f"no density of mass has the inertial parameters {pi.tolist()}") from None
    scale = U[3, 3]
    d = np.log(U.diagonal()[:3] / scale)
    return np.array([np.log(scale), *d, *(U[0, 1], U[1, 2], U[0, 2]) / scale, *U[:3, 3] / scale])
