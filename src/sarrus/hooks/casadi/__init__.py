"""Kernels as external functions of CasADi (`pip install "sarrus[casadi]"`)."""

from sarrus.hooks.casadi.external import external

__all__ = ["external"]
