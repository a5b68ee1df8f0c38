"""The learning example: a small robot, a few updates."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import sarrus
from tests.hooks.robots import table

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'sarrus[torch]'")
pytest.importorskip("gymnasium", minversion="1.1", reason="needs Gymnasium: pip install 'sarrus[gym]'")


def test_a_policy_learns_and_can_be_shown():
    """Legs that are off home are penalised: a policy that begins with random targets learns to hold still."""
    from examples.learning.ppo import Settings, learn, rolled_out

    torch.set_num_threads(1)  # networks this small are not worth more
    task = sarrus.gym.locomotion(table(), kp=40.0, kd=1.0, dt=5e-3, substeps=4, seconds=1.0)
    envs = sarrus.gym.VectorEnv(table(), task, 64, autoreset_mode="SameStep")
    found = list(islice(learn(envs, Settings(hidden=32), seed=0), 12))
    rewards = [now.reward for now in found]
    assert np.isfinite(rewards).all()
    assert found[-1].steps == 12 * 24 * 64
    assert np.mean(rewards[-3:]) > np.mean(rewards[:3])
    seen = []
    rolled_out(envs, found[-1].policy, 3, lambda envs: seen.append(envs.situation.q.copy()))
    assert len(seen) == 3
    assert all(x.isfinite().all() for x in found[-1].policy.parameters())
