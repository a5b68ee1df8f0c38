"""Masses and inertias of a geared arm, identified from motor torques measured along a motion.

What you learn
- Motor torques are linear in the inertial parameters of all bodies, rotors included: `ce_inverse_dynamics_regressor`
  gives the matrix on the motors' side of the gears.
- Not all parameters can be identified: `base_parameters` names the combinations that can.
- Plain least squares fits the torques with impossible inertias. In log-Cholesky coordinates (`physical_parameters`)
  every answer belongs to a body that could exist, and whatever the data cannot tell stays near the CAD drawing.
"""

from __future__ import annotations

import contextlib

import numpy as np
from rich.console import Console

import sarrus

LINKS, RATIO, NOISE = 3, 8.0, 5e-3  # Nm at the motors
MOTORS = tuple(f"rotor{k}_joint" for k in range(LINKS))
SPREAD = 0.3  # of the parameters around the drawing, where the data says nothing


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    rng = np.random.default_rng(0)
    drawing = geared_arm()
    theta0 = np.array([sarrus.log_cholesky(x) for x in sarrus.inertial_parameters(drawing).reshape(-1, 10)])
    truth = sarrus.with_inertial_parameters(
        drawing, sarrus.physical_parameters(theta0 + 0.15 * rng.normal(size=theta0.shape)).reshape(-1)
    )
    base = sarrus.base_parameters(drawing, MOTORS)
    console.print(f"{10 * drawing.nb} parameters; torques depend on {len(base.names)} sums, e.g. {base.names[-1]}")
    Y, tau = measured(truth, 1, rng)
    plain = np.linalg.lstsq(Y, tau, rcond=1e-10)[0]
    impossible = sum(not is_physical(x) for x in plain.reshape(-1, 10))
    console.print(f"least squares: the parameters of {impossible} of {drawing.nb} bodies are physically impossible")
    theta = fitted(Y, tau, theta0, console)
    found = sarrus.with_inertial_parameters(drawing, sarrus.physical_parameters(theta).reshape(-1))
    Y_new, tau_new = measured(truth, 2, rng)  # another motion
    for what, model in (("drawing", drawing), ("identified", found), ("truth", truth)):
        error = Y_new @ sarrus.inertial_parameters(model) - tau_new
        console.print(f"{what:10}: predicts the torques of another motion to {np.sqrt(np.mean(error**2)):.4f} Nm")
    exact, drawn, got = (base.matrix @ sarrus.inertial_parameters(model) for model in (truth, drawing, found))
    improved = np.linalg.norm(got - exact) / np.linalg.norm(drawn - exact)
    console.print(f"the error of the identifiable parameters is {100 * improved:.2f} % of the drawing's error")
    assert improved < 0.1


def geared_arm() -> sarrus.Model:
    """Links that turn about different axes, each driven by a rotor on the link before it, through a gear."""
    builder, parent = sarrus.ModelBuilder("geared_arm"), "world"
    gears = []
    for k in range(LINKS):
        axis = np.eye(3)[(1, 1, 0)[k]]
        at = (0.0, 0.0, 0.3 if k else 0.1)
        builder.add_body(f"rotor{k}", parent, axis=axis, position=at, mass=0.4, inertia=np.diag([2e-4, 2e-4, 2e-4]))
        builder.add_body(
            f"link{k}", parent, axis=axis, position=at, mass=2.0 - 0.5 * k, com=(0.02, 0.01, 0.15),
            inertia=np.diag([0.02, 0.02, 0.004]),
        )  # fmt: skip
        gears.append(sarrus.coupling({f"rotor{k}_joint": 1.0, f"link{k}_joint": -RATIO}, name=f"gear{k}"))
        parent = f"link{k}"
    return sarrus.embed(builder.build().with_constraints(*gears))


def measured(model: sarrus.Model, seed: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Ten seconds of a motion: the regressor on the motors (3 T, 10 nb), and their torques (3 T,), with noise."""
    t, draw = np.linspace(0.0, 10.0, 400)[:, None, None], np.random.default_rng(seed)
    size, phase = draw.uniform(0.2, 0.6, (2, LINKS, 4))
    rate = np.arange(1, 5) * 2.0 * np.pi / 5.0
    wave = rate * t + 6.0 * phase
    parts = [size * np.sin(wave), size * rate * np.cos(wave), -size * rate**2 * np.sin(wave)]
    along = [model.layout.v_of(f"{what}{k}_joint").start for k in range(LINKS) for what in ("link", "rotor")]
    q, v, a = (np.zeros((400, model.nv)) for _ in range(3))
    for x, part in zip((q, v, a), parts, strict=True):
        x[:, along] = np.repeat(part.sum(axis=2), 2, axis=1) * np.tile([1.0, RATIO], LINKS)
    Y = sarrus.ce_inverse_dynamics_regressor(model, q, v, a, motors=MOTORS).motors.reshape(-1, 10 * model.nb)
    exact = sarrus.ce_rnea(model, q, v, a, motors=MOTORS).motors.reshape(-1)
    return Y, exact + NOISE * rng.normal(size=len(exact))


def is_physical(pi: np.ndarray) -> bool:
    with contextlib.suppress(sarrus.errors.ModelError):
        return bool(len(sarrus.log_cholesky(pi)))
    return False


def fitted(Y: np.ndarray, tau: np.ndarray, theta0: np.ndarray, console: Console) -> np.ndarray:
    """Levenberg-Marquardt in log-Cholesky coordinates, near the drawing where the data says nothing."""

    def residual(theta: np.ndarray) -> np.ndarray:
        misfit = tau - Y @ sarrus.physical_parameters(theta).reshape(-1)
        return np.concatenate([misfit / NOISE, (theta0 - theta).reshape(-1) / SPREAD])

    theta, damping, steps = theta0, 1.0, 1e-6 * np.eye(theta0.size).reshape(-1, *theta0.shape)
    for _ in range(60):
        r = residual(theta)
        J = np.stack([(residual(theta - step) - residual(theta + step)) / 2e-6 for step in steps], axis=1)
        new = theta + np.linalg.solve(J.T @ J + damping * np.eye(len(steps)), J.T @ r).reshape(theta.shape)
        better = np.linalg.norm(residual(new)) < np.linalg.norm(r)
        theta, damping = (new, damping / 5.0) if better else (theta, damping * 5.0)
    misfit = NOISE * residual(theta)[: len(tau)]
    console.print(f"log-Cholesky: fits the torques to {np.sqrt(np.mean(misfit**2)):.4f} Nm; the noise is {NOISE:g} Nm")
    return theta


if __name__ == "__main__":
    main()
