"""A `VectorEnv` in the shape that rsl_rl's runners want: tensors, and episodes that begin anew within a step."""

from __future__ import annotations

from typing import Any

from gymnasium.vector import AutoresetMode

from sarrus.errors import UnsupportedError, optional_package
from sarrus.hooks.gym.vector_env import VectorEnv

_INSTALL = "rsl-rl-lib tensordict torch"


class RslRlEnv:
    """What `rsl_rl.env.VecEnv` asks for, of environments with autoreset_mode="SameStep", on the CPU.

    Observations are a TensorDict with one group, "policy". `extras["time_outs"]` are episodes that were cut off.
    """

    def __init__(self, envs: VectorEnv, cfg: Any = None) -> None:
        if envs.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise UnsupportedError(
                'rsl_rl needs environments that reset within a step: VectorEnv(autoreset_mode="SameStep")'
            )
        self._torch = optional_package("torch", "rsl_rl needs PyTorch", _INSTALL)
        self._dict = optional_package("tensordict", "rsl_rl needs tensordict", _INSTALL).TensorDict
        self.envs, self.cfg, self.device = envs, cfg or {}, "cpu"
        self.num_envs, self.num_actions = envs.num_envs, envs.single_action_space.shape[0]
        self.max_episode_length = envs.episode_limit
        self._observations, _ = envs.reset()

    @property
    def episode_length_buf(self) -> Any:
        """Actions since each episode began; the runner may set it, so that episodes do not end all at once."""
        return self._torch.from_numpy(self.envs.episode_steps)

    @episode_length_buf.setter
    def episode_length_buf(self, given: Any) -> None:
        self.envs.episode_steps[:] = given.numpy()

    def get_observations(self) -> Any:
        policy = self._torch.from_numpy(self._observations)
        return self._dict({"policy": policy}, batch_size=[self.num_envs])

    def reset(self) -> tuple[Any, dict[str, Any]]:
        self._observations, _ = self.envs.reset()
        return self.get_observations(), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
        """Observations, rewards, dones and extras."""
        torch = self._torch
        self._observations, rewards, terminated, truncated, _ = self.envs.step(actions.detach().cpu().numpy())
        extras = {"time_outs": torch.from_numpy(truncated)}
        dones = torch.from_numpy(terminated | truncated)
        return self.get_observations(), torch.from_numpy(rewards.astype("float32")), dones, extras
