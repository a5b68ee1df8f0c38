"""Proximal policy optimisation (Schulman et al., 2017) over a vector of environments, in one page of PyTorch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from sarrus.hooks.gym import VectorEnv


@dataclass(frozen=True)
class Settings:
    horizon: int = 24  # actions of every environment between two updates
    epochs: int = 4
    batches: int = 4  # per epoch
    discount: float = 0.98
    trace: float = 0.95  # of advantages (GAE)
    clip: float = 0.2
    entropy: float = 3e-3
    rate: float = 1e-3  # of learning, at first
    closeness: float = 0.012  # mean KL divergence of an update, towards which the rate is adapted
    hidden: int = 64
    spread: float = 0.5  # of actions, at first


class Policy(nn.Module):
    """What to do, and what it is worth: two networks on observations that are scaled by what has been seen."""

    def __init__(self, observations: int, actions: int, settings: Settings = Settings()) -> None:
        super().__init__()
        self.actor, self.critic = (_network(observations, settings.hidden, n) for n in (actions, 1))
        with torch.no_grad():
            self.actor[-1].weight *= 0.1
        self.log_spread = nn.Parameter(torch.full((actions,), float(np.log(settings.spread))))
        self.register_buffer("mean", torch.zeros(observations))
        self.register_buffer("square", torch.ones(observations))
        self.register_buffer("seen", torch.tensor(1.0))

    def see(self, observations: torch.Tensor) -> None:
        """Remember means and squares of observations."""
        part = len(observations) / float(self.seen + len(observations))
        self.mean += part * (observations.mean(0) - self.mean)
        self.square += part * (observations.square().mean(0) - self.square)
        self.seen += len(observations)

    def scaled(self, observations: torch.Tensor) -> torch.Tensor:
        spread = (self.square - self.mean**2).clamp(min=1e-4).sqrt()
        return ((observations - self.mean) / spread).clamp(-5.0, 5.0)

    def best(self, observations: torch.Tensor) -> torch.Tensor:
        """Actions without chance."""
        return self.actor(self.scaled(observations))

    def likelihood(self, actions: torch.Tensor, means: torch.Tensor) -> torch.Tensor:
        """Logarithm of that of normally distributed actions, but for a constant."""
        return -0.5 * ((actions - means) * (-self.log_spread).exp()).square().sum(-1) - self.log_spread.sum()


def _network(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, outputs)
    )


class Experience(NamedTuple):
    """Of all environments over a horizon, flat. Observations are scaled."""

    observations: torch.Tensor
    actions: torch.Tensor
    means: torch.Tensor
    likelihoods: torch.Tensor
    advantages: torch.Tensor
    returns: torch.Tensor


class Learned(NamedTuple):
    """After an update: what it has cost so far, and how good the actions and episodes were meanwhile."""

    seconds: float
    steps: int
    reward: float  # per action
    length: float  # seconds, of episodes that ended
    policy: Policy


def learn(envs: VectorEnv, settings: Settings = Settings(), seed: int = 0) -> Iterator[Learned]:
    """Improve a policy until nobody asks for more. The environments begin anew within a step ("SameStep")."""
    torch.manual_seed(seed)
    began, steps = time.perf_counter(), 0
    policy = Policy(envs.single_observation_space.shape[0], envs.single_action_space.shape[0], settings)
    optimizer = torch.optim.Adam(policy.parameters(), settings.rate, fused=True)
    envs.reset(seed=seed)
    # Episodes do not end all at once, and clocks show all times.
    envs.episode_steps[:] = np.random.default_rng(seed).integers(0, envs.episode_limit, envs.num_envs)
    lengths: list[float] = []
    observation = torch.from_numpy(envs.step(np.zeros(envs.action_space.shape))[0])
    while True:
        experience, observation, reward = gather(envs, policy, settings, observation, lengths)
        improve(policy, optimizer, experience, settings)
        steps += settings.horizon * envs.num_envs
        lengths[:] = lengths[-500:]
        yield Learned(time.perf_counter() - began, steps, reward, float(np.mean(lengths or [np.nan])), policy)


@torch.no_grad()
def gather(
    envs: VectorEnv, policy: Policy, settings: Settings, observation: torch.Tensor, lengths: list[float]
) -> tuple[Experience, torch.Tensor, float]:
    """What happens over a horizon, with advantages over what was expected."""
    kept: dict[str, list[torch.Tensor]] = {x: [] for x in ("seen", "done", "mean", "chance", "value", "reward", "end")}
    action_time, spread, earned = envs.task.dt * envs.task.substeps, policy.log_spread.exp(), 0.0
    for _ in range(settings.horizon):
        policy.see(observation)
        seen = policy.scaled(observation)
        mean, value = policy.actor(seen), policy.critic(seen)[:, 0]
        action, before = mean + spread * torch.randn_like(mean), envs.episode_steps.copy()
        following, reward, terminated, truncated, infos = envs.step(action.numpy())
        earned += reward.mean() / settings.horizon
        reward = torch.from_numpy(reward).float()
        if truncated.any():  # cut off, not failed: what is left would have been worth something
            cut = torch.from_numpy(truncated)
            last = policy.scaled(torch.from_numpy(infos["final_obs"])[cut])
            reward[cut] += settings.discount * policy.critic(last)[:, 0]
        over = terminated | truncated
        lengths += ((before[over] + 1) * action_time).tolist()
        values = (seen, action, mean, policy.likelihood(action, mean), value, reward, torch.from_numpy(over))
        for name, x in zip(kept, values, strict=True):
            kept[name].append(x)
        observation = torch.from_numpy(following)
    found = {name: torch.stack(x) for name, x in kept.items()}
    advantages, advantage = torch.zeros_like(found["reward"]), torch.zeros(envs.num_envs)
    following_value = policy.critic(policy.scaled(observation))[:, 0]
    for t in reversed(range(settings.horizon)):
        going = (~found["end"][t]).float()
        error = found["reward"][t] + settings.discount * following_value * going - found["value"][t]
        advantage = error + settings.discount * settings.trace * going * advantage
        advantages[t], following_value = advantage, found["value"][t]
    returns = advantages + found["value"]
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    flat = [found["seen"], found["done"], found["mean"], found["chance"], advantages, returns]
    return Experience(*(x.flatten(0, 1) for x in flat)), observation, float(earned)


def improve(policy: Policy, optimizer: Any, experience: Experience, settings: Settings) -> None:
    """Make better actions likelier, but not much; the rate of learning follows how much that was."""
    before = policy.log_spread.detach().clone()
    for _ in range(settings.epochs):
        for part in torch.randperm(len(experience.actions)).chunk(settings.batches):
            seen, done, old, chance, advantage, returns = (x[part] for x in experience)
            means = policy.actor(seen)
            with torch.no_grad():
                wider, moved = (before - policy.log_spread).exp().square(), (means - old) * (-policy.log_spread).exp()
                divergence = 0.5 * (wider - 1.0 - wider.log() + moved.square().mean(0)).sum()
                _adapt(optimizer, float(divergence), settings)
            ratio = (policy.likelihood(done, means) - chance).exp()
            clipped = ratio.clamp(1.0 - settings.clip, 1.0 + settings.clip)
            gain = torch.minimum(ratio * advantage, clipped * advantage).mean()
            miss = (policy.critic(seen)[:, 0] - returns).square().mean()
            loss = 0.5 * miss - gain - settings.entropy * policy.log_spread.sum()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()


def _adapt(optimizer: Any, divergence: float, settings: Settings) -> None:
    group = optimizer.param_groups[0]
    if divergence > 2.0 * settings.closeness:
        group["lr"] = max(1e-5, group["lr"] / 1.5)
    elif divergence < 0.5 * settings.closeness:
        group["lr"] = min(3e-3, group["lr"] * 1.5)


def rolled_out(envs: VectorEnv, policy: Policy, actions: int, look: Callable[[VectorEnv], None]) -> None:
    """The policy's best guesses for a while; `look` is called after each action."""
    observation = envs.reset(seed=0)[0]
    for _ in range(actions):
        with torch.no_grad():
            action = policy.best(torch.from_numpy(observation))
        observation = envs.step(action.numpy())[0]
        look(envs)
