"""What is the matter with a robot's constraints."""

from sarrus.diagnosis.diagnose import diagnose, project
from sarrus.diagnosis.report import ConstraintDiagnosis, Diagnosis

__all__ = ["ConstraintDiagnosis", "Diagnosis", "diagnose", "project"]
