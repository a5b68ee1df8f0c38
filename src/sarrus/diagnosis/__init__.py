"""What is the matter with a robot's constraints, and how far its geometries are from each other."""

from sarrus.diagnosis.derivative_check import DerivativeCheck, DerivativeError, check_derivatives
from sarrus.diagnosis.diagnose import diagnose, project
from sarrus.diagnosis.distances import Distance, distances
from sarrus.diagnosis.report import ConstraintDiagnosis, Diagnosis

__all__ = [
    "ConstraintDiagnosis", "DerivativeCheck", "DerivativeError", "Diagnosis", "Distance", "check_derivatives",
    "diagnose", "distances", "project",
]  # fmt: skip
