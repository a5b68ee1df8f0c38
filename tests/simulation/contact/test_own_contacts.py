"""What of one robot touches: not at its pins, and wherever its joints let it where nothing stops these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sarrus

PINNED = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 .1"/>
  <body name="l1" pos="0 0 1"><joint axis="0 1 0"/><geom name="g1" type="capsule" size=".03" fromto="0 0 0 .3 0 -.3"/>
    <body name="l2" pos=".3 0 -.3"><joint axis="0 1 0"/>
      <geom name="g2" type="capsule" size=".03" fromto="0 0 0 .3 0 0"/></body></body>
  <body name="l3" pos=".8 0 1"><joint axis="0 1 0"/>
    <geom name="g3" type="capsule" size=".03" fromto="0 0 0 -.2 0 -.3"/></body>
</worldbody>{loop}</mujoco>"""
LOOP = '<equality><connect body1="l2" body2="l3" anchor=".3 0 0"/></equality>'


@pytest.mark.parametrize("embedded", [False, True])
@pytest.mark.parametrize("self_collision", [False, True])
def test_links_that_are_pinned_to_each_other_do_not_collide_at_their_pin(embedded: bool, self_collision: bool) -> None:
    model = sarrus.load(PINNED.format(loop=LOOP))
    model = sarrus.embed(model) if embedded else model
    simulation = sarrus.Simulation(model, contacts=sarrus.ContactOptions(self_collision=self_collision))
    assert ("g2", "g3") not in simulation.touching_pairs
    assert (("g1", "g3") in simulation.touching_pairs) == self_collision
    motion = simulation.run(duration=0.2)
    free = sarrus.Simulation(model, contacts=False).run(duration=0.2)
    assert motion.statuses == {"ok": 101}
    assert np.abs(motion.q[-1] - motion.q[0]).max() > 0.01
    np.testing.assert_allclose(motion.q, free.q, atol=1e-4)  # 1e-4: steps of another order on the ground


def test_two_robots_touch_where_no_loop_pins_them() -> None:
    simulation = sarrus.Simulation(sarrus.load(PINNED.format(loop="")))
    assert ("g2", "g3") in simulation.touching_pairs


def folding_arm() -> sarrus.Model:
    """Three rods in a row, in a plane, which turn by 20 degrees to each side: too little for the first to meet the
    last.
    """
    builder = sarrus.ModelBuilder("arm", gravity=(0, 0, 0))
    parent = "world"
    for k in range(3):
        builder.add_body(
            f"rod_{k}", parent, axis=(0, 1, 0), position=(0.3 * (k > 0), 0, 0), mass=1.0, com=(0.15, 0, 0),
            inertia=0.01 * np.eye(3), lower=-np.pi / 9, upper=np.pi / 9,
        )  # fmt: skip
        turned = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
        builder.add_geometry(
            f"rod_{k}", sarrus.model.visuals.Capsule(0.02, 0.2), name=f"rod_{k}", position=(0.15, 0, 0), rotation=turned
        )
        parent = f"rod_{k}"
    return builder.build().with_ground(height=-5.0)


@pytest.mark.parametrize(
    "free", [{"joint_forces": sarrus.JointForces(limits=False)}, {"joint_forces": False}, {"joint_limits": False}]
)
def test_limits_rule_out_pairs_only_where_they_are_held(free: dict[str, Any]) -> None:
    model, last = folding_arm(), ("rod_0", "rod_2")
    held = sarrus.Simulation(model, contacts=sarrus.ContactOptions(self_collision=True))
    assert last not in held.touching_pairs
    assert any("0 of 1 pairs can meet within the limits" in note for note in held.notes)
    forces = {name: x for name, x in free.items() if name == "joint_forces"}
    options = {name: x for name, x in free.items() if name == "joint_limits"}
    loose = sarrus.Simulation(model, contacts=sarrus.ContactOptions(self_collision=True, **options), **forces)
    assert last in loose.touching_pairs
    assert any("1 of 1 pairs can meet as no limits" in note for note in loose.notes)


def test_an_arm_without_limits_folds_until_it_touches_itself() -> None:
    model, deepest = folding_arm(), []
    for contacts in (sarrus.ContactOptions(self_collision=True), False):
        simulation = sarrus.Simulation(model, contacts=contacts, joint_forces=sarrus.JointForces(limits=False))
        motion = simulation.run([0.0, 1.9, 1.9], [0.0, 2.0, 4.0], duration=0.5)
        assert motion.statuses == {"ok": 501}
        gaps = [min(x.gap for x in sarrus.distances(model, q) if "ground" not in x.names) for q in motion.q[::5]]
        deepest.append(min(gaps))
    assert abs(deepest[0]) < 1e-6
    assert deepest[1] == pytest.approx(-0.04, abs=1e-9)  # two rods of 20 mm in one place
