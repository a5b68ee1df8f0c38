"""Thousands of robots in one process as a Gymnasium environment: `VectorEnv`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from sarrus.codegen.runtime.program import Copy, Gather, Program, Run, Scatter
from sarrus.errors import StateError, check_name
from sarrus.hooks.gym.random_numbers import Streams
from sarrus.hooks.gym.starts import starting_states
from sarrus.hooks.gym.task import FUNCTIONS, Function, Situation, Task, for_all, task_kernel
from sarrus.model.arguments import whole_number
from sarrus.model.model import Model
from sarrus.model.state import home_or_neutral
from sarrus.simulation.controllers import pd
from sarrus.simulation.simulation import Simulation
from sarrus.simulation.steppers import projecting
from sarrus.spatial.arrays import Array

STARTS = 512  # states to begin from, of which each episode draws one


class VectorEnv(gymnasium.vector.VectorEnv):
    """So many copies of a robot with a task, stepped together in native code.

    autoreset_mode  what happens to an environment whose episode is over: it begins anew with the next step, within the
                    same step (`infos["final_obs"]`), or when `reset(options={"reset_mask": mask})` asks for it
    threads         of the simulation; None: as many as are worth it
    settings        of the `Simulation`: contacts, integrator, dtype, ...

    Environment i of `reset(seed=s)` does what a single one does after `reset(seed=s + i)`, to the last bit.
    `factors` are those that episodes have drawn (`Task.randomization`), (B, n) each.
    """

    def __init__(
        self,
        model: Model,
        task: Task,
        num_envs: int = 1,
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        threads: int | None = None,
        **settings: Any,
    ) -> None:
        if not isinstance(model, Model) or not isinstance(task, Task):
            given = f"{type(model).__name__} and {type(task).__name__}"
            raise StateError(f"VectorEnv takes a sarrus.Model and a sarrus.gym.Task, got {given}")
        check_name("autoreset_mode", getattr(autoreset_mode, "value", autoreset_mode), [x.value for x in AutoresetMode])
        self.model, self.task, self.num_envs = model, task, whole_number("num_envs", num_envs, least=1)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"autoreset_mode": self.autoreset_mode, "render_modes": []}
        self._functions = {name: f for name in FUNCTIONS if (f := for_all(task, name)) is not None}
        self._simulate(threads, settings)
        self._streams = Streams(num_envs)
        self._starts = starting_states(model, task.noise, task.start_speed, STARTS)
        self.episode_limit = round(task.seconds / (task.dt * task.substeps))
        self._done = np.zeros(num_envs, bool)
        self._begin(np.arange(num_envs))
        size = self._seen(np.arange(num_envs)).shape[1]
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (self._at.size,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def _simulate(self, threads: int | None, settings: dict[str, Any]) -> None:
        """The simulation as a program: arrays that stay where they are, and what happens to them at each step."""
        model, task, count = self.model, self.task, self.num_envs
        driven = task.driven(model)
        self._at = np.array([model.layout.v_of(name).start for name in driven], int)
        self._at_q = np.array([model.layout.q_of(name).start for name in driven], int)
        gains = np.zeros((2, model.nv))
        gains[:, self._at] = [[task.kp], [task.kd]]
        self._home = home_or_neutral(model)
        if not task.torques:
            settings = settings | {"controller": pd(gains[0], gains[1], self._home)}
        self.simulation = Simulation(model, task.dt, **settings)
        tau, varied = np.zeros(model.nv) if task.torques else None, tuple(task.randomization)
        self._kernels, held = self.simulation.step_kernels(tau=tau, varied=varied)
        kernels, kind = self._kernels, self._kernels.step.dtype
        self._carry = kernels.begin(np.tile(self._home, (count, 1)), np.zeros((count, model.nv)))
        self._cold = {name: np.array(x[0]) for name, x in self._carry.items()}
        self._inputs = {
            name: np.array(np.broadcast_to(x, (count, *x.shape)), kind, order="C") for name, x in held.items()
        }
        self.factors = {name: self._inputs[f"{name}_factor"].reshape(count, -1) for name in varied}
        self._task = task_kernel(model, task, kind)
        self._action, self._previous = np.zeros((2, count, self._at.size), kind)
        self._tau, self._time = np.zeros((count, model.nv), kind), np.zeros(count, kind)
        self.episode_steps, self._taken = np.zeros(count, int), 0
        carried, taken = self._carry.items(), self._inputs.items()
        before = [Gather(0, name, x) for name, x in (*carried, *taken)]
        each: list[Any] = [Run(0), *(Copy((0, output), (0, name)) for output, name in kernels.carried.items())]
        each += projecting(kernels)
        used = [kernel for kernel in (kernels.step, kernels.projection, self._task) if kernel is not None]
        after = [Scatter(0, name, x, from_input=True) for name, x in carried]
        after += [Scatter(0, "tau", self._tau), *self._judging(len(used) - 1)]
        self._program = Program(tuple(kernel.native for kernel in used), before, each, after)
        self._threads = kernels.step.calls.threads_for(count * task.substeps, threads)

    def _judging(self, number: int) -> list[Any]:
        """What a program does after the steps of an action: observations and rewards, by the kernel of that number."""
        if self._task is None:
            return []
        outputs = self._task.native.tape.outputs
        self._judged = {port.name: np.zeros((self.num_envs, *port.shape), self._task.dtype) for port in outputs}
        given = {"action": self._action, "previous_action": self._previous, "time": self._time}
        return [
            *(Copy((0, name), (number, name), from_input=True) for name in ("q", "v")),
            Copy((0, "tau"), (number, "tau")),
            *(Gather(number, name, x) for name, x in given.items()),
            Run(number),
            *(Scatter(number, name, x) for name, x in self._judged.items()),
        ]

    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin anew: all environments, or those of `options["reset_mask"]`."""
        if not isinstance(options, dict | None):
            raise StateError(f"options is {options!r}: expected a dictionary. Valid: reset_mask")
        super().reset(seed=seed if isinstance(seed, int) else None)
        which = self._mask((options or {}).get("reset_mask"))
        if seed is not None:
            seeds = seed + np.arange(self.num_envs) if isinstance(seed, int) else np.asarray(seed)
            if seeds.shape != (self.num_envs,):
                raise StateError(f"seed: expected a number, or {self.num_envs} of them, got shape {seeds.shape}")
            self._streams.seed(seeds, which)
        self._begin(np.flatnonzero(which))
        return self._seen(np.arange(self.num_envs)), {}

    def _mask(self, given: Any) -> Array:
        if given is None:
            return np.ones(self.num_envs, bool)
        mask = np.asarray(given)
        if mask.dtype != bool or mask.shape != (self.num_envs,) or not mask.any():
            raise StateError(f"reset_mask: expected {self.num_envs} booleans, at least one of them true, got {given!r}")
        return mask

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Observations, rewards, terminations, truncations and infos after an action of every environment."""
        if self.autoreset_mode is AutoresetMode.DISABLED and self._done.any():
            over = np.flatnonzero(self._done)
            raise StateError(f"the episodes of environments {over[:8].tolist()} are over: reset them (`reset_mask`)")
        again = np.flatnonzero(self._done) if self.autoreset_mode is AutoresetMode.NEXT_STEP else np.zeros(0, int)
        self._act(actions)
        self.episode_steps += 1
        self._tell_time()
        substeps = self.task.substeps
        self._program.run(self.num_envs, substeps, self._taken * substeps, self._threads)
        self._taken += 1
        alive = self._carry["alive"] > 0.5
        rewards = np.where(alive, np.asarray(self._value("reward"), float), 0.0)
        terminated = (np.asarray(self._value("fallen")) > 0.5) | ~alive
        truncated = ~terminated & (self.episode_steps >= self.episode_limit)
        infos: dict[str, Any] = {}
        if not alive.all():
            infos |= {"diverged": ~alive, "_diverged": ~alive}
        if len(again):
            self._begin(again)
            rewards[again], terminated[again], truncated[again] = 0.0, False, False
        self._done = terminated | truncated
        observations = self._seen(again)
        if self.autoreset_mode is AutoresetMode.SAME_STEP and self._done.any():
            infos |= {"final_obs": observations, "_final_obs": self._done.copy()}
            begun = np.flatnonzero(self._done)
            self._begin(begun)
            observations = self._seen(begun, observations)
        return observations, rewards, terminated, truncated, infos

    @property
    def situation(self) -> Situation:
        """What observations and rewards are made of, now. Arrays are those that are stepped: do not change them."""
        self._tell_time()
        return Situation(self._carry["q"], self._carry["v"], self._action, self._previous, self._tau, self._time)

    def _tell_time(self) -> None:
        self._time[:] = self.episode_steps * (self.task.dt * self.task.substeps)

    def _act(self, actions: Any) -> None:
        try:
            given = np.asarray(actions, self._action.dtype)
        except (TypeError, ValueError):
            raise StateError(f"actions: expected numbers of shape {self.action_space.shape}, got {actions!r}") from None
        if given.shape != self.action_space.shape:
            raise StateError(f"actions: expected shape {self.action_space.shape}, got {given.shape}")
        if not np.isfinite(given.sum(dtype=float)) and not np.isfinite(given).all():
            raise StateError("actions: every number must be finite")
        self._previous[:] = self._action
        np.clip(given, -1.0, 1.0, out=self._action)
        if self.task.torques:
            self._inputs["tau"][:, self._at] = self.task.action_scale * self._action
        else:
            self._inputs["q_target"][:, self._at_q] = self._home[self._at_q] + self.task.action_scale * self._action

    def _value(self, name: str) -> Array:
        """Rewards, or who has fallen, after the steps of an action."""
        function = self._functions.get(name)
        return self._judged[name] if function is None else self._called(name, function, 1)

    def _called(self, name: str, function: Function, dimensions: int) -> Array:
        """What a function of all robots says, which must be about each of them."""
        found = np.asarray(function(self.situation))
        if found.ndim != dimensions or len(found) != self.num_envs:
            wanted = f"({self.num_envs},)" if dimensions == 1 else f"({self.num_envs}, n)"
            raise StateError(f"{name}: expected shape {wanted}, got {found.shape}")
        return found

    def _seen(self, changed: Array, before: Array | None = None) -> Array:
        """Observations, in an array of their own: those of the last action, but now of the environments `changed`."""
        function = self._functions.get("observation")
        if function is not None:
            return np.array(self._called("observation", function, 2), np.float32, order="C")
        observations = np.array(self._judged["observation"] if before is None else before, np.float32, order="C")
        if len(changed):
            assert self._task is not None
            now = self._task(*(np.ascontiguousarray(x[changed]) for x in self.situation))
            observations[changed] = getattr(now, "observation", now)
        return observations

    def _begin(self, which: Array) -> None:
        """New episodes of the environments whose numbers these are."""
        for name, x in self._cold.items():
            self._carry[name][which] = x
        chosen = (self._streams.uniform(which, 1)[:, 0] * STARTS).astype(int)
        self._carry["q"][which], self._carry["v"][which] = (x[chosen] for x in self._starts)
        for name, factors in self.factors.items():
            least, most = self.task.randomization[name]
            factors[which] = least + (most - least) * self._streams.uniform(which, factors.shape[1])
        for x in (self._action, self._previous, self._tau):
            x[which] = 0.0
        self.episode_steps[which], self._done[which] = 0, False


class Env(gymnasium.Env):
    """One robot with a task, as `gymnasium.make` gives it."""

    def __init__(self, model: Model, task: Task, **settings: Any) -> None:
        self.vector = VectorEnv(model, task, 1, autoreset_mode=AutoresetMode.DISABLED, **settings)
        self.observation_space, self.action_space = (
            self.vector.single_observation_space,
            self.vector.single_action_space,
        )
        self.metadata = {"render_modes": []}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        observation, info = self.vector.reset(seed=seed, options=options)
        return observation[0], info

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, infos = self.vector.step(np.asarray(action)[None])
        info = {name: x[0] for name, x in infos.items() if not name.startswith("_")}
        return observation[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), info
