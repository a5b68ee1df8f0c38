"""What arrays and options of algorithms are, by name: shape, unit and meaning, for `help` and the reference.

Sizes: nq coordinates, nv velocities, nb bodies, m rows of active constraints, ny independent velocities. A joint's unit
is the radian or the metre, its force's the newton metre or the newton. A batch has one more dimension, the first.
"""

from __future__ import annotations

ARRAYS = {
    "q": "(nq,) configuration: rad, m, unit quaternions xyzw",
    "v": "(nv,) joint velocities: rad/s, m/s",
    "a": "(nv,) joint accelerations: rad/s^2, m/s^2",
    "tau": "(nv,) joint forces: N m, N",
    "external_forces": "(nb, 6) on each body, in its frame, [force; moment about its origin]: N, N m; default: none",
    "k": "accelerations of the rows that were declared with k=\"input\", in order: m/s^2, rad/s^2; default: zero",
    "forces0": "(m,) forces of the last call, to start from: N, N m; default: zero",
    "rhs": "(m,) the vector to multiply, and to solve for",
    "held": "(nv,) 1 for joints that must not move and velocities that must not change, otherwise 0; default: zero",
    "near": "(nq,) selects one of several assemblies; default: the configuration that was found when embedding",
    "y": "(ny, and one more for each quaternion,) independent coordinates, in the order of the cluster tree: rad, m",
    "yd": "(ny,) independent velocities: rad/s, m/s",
    "ydd": "(ny,) independent accelerations: rad/s^2, m/s^2",
    "tau_y": "(ny,) forces on the independent velocities: N m, N",
}  # fmt: skip

OPTIONS = {
    "frame": "the name of a body or frame",
    "reference": "the point and the axes: \"local\", \"local_world_aligned\" or \"world\", as in `frame_velocity`",
    "tolerance": "for the residual and its change, relative to the accelerations that the rows see, and absolute",
    "max_iterations": "maximal number of solves, including the first",
    "rank_tolerance": "rows that are independent by less than this (a relative singular value) count as dependent",
    "mu": "penalty of all rows, large is stiff; default: chosen from the mechanism",
    "fallback": "the method for states that this one cannot solve; None: the status reports them",
    "weight": "R^-1 for constraints that were declared without a softness R of their own",
    "motors": "what is actuated: names of joints, and of embedded loop closures whose joint turns or slides",
}  # fmt: skip

RESULTS = {
    "qdd": "(nv,) joint accelerations: rad/s^2, m/s^2",
    "c": "(nv,) joint forces: N m, N",
    "position": "(3,) in the world: m",
    "velocity": "(3,) in the world: m/s",
    "forward_kinematics.rotation": "(k, 3, 3) the axes of each frame in the world, as columns",
    "forward_kinematics.position": "(k, 3) their origins in the world: m",
    "forward_kinematics.velocity": "(k, 6) spatial, [linear; angular], in each frame's axes, at its origin: m/s, rad/s",
    "forward_kinematics.acceleration": "(k, 6) spatial, likewise: m/s^2, rad/s^2",
    "frame_velocity.velocity": "(6,) [linear; angular]: m/s, rad/s",
    "frame_velocity_derivatives.velocity": "(6,) [linear; angular]: m/s, rad/s",
    "closure.position": "(m,) error of each row: m, rad",
    "closure.velocity": "(m,) jacobian @ v: m/s, rad/s",
    "acceleration": "(6,) [linear; angular], without gravity: m/s^2, rad/s^2",
    "jacobian": "(m, nv) the J of the dynamics: M qdd + c = tau + jacobian^T forces",
    "h": "(6,) [linear; angular] momentum in the axes of the world: kg m/s, kg m^2/s",
    "A": "(6, nv) A v is the momentum",
    "M": "(nv, nv) the mass matrix: kg m^2, kg m, kg",
    "M_y": "(ny, ny) the mass matrix of the independent velocities",
    "kinetic": "() J",
    "potential": "() J, of gravity; zero with the centre of mass at the origin of the world",
    "J": "(6, nv) J v is the velocity of the frame",
    "J_t": "(6, nv) dJ/dt",
    "J_y": "(6, ny) J_y yd is the velocity of the frame",
    "bias": "(6,) to be added to J_y ydd: the acceleration of the frame at ydd = 0: m/s^2, rad/s^2",
    "Jdot_v": "(6,) dJ/dt v: m/s^2, rad/s^2",
    "tau": "(nv,) joint forces: N m, N",
    "Y": "(nv, 10 nb) forces per inertial parameter",
    "kinetic_energy_regressor.Y": "(10 nb,) energy per inertial parameter",
    "potential_energy_regressor.Y": "(10 nb,) energy per inertial parameter",
    "ce_inverse_dynamics_regressor.Y": "(ny, 10 nb) forces on the independent velocities per inertial parameter",
    "ce_inverse_dynamics_regressor.motors": "(motors, 10 nb) forces of the motors per inertial parameter",
    "q": "(nq,) on the constraints: rad, m",
    "v": "(nv,) velocities that the constraints allow: rad/s, m/s",
    "error": "() the largest remaining position error: m, rad",
    "iterations": "() number of steps taken",
    "status": "() a `sarrus.Status`: OK is a proof",
    "opening": "() the largest remaining rate J v: m/s, rad/s",
    "forces": "(m,) on the robot, in the order and the axes of declaration: N, N m",
    "residual": "(m,) what the accelerations leave of each row: m/s^2, rad/s^2",
    "fallback": "() 1 where the `fallback` method gave the answer, otherwise 0",
    "ydd": "(ny,) independent accelerations: rad/s^2, m/s^2",
    "c_y": "(ny,) forces on the independent velocities: N m, N",
    "tau_y": "(ny,) forces on the independent velocities: N m, N",
    "motors": "(motors,) forces of the motors: N m, N",
    "missing": "(ny,) what no motor can provide; for a floating base, all of it: N, N m",
    "G": "(nv, ny) v = G yd",
    "g": "(nv,) qdd = G ydd + g: rad/s^2, m/s^2",
    "y": "(ny, and one more for each quaternion,) independent coordinates, in the order of the cluster tree: rad, m",
    "yd": "(ny,) independent velocities: rad/s, m/s",
    "Lambda_inv": "(m, m) the Delassus matrix J M^-1 J^T: 1/kg, 1/(kg m^2)",
    "applied": "(m,) J M^-1 J^T rhs",
    "solved": "(m,) (J M^-1 J^T)^-1 rhs",
    "rank": "() the rank of J; if it is less than m, the forces are one choice of many",
    "unique": "() 1 where accelerations have derivatives along every column; 0: only along motions that J allows",
}  # fmt: skip

# What the examples of algorithms with one output show of it, and what is printed then.
SHOWN = {
    "aba": (".round(2)", "array([-23.58,  15.85, -23.4 ])"),
    "bias_forces": ("[:2].round(3)", "array([ 6.108, -3.81 ])"),
    "centroidal_momentum": (".round(3)", "array([ 0.04 , -0.185,  0.274,  0.003, -0.047, -0.047])"),
    "centroidal_momentum_matrix": ("[1:3, :2].round(3)", "array([[ 0.538,  0.451],\n       [ 0.625, -0.388]])"),
    "crba": (".diagonal().round(6)", "array([0.25945, 0.24045, 0.00045])"),
    "frame_acceleration": ("[3:].round(3)", "array([ 0.242, -0.059, -0.007])"),
    "frame_jacobian": ("[:2, :2].round(3)", "array([[-0.095,  0.58 ],\n       [-0.362, -0.153]])"),
    "frame_jacobian_bias": ("[3:].round(3)", "array([ 0.242, -0.059, -0.007])"),
    "frame_velocity": ("[3:].round(3)", "array([0.124, 0.521, 0.258])"),
    "gravity_forces": ("[:2].round(3)", "array([ 6.132, -3.808])"),
    "inverse_dynamics_regressor": (".shape", "(3, 30)"),
    "kinetic_energy_regressor": (".shape", "(30,)"),
    "potential_energy_regressor": (".shape", "(30,)"),
    "rnea": ("[:2].round(3)", "array([ 6.108, -3.81 ])"),
    "ce_bias_forces": (".round(3)", "array([0.35])"),
    "ce_crba": (".round(4)", "array([[0.0214]])"),
    "efpa": (".diagonal().round(2)", "array([  2.94,   3.12,   0.4 ,  47.56,  52.52, 129.13])"),
    "kjr": (".diagonal().round(2)", "array([  2.94,   3.12,   0.4 ,  47.56,  52.52, 129.13])"),
    "ltl_osim": (".diagonal().round(2)", "array([  2.94,   3.12,   0.4 ,  47.56,  52.52, 129.13])"),
    "pv_osim": (".diagonal().round(2)", "array([  2.94,   3.12,   0.4 ,  47.56,  52.52, 129.13])"),
    "pv_osimr": (".diagonal().round(2)", "array([  2.94,   3.12,   0.4 ,  47.56,  52.52, 129.13])"),
    "frame_jacobian_derivative": ("[:2, :2].round(3)", "array([[-0.05 , -0.055],\n       [ 0.343, -0.21 ]])"),
}  # fmt: skip


_COLUMNS = {"q": "nv", "v": "nv", "a": "nv", "tau": "nv", "y": "ny", "yd": "ny", "tau_y": "ny", "k": "inputs"}


def of_result(algorithm: str, name: str) -> str:
    """What an output is; derivatives are named for what they are of and with respect to."""
    words = RESULTS.get(f"{algorithm}.{name}", RESULTS.get(name, ""))
    of, _, by = name.removeprefix("d").partition("_d")
    if words or by not in _COLUMNS:
        return words
    rows = of_result(algorithm, of).partition(")")[0].lstrip("(").rstrip(",")
    shape = f"({rows}, {_COLUMNS[by]})" if rows else f"({_COLUMNS[by]},)"
    return f"{shape} derivative of {of} {'along `integrate(q, e_j)`' if by == 'q' else f'with respect to {by}'}"
