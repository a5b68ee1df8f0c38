"""What a builder accepts, merges and refuses."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import sarrus
from sarrus import Actuator, Coupling, Distance, LoopClosure, ModelBuilder, Tendon
from sarrus.errors import IllPosedError, InertiaError, ModelError, NameClashError, SarrusError, UnknownNameError
from tests.mechanisms import MOVING_KINDS, Mechanism, mechanism, relative_error

SOLID = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": np.diag([0.2, 0.3, 0.4])}


def builder() -> ModelBuilder:
    return ModelBuilder().add_body("arm", **SOLID)


# --- names and topology --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda b: b.add_body("arm", **SOLID), "already a body or frame 'arm'"),
        (lambda b: b.add_frame("arm", "arm"), "already a body or frame 'arm'"),
        (lambda b: b.add_frame("tip", "arm").add_body("tip", **SOLID), "already a body or frame 'tip'"),
        (lambda b: b.add_frame("world", "arm"), "already a body or frame 'world'"),
        (lambda b: b.add_body("world", **SOLID), "cannot be called 'world'"),
        (lambda b: b.add_body("leg", joint_name="arm_joint", **SOLID), "already a joint 'arm_joint'"),
        (lambda b: b.add_constraint(Tendon("t", ())).add_constraint(Tendon("t", ())), "already a constraint 't'"),
    ],
)
def test_duplicate_names(add, message):
    with pytest.raises(NameClashError, match=message):
        add(builder())


@pytest.mark.parametrize(
    ("add", "culprit"),
    [
        (
            lambda b: b.add_body("hand", "arn", **SOLID),
            "parent of body 'hand': 'arn'. Did you mean 'arm'\\? Valid: world, arm",
        ),
        (lambda b: b.add_frame("tip", "arn"), "unknown body 'arn'.*Valid: world, arm"),
        (
            lambda b: b.add_body("hand", "arm", joint="hinge", **SOLID),
            "type of joint 'hand_joint': 'hinge'.*fixed, revolute, .*free",
        ),
        (
            lambda b: b.add_body("hand", "arm", armatur=1.0, **SOLID),
            "property of joint 'hand_joint': 'armatur'.*armature, damping",
        ),
        (
            lambda b: b.add_constraint(LoopClosure("loop", "arm", "leg", "weld")),
            "frame of constraint 'loop': 'leg'.*Valid: world, arm",
        ),
        (lambda b: b.add_constraint(Distance("rope", "leg", "arm", 1.0)), "frame of constraint 'rope': 'leg'"),
        (
            lambda b: b.add_constraint(Coupling("gear", (("knee", 1.0),))),
            "joint of constraint 'gear': 'knee'.*Valid: arm_joint",
        ),
        (
            lambda b: b.add_constraint(Coupling("gear", (("arm_joint", 1.0),), driver="knee")),
            "joint of constraint 'gear': 'knee'",
        ),
        (lambda b: b.add_constraint(Tendon("cord", (("knee", 1.0),))), "joint of constraint 'cord': 'knee'"),
    ],
)
def test_unknown_names_list_the_valid_ones(add, culprit):
    with pytest.raises(UnknownNameError, match=culprit):
        add(builder()).build()


def test_a_model_checks_its_names_however_it_is_made():
    model = builder().build()
    with pytest.raises(UnknownNameError, match="frame of constraint 'rope': 'leg'"):
        replace(model, constraints=(Distance("rope", "leg", "arm", 1.0),))
    with pytest.raises(NameClashError, match="two constraints are called 'cord'"):
        model.with_constraints(Tendon("cord", ()), Tendon("cord", ()))
    with pytest.raises(UnknownNameError, match="joint of actuator 'motor': 'knee'"):
        replace(model, actuators=(Actuator("motor", (("knee", 1.0),)),))


def test_constraints_may_be_given_as_a_list():
    model, cords = builder().build(), [Tendon("cord", ()), Tendon("rope", ())]
    assert model.with_constraints(cords).constraints == model.with_constraints(*cords).constraints
    with pytest.raises(ModelError, match="with_constraints: 'cord' is not a constraint"):
        model.with_constraints("cord")  # type: ignore


def test_cyclic_parents_are_spelled_out():
    b = (
        builder()
        .add_body("a", "c", **SOLID)
        .add_body("b", "a", **SOLID)
        .add_body("c", "b", **SOLID)
        .add_body("d", "c", **SOLID)
    )
    with pytest.raises(ModelError, match="cyclic parents: 'a' <- 'c' <- 'b' <- 'a'"):
        b.build()


def test_valid_constraints_are_kept_in_order():
    b = builder().add_body("leg", "arm", **SOLID).add_frame("toe", "leg")
    gear = Coupling("gear", (("arm_joint", 1.0),), driver="leg_joint", polynomial=(0.0, 2.0))
    kept = (
        LoopClosure("loop", "toe", "world", "connect"),
        gear,
        Distance("rope", "arm", "toe", 1.0),
        Tendon("cord", ()),
    )
    for constraint in kept:
        b.add_constraint(constraint)
    assert b.build().constraints == kept


def test_errors_are_of_one_family():
    with pytest.raises(SarrusError):
        builder().add_body("arm")
    with pytest.raises(KeyError):
        builder().build().frame("nose")
    assert str(UnknownNameError("plain text")) == "plain text"


def test_lookups_list_the_valid_names():
    model = builder().add_frame("tip", "arm").build()
    assert (model.body_index("arm"), model.joint_index("arm_joint"), model.frame("tip").body) == (0, 0, 0)
    for call, kind in ((model.body_index, "body"), (model.joint_index, "joint"), (model.frame, "frame")):
        with pytest.raises(UnknownNameError, match=f"unknown {kind} 'nose'. Valid: .*arm"):
            call("nose")


def test_long_lists_of_names_are_cut():
    b = ModelBuilder()
    for k in range(60):
        b.add_body(f"body_{k}", **SOLID)
    with pytest.raises(UnknownNameError, match=r"body_39, \.\.\. \(60 in all\)"):
        b.build().body_index("x")


# --- numbers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mass": -1.0}, "body 'bad' has mass -1: a mass must not be negative"),
        ({"mass": 1.0, "inertia": np.diag([1.0, 1.0, -0.1])}, "body 'bad': .*not positive semidefinite"),
        ({"mass": 1.0, "inertia": np.diag([1.0, 1.0, 3.0])}, "body 'bad': .*triangle inequality"),
        ({"mass": 1.0, "inertia": np.array([[1.0, 0.2, 0], [0, 1, 0], [0, 0, 1]])}, "body 'bad': .*not symmetric"),
        ({"mass": 0.0, "inertia": np.eye(3)}, "body 'bad': it has inertia but no mass"),
    ],
)
def test_inertias_that_nothing_has(arguments, message):
    with pytest.raises(InertiaError, match=message):
        ModelBuilder().add_body("bad", **arguments)


def test_a_nonphysical_inertia_can_be_kept_and_is_reported():
    b = ModelBuilder().add_body("bad", mass=1.0, inertia=np.diag([1.0, 1.0, 3.0]), allow_nonphysical=True)
    assert "body 'bad'" in b.build().import_report[0]
    assert "triangle" in b.build().import_report[0]


def test_tiny_inertias_are_real():
    """Fingers of 1e-12 kg m^2 are no rounding error: neither refused nor lost."""
    I = np.diag([1e-12, 1.1e-12, 1.9e-12])
    model = ModelBuilder().add_body("finger", mass=1e-7, inertia=I).build()
    assert sarrus.crba(model, [0.3])[0, 0] == pytest.approx(1.9e-12, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mass": np.nan}, "mass of body 'bad' is .*finite"),
        ({"com": (0.0, np.inf, 0.0)}, "com of body 'bad' is .*finite"),
        ({"com": (0.0, 0.0)}, r"com of body 'bad': expected shape \(3,\)"),
        ({"inertia": np.eye(2)}, r"inertia of body 'bad': expected shape \(3, 3\)"),
        ({"inertia": np.full((3, 3), np.nan)}, "inertia of body 'bad' is .*finite"),
        ({"position": (0.0, np.nan, 0.0)}, "position of joint 'bad_joint' is .*finite"),
        ({"position": "here"}, "position of joint 'bad_joint': expected shape"),
        (
            {"rotation": (1.0, 0.0)},
            "rotation of 'bad_joint': expected a 3x3 matrix, a quaternion xyzw or roll-pitch-yaw",
        ),
        ({"rotation": 2.0 * np.eye(3)}, "rotation of 'bad_joint': the matrix is not a rotation"),
        ({"rotation": np.diag([1.0, 1.0, -1.0])}, "rotation of 'bad_joint': the matrix is not a rotation"),
        ({"rotation": (0.0, 0.0, 0.0, 1.1)}, "rotation of 'bad_joint': the quaternion .* has length 1.1, expected 1"),
        ({"rotation": (0.0, np.nan, 0.0)}, "rotation of 'bad_joint' is .*finite"),
        ({"axis": (0.0, 0.0, 0.0)}, "joint 'bad_joint': the axis .* has no direction"),
        ({"axis": (0.0, np.nan, 1.0)}, "joint 'bad_joint': the axis .* has no direction"),
        ({"axis": (0.0, 1.0)}, "joint 'bad_joint': an axis is three numbers"),
        ({"axis": "x"}, "joint 'bad_joint': an axis is three numbers, got 'x'"),
        (
            {"joint": "universal", "axis": (1, 0, 0), "second_axis": (1, 1, 0)},
            "axes of a universal joint are perpendicular",
        ),
        ({"joint": "helical", "pitch": np.inf}, "pitch of joint 'bad_joint' is .*finite"),
        ({"armature": -0.1}, "armature of joint 'bad_joint' is .*must not be negative"),
        ({"damping": np.nan}, "damping of joint 'bad_joint' is .*must not be negative"),
        ({"armature": (0.1, 0.2)}, "armature of joint 'bad_joint': expected 1 numbers"),
        ({"lower": 1.0, "upper": 0.5}, "limits of joint 'bad_joint': lower .* exceeds upper"),
        ({"lower": np.nan}, "limits of joint 'bad_joint'"),
    ],
)
def test_numbers_that_make_no_sense(arguments, message):
    with pytest.raises(ModelError, match=message):
        ModelBuilder().add_body("bad", **({"mass": 1.0} | arguments))


@pytest.mark.parametrize("gravity", [(0.0, 0.0), (0.0, 0.0, np.nan), "down"])
def test_bad_gravity(gravity):
    with pytest.raises(ModelError, match="gravity"):
        ModelBuilder(gravity=gravity)
    with pytest.raises(ModelError, match="gravity"):
        builder().build().with_gravity(gravity)


def test_an_infinite_armature_is_refused():
    with pytest.raises(ModelError, match="armature of joint 'bad_joint'"):
        ModelBuilder().add_body("bad", armature=np.inf, **SOLID)


# --- well-posedness ------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0.8, 0.0), (1, 2, 3)])
@pytest.mark.parametrize("turned", [None, (0.1, 0.2, 0.3)])
def test_a_point_mass_on_the_axis_is_ill_posed_and_beside_it_is_not(axis, turned):
    with pytest.raises(IllPosedError, match=r"body 'bob'.*joint 'pivot'"):
        ModelBuilder().add_body("bob", joint_name="pivot", axis=axis, rotation=turned, mass=1.0, com=axis).build()
    beside = np.roll(axis, 1) * np.array([-1.0, 1.0, 1.0])
    ModelBuilder().add_body("bob", axis=axis, rotation=turned, mass=1.0, com=beside).build()


@pytest.mark.parametrize("kind", MOVING_KINDS)
def test_a_massless_leaf_is_named(kind):
    with pytest.raises(IllPosedError, match=r"body 'feather'.*joint 'feather_joint'"):
        builder().add_body("feather", "arm", joint=kind, **({"pitch": 0.1} if kind == "helical" else {})).build()


@pytest.mark.parametrize("kind", MOVING_KINDS)
def test_armature_makes_a_massless_leaf_well_posed(kind):
    model = builder().add_body("feather", "arm", joint=kind, armature=0.5).build()
    q, v = sarrus.random_state(model, rng=0)
    qdd = sarrus.aba(model, q, v, np.ones(model.nv))
    assert np.isfinite(qdd).all()


@pytest.mark.parametrize(
    ("kinds", "shapes"),
    [
        (["spherical", "translation"], ["massless", "point"]),  # a point on slides feels no turning
        (["helical", "translation"], ["massless", "point"]),
        (["prismatic", "free"], ["massless", "solid"]),  # a free body does not feel what it is mounted on
        (["revolute", "free", "revolute"], ["massless", "solid", "rod"]),
        (["prismatic", "prismatic", "prismatic", "prismatic"], ["massless", "massless", "massless", "solid"]),
    ],
)
@pytest.mark.parametrize("seed", range(8))
def test_joints_whose_inertia_others_take_away(kinds, shapes, seed):
    """What is left of the inertia is rounding, not zero: compared with what is carried, not with itself."""
    with pytest.raises(IllPosedError, match="body 'b0'"):
        mechanism(seed, kinds, shapes=shapes).model  # noqa: B018


def test_massless_links_are_fine_when_something_beyond_has_mass():
    case = mechanism(
        1, ["revolute", "revolute", "prismatic", "fixed"], shapes=["massless", "massless", "massless", "solid"]
    )
    s = case.state()
    assert relative_error(sarrus.crba(case.model, s.q), case.oracle.mass_matrix(s.q)) < 1e-12


def test_an_ill_posed_model_can_be_asked_for_and_says_so():
    model = builder().add_body("feather", "arm").build(allow_ill_posed=True)
    assert "body 'feather'" in model.import_report[-1]


def test_a_light_finger_on_a_heavy_robot_is_well_posed():
    b = ModelBuilder().add_body("body", joint="free", mass=1e3, inertia=1e3 * np.eye(3))
    b.add_body("finger", "body", position=(1, 0, 0), mass=1e-6, inertia=1e-13 * np.eye(3)).build()


# --- merging and order ---------------------------------------------------------------------------------


def test_fixed_joints_are_merged_and_their_frames_kept():
    case = mechanism(7, ["revolute", "fixed", "fixed", "revolute", "fixed"], parents=[-1, 0, 1, 2, 3])
    model, s = case.model, case.state()
    assert model.body_names == ("b0", "b3")
    assert {"b1", "b2", "b4", "b4_tool"} <= set(model.frame_names)
    assert relative_error(sarrus.crba(model, s.q), case.oracle.mass_matrix(s.q)) < 1e-13
    assert model.mass == pytest.approx(case.oracle.mass)


def test_what_is_fixed_to_the_ground_does_not_count():
    model = (
        ModelBuilder()
        .add_body("table", joint="fixed", position=(0, 0, 1), mass=50.0)
        .add_body("arm", "table", **SOLID)
        .build()
    )
    assert model.mass == 1.0
    assert model.bodies[0].parent == -1
    assert sarrus.forward_kinematics(model, [0.0], frames=["table", "arm"]).position.tolist() == [[0, 0, 1], [0, 0, 1]]


def test_bodies_may_be_added_in_any_order():
    case = mechanism(9, ["free", "universal", "fixed", "spherical", "helical"], parents=[-1, 0, 1, 2, 0])
    shuffled = Mechanism(tuple(case.bodies[k] for k in (3, 4, 2, 0, 1)), case.frames, case.gravity)
    model, s = case.model, case.state()
    order = [shuffled.model.joint_index(name) for name in model.joint_names]
    assert shuffled.model.bodies[0].name == "b0"
    v_at = np.concatenate([np.arange(shuffled.model.nv)[shuffled.model.layout.v[k]] for k in order])
    q = np.zeros(model.nq)
    for name in model.joint_names:
        q[shuffled.model.layout.q_of(name)] = s.q[model.layout.q_of(name)]
    assert relative_error(sarrus.crba(shuffled.model, q)[np.ix_(v_at, v_at)], sarrus.crba(model, s.q)) < 1e-14


def test_a_report_says_everything_once():
    b = builder().report("no cameras").report("no cameras").report("no lights")
    assert b.build().import_report == ("no cameras", "no lights")
    assert b.has_name("arm")
    assert b.has_name("world")
    assert not b.has_name("leg")


def test_models_do_not_change():
    model = builder().build()
    with pytest.raises(AttributeError):
        model.name = "other"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        model.bodies[0].placement.p[0] = 1.0
    assert repr(model) == "<Model 'robot': 1 bodies, nq 1, nv 1>"


def test_gravity_of_a_copy():
    model = builder().build()
    moon = model.with_gravity((0, 0, -1.62))
    assert (
        relative_error(sarrus.gravity_forces(moon, [0.4]) * 9.81, sarrus.gravity_forces(model, [0.4]) * 1.62, 1.0)
        < 1e-15
    )


# --- symbols -------------------------------------------------------------------------------------------


def test_a_symbolic_direction_goes_into_the_rotation():
    with pytest.raises(ModelError, match="symbolic direction goes into `rotation`"):
        ModelBuilder().add_body("x", axis=ca.SX.sym("u", 3))


def test_symbolic_fields_are_recognised():
    for arguments in (
        {"mass": ca.SX.sym("m")},
        {"com": ca.SX.sym("c", 3)},
        {"inertia": ca.SX.sym("I", 3, 3)},
        {"position": ca.SX.sym("p", 3)},
        {"rotation": ca.SX.sym("R", 3, 3)},
        {"rotation": ca.SX.sym("x", 4)},
        {"armature": ca.SX.sym("r")},
        {"joint": "helical", "pitch": ca.SX.sym("h")},
    ):
        assert not ModelBuilder().add_body("x", **(SOLID | arguments)).build().is_numeric, arguments
    assert not builder().add_frame("tip", "arm", position=(ca.SX.sym("l"), 0, 0)).build().is_numeric
    assert ModelBuilder().add_body("x", **(SOLID | {"mass": ca.SX(2.0)})).build().is_numeric
