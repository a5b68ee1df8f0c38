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
from sarrus.algorithms.constrained.bbo import bbo as _bbo
from sarrus.algorithms.constrained.constrained_aba import constrained_aba as _constrained_aba
from sarrus.algorithms.constrained.lcaba import lcaba as _lcaba
from sarrus.algorithms.constrained.ltl import ltl as _ltl
from sarrus.algorithms.constrained.ltl_soft import ltl_soft as _ltl_soft
from sarrus.algorithms.constrained.prox_bbo import prox_bbo as _prox_bbo
from sarrus.algorithms.constrained.prox_ltl import prox_ltl as _prox_ltl
from sarrus.algorithms.constrained.prox_pv import prox_pv as _prox_pv
from sarrus.algorithms.constrained.pv import pv as _pv
from sarrus.algorithms.constrained.pv_early import pv_early as _pv_early
from sarrus.algorithms.constrained.pv_soft import pv_soft as _pv_soft
from sarrus.algorithms.delassus.efpa import efpa as _efpa
from sarrus.algorithms.delassus.kjr import kjr as _kjr
from sarrus.algorithms.delassus.ltl_osim import ltl_osim as _ltl_osim
from sarrus.algorithms.delassus.pv_osim import pv_osim as _pv_osim
from sarrus.algorithms.delassus.pv_osim_fast import pv_osim_fast as _pv_osim_fast
from sarrus.algorithms.delassus.pv_osimr import pv_osimr as _pv_osimr
from sarrus.algorithms.embedded.ce_aba import ce_aba as _ce_aba
from sarrus.algorithms.embedded.ce_bias_forces import ce_bias_forces as _ce_bias_forces
from sarrus.algorithms.embedded.ce_crba import ce_crba as _ce_crba
from sarrus.algorithms.embedded.ce_rnea import ce_rnea as _ce_rnea
from sarrus.algorithms.embedded.expand import expand as _expand
from sarrus.algorithms.embedded.reduce import reduce as _reduce
from sarrus.algorithms.position.closure import closure as _closure
from sarrus.algorithms.position.project import project as _project
from sarrus.algorithms.tree.aba import aba as _aba
from sarrus.algorithms.tree.bias_forces import bias_forces as _bias_forces
from sarrus.algorithms.tree.center_of_mass import center_of_mass as _center_of_mass
from sarrus.algorithms.tree.centroidal_momentum import centroidal_momentum as _centroidal_momentum
from sarrus.algorithms.tree.centroidal_momentum_matrix import centroidal_momentum_matrix as _centroidal_momentum_matrix
from sarrus.algorithms.tree.crba import crba as _crba
from sarrus.algorithms.tree.energy import energy as _energy
from sarrus.algorithms.tree.forward_kinematics import forward_kinematics as _forward_kinematics
from sarrus.algorithms.tree.frame_jacobian import frame_jacobian as _frame_jacobian
from sarrus.algorithms.tree.frame_jacobian_bias import frame_jacobian_bias as _frame_jacobian_bias
from sarrus.algorithms.tree.gravity_forces import gravity_forces as _gravity_forces
from sarrus.algorithms.tree.rnea import rnea as _rnea
from sarrus.calls.delassus import delassus, delassus_cholesky, operational_space_inertia
from sarrus.calls.dynamics import forward_dynamics, methods
from sarrus.calls.eager import eager
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
from sarrus.model.state import difference, integrate, neutral, normalize
from sarrus.registry.references import cite
from sarrus.registry.table import algorithms
from sarrus.status import Status

if TYPE_CHECKING:  # imported when used: see `_LATER`
    from sarrus import zoo
    from sarrus.codegen.runtime.kernel import Kernel, compile
    from sarrus.diagnosis import Diagnosis, diagnose
    from sarrus.importers import from_mujoco, from_pinocchio, load, load_mjcf, load_urdf
    from sarrus.planning.embedding import embed
    from sarrus.simulation.actuation import actuator_forces
    from sarrus.simulation.assemble import AssembleResult, assemble
    from sarrus.simulation.controllers import controller, pd
    from sarrus.simulation.joint_forces import JointForces
    from sarrus.simulation.random_states import random_state
    from sarrus.simulation.recording import Recorder
    from sarrus.simulation.simulate import rollout, simulate
    from sarrus.simulation.simulation import Simulation
    from sarrus.simulation.trajectory import Trajectory
    from sarrus.viewer import view

__version__ = "0.1.0"

aba = eager(_aba)
bias_forces = eager(_bias_forces)
ce_aba = eager(_ce_aba)
reduce = eager(_reduce)
expand = eager(_expand)
ce_rnea = eager(_ce_rnea)
ce_crba = eager(_ce_crba)
ce_bias_forces = eager(_ce_bias_forces)
center_of_mass = eager(_center_of_mass)
centroidal_momentum = eager(_centroidal_momentum)
centroidal_momentum_matrix = eager(_centroidal_momentum_matrix)
closure = eager(_closure)
project = eager(_project)
crba = eager(_crba)
energy = eager(_energy)
forward_kinematics = eager(_forward_kinematics)
frame_jacobian = eager(_frame_jacobian)
frame_jacobian_bias = eager(_frame_jacobian_bias)
gravity_forces = eager(_gravity_forces)
efpa = eager(_efpa)
kjr = eager(_kjr)
ltl_osim = eager(_ltl_osim)
pv_osim = eager(_pv_osim)
pv_osim_fast = eager(_pv_osim_fast)
pv_osimr = eager(_pv_osimr)
ltl = eager(_ltl)
ltl_soft = eager(_ltl_soft)
bbo = eager(_bbo)
constrained_aba = eager(_constrained_aba)
lcaba = eager(_lcaba)
prox_bbo = eager(_prox_bbo)
prox_ltl = eager(_prox_ltl)
prox_pv = eager(_prox_pv)
pv = eager(_pv)
pv_early = eager(_pv_early)
pv_soft = eager(_pv_soft)
rnea = eager(_rnea)

__all__ = [
    "Actuator",
    "AssembleResult",
    "embed",
    "reduce",
    "expand",
    "ce_rnea",
    "ce_crba",
    "ce_bias_forces",
    "ce_aba",
    "Body",
    "CenterOfMass",
    "Constraint",
    "Coupling",
    "Diagnosis",
    "Distance",
    "Frame",
    "Joint",
    "JointForces",
    "Kernel",
    "LoopClosure",
    "Model",
    "ModelBuilder",
    "OpCount",
    "Recorder",
    "Simulation",
    "Status",
    "Tendon",
    "Trajectory",
    "aba",
    "actuator_forces",
    "algorithms",
    "assemble",
    "attach",
    "bbo",
    "bias_forces",
    "center_of_mass",
    "center_of_mass_constraint",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "cite",
    "closure",
    "compile",
    "connect",
    "constrained_aba",
    "contact",
    "controller",
    "coupling",
    "crba",
    "delassus",
    "delassus_cholesky",
    "diagnose",
    "difference",
    "distance",
    "efpa",
    "energy",
    "errors",
    "forward_dynamics",
    "forward_kinematics",
    "frame_jacobian",
    "frame_jacobian_bias",
    "from_mujoco",
    "from_pinocchio",
    "gravity_forces",
    "integrate",
    "kjr",
    "lcaba",
    "link_rows",
    "load",
    "load_mjcf",
    "load_urdf",
    "loop",
    "ltl",
    "ltl_osim",
    "ltl_soft",
    "methods",
    "neutral",
    "normalize",
    "op_count",
    "operational_space_inertia",
    "pd",
    "project",
    "prox_bbo",
    "prox_ltl",
    "prox_pv",
    "pv",
    "pv_early",
    "pv_osim",
    "pv_osim_fast",
    "pv_osimr",
    "pv_soft",
    "random_state",
    "rnea",
    "rollout",
    "simulate",
    "view",
    "weld",
    "zoo",
]


# What not every program needs, by module: `import sarrus` stays quick.
_LATER = {
    "codegen.runtime.kernel": ("Kernel", "compile"),
    "diagnosis": ("Diagnosis", "diagnose"),
    "importers": ("from_mujoco", "from_pinocchio", "load", "load_mjcf", "load_urdf"),
    "planning.embedding": ("embed",),
    "simulation.actuation": ("actuator_forces",),
    "simulation.assemble": ("AssembleResult", "assemble"),
    "simulation.controllers": ("controller", "pd"),
    "simulation.joint_forces": ("JointForces",),
    "simulation.random_states": ("random_state",),
    "simulation.recording": ("Recorder",),
    "simulation.simulate": ("rollout", "simulate"),
    "simulation.simulation": ("Simulation",),
    "simulation.trajectory": ("Trajectory",),
    "viewer": ("view",),
}


def __getattr__(name: str) -> Any:
    if name == "zoo":
        return import_module("sarrus.zoo")
    for module, names in _LATER.items():
        if name in names:
            globals()[name] = getattr(import_module(f"sarrus.{module}"), name)
            return globals()[name]
    raise AttributeError(f"module 'sarrus' has no attribute {name!r}")
