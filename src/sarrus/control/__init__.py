"""Optimal control by the sweeps of constrained dynamics."""
