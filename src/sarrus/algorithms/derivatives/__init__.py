"""Derivatives of the dynamics, in closed form."""
