"""What constraints answer for themselves."""

import numpy as np
import pytest

import sarrus
from sarrus.errors import ModelError, UnsupportedError
from sarrus.mechanics.constraints.rows import EQUATIONS, rows_at
from sarrus.model.constraints import CLOSURES, Constraint, Held, Kind, LinkConstraint, LoopClosure, Tendon, of_type
from sarrus.model.constraints.loops import LoopConstraint

ABSTRACT = {LinkConstraint, LoopConstraint}
DECLARED = [
    sarrus.contact("foot", 6),
    sarrus.link_rows("hand", np.eye(6)[:2]),
    sarrus.loop("a", "b", "universal"),
    sarrus.distance("a", "b", 0.3),
    sarrus.coupling({"i": 1.0, "j": -2.0}, driver="k", polynomial=(0.0, 1.0, 0.5), references={"i": 0.1}),
    sarrus.center_of_mass_constraint("xz"),
    Tendon("tendon", (("i", 1.0), ("j", 0.5))),
]
ANSWERS = [  # kind, size, frames, joints, whether it holds velocities only
    (Kind.LINK, 6, ("foot",), (), True),
    (Kind.LINK, 2, ("hand",), (), True),
    (Kind.LOOP, 4, ("a", "b"), (), False),
    (Kind.LOOP, 1, ("a", "b"), (), False),
    (Kind.COUPLING, 1, (), ("i", "j", "k"), False),
    (Kind.CENTER_OF_MASS, 2, (), (), True),
    (Kind.TENDON, 0, (), ("i", "j"), False),
]
WORDS = [
    ("contact 6D", "foot - world"),
    ("2 link rows", "hand - world"),
    ("loop closed by universal", "a - b"),
    ("distance", "a - b"),
    ("coupling", "+1 i -2 j = +1 x^1 +0.5 x^2, x = k"),
    ("centre of mass", "along x, z"),
    ("tendon", "+1 i +0.5 j"),
]


def types(base: type) -> set[type]:
    found = {x for child in base.__subclasses__() for x in (child, *types(child))}
    return {x for x in found if x.__module__.startswith("sarrus.")}  # not those of other tests


def test_every_type_is_among_these_and_has_equations():
    concrete = types(Constraint) - ABSTRACT
    assert concrete == {type(c) for c in DECLARED}
    assert set(EQUATIONS) == concrete - {Tendon}


def test_a_type_without_equations_is_refused_in_words():
    words = r"constraint 'tendon' is a Tendon: not supported\. Valid: CenterOfMass, Contact, "
    with pytest.raises(UnsupportedError, match=words):
        rows_at(None, [DECLARED[-1]], method="view")  # type: ignore[arg-type]


def test_no_concrete_answer_is_overridden():
    """A class is abstract, or final."""
    for child in types(Constraint):
        for base in child.__mro__[1:-2]:
            shared = {x for x in vars(child).keys() & vars(base).keys() if not x.startswith("_")}
            fields = {"desired", "at", "kind"}
            assert not {x for x in shared - fields if not getattr(vars(base)[x], "__isabstractmethod__", False)}


@pytest.mark.parametrize(
    ("constraint", "answer"), [*zip(DECLARED, ANSWERS, strict=True)], ids=lambda x: type(x).__name__
)
def test_what_it_holds(constraint, answer):
    found = (constraint.kind, constraint.size, constraint.frames, constraint.joints, constraint.velocity_only)
    assert found == answer


@pytest.mark.parametrize(("constraint", "words"), [*zip(DECLARED, WORDS, strict=True)], ids=lambda x: type(x).__name__)
def test_in_words(constraint, words):
    assert constraint.in_words() == words


@pytest.mark.parametrize("constraint", DECLARED, ids=lambda c: type(c).__name__)
def test_renaming_reaches_every_name(constraint):
    other = constraint.renamed(lambda name: f"left_{name}")
    assert type(other) is type(constraint)
    assert other.name == f"left_{constraint.name}"
    assert other.frames == tuple(f"left_{name}" for name in constraint.frames)
    assert other.joints == tuple(f"left_{name}" for name in constraint.joints)
    assert other.size == constraint.size
    if constraint.kind is Kind.COUPLING:
        assert other.references == (("left_i", 0.1),)
        assert other.driver == "left_k"


def test_a_place_makes_it_hold_positions():
    assert not sarrus.contact("foot", 3, at=np.zeros(3)).velocity_only
    assert not sarrus.center_of_mass_constraint("x", at=[0.1]).velocity_only


def test_only_some_can_be_told_an_acceleration():
    assert sarrus.contact("foot", k="input").takes_input
    assert sarrus.center_of_mass_constraint("x", k="input").takes_input
    with pytest.raises(TypeError, match="desired"):
        LoopClosure("loop", "a", "b", "weld", desired="input")  # type: ignore[call-arg]


def test_the_rows_of_joints():
    rows = {joint: sum(held.rows for held in holds) for joint, holds in CLOSURES.items()}
    assert rows == {
        "weld": 6, "connect": 3, "spherical": 3, "revolute": 5, "universal": 4, "prismatic": 5, "cylindrical": 4,
        "planar": 3, "helical": 5,
    }  # fmt: skip
    assert {held for holds in CLOSURES.values() for held in holds} == set(Held) - {Held.DISTANCE}


def test_the_basis_of_a_joint_is_right_handed():
    basis = sarrus.loop("a", "b", axis=(1.0, -2.0, 0.5)).basis
    np.testing.assert_allclose(basis @ basis.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(basis) > 0.0
    np.testing.assert_allclose(np.cross(basis[0], (1.0, -2.0, 0.5)), 0.0, atol=1e-15)


def test_of_type():
    assert of_type(DECLARED, LoopClosure) == [DECLARED[2]]
    assert of_type(DECLARED, LinkConstraint) == DECLARED[:2]


def test_unknown_names_are_refused_in_words():
    model = sarrus.zoo.four_bar()
    with pytest.raises(sarrus.errors.SarrusError, match="frame of constraint 'contact_nowhere'"):
        model.with_constraints(sarrus.contact("nowhere"))
    with pytest.raises(sarrus.errors.SarrusError, match="joint of constraint 'coupling_nothing'"):
        model.with_constraints(sarrus.coupling({"nothing": 1.0}))
    with pytest.raises(sarrus.errors.SarrusError, match=r"revolved.*helical"):
        assert LoopClosure("loop", "a", "b", "revolved").size


@pytest.mark.parametrize(
    "sum_of", [sarrus.Tendon("t", (("b_joint", 1.0),)), sarrus.coupling({"b_joint": 1.0}, name="t")]
)
def test_sums_of_positions_need_joints_of_one_coordinate(sum_of):
    builder = sarrus.ModelBuilder("ball")
    builder.add_body("b", joint="spherical", mass=1.0, inertia=np.eye(3))
    with pytest.raises(sarrus.errors.ModelError, match="'t' adds up positions of 'b_joint', a spherical joint"):
        builder.build().with_constraints(sum_of)


@pytest.mark.parametrize(
    ("dim", "at"),
    [
        (3, [np.nan, 0.0, 0.0]), (3, [0.0, np.inf, 0.0]), (3, [1.0, 2.0]), (3, "here"), (3, np.eye(4)),
        (6, [0.0, 0.0, 0.0]), (6, (np.zeros(3), np.ones((3, 3)))), (6, (np.zeros(3), -np.eye(3))),
        (6, (np.zeros(3), np.full((3, 3), np.nan))), (6, (np.full(3, np.nan), np.eye(3))), (6, 1.0),
    ],
)  # fmt: skip
def test_where_a_contact_is_held_is_checked_when_it_is_declared(dim, at):
    with pytest.raises(ModelError, match="contact of frame 'foot': `at`"):
        sarrus.contact("foot", dim, at=at)
