"""A five-bar moves its tool with the least effort: trajectory optimisation with IPOPT, dynamics in native code.

What you learn
- `sarrus.casadi.external` is a `casadi.Function` that runs a kernel and brings its own Jacobian: CasADi expressions and
  IPOPT use it like any other.
- `kernel.to_casadi()` is the same function as an expression, which CasADi differentiates and interprets itself.
- Loops are part of the dynamics: torques of two motors in, accelerations of all joints out, and the loop stays closed.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rich.console import Console

import sarrus

try:
    import casadi as ca
except ImportError:
    raise SystemExit("this example needs CasADi: pip install casadi") from None

STEPS, DT = 40, 0.01
DRIVEN = ("left_crank_joint", "right_crank_joint")
METHOD = "lcaba"
SETTINGS = {
    "ipopt.hessian_approximation": "limited-memory", "ipopt.print_level": 0, "print_time": 0, "ipopt.sb": "yes",
    "ipopt.max_iter": 300, "ipopt.tol": 1e-6,
}  # fmt: skip


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    model = sarrus.zoo.five_bar()
    start = sarrus.neutral(model)
    goal = sarrus.forward_kinematics(model, start, frames=("tool",)).position[0] + np.array([0.05, 0.0, -0.03])
    tool = sarrus.compile(model, "forward_kinematics", frames=("tool",)).to_casadi()
    console.print(f"{model.name}: {STEPS} steps of {DT:g} s; the tool goes to {goal.round(3)} m and stops there")
    found = {}
    for name, dynamics in ways(model).items():
        solver, problem = transcribed(model, dynamics, tool, start, goal)
        began = time.perf_counter()
        solution = solver(**problem)
        seconds = time.perf_counter() - began
        said = solver.stats()
        found[name] = seconds, said["iter_count"], np.array(solution["x"]).ravel()
        evaluations = sum(x for key, x in said.items() if key.startswith("t_wall_nlp_"))
        console.print(
            f"{name:<11} {seconds:6.2f} s, {evaluations:6.2f} s of it in functions; {said['iter_count']} iterations, "
            f"effort {float(solution['f']):.3f}, {said['return_status']}"
        )
    (slow, _, a), (fast, _, b) = found["expression"], found["external"]
    console.print(f"native code is {slow / fast:.1f} times as fast; solutions differ by {np.abs(a - b).max():.1e}")
    end = b.reshape(-1, 2 * model.nv + 2)[-1, : model.nq]
    reached = sarrus.forward_kinematics(model, end, frames=("tool",)).position[0]
    console.print(f"the tool is {1e3 * np.linalg.norm(reached - goal):.3f} mm from its goal")
    assert np.linalg.norm(reached - goal) < 1e-3


def ways(model: sarrus.Model) -> dict[str, Any]:
    """Accelerations of all joints: as an expression, and as native code."""
    return {
        "expression": sarrus.compile(model, METHOD).to_casadi(),
        "external": sarrus.casadi.external(model, METHOD),
    }


def transcribed(
    model: sarrus.Model, dynamics: Any, tool: Any, start: np.ndarray, goal: np.ndarray
) -> tuple[Any, dict[str, Any]]:
    """Least effort, with states and torques as variables and steps of semi-implicit Euler as constraints."""
    n = model.nv
    motors = np.zeros((n, 2))
    for k, name in enumerate(DRIVEN):
        motors[model.layout.v_of(name).start, k] = 1.0
    X = ca.MX.sym("X", 2 * n + 2, STEPS + 1)  # q, v and u of every step, the last u unused
    q, v, u = X[:n, :], X[n : 2 * n, :], X[2 * n :, :]
    qdd = dynamics.map(STEPS)(q[:, :-1], v[:, :-1], motors @ u[:, :-1])[0]
    new = v[:, :-1] + DT * qdd
    defects = ca.vertcat(v[:, 1:] - new, (q[:, 1:] - q[:, :-1]) / DT - new)
    at_end = ca.vertcat(
        tool(q[:, -1])[1].T[::2], motors.T @ v[:, -1]
    )  # x and z of the tool, and the motors: the loop does the rest
    cost = DT * ca.sumsqr(u)
    constraints = ca.vertcat(ca.vec(defects), q[:, 0] - start, v[:, 0], at_end)
    wanted = np.concatenate([np.zeros(2 * n * STEPS + 2 * n), goal[::2], np.zeros(2)])
    solver = ca.nlpsol("solver", "ipopt", {"x": ca.vec(X), "f": cost, "g": constraints}, SETTINGS)
    held = motors.T @ sarrus.gravity_forces(model, start)
    guess = np.tile(np.concatenate([start, np.zeros(n), held]), STEPS + 1)
    return solver, {"x0": guess, "lbg": wanted, "ubg": wanted}


if __name__ == "__main__":
    main()
