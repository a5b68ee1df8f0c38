"""Robots that learn: thousands of them as Gymnasium environments (`pip install "sarrus[gym]"`)."""

from sarrus.errors import optional_package

optional_package("gymnasium.vector", "sarrus.gym needs Gymnasium", "'sarrus[gym]'")

from sarrus.hooks.gym.locomotion import locomotion  # noqa: E402
from sarrus.hooks.gym.registered import ENVIRONMENTS, biped, make_vec, quadruped, register  # noqa: E402
from sarrus.hooks.gym.rsl_rl import RslRlEnv  # noqa: E402
from sarrus.hooks.gym.task import Situation, Task, Traced  # noqa: E402
from sarrus.hooks.gym.vector_env import Env, VectorEnv  # noqa: E402
from sarrus.spatial.choice import choose  # noqa: E402

register()

__all__ = [
    "ENVIRONMENTS", "Env", "RslRlEnv", "Situation", "Task", "Traced", "VectorEnv", "biped", "choose", "locomotion",
    "make_vec", "quadruped", "register",
]  # fmt: skip
