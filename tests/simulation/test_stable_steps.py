"""What stays explicit is said, with the largest step for which it is stable: just below it is, just above it is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import sarrus
from sarrus.cli.main import app
from sarrus.simulation.joint_forces import JointForces
from sarrus.simulation.stable_steps import too_stiff

HINGE = '<inertial pos="0 0 0" mass="0.01" diaginertia="1e-4 1e-4 1e-4"/><joint name="{}" axis="0 1 0" {}/>'
FIXED = ("semi_implicit_euler", "implicit", "rk4")


def pulled(tendons: str, of_joints: str = "", more: str = "") -> sarrus.Model:
    first, second = HINGE.format("j", of_joints), HINGE.format("k", of_joints)
    return sarrus.load(f"""<mujoco><option gravity="0 0 0" timestep="0.001"/><worldbody>
        <body>{first}<body pos="0.1 0 0">{second}</body></body></worldbody>
        <tendon>{tendons}</tendon>{more}</mujoco>""")


def tendon(numbers: str, name: str = "t") -> str:
    return f'<fixed name="{name}" {numbers}><joint joint="j" coef="1"/><joint joint="k" coef="-1"/></fixed>'


def notes(model: sarrus.Model, **options) -> str:
    return "\n".join(sarrus.Simulation(model, **options).notes)


@pytest.mark.parametrize("integrator", FIXED)
@pytest.mark.parametrize(
    "tendons",
    [
        tendon('stiffness="50" damping="1" springlength="0.1"'),
        tendon('stiffness="5000"'),
        tendon('damping="1"'),
        tendon('damping="0.6"') + tendon('stiffness="20"', "u") + tendon('damping="0.2"', "v"),
    ],
)
def test_the_largest_step_is_the_largest(tendons, integrator):
    """Even with the integrator `implicit`, which the report of a divergence advised."""
    model = pulled(tendons)
    (found,) = too_stiff(model, JointForces(), [], 1e-2, integrator)
    assert found.names[0] == "t"

    def is_stable(dt: float) -> bool:
        motion = sarrus.Simulation(model, dt, integrator).run([0.3, 0.1], [0.1, 0.3], steps=3000)
        return set(motion.statuses) == {"ok"} and float(np.abs(motion.v).max()) < 1e4

    assert is_stable(found.largest)
    assert not is_stable((1.25 if integrator == "rk4" else 1.15) * found.largest)  # rounded down, by at most a tenth
    assert too_stiff(model, JointForces(), [], found.largest, integrator) == []
    assert "tendons too stiff for this step: t" in notes(model, dt=1.2 * found.largest, integrator=integrator)
    assert "too stiff" not in notes(model, dt=found.largest, integrator=integrator)
    assert "too stiff" not in notes(model, dt=1e-2, integrator=integrator, joint_forces=False)


def test_several_that_are_stable_alone_but_not_together():
    model = pulled(tendon('damping="0.04"') + tendon('damping="0.03"', "u"))
    assert too_stiff(pulled(tendon('damping="0.04"')), JointForces(), [], 1e-3, "implicit") == []
    (found,) = too_stiff(model, JointForces(), [], 1e-3, "implicit")
    assert found.names == ("t",)
    assert 5e-4 < found.largest < 1e-3


@pytest.mark.parametrize(
    ("servo", "said"),
    [
        ('<position name="s" joint="j" kp="900" kv="1"/>', ""),  # which implicit integration has
        (
            '<position name="s" joint="j" kp="900" kv="1" forcerange="-5 5"/>',
            "servos too stiff for this step: s (dt at",
        ),
        ('<position name="s" tendon="t" kp="900" kv="1"/>', "servos too stiff for this step: s (dt at"),
    ],
)
def test_servos_that_stay_explicit_are_named(servo, said):
    model = pulled(tendon(""), more=f"<actuator>{servo}</actuator>")
    found = notes(model, integrator="implicit")
    assert said in found
    assert ("too stiff" in found) == bool(said)
    assert "servos too stiff for this step: s (dt at" in notes(model, integrator="semi_implicit_euler")


def test_an_explicit_integrator_with_stiff_joints_is_told_of_the_implicit_one():
    model = pulled(tendon(""), of_joints='damping="1"')
    assert "use integrator='implicit'" in notes(model, integrator="semi_implicit_euler")
    for fine in ("auto", "implicit", "adaptive"):
        assert "too stiff" not in notes(model, integrator=fine)
    damped = sarrus.Simulation(model).run([0.3, 0.1], [1.0, 2.0], steps=1000)
    assert set(damped.statuses) == {"ok"}


def test_what_is_implicit_makes_what_is_not_less_stiff():
    """The armature of implicit joints is inertia for the tendon, too."""
    stiff = tendon('damping="0.2"')
    (alone,) = too_stiff(pulled(stiff), JointForces(), [], 1e-2, "implicit")
    (with_damped_joints,) = too_stiff(pulled(stiff, 'damping="0.05"'), JointForces(), [], 1e-2, "implicit")
    assert with_damped_joints.largest > 1.05 * alone.largest


def test_the_report_of_a_divergence_advises_what_helps(tmp_path: Path):
    model = pulled(tendon('stiffness="50" damping="1" springlength="0.1"'))
    file = tmp_path / "pulled.xml"
    file.write_text(replace(model, keyframes={}).to_mjcf().text)
    arguments = ["simulate", str(file), "-d", "0.05", "--integrator", "semi_implicit_euler", "--q", "0.3,0.1", "--json"]
    lost = CliRunner().invoke(app, arguments)
    assert lost.exit_code == 1
    assert "try --dt 6.6e-05 (for which tendons are stable)" in lost.output
    assert "--integrator implicit" not in lost.output
    found = CliRunner().invoke(app, [*arguments, "--dt", "6.6e-05"])
    assert found.exit_code == 0
