"""Robots of the zoo with tasks, under names that `gymnasium.make` and `gymnasium.make_vec` know."""

from __future__ import annotations

from typing import Any

import gymnasium

from sarrus import zoo
from sarrus.errors import check_name
from sarrus.hooks.gym.locomotion import locomotion
from sarrus.hooks.gym.task import Task
from sarrus.hooks.gym.vector_env import Env, VectorEnv
from sarrus.model.model import Model
from sarrus.planning.embedding import embed

TASKS: dict[str, dict[str, Any]] = {"stand": {}, "walk": {"speed": 0.5, "frequency": 2.0}}
_TROT = {"front_left_foot": 0.0, "hind_right_foot": 0.0, "front_right_foot": 0.5, "hind_left_foot": 0.5}
_SETTINGS: dict[str, dict[str, Any]] = {
    "quadruped": {"kp": 60.0, "kd": 2.0, "action_scale": 0.4},
    "biped": {"kp": 300.0, "kd": 10.0, "action_scale": 0.3, "dt": 2e-3, "substeps": 10, "noise": 0.02},
}
ENVIRONMENTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "QuadrupedStand": ("quadruped", "stand", {"noise": 0.2, "start_speed": 0.5}),
    "QuadrupedWalk": ("quadruped", "walk", {"gait": _TROT}),
    "BipedStand": ("biped", "stand", {}),
}


def quadruped() -> Model:
    """The zoo's, its gears embedded, on the ground."""
    return embed(zoo.geared_quadruped().with_ground(friction=0.8))


def biped() -> Model:
    """The zoo's, its loops embedded, on the ground."""
    return embed(zoo.biped(arms=False).with_ground(friction=0.8))


_ROBOTS = {"quadruped": quadruped, "biped": biped}


def make_vec(model: Model | str, task: Task | str = "stand", num_envs: int = 1, **settings: Any) -> VectorEnv:
    """Environments of a robot, one's own or one of the zoo by name, with a task, one's own or "stand" or "walk".

    settings  of the `VectorEnv`
    """
    special: dict[str, Any] = {}
    if isinstance(model, str):
        check_name("robot", model, _ROBOTS)
        known = (more for robot, name, more in ENVIRONMENTS.values() if (robot, name) == (model, task))
        special = _SETTINGS[model] | next(known, {})
        model = _ROBOTS[model]()
    if isinstance(task, str):
        check_name("task", task, TASKS)
        task = locomotion(model, **TASKS[task], **special)
    return VectorEnv(model, task, num_envs, **settings)


def _made(name: str) -> tuple[Model, Task]:
    robot, task, settings = ENVIRONMENTS[name]
    model = _ROBOTS[robot]()
    return model, locomotion(model, **TASKS[task], **_SETTINGS[robot], **settings)


def make_one(name: str, **settings: Any) -> Env:
    """For `gymnasium.make`."""
    return Env(*_made(name), **settings)


def make_many(name: str, num_envs: int = 1, **settings: Any) -> VectorEnv:
    """For `gymnasium.make_vec`."""
    return VectorEnv(*_made(name), num_envs, **settings)


def register() -> None:
    """Enter all into Gymnasium's registry, once."""
    for name in ENVIRONMENTS:
        if (known := f"Sarrus/{name}-v0") not in gymnasium.registry:
            room = "sarrus.hooks.gym.registered"
            gymnasium.register(
                known, f"{room}:make_one", vector_entry_point=f"{room}:make_many", kwargs={"name": name},
                disable_env_checker=True,
            )  # fmt: skip
