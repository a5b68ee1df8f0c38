"""4,096 quadrupeds on the ground: environment steps per second on one core, beside MuJoCo's `rollout` on a like task.

    python -m benchmarks.gym_mujoco [--envs 4096] [--rounds 5] [--write]

Ours: `Sarrus/QuadrupedWalk-v0`, actions, observations, rewards and resets included; 20 ms an action, 5 steps of 4 ms.
MuJoCo's: a robot of the same trunk, legs, masses and gains, gears as armature, feet and trunk that touch a floor, 5
steps of 4 ms by `mujoco.rollout` on one thread, without observations or rewards. Where EnvPool is installed (it is no
extra of ours: pip install envpool), its Go1 on flat ground on one thread, observations and rewards included; 20 ms an
action as well, with all shapes of its file. All stand under small random targets; in turns, the median of the rounds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

import sarrus
from benchmarks.written_figures import measured, write_figures

LEGS = {"front_left": (1, 1), "front_right": (1, -1), "hind_left": (-1, 1), "hind_right": (-1, -1)}
NOISE = 0.1  # of actions
SETTLE = 20  # actions before times are taken
KINDS = ("float64", "float32")
ENVPOOL = "Go1JoystickFlatTerrain-v1"


def mjcf(kp: float, kd: float, dt: float) -> str:
    """A quadruped with the zoo's sizes, masses and gains."""
    legs = ""
    for leg, (ahead, left) in LEGS.items():
        inertia = 'diaginertia="1e-3 1e-3 1e-3"'
        legs += f"""
      <body name="{leg}_hip" pos="{0.19 * ahead} {0.05 * left} 0">
        <inertial pos="0 {0.035 * left} 0" mass="0.5" {inertia}/>
        <joint name="{leg}_roll" axis="1 0 0" armature="0.01"/>
        <body name="{leg}_thigh" pos="0 {0.07 * left} 0">
          <inertial pos="0 0 -0.1" mass="0.6" {inertia}/>
          <joint name="{leg}_pitch" axis="0 1 0" armature="0.01"/>
          <body name="{leg}_shank" pos="0 0 -0.21">
            <inertial pos="0 0 -0.1" mass="0.16" {inertia}/>
            <joint name="{leg}_knee" axis="0 1 0" armature="0.02"/>
            <geom type="sphere" size="0.02"/>
            <geom type="sphere" size="0.02" pos="0 0 -0.2"/>
          </body>
        </body>
      </body>"""
    motors = "".join(
        f'<position joint="{leg}_{joint}" kp="{kp}" kv="{kd}"/>' for leg in LEGS for joint in ("roll", "pitch", "knee")
    )
    return f"""<mujoco><option timestep="{dt}" integrator="implicitfast"/>
  <default><geom contype="1" conaffinity="2" friction="0.8"/></default>
  <worldbody><geom type="plane" size="0 0 1" contype="2" conaffinity="1"/>
    <body name="trunk" pos="0 0 0.33"><freejoint/>
      <inertial pos="0 0 0" mass="5.4" diaginertia="0.02 0.08 0.09"/><geom type="box" size="0.2 0.09 0.05"/>{legs}
    </body></worldbody><actuator>{motors}</actuator></mujoco>"""


class Peer:
    """MuJoCo on the like task."""

    def __init__(self, task: sarrus.gym.Task, count: int) -> None:  # type: ignore[name-defined]
        import mujoco

        self.model = mujoco.MjModel.from_xml_string(mjcf(task.kp, task.kd, task.dt))
        self.data, self.task = mujoco.MjData(self.model), task
        bent = np.tile([0.0, 0.7, -1.4], 4)
        self.data.qpos[2], self.data.qpos[7:] = 0.02 + 0.41 * np.cos(0.7), bent
        mujoco.mj_forward(self.model, self.data)
        size = mujoco.mj_stateSize(self.model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        state = np.zeros(size)
        mujoco.mj_getState(self.model, self.data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        self.state, self.bent = np.tile(state, (count, 1)), bent

    def step(self, actions: np.ndarray) -> None:
        from mujoco import rollout

        controls = np.repeat((self.bent + self.task.action_scale * actions)[:, None], self.task.substeps, axis=1)
        states, _ = rollout.rollout(self.model, self.data, self.state, controls, nstep=self.task.substeps)
        self.state = states[:, -1]


def envpool_robots(count: int) -> Any:
    """EnvPool's quadrupeds, if it is installed."""
    if find_spec("envpool") is None:
        return None
    import envpool

    robots = envpool.make_gymnasium(ENVPOOL, num_envs=count, num_threads=1)
    robots.reset()
    return robots


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="put the table into docs/hooks/gym.md")
    given, rng = parser.parse_args(), np.random.default_rng(0)
    variants = {name: sarrus.gym.make_vec("quadruped", "walk", given.envs, threads=1, dtype=name) for name in KINDS}
    peers = max(16, given.envs // 32)  # rates are per robot, and theirs do not depend on how many there are
    peer = Peer(next(iter(variants.values())).task, peers)
    pool = envpool_robots(peers)
    for envs in variants.values():
        envs.reset(seed=0)
    rates: dict[str, list[float]] = {name: [] for name in (*KINDS, "MuJoCo", *([] if pool is None else ["EnvPool"]))}
    for number in range(-SETTLE, given.rounds):
        for name, envs in variants.items():
            rates[name].append(rate(lambda envs=envs: envs.step(NOISE * rng.normal(size=(given.envs, 12))), given.envs))
        rates["MuJoCo"].append(rate(lambda: peer.step(NOISE * rng.normal(size=(peers, 12))), peers))
        if pool is not None:
            actions = (NOISE * rng.normal(size=(peers, 12))).astype(pool.action_space.dtype)
            rates["EnvPool"].append(rate(lambda: pool.step(actions), peers))
        if number < 0:
            rates = {name: [] for name in rates}
    theirs = np.array(rates["MuJoCo"])
    lines = [
        "| | environment steps per second | us per simulation step | times MuJoCo | trunk height |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, found in rates.items():
        envs, median, substeps = variants.get(name), np.median(found), peer.task.substeps
        if name == "EnvPool":
            ratio = f"{np.median(np.array(found) / theirs):.2f}"
            lines.append(f"| EnvPool, `{ENVPOOL}` | {median:,.0f} | {1e6 / median / substeps:.2f} | {ratio} | |")
            continue
        height = np.median(peer.state[:, 3] if envs is None else envs.situation.q[:, 2])
        ratio = "" if envs is None else f"{np.median(np.array(found) / theirs):.1f}"
        title = "`mujoco.rollout`" if envs is None else f"`VectorEnv`, {name}"
        lines.append(f"| {title} | {median:,.0f} | {1e6 / median / substeps:.2f} | {ratio} | {height:.3f} m |")
    print("\n".join(lines))
    if given.write:
        write_figures("hooks/gym.md", "gym", "\n".join([measured("gym_mujoco"), "", *lines]))


def rate(step: Callable[[], object], count: int) -> float:
    """Environment steps per second."""
    began = time.perf_counter()
    step()
    return count / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
