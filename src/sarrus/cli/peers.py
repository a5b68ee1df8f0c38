"""The same algorithm by Pinocchio and MuJoCo, where they are installed and have one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sarrus.cli.pinocchio_methods import OF_TREES, add_frame
from sarrus.cli.pinocchio_twin import in_columns, pinocchio_constraints, pinocchio_twin
from sarrus.errors import UnsupportedError
from sarrus.importers.document import read_document
from sarrus.importers.load import example_robot
from sarrus.importers.mjcf import compile_mjcf
from sarrus.importers.mujoco_state import from_mujoco_state, to_mujoco_state
from sarrus.model.model import Model
from sarrus.registry.table import find

_DERIVATIVES = {"aba_derivatives": "computeABADerivatives", "rnea_derivatives": "computeRNEADerivatives"}
_IN_PARALLEL = {"aba": "abaInParallel", "rnea": "rneaInParallel"}
_ACCURACY = 1e-8  # that Pinocchio's proximal methods are asked for
_MU = {"constraintDynamics": 1e-8, "lcaba": 1e-4}  # its regularisation, at which each is right to 1e-6


class Peer(NamedTuple):
    """`single()` computes state 0 and returns it; `batch()` computes all states (None: it has no batch call)."""

    name: str
    single: Callable[[], Any]
    batch: Callable[[], Any] | None
    first: dict[str, np.ndarray]  # the peer's results for state 0, by the names of our outputs, to validate against
    agreement: float = 1e-9  # relative: how well they must agree

    @property
    def is_exact(self) -> bool:
        """Whether it must agree, or else something is wrong; iterated methods fail at some states."""
        return self.agreement <= 1e-9


def robot_file(robot: str) -> Path | None:
    """The file behind a robot argument, if it is one."""
    kind, _, rest = robot.partition(":")
    if kind == "example":
        return example_robot(rest)
    path = Path(robot)
    return path if kind != "zoo" and path.is_file() else None


def pinocchio_peers(
    model: Model, method: str, arrays: list[np.ndarray], options: dict[str, Any] | None = None
) -> list[Peer | str]:
    """Pinocchio on the same robot and states, every method of it that computes the same, or why there is none."""
    constrained = find(method).output_names[:2] == ("qdd", "forces")  # derivatives among them
    if method not in ("aba", "rnea", "crba", *_DERIVATIVES, *OF_TREES) and not (
        constrained and model.active_constraints
    ):
        return [f"Pinocchio: no counterpart of {method}{' without constraints' if constrained else ''}"]
    try:
        import pinocchio  # noqa: F401
    except ImportError:
        return ["Pinocchio: not installed (pip install pin)"]
    try:
        twin = pinocchio_twin(model)
        if method == "forward_dynamics_derivatives":
            return [_constrained_derivatives(twin, model, arrays)]
        if constrained:
            return [_constrained(twin, model, name, arrays) for name in _MU]
        if method in OF_TREES:
            return [_of_kinematics(twin, model, method, arrays, options or {})]
    except UnsupportedError as error:
        return [f"Pinocchio: {error}"]
    return [_derivatives(twin, method, arrays) if method in _DERIVATIVES else _of_a_tree(twin, method, arrays)]


def _of_a_tree(twin: Any, method: str, arrays: list[np.ndarray]) -> Peer:
    import pinocchio as pin

    first = [np.ascontiguousarray(x[0]) for x in arrays]
    single, batch = partial(getattr(pin, method), twin, twin.createData(), *first), None
    if method in _IN_PARALLEL and hasattr(pin, "ModelPool"):
        columns = [in_columns(x) for x in arrays]
        out = np.zeros_like(columns[1])
        batch = partial(getattr(pin, _IN_PARALLEL[method]), 1, pin.ModelPool(twin, 1), *columns, out)
    reference = np.array(single())
    if method == "crba":
        reference = np.triu(reference) + np.triu(reference, 1).T
    return Peer("Pinocchio", single, batch, {find(method).output_names[0]: reference})


def _of_kinematics(twin: Any, model: Model, method: str, arrays: list[np.ndarray], options: dict[str, Any]) -> Peer:
    first = [np.ascontiguousarray(x[0]) for x in arrays]
    frame = [add_frame(twin, model, options["frame"])] if "frame" in options else []
    single = partial(OF_TREES[method], twin, twin.createData(), *first, *frame)
    found = single()
    values = found if isinstance(found, tuple) else (found,)
    return Peer("Pinocchio", single, None, dict(zip(find(method).output_names, map(np.array, values), strict=False)))


def _derivatives(twin: Any, method: str, arrays: list[np.ndarray]) -> Peer:
    """Of forward or inverse dynamics, in the order of our results."""
    import pinocchio as pin

    data = twin.createData()
    q, v, x = (np.ascontiguousarray(a[0]) for a in arrays[:3])
    single = partial(getattr(pin, _DERIVATIVES[method]), twin, data, q, v, x)
    by = [np.array(part) for part in single()]
    by[2] = np.triu(by[2]) + np.triu(by[2], 1).T  # Pinocchio fills half of what is symmetric
    value = pin.aba(twin, twin.createData(), q, v, x) if method == "aba_derivatives" else data.tau
    return Peer("Pinocchio", single, None, dict(zip(find(method).output_names, [np.array(value), *by], strict=True)))


def _constrained(twin: Any, model: Model, name: str, arrays: list[np.ndarray]) -> Peer | str:
    """Constrained forward dynamics, to about our accuracy."""
    import pinocchio as pin

    if not hasattr(pin, name):
        return f"Pinocchio {pin.__version__} has no {name}"
    models, datas = pinocchio_constraints(model, twin)
    data = twin.createData()
    if name == "lcaba":
        pin.computeJointMinimalOrdering(twin, data, models)
    else:
        pin.initConstraintDynamics(twin, data, models, datas)
    settings = pin.ProximalSettings(_ACCURACY, _MU[name], 20)
    first = [np.ascontiguousarray(x[0]) for x in arrays[:3]]
    single = partial(getattr(pin, name), twin, data, *first, models, datas, settings)
    return Peer(f"Pinocchio {name}", single, None, {"qdd": np.array(single())}, agreement=1e-5)


def _constrained_derivatives(twin: Any, model: Model, arrays: list[np.ndarray]) -> Peer:
    """Of accelerations with respect to q, v and tau, at the solution of `constraintDynamics`."""
    import pinocchio as pin

    models, datas = pinocchio_constraints(model, twin)
    data, settings = twin.createData(), pin.ProximalSettings(1e-12, 0.0, 1)
    pin.initConstraintDynamics(twin, data, models, datas)
    first = [np.ascontiguousarray(x[0]) for x in arrays[:3]]

    def single() -> Any:
        pin.constraintDynamics(twin, data, *first, models, datas, settings)
        return pin.computeConstraintDynamicsDerivatives(twin, data, models, datas, settings)

    by = [np.array(part) for part in single()[:3]]
    results: dict[str, np.ndarray] = {"qdd": np.array(data.ddq)}
    results |= {f"dqdd_d{name}": part for name, part in zip(("q", "v", "tau"), by, strict=True)}
    return Peer("Pinocchio constraintDynamics and derivatives", single, None, results, agreement=1e-6)


def mujoco_peer(robot: str, model: Model, method: str, arrays: list[np.ndarray]) -> Peer | str:
    """MuJoCo's forward dynamics of the bare tree on the same states, or why not."""
    path = robot_file(robot)
    if method != "aba":
        return f"MuJoCo: no counterpart of {method}"
    if path is None or path.suffix != ".xml":
        return "MuJoCo: it can only be compared on an MJCF file"
    import mujoco

    built, _ = compile_mjcf(read_document(path), allow_outside=True)
    flags = mujoco.mjtDisableBit
    built.opt.disableflags |= flags.mjDSBL_CONSTRAINT | flags.mjDSBL_CONTACT | flags.mjDSBL_ACTUATION
    built.dof_damping[:] = 0.0
    built.jnt_stiffness[:] = 0.0
    data = mujoco.MjData(built)
    q, v, tau = (x[0] for x in arrays)
    data.qpos[:], data.qvel[:] = to_mujoco_state(model, q, v)
    _, data.qfrc_applied[:] = to_mujoco_state(model, q, tau)  # forces turn as velocities do

    def single() -> Any:
        mujoco.mj_forward(built, data)
        return data.qacc

    single()
    _, first = from_mujoco_state(model, data.qpos, data.qacc)
    for body, s in zip(model.bodies, model.layout.v, strict=True):
        if body.joint.type.name == "free":  # as a spatial acceleration
            first[s][:3] -= np.cross(v[s][3:], v[s][:3])
    return Peer("MuJoCo (mj_forward)", single, None, {"qdd": first})
