"""What a user says about contacts is taken as it is meant, or refused in words: nothing is dropped silently."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sarrus
from sarrus import ContactOptions
from sarrus.errors import ModelError, SarrusError, StateError, UnknownNameError
from sarrus.model.visuals import Box, Sphere


def crates() -> sarrus.Model:
    builder = sarrus.ModelBuilder("crates")
    for k, name in enumerate("ab"):
        builder.add_body(name, joint="free", position=(float(k), 0, 0.1), mass=1.0, inertia=0.01 * np.eye(3))
        builder.add_geometry(name, Box((0.2, 0.2, 0.2)), name=name)
    builder.add_geometry("b", Box((0.1, 0.1, 0.1)), name="handle")
    return builder.build().with_ground()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name in ("self_collision", "joint_limits", "convex", "turning", "exact_friction")
          for value in ("no", 0, 1, 2, None)),
        *((name, value) for name in ("restitution", "tolerance", "damping", "stiffness")
          for value in ("x", np.nan, -1.0, np.inf, True, [1.0])),
        *((name, value) for name in ("slots", "limit_slots") for value in (0, -1, 2.5, np.nan, True, "4")),
        ("operator", "sweep"),
        *(("pairs", value) for value in (5, "a", True, [1], [("a",)], (("a", "floor", "b"),), ["ab"], [("a", 3)],
                                         [("a", "a")])),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_and_named(name: str, value: Any) -> None:
    with pytest.raises(SarrusError, match=name):
        ContactOptions(**{name: value})


def test_numpys_numbers_and_switches_are_plain_ones() -> None:
    given = {"self_collision": np.bool_(True), "restitution": np.float32(0.5), "slots": np.int64(3)}
    assert repr(ContactOptions(**given)) == repr(ContactOptions(self_collision=True, restitution=0.5, slots=3))


@pytest.mark.parametrize("given", [lambda x: (pair for pair in x), list, tuple, set, lambda x: [list(y) for y in x]])
def test_whatever_holds_pairs_of_names_is_taken(given: Callable[[Any], Any]) -> None:
    model, options = crates(), ContactOptions(pairs=given([("ground", "a")]))
    for _ in range(2):  # a generator can be gone through once
        simulation = sarrus.Simulation(model, contacts=options)
        assert simulation.touching_pairs == [("a", "ground")]
    end = simulation.run(duration=0.05).contacts
    assert end is not None
    assert end[-1].total_force[2] == pytest.approx(9.81, rel=1e-3)  # a is borne, and b falls


def test_names_that_are_unknown_or_of_what_never_meets_are_told() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown geometry 'handel'\. Did you mean 'handle'"):
        sarrus.Simulation(crates(), contacts=ContactOptions(pairs=[("handel", "ground")]))
    with pytest.raises(StateError, match=r"\('handle', 'b'\), which never meet: both are on one body"):
        sarrus.Simulation(crates(), contacts=ContactOptions(pairs=[("a", "ground"), ("handle", "b")]))


@pytest.mark.parametrize("function", ["impulse", "inverse_dynamics"])
@pytest.mark.parametrize("contacts", [True, False, {}, "yes"])
def test_functions_that_always_have_contacts_take_nothing_but_options(function: str, contacts: Any) -> None:
    model = crates()
    states = [model.home, np.zeros(model.nv), np.zeros(model.nv)][: 2 if function == "impulse" else 3]
    with pytest.raises(StateError, match=rf"{function}: contacts is .*Valid: sarrus.ContactOptions"):
        getattr(sarrus, function)(model, *states, contacts=contacts)


@pytest.mark.parametrize("function", ["impulse", "inverse_dynamics"])
def test_functions_of_rigid_contacts_refuse_those_that_give_way(function: str) -> None:
    model = crates()
    states = [model.home, np.zeros(model.nv), np.zeros(model.nv)][: 2 if function == "impulse" else 3]
    with pytest.raises(StateError, match=rf"{function}: stiffness is 10, but"):
        getattr(sarrus, function)(model, *states, contacts=ContactOptions(stiffness=10.0))


@pytest.mark.parametrize("model", ["robot.xml", None, 5], ids=str)
@pytest.mark.parametrize(
    "function",
    [
        sarrus.Simulation,
        lambda m: sarrus.put_down(m, []),
        lambda m: sarrus.impulse(m, [], []),
        lambda m: sarrus.inverse_dynamics(m, [], [], []),
        lambda m: sarrus.distances(m, []),
        lambda m: sarrus.forward_dynamics(m, [], [], []),
    ],
)
def test_what_is_no_model_is_refused_in_words(function: Callable[[Any], Any], model: Any) -> None:
    with pytest.raises(StateError, match=r"must be a sarrus\.Model, got"):
        function(model)


def test_steps_take_states_and_parameters_are_numbers_by_name() -> None:
    robot = sarrus.zoo.biped().with_ground()
    simulation = sarrus.Simulation(robot)
    for function in (simulation.step, simulation.linearize):
        with pytest.raises(StateError, match="expected a state"):
            function(np.zeros(robot.nq))
    with pytest.raises(ModelError, match="numbers by name"):
        sarrus.Simulation(robot, parameters=[1.0])


def test_numbers_beyond_all_and_rotations_of_ragged_rows_are_refused_in_words() -> None:
    builder = sarrus.ModelBuilder("ball")
    builder.add_body("ball", joint="free", mass=1.0, inertia=0.01 * np.eye(3))
    for wrong in ({"friction": 10**400}, {"position": (10**400, 0, 0)}, {"rotation": [[1.0], [2.0, 3.0]]}):
        with pytest.raises(ModelError):
            builder.add_geometry("ball", Sphere(0.1), **wrong)
