"""The inertial parameters of a model as a vector, and a model with other ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.mechanics.body_regressors import PARAMETERS
from sarrus.model.model import Model
from sarrus.model.state import as_state_array
from sarrus.spatial.arrays import Array
from sarrus.spatial.inertia import Inertia


def parameter_names(model: Model) -> tuple[str, ...]:
    """(10 nb,): "m of upper_arm", "mx of upper_arm", ...

    returns  a name for each number of `inertial_parameters`

    >>> sarrus.parameter_names(sarrus.zoo.chain(1))[0]
    'm of link_0'
    """
    return tuple(f"{name} of {body.name}" for body in model.bodies for name in PARAMETERS)


def inertial_parameters(model: Model) -> Array:
    """pi (10 nb,): for each body m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz, in its frame and about its origin.

    The order is Pinocchio's (`Inertia.toDynamicParameters`); `inverse_dynamics_regressor` is to be multiplied by pi.

    returns  (10 nb,): kg, kg m, kg m^2

    >>> sarrus.inertial_parameters(sarrus.zoo.chain(2)).shape
    (20,)
    """
    if not model.is_numeric:
        raise UnsupportedError(f"{model.name!r} contains symbols, so its inertial parameters are not numbers")
    return np.concatenate([np.zeros(0), *(_of_inertia(body.inertia) for body in model.bodies)])


def with_inertial_parameters(model: Model, parameters: Any) -> Model:
    """The same robot with other inertial parameters (10 nb,). Whether they are physical is not checked.

    parameters  (10 nb,) in the order of `inertial_parameters`: kg, kg m, kg m^2
    returns     a `Model`
    errors      `StateError`: the wrong number of parameters

    >>> arm = sarrus.zoo.chain(2)
    >>> heavier = sarrus.with_inertial_parameters(arm, 2.0 * sarrus.inertial_parameters(arm))
    >>> bool(np.isclose(heavier.mass, 2.0 * arm.mass))
    True
    """
    pi = as_state_array("parameters", parameters, 10 * model.nb)
    if pi.ndim != 1:
        raise UnsupportedError(f"parameters: expected shape ({10 * model.nb},), got {pi.shape}")
    bodies = (replace(body, inertia=_inertia(x)) for body, x in zip(model.bodies, pi.reshape(-1, 10), strict=True))
    return replace(model, bodies=tuple(bodies))


def _of_inertia(inertia: Inertia) -> Array:
    Io = inertia.Io
    moments = Io[0, 0], Io[0, 1], Io[1, 1], Io[0, 2], Io[1, 2], Io[2, 2]
    return np.array([inertia.mass, *inertia.h, *moments], dtype=float)


def second_moment(pi: Array) -> Array:
    """Sigma (3, 3), the integral of r r^T dm, of the parameters (10,) of a body."""
    xx, xy, yy, xz, yz, zz = pi[4:]
    Io = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return 0.5 * np.trace(Io) * np.eye(3) - Io


def _inertia(pi: Array) -> Inertia:
    return Inertia(float(pi[0]), pi[1:4].copy(), second_moment(pi))
