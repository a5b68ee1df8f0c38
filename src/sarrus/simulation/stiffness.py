"""Whether springs, dampers and servos of joints are too stiff for steps that look only at where they begin.

A spring k or a damper d on an inertia m makes such steps unstable from dt^2 k = 4 m, or dt d = 2 m on; already at a
fraction of that they are wrong by a lot. Then the integrator `implicit` looks at where the step ends. (What stays
explicit nevertheless: `stable_steps.py`.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.model.model import Model
from sarrus.simulation.actuation import actuated
from sarrus.simulation.controllers import AbstractController
from sarrus.simulation.joint_forces import JointForces, inverse_inertias, joint_property
from sarrus.spatial.arrays import Array

_STIFF_SPRING, _STIFF_DAMPER = 0.2, 0.2  # dt^2 k / m, dt d / m


def stiff_joints(model: Model, which: JointForces, controllers: Sequence[AbstractController], dt: float) -> list[str]:
    """Joints whose springs, dampers or servos are stiff for steps of this size, the stiffest first, in words."""
    if not model.is_numeric or model.ill_posed:
        return []
    springs, dampers = (
        np.array(joint_property(model, name)) * acts
        for name, acts in (("stiffness", which.stiffness), ("damping", which.damping))
    )
    kp, kd = _gains(model, controllers)
    return _stiff(model, springs + kp, dampers + kd, dt)


def _gains(model: Model, controllers: Sequence[AbstractController]) -> tuple[Array, Array]:
    """(nv,) and (nv,): of all servos together, those of the file's actuators included."""
    kp, kd = np.zeros(model.nv), np.zeros(model.nv)
    for controller in (*controllers, *([actuated(model, np.zeros(model.nu))] if model.actuators else [])):
        more_kp, more_kd = controller.gains(model)
        kp, kd = kp + more_kp, kd + more_kd
    return kp, kd


def _stiff(model: Model, springs: Array, dampers: Array, dt: float) -> list[str]:
    """Joints for which dt^2 k / m or dt d / m are too large, the stiffest first, in words."""
    if not (springs.any() or dampers.any()):
        return []
    mobility = np.max([np.diag(inverse) for inverse in inverse_inertias(model)], axis=0)
    of_springs, of_dampers = dt**2 * springs * mobility, dt * dampers * mobility
    excess = np.maximum(of_springs / _STIFF_SPRING, of_dampers / _STIFF_DAMPER)
    found = []
    for k in np.argsort(-excess):
        if excess[k] <= 1.0:
            break
        name = next(name for name in model.joint_names if k in range(model.nv)[model.layout.v_of(name)])
        found.append(f"{name} (dt^2 k / m = {of_springs[k]:.2g}, dt d / m = {of_dampers[k]:.2g})")
    return list(dict.fromkeys(found))
