"""A quadruped learns to stand, then to walk on the ground, on the cores of a laptop: `python -m examples.learning`.

The zoo's geared quadruped, rotors and all, with a policy of two small networks (`ppo.py`). Each task is learned until
its reward is reached. Leaves in demo_output/, for each: `policy_TASK_SEED.pt`; the curve as a table and a picture
(`curve_...`); and the motion, as a file that `sarrus view` plays (`motion_...npz`) and as a picture (`film_...png`).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import sarrus

try:
    import torch
except ImportError:
    raise SystemExit("learning needs PyTorch and Gymnasium: pip install torch gymnasium") from None

from examples.learning.pictures import draw_curves, draw_film
from examples.learning.ppo import Learned, Policy, Settings, learn, rolled_out

TARGETS = {"stand": 1.3, "walk": 2.2}  # rewards per action, of 1.7 and 2.7 at most
SMOOTHED = 10  # updates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="both", choices=["both", *TARGETS])
    parser.add_argument("--minutes", type=float, default=15.0, help="of learning a task, at most")
    parser.add_argument("--reward", type=float, help="to be reached; default: " + str(TARGETS))
    parser.add_argument("--envs", type=int, default=512)
    parser.add_argument(
        "--threads", type=int, default=None, help="of the simulation and of PyTorch; default: all cores"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("demo_output"))
    given = parser.parse_args()
    if given.threads is not None:
        torch.set_num_threads(given.threads)
    given.output.mkdir(parents=True, exist_ok=True)
    for task in TARGETS if given.task == "both" else [given.task]:
        policy = learned(task, given)
        torch.save(policy.state_dict(), given.output / f"policy_{task}_{given.seed}.pt")
        show(task, policy, given.output, given.seed)
    draw_curves(given.output)


def learned(task: str, given: argparse.Namespace) -> Policy:
    """The policy that reaches the task's reward, or what there is after so many minutes; its curve is written down."""
    settings = {"autoreset_mode": "SameStep", "dtype": "float32", "threads": given.threads}
    envs, curve = sarrus.gym.make_vec("quadruped", task, given.envs, **settings), []
    reached, over, recent, began = False, False, -np.inf, time.process_time()
    target = TARGETS[task] if given.reward is None else given.reward
    learning = learn(envs, Settings(), given.seed)
    for number, now in enumerate(learning):
        curve.append((now.seconds, now.steps, now.reward, now.length))
        recent = np.mean([reward for _, _, reward, _ in curve[-SMOOTHED:]])
        reached, over = recent > target and number > SMOOTHED, now.seconds > 60.0 * given.minutes
        if number % 10 == 0 or reached or over:
            tell(task, now)
        if reached or over:
            break
    words = f"reached its reward of {target}" if reached else f"did NOT reach {target}: {recent:.2f}"
    spent = time.process_time() - began
    print(f"{task}: {words} after {now.seconds:.0f} s ({spent:.0f} s of a processor)", flush=True)
    header = "seconds,steps,reward,length"
    np.savetxt(given.output / f"curve_{task}_{given.seed}.csv", curve, "%.6g", ",", header=header)
    return now.policy


def tell(task: str, now: Learned) -> None:
    words = f"reward {now.reward:6.3f}, episodes of {now.length:5.2f} s"
    print(f"{task} {now.seconds:4.0f} s, {now.steps / 1e6:5.2f} M steps: {words}", flush=True)


def show(task: str, policy: Policy, output: Path, seed: int) -> None:
    """Sixteen robots for eight seconds: how they do, and the motion of the first."""
    envs = sarrus.gym.make_vec("quadruped", task, 16, dtype="float32")
    seen: list[tuple[np.ndarray, np.ndarray]] = []
    rolled_out(envs, policy, 400, lambda envs: seen.append((envs.situation.q.copy(), envs.situation.v.copy())))
    q, v = (np.array(x).astype(float) for x in zip(*seen, strict=True))  # (actions, robots, n)
    falls = int((envs.episode_steps < len(seen)).sum())  # episodes of those that fell began anew
    ahead, aside = (q[-1] - q[0])[:, :2].T
    print(
        f"{task}: in 8 s, 16 robots go {ahead.mean():.2f} m ahead ({ahead.min():.2f} to {ahead.max():.2f}), "
        f"{np.abs(aside).max():.2f} m aside at most; {np.mean(v[50:, :, 0]):.2f} m/s; {falls} fell"
    )
    times = envs.task.dt * envs.task.substeps * np.arange(1, len(q) + 1)
    motion = sarrus.Trajectory(envs.model, times, q[:, 0], v[:, 0], settings={"dt": envs.task.dt})
    motion.save(output / f"motion_{task}_{seed}.npz")
    draw_film(motion, output / f"film_{task}_{seed}.png")


if __name__ == "__main__":
    main()
