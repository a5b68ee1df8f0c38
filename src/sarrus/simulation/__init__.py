"""Motion in time: integrators, staying on the constraints, trajectories."""
