"""Sarrus: constrained rigid-body dynamics, written once, compiled for your robot.

    import sarrus
    robot = sarrus.load("robot.urdf", floating_base=True)
    q, v = sarrus.random_state(robot, rng=0)
    qdd = sarrus.aba(robot, q, v, tau)

Arrays are (n,) or (B, n). See `sarrus --help` for the command line.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sarrus import errors
from sarrus.algorithms.constrained.bbo import bbo
from sarrus.algorithms.constrained.constrained_aba import constrained_aba
from sarrus.algorithms.constrained.lcaba import lcaba
from sarrus.algorithms.constrained.ltl import ltl
from sarrus.algorithms.constrained.ltl_soft import ltl_soft
from sarrus.algorithms.constrained.prox_bbo import prox_bbo
from sarrus.algorithms.constrained.prox_ltl import prox_ltl
from sarrus.algorithms.constrained.prox_pv import prox_pv
from sarrus.algorithms.constrained.pv import pv
from sarrus.algorithms.constrained.pv_early import pv_early
from sarrus.algorithms.constrained.pv_soft import pv_soft
from sarrus.algorithms.delassus.efpa import efpa
from sarrus.algorithms.delassus.kjr import kjr
from sarrus.algorithms.delassus.ltl_osim import ltl_osim
from sarrus.algorithms.delassus.pv_osim import pv_osim
from sarrus.algorithms.delassus.pv_osim_fast import pv_osim_fast
from sarrus.algorithms.delassus.pv_osimr import pv_osimr
from sarrus.algorithms.derivatives.aba_derivatives import aba_derivatives
from sarrus.algorithms.derivatives.ce_aba_derivatives import ce_aba_derivatives
from sarrus.algorithms.derivatives.center_of_mass_derivatives import center_of_mass_derivatives
from sarrus.algorithms.derivatives.centroidal_momentum_derivatives import centroidal_momentum_derivatives
from sarrus.algorithms.derivatives.energy_derivatives import energy_derivatives
from sarrus.algorithms.derivatives.forward_dynamics_derivatives import forward_dynamics_derivatives
from sarrus.algorithms.derivatives.frame_acceleration_derivatives import frame_acceleration_derivatives
from sarrus.algorithms.derivatives.frame_jacobian_derivative import frame_jacobian_derivative
from sarrus.algorithms.derivatives.frame_velocity_derivatives import frame_velocity_derivatives
from sarrus.algorithms.derivatives.rnea_derivatives import rnea_derivatives
from sarrus.algorithms.embedded.ce_aba import ce_aba
from sarrus.algorithms.embedded.ce_bias_forces import ce_bias_forces
from sarrus.algorithms.embedded.ce_crba import ce_crba
from sarrus.algorithms.embedded.ce_frame_jacobian import ce_frame_jacobian
from sarrus.algorithms.embedded.ce_inverse_dynamics_regressor import ce_inverse_dynamics_regressor
from sarrus.algorithms.embedded.ce_rnea import ce_rnea
from sarrus.algorithms.embedded.embedding_jacobian import embedding_jacobian
from sarrus.algorithms.embedded.expand import expand
from sarrus.algorithms.embedded.hybrid import hybrid
from sarrus.algorithms.embedded.reduce import reduce
from sarrus.algorithms.position.closure import closure
from sarrus.algorithms.position.project import project
from sarrus.algorithms.tree.aba import aba
from sarrus.algorithms.tree.bias_forces import bias_forces
from sarrus.algorithms.tree.center_of_mass import center_of_mass
from sarrus.algorithms.tree.centroidal_momentum import centroidal_momentum
from sarrus.algorithms.tree.centroidal_momentum_matrix import centroidal_momentum_matrix
from sarrus.algorithms.tree.crba import crba
from sarrus.algorithms.tree.energy import energy
from sarrus.algorithms.tree.forward_kinematics import forward_kinematics
from sarrus.algorithms.tree.frame_acceleration import frame_acceleration
from sarrus.algorithms.tree.frame_jacobian import frame_jacobian
from sarrus.algorithms.tree.frame_jacobian_bias import frame_jacobian_bias
from sarrus.algorithms.tree.frame_velocity import frame_velocity
from sarrus.algorithms.tree.gravity_forces import gravity_forces
from sarrus.algorithms.tree.inverse_dynamics_regressor import inverse_dynamics_regressor
from sarrus.algorithms.tree.kinetic_energy_regressor import kinetic_energy_regressor
from sarrus.algorithms.tree.potential_energy_regressor import potential_energy_regressor
from sarrus.algorithms.tree.rnea import rnea
from sarrus.calls.call import install_verbs
from sarrus.calls.call_report import call_report
from sarrus.calls.configurations import difference, integrate
from sarrus.calls.delassus import delassus, delassus_cholesky, operational_space_inertia
from sarrus.calls.dynamics import forward_dynamics, methods
from sarrus.calls.evaluator import interpreted
from sarrus.codegen.tape.tape import OpCount
from sarrus.codegen.tape.trace import op_count
from sarrus.model.actuators import Actuator
from sarrus.model.bodies import Body, Frame, Joint
from sarrus.model.builder import ModelBuilder
from sarrus.model.compose import attach
from sarrus.model.constraints import (
    CenterOfMass,
    Constraint,
    Coupling,
    Distance,
    LoopClosure,
    Tendon,
    center_of_mass_constraint,
    connect,
    contact,
    coupling,
    distance,
    link_rows,
    loop,
    weld,
)
from sarrus.model.model import Model
from sarrus.model.model import install as install_methods
from sarrus.model.pattern import mass_matrix_pattern
from sarrus.model.state import neutral, normalize
from sarrus.registry.algorithm import Algorithm
from sarrus.registry.features import Feature
from sarrus.registry.table import catalog, cite
from sarrus.status import Status

if TYPE_CHECKING:  # imported when used: see `_LATER`
    from sarrus import zoo
    from sarrus.codegen.runtime.compile import compile
    from sarrus.codegen.runtime.kernel import Kernel
    from sarrus.control.lqr import LqrResult, lqr
    from sarrus.control.problem import LqrConstraint, LqrStage
    from sarrus.control.scenario_tree import ScenarioResult, scenario_tree
    from sarrus.diagnosis import Diagnosis, Distance, check_derivatives, diagnose, distances
    from sarrus.identification.base_parameters import base_parameters
    from sarrus.identification.inertial_parameters import (
        inertial_parameters,
        parameter_names,
        with_inertial_parameters,
    )
    from sarrus.identification.log_cholesky import log_cholesky, physical_parameters
    from sarrus.importers import from_mujoco, from_pinocchio, load, load_mjcf, load_urdf
    from sarrus.planning.embedding import embed
    from sarrus.planning.plan import Plan
    from sarrus.planning.recut import Recut, recut
    from sarrus.planning.rotors import without_rotors
    from sarrus.planning.search import plan
    from sarrus.simulation.actuation import actuator_forces
    from sarrus.simulation.assemble import assemble
    from sarrus.simulation.configuration_result import ConfigurationResult
    from sarrus.simulation.contact.impulse import impulse
    from sarrus.simulation.contact.inverse_dynamics import inverse_dynamics
    from sarrus.simulation.contact.on_the_ground import put_down
    from sarrus.simulation.contact.options import ContactOptions
    from sarrus.simulation.contact.record import ContactRecord, ContactState
    from sarrus.simulation.controllers import controller, pd
    from sarrus.simulation.inverse_kinematics import inverse_kinematics
    from sarrus.simulation.joint_forces import JointForces
    from sarrus.simulation.random_states import random_state
    from sarrus.simulation.recording import Recorder
    from sarrus.simulation.simulate import rollout, simulate
    from sarrus.simulation.simulation import Simulation
    from sarrus.simulation.trajectory import Trajectory
    from sarrus.viewer import view

__version__ = "0.1.0"

install_verbs()  # from here on algorithms can be called


def _later(module: str, name: str) -> Any:
    """A function of a module that is imported when it is called."""
    return lambda *args, **kwargs: getattr(import_module(f"sarrus.{module}"), name)(*args, **kwargs)


install_methods(  # and models have their methods
    lock=_later("planning.lock", "lock"),
    to_urdf=_later("exporters.urdf", "to_urdf"),
    to_mjcf=_later("exporters.mjcf", "to_mjcf"),
)

__all__ = [
    # robots, their constraints and states
    "Actuator", "Body", "CenterOfMass", "Constraint", "Coupling", "Distance", "Frame", "Joint", "LoopClosure", "Model",
    "ModelBuilder", "Tendon", "attach", "center_of_mass_constraint", "connect", "contact", "coupling", "difference",
    "distance", "embed", "from_mujoco", "from_pinocchio", "integrate", "link_rows", "load", "load_mjcf", "load_urdf",
    "loop", "mass_matrix_pattern", "neutral", "normalize", "random_state", "weld", "zoo",
    # algorithms of trees and of positions
    "aba", "bias_forces", "center_of_mass", "centroidal_momentum", "centroidal_momentum_matrix", "closure", "crba",
    "energy", "forward_kinematics", "frame_acceleration", "frame_jacobian", "frame_jacobian_bias", "frame_velocity",
    "gravity_forces", "project", "rnea",
    # their derivatives
    "aba_derivatives", "ce_aba_derivatives", "center_of_mass_derivatives", "centroidal_momentum_derivatives",
    "check_derivatives", "energy_derivatives", "forward_dynamics_derivatives", "frame_acceleration_derivatives",
    "frame_jacobian_derivative", "frame_velocity_derivatives", "rnea_derivatives",
    # of constrained dynamics
    "bbo", "constrained_aba", "forward_dynamics", "lcaba", "ltl", "ltl_soft", "methods", "prox_bbo", "prox_ltl",
    "prox_pv", "pv", "pv_early", "pv_soft",
    # with embedded constraints
    "ce_aba", "ce_bias_forces", "ce_crba", "ce_frame_jacobian", "ce_rnea", "embedding_jacobian", "expand", "hybrid",
    "reduce", "without_rotors",
    # of the Delassus matrix
    "delassus", "delassus_cholesky", "efpa", "kjr", "ltl_osim", "operational_space_inertia", "pv_osim", "pv_osim_fast",
    "pv_osimr",
    # identification
    "base_parameters", "ce_inverse_dynamics_regressor", "inertial_parameters", "inverse_dynamics_regressor",
    "kinetic_energy_regressor", "log_cholesky", "parameter_names", "physical_parameters", "potential_energy_regressor",
    "with_inertial_parameters",
    # what algorithms are, and native code
    "Algorithm", "Kernel", "OpCount", "Plan", "Recut", "Status", "Feature", "catalog", "cite", "compile", "errors",
    "call_report", "interpreted", "op_count", "plan", "recut",
    # optimal control by the same sweeps
    "LqrConstraint", "LqrResult", "LqrStage", "ScenarioResult", "lqr", "scenario_tree",
    # motion in time, and looking at it
    "ConfigurationResult", "ContactOptions", "ContactRecord", "ContactState", "Diagnosis", "JointForces", "Recorder",
    "Simulation", "Trajectory", "actuator_forces", "assemble", "controller", "diagnose", "distances", "impulse",
    "inverse_dynamics", "inverse_kinematics", "pd", "put_down", "rollout", "simulate", "view",
]  # fmt: skip


# What not every program needs, by module: `import sarrus` stays quick.
_LATER = {
    "codegen.runtime.compile": ("compile",),
    "codegen.runtime.kernel": ("Kernel",),
    "control.lqr": ("LqrResult", "lqr"),
    "control.problem": ("LqrConstraint", "LqrStage"),
    "control.scenario_tree": ("ScenarioResult", "scenario_tree"),
    "diagnosis": ("Diagnosis", "check_derivatives", "diagnose", "distances"),
    "identification.base_parameters": ("base_parameters",),
    "identification.inertial_parameters": ("inertial_parameters", "parameter_names", "with_inertial_parameters"),
    "identification.log_cholesky": ("log_cholesky", "physical_parameters"),
    "importers": ("from_mujoco", "from_pinocchio", "load", "load_mjcf", "load_urdf"),
    "planning.embedding": ("embed",),
    "planning.plan": ("Plan",),
    "planning.recut": ("Recut", "recut"),
    "planning.rotors": ("without_rotors",),
    "planning.search": ("plan",),
    "simulation.actuation": ("actuator_forces",),
    "simulation.assemble": ("assemble",),
    "simulation.configuration_result": ("ConfigurationResult",),
    "simulation.contact.impulse": ("impulse",),
    "simulation.contact.inverse_dynamics": ("inverse_dynamics",),
    "simulation.contact.on_the_ground": ("put_down",),
    "simulation.contact.options": ("ContactOptions",),
    "simulation.contact.record": ("ContactRecord", "ContactState"),
    "simulation.controllers": ("controller", "pd"),
    "simulation.inverse_kinematics": ("inverse_kinematics",),
    "simulation.joint_forces": ("JointForces",),
    "simulation.random_states": ("random_state",),
    "simulation.recording": ("Recorder",),
    "simulation.simulate": ("rollout", "simulate"),
    "simulation.simulation": ("Simulation",),
    "simulation.trajectory": ("Trajectory",),
    "viewer": ("view",),
}

_HOOKS = ("casadi", "gym", "jax", "ray", "torch")  # other libraries, by name: `sarrus.jax`, ...


def __getattr__(name: str) -> Any:
    if name == "zoo":
        return import_module("sarrus.zoo")
    if name in _HOOKS:
        return import_module(f"sarrus.hooks.{name}")
    for module, names in _LATER.items():
        if name in names:
            globals()[name] = getattr(import_module(f"sarrus.{module}"), name)
            return globals()[name]
    if name in catalog():  # an algorithm that is not listed here
        return catalog()[name]
    raise AttributeError(f"module 'sarrus' has no attribute {name!r}")
