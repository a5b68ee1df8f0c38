"""4,096 quadrupeds on the ground: environment steps per second on one core, beside MuJoCo's `rollout` on a like task.

    python -m benchmarks.gym_mujoco [--envs 4096] [--rounds 5]

Ours: `Sarrus/QuadrupedWalk-v0`, actions, observations, rewards and resets included; 20 ms an action, 5 steps of 4 ms.
MuJoCo's: a robot of the same trunk, legs, masses and gains, gears as armature, feet and trunk that touch a floor, 5 steps
of 4 ms by `mujoco.rollout` on one thread, without observations or rewards. Both stand under small random targets;
interleaved, the median of the rounds.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from rich.console import Console

import sarrus
from sarrus.model.state import home_or_neutral

LEGS = {"front_left": (1, 1), "front_right": (1, -1), "hind_left": (-1, 1), "hind_right": (-1, -1)}
NOISE = 0.1  # of actions


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=5)
    given, console, rng = parser.parse_args(), Console(width=140), np.random.default_rng(0)
    envs = sarrus.gym.make_vec("quadruped", "walk", given.envs, threads=1)
    peers = max(16, given.envs // 32)  # rates are per robot, and theirs do not depend on how many there are
    peer = Peer(envs.task, peers)
    envs.reset(seed=0)
    settle = 20
    for _ in range(settle):
        envs.step(NOISE * rng.normal(size=envs.action_space.shape))
        peer.step(NOISE * rng.normal(size=(peers, 12)))
    ours, theirs = [], []
    for _ in range(given.rounds):
        began = time.perf_counter()
        for _ in range(2):
            envs.step(NOISE * rng.normal(size=envs.action_space.shape))
        ours.append(2 * given.envs / (time.perf_counter() - began))
        began = time.perf_counter()
        peer.step(NOISE * rng.normal(size=(peers, 12)))
        theirs.append(peers / (time.perf_counter() - began))
    heights = np.median(envs.situation.q[:, 2]), np.median(peer.state[:, 3]), home_or_neutral(envs.model)[2]
    console.print("height of the trunk: {:.3f} m ours, {:.3f} m MuJoCo's, {:.3f} m at home".format(*heights))
    ratios = np.array(ours) / np.array(theirs)
    console.print(
        f"{given.envs} quadrupeds, one core: {np.median(ours):,.0f} environment steps per second "
        f"({1e6 / np.median(ours) / envs.task.substeps:.2f} us a step of the simulation); mujoco.rollout "
        f"{np.median(theirs):,.0f}; ratio {np.median(ratios):.1f} ({ratios.min():.1f} to {ratios.max():.1f})"
    )


if __name__ == "__main__":
    main()
