"""Rotors as reflected inertia: what each approximation keeps of the mass matrix, of motors and of damping."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.errors import UnknownNameError, UnsupportedError
from sarrus.model.independent import independent_velocities

ROBOTS = [lambda: zoo.humanoid_leg(floating=True), zoo.parallel_belt, zoo.differential]


def links_only(model, tree, q):
    """The tree's configuration, and where its velocities lie among the model's."""
    joints = tree.joint_names
    where = [k for j in joints for k in range(model.nv)[model.layout.v_of(j)]]
    return np.concatenate([q[model.layout.q_of(j)] for j in joints]), where


def speeds(model, tree):
    """A (rotors, velocities of the tree) by the Jacobian of the couplings, and J, by names: neither from the code."""
    rotors = [i for i, b in enumerate(model.bodies) if b.joint.name not in tree.joint_names]
    J = sarrus.closure(model, sarrus.neutral(model)).jacobian
    _, links = links_only(model, tree, sarrus.neutral(model))
    columns = [model.layout.v[i].start for i in rotors]
    A = np.linalg.solve(J[:, columns], -J[:, links])
    axes = [model.bodies[i].joint.axes[0] for i in rotors]
    return A, np.array([e @ model.bodies[i].inertia.Io @ e for e, i in zip(axes, rotors, strict=True)])


@pytest.mark.parametrize("make", ROBOTS)
def test_what_is_kept_of_the_mass_matrix(make):
    model = make()
    none, diagonal, block = (
        sarrus.without_rotors(model, reflected_inertia=x) for x in ("none", "diagonal", "block_diagonal")
    )
    assert block.ny == none.nv == diagonal.nv
    A, J = speeds(model, none)
    reflected = A.T @ np.diag(J) @ A
    q, _ = sarrus.random_state(model, 1)
    q_tree, where = links_only(model, none, q)
    order = [list(independent_velocities(block)).index(k) for k in where]
    M = sarrus.crba(none, q_tree)
    assert np.allclose(sarrus.crba(diagonal, q_tree), M + np.diag(np.diag(reflected)), rtol=0, atol=1e-12)
    assert np.allclose(sarrus.ce_crba(block, q)[np.ix_(order, order)], M + reflected, rtol=0, atol=1e-12)
    # What is left out: momentum J A yd along the rotor's axis e, which what carries it feels, and the other way round.
    exchanged = np.zeros((none.nv, none.nv))
    rotors = [body for body in model.bodies if body.joint.name not in none.joint_names]
    for body, turns, inertia in zip(rotors, A, J, strict=True):
        if body.parent >= 0:
            e = body.placement.R @ body.joint.axes[0]
            along = e @ sarrus.frame_jacobian(none, q_tree, model.body_names[body.parent])[3:]
            exchanged += inertia * (np.outer(turns, along) + np.outer(along, turns))
    G = np.zeros((model.nv, none.nv))
    G[where], G[[k for k in range(model.nv) if k not in where]] = np.eye(none.nv), A
    exact = G.T @ sarrus.crba(model.without_constraints(), q) @ G
    assert np.allclose(exact, M + reflected + exchanged, rtol=0, atol=1e-12)


def test_a_rotor_on_the_ground_is_exact():
    model = zoo.link_and_rotor()
    q, v = sarrus.random_state(model, 2)
    tree = sarrus.without_rotors(model)
    q_tree, where = links_only(model, tree, q)
    exact = sarrus.embed(model, independent=tree.joint_names)
    tau = np.zeros(model.nv)
    tau[where] = 0.3
    assert np.allclose(sarrus.ce_aba(exact, q, v, tau).ydd, sarrus.aba(tree, q_tree, v[where], tau[where]), rtol=1e-12)


def test_motors_and_damping_act_behind_the_gears():
    model = zoo.link_and_rotor()
    (rotor,) = set(model.joint_names) - set(sarrus.without_rotors(model).joint_names)
    i = model.joint_index(rotor)
    motor = sarrus.Actuator("motor", ((rotor, 1.0),), gear=2.0)
    damped = replace(model.bodies[i], joint=replace(model.bodies[i].joint, damping=np.array([0.01])))
    bodies = (*model.bodies[:i], damped, *model.bodies[i + 1 :])
    tree = sarrus.without_rotors(replace(model, bodies=bodies, actuators=(motor,)), "none")
    ((link, speed),) = tree.actuators[0].joints
    A, _ = speeds(model, tree)
    assert link in tree.joint_names
    assert np.isclose(speed, A[0, 0])
    before = model.bodies[model.joint_index(link)].joint.damping[0]
    assert np.isclose(tree.bodies[tree.joint_index(link)].joint.damping[0], before + 0.01 * A[0, 0] ** 2)


def test_refusals_in_words():
    with pytest.raises(UnknownNameError, match="reflected_inertia"):
        sarrus.without_rotors(zoo.link_and_rotor(), "full")
    with pytest.raises(UnsupportedError, match="no rotors"):
        sarrus.without_rotors(zoo.four_bar())
