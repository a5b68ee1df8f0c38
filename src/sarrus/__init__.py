"""Sarrus: constrained rigid-body dynamics, written once, compiled for your robot.

    import sarrus
    robot = sarrus.load("robot.urdf", floating_base=True)
    q, v = sarrus.random_state(robot, rng=0)
    qdd = sarrus.aba(robot, q, v, tau)

Arrays are (n,) or (B, n). See `sarrus --help` for the command line.
"""

from sarrus import errors
from sarrus.algorithms.aba import aba as _aba
from sarrus.algorithms.bias_forces import bias_forces as _bias_forces
from sarrus.algorithms.center_of_mass import center_of_mass as _center_of_mass
from sarrus.algorithms.centroidal_momentum import centroidal_momentum as _centroidal_momentum
from sarrus.algorithms.centroidal_momentum_matrix import centroidal_momentum_matrix as _centroidal_momentum_matrix
from sarrus.algorithms.crba import crba as _crba
from sarrus.algorithms.energy import energy as _energy
from sarrus.algorithms.forward_kinematics import forward_kinematics as _forward_kinematics
from sarrus.algorithms.frame_jacobian import frame_jacobian as _frame_jacobian
from sarrus.algorithms.frame_jacobian_bias import frame_jacobian_bias as _frame_jacobian_bias
from sarrus.algorithms.gravity_forces import gravity_forces as _gravity_forces
from sarrus.algorithms.registry import algorithms
from sarrus.algorithms.rnea import rnea as _rnea
from sarrus.codegen.tape import OpCount
from sarrus.codegen.trace import op_count
from sarrus.eager import eager
from sarrus.importers import from_mujoco, from_pinocchio, load, load_mjcf, load_urdf
from sarrus.model import zoo
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import Constraint, Coupling, Distance, LoopClosure, Tendon
from sarrus.model.model import Body, Frame, Joint, Model
from sarrus.model.state import difference, integrate, neutral, normalize, random_state

__version__ = "0.1.0"

aba = eager(_aba)
bias_forces = eager(_bias_forces)
center_of_mass = eager(_center_of_mass)
centroidal_momentum = eager(_centroidal_momentum)
centroidal_momentum_matrix = eager(_centroidal_momentum_matrix)
crba = eager(_crba)
energy = eager(_energy)
forward_kinematics = eager(_forward_kinematics)
frame_jacobian = eager(_frame_jacobian)
frame_jacobian_bias = eager(_frame_jacobian_bias)
gravity_forces = eager(_gravity_forces)
rnea = eager(_rnea)

__all__ = [
    "Body",
    "Constraint",
    "Coupling",
    "Distance",
    "Frame",
    "Joint",
    "LoopClosure",
    "Model",
    "ModelBuilder",
    "OpCount",
    "Tendon",
    "aba",
    "algorithms",
    "bias_forces",
    "center_of_mass",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "crba",
    "difference",
    "energy",
    "errors",
    "forward_kinematics",
    "frame_jacobian",
    "frame_jacobian_bias",
    "from_mujoco",
    "from_pinocchio",
    "gravity_forces",
    "integrate",
    "load",
    "load_mjcf",
    "load_urdf",
    "neutral",
    "normalize",
    "op_count",
    "random_state",
    "rnea",
    "zoo",
]
