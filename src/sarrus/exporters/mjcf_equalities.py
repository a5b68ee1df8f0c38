"""What acts between bodies, in MJCF: equalities, fixed tendons, actuators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.polynomial import Polynomial

from sarrus.exporters.written import Report, child, distinct
from sarrus.model.constraints import Constraint, Coupling, LoopClosure, Tendon
from sarrus.model.model import Model

_DEGREE = 4  # of MuJoCo's polynomials
_LISTS = ("range", "lengthspring", "actfrcrange")
_WORDS = {"actfrclimited": "actuatorfrclimited", "actfrcrange": "actuatorfrcrange", "lengthspring": "springlength"}
_FLAGS = ("limited", "actfrclimited")

Names = Mapping[str, list[str]]


def add_equalities(
    model: Model, root: ElementTree.Element, joints: Names, report: Report, site: Callable[[str], str]
) -> None:
    """Loops, couplings and tendons; site: the name of one where that frame is."""
    tendons, equality = child(root, "tendon"), child(root, "equality")
    for constraint in model.constraints:
        active = "true" if constraint.active else "false"
        if isinstance(constraint, LoopClosure) and constraint.joint in ("weld", "connect", "spherical"):
            tag = "weld" if constraint.joint == "weld" else "connect"
            a, b = (site(name) for name in constraint.frames)
            child(equality, tag, name=constraint.name, active=active, site1=a, site2=b)
        elif isinstance(constraint, Tendon):
            _tendon(tendons, constraint, joints)
        elif not (isinstance(constraint, Coupling) and _coupling(equality, tendons, constraint, joints, active)):
            _lose(constraint, report)
        if constraint.stabilization is not None:
            report.add(
                f"constraint {constraint.name!r}: its stabilization; MuJoCo's equalities are springs of their own"
            )


def _lose(constraint: Constraint, report: Report) -> None:
    what, which = constraint.in_words()
    report.add(f"constraint {constraint.name!r} ({what} {which}): MuJoCo has none", lost=constraint.active)


def _tendon(tendons: ElementTree.Element, tendon: Tendon, joints: Names) -> None:
    said: dict[str, Any] = {}
    for key, value in tendon.properties:
        if key in _FLAGS:
            said[_WORDS.get(key, key)] = "true" if value else "false"
        elif np.any(value):
            said[_WORDS.get(key, key)] = np.asarray(value, float)
    _fixed(tendons, tendon.name, dict(tendon.coefficients), joints, said)


def _fixed(tendons: ElementTree.Element, name: str, terms: Mapping[str, float], joints: Names, said: Any) -> None:
    fixed = child(tendons, "fixed", name=name, **said)
    for joint, coefficient in terms.items():
        child(fixed, "joint", joint=joints[joint][0], coef=coefficient)


def _coupling(
    equality: ElementTree.Element, tendons: ElementTree.Element, coupling: Coupling, joints: Names, active: str
) -> bool:
    """As a polynomial between two joints, or as a tendon of a constant length; False: neither can say it.

    Positions are measured from zero, where the file has its bodies.
    """
    zero = dict(coupling.references)
    polynomial = Polynomial(coupling.polynomial)
    if coupling.driver is not None:
        polynomial = polynomial(Polynomial([-zero.get(coupling.driver, 0.0), 1.0]))
    polynomial = polynomial + sum(c * zero.get(j, 0.0) for j, c in coupling.ratios)
    common = {"name": coupling.name, "active": active}
    if len(coupling.ratios) == 1 and coupling.ratios[0][0] != coupling.driver and coupling.ratios[0][1] != 0.0:
        joint, ratio = coupling.ratios[0]
        coefficients = (polynomial / ratio).coef
        if len(coefficients) <= _DEGREE + 1:
            driver = None if coupling.driver is None else joints[coupling.driver][0]
            padded = np.pad(coefficients, (0, _DEGREE + 1 - len(coefficients)))
            child(equality, "joint", joint1=joints[joint][0], joint2=driver, polycoef=padded, **common)
            return True
    terms = dict(coupling.ratios)
    if coupling.driver is not None:
        if len(np.trim_zeros(polynomial.coef, "b")) > 2:
            return False
        slope = polynomial.coef[1] if len(polynomial.coef) > 1 else 0.0
        terms[coupling.driver] = terms.get(coupling.driver, 0.0) - slope
    name = distinct(f"{coupling.name}_length", (e.get("name", "") for e in tendons))
    _fixed(tendons, name, terms, joints, {})
    child(equality, "tendon", tendon1=name, polycoef=np.pad(polynomial.coef[:1], (0, _DEGREE)), **common)
    return True


def add_actuators(model: Model, root: ElementTree.Element, joints: Names, report: Report) -> None:
    """Motors and servos, on joints or on tendons."""
    actuators = child(root, "actuator")
    tendons = root.find("tendon")
    assert tendons is not None
    for actuator in model.actuators:
        said: dict[str, Any] = {"gear": actuator.gear, "gaintype": "affine", "gainprm": np.array(actuator.gain)}
        said |= {"biastype": "affine", "biasprm": np.array(actuator.bias)}
        for key, (low, high) in (("ctrl", actuator.control_range), ("force", actuator.force_range)):
            if np.isfinite([low, high]).all():
                said |= {f"{key}limited": "true", f"{key}range": np.array([low, high])}
            elif np.isfinite([low, high]).any():
                report.add(f"actuator {actuator.name!r}: a {key} range of one side: not written", lost=True)
        if len(actuator.joints) == 1 and actuator.joints[0][1] == 1.0:
            said["joint"] = joints[actuator.joints[0][0]][0]
        else:
            name = distinct(f"{actuator.name}_length", (e.get("name", "") for e in tendons))
            _fixed(tendons, name, dict(actuator.joints), joints, {})
            said["tendon"] = name
        child(actuators, "general", name=actuator.name, **said)
