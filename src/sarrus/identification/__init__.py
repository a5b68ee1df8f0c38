"""Inertial parameters: of a model, those that can be identified, and those that are physical."""
