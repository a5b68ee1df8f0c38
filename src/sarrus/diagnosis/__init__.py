"""What is the matter with a robot's constraints."""

from sarrus.diagnosis.derivative_check import DerivativeCheck, DerivativeError, check_derivatives
from sarrus.diagnosis.diagnose import diagnose, project
from sarrus.diagnosis.report import ConstraintDiagnosis, Diagnosis

__all__ = [
    "ConstraintDiagnosis", "DerivativeCheck", "DerivativeError", "Diagnosis", "check_derivatives", "diagnose",
    "project",
]  # fmt: skip
