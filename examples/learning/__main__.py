"""A quadruped learns to walk on the ground, on the cores of a laptop: `python -m examples.learning --minutes 10`.

The zoo's geared quadruped, rotors and all, with a policy of two small networks (`ppo.py`). Writes `policy.pt` and
`walk.npz`, which `sarrus.Trajectory.load` reads and `sarrus.view` shows.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

import sarrus
from examples.learning.ppo import Policy, Settings, learn, rolled_out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--task", default="walk", choices=["stand", "walk"])
    parser.add_argument("--envs", type=int, default=1024)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("demo_output"))
    given = parser.parse_args()
    envs = sarrus.gym.make_vec("quadruped", given.task, given.envs, autoreset_mode="SameStep", dtype="float32")
    curve = []
    for number, now in enumerate(learn(envs, Settings(), given.seed)):
        curve.append((now.seconds, now.steps, now.reward, now.length))
        if number % 10 == 0:
            print(
                f"{now.seconds:6.0f} s, {now.steps / 1e6:6.2f} M steps: reward {now.reward:6.3f}, episodes of "
                f"{now.length:5.2f} s",
                flush=True,
            )
        if now.seconds > 60.0 * given.minutes:
            break
    given.output.mkdir(exist_ok=True)
    torch.save(now.policy.state_dict(), given.output / "policy.pt")
    np.savetxt(
        given.output / f"curve_{given.task}_{given.seed}.csv", curve, "%.6g", ",", header="seconds,steps,reward,length"
    )
    show(given.task, now.policy, given.output)


def show(task: str, policy: Policy, output: Path) -> None:
    """Let it walk for eight seconds, and keep the motion."""
    envs = sarrus.gym.make_vec("quadruped", task, 1, dtype="float32")
    motion: list[np.ndarray] = []
    speeds: list[float] = []

    def look(envs: sarrus.gym.VectorEnv) -> None:
        motion.append(envs.situation.q[0].copy())
        speeds.append(float(envs.situation.v[0, 0]))

    rolled_out(envs, policy, 400, look)
    np.savez(output / f"{task}.npz", q=np.array(motion), dt=envs.task.dt * envs.task.substeps)
    far = motion[-1][:2] - motion[0][:2]
    print(f"in 8 s it goes {far[0]:.2f} m ahead and {far[1]:+.2f} m aside, {np.mean(speeds):.2f} m/s on average")


if __name__ == "__main__":
    main()
