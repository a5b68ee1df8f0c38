"""The controls beside the scene: facts, playback, what to show, and a slider per joint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from sarrus.model.bodies import Joint
from sarrus.model.constraints import Kind
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array
from sarrus.viewer.recording import Recording

SPEEDS = ("0.05", "0.1", "0.25", "0.5", "1", "2", "5", "10")
_HELD = {
    Kind.LOOP: ("loop", "loops"),
    Kind.COUPLING: ("coupling", "couplings"),
    Kind.LINK: ("contact", "contacts"),
    Kind.CENTER_OF_MASS: ("held centre of mass", "held centres of mass"),
}
_ANGLE, _LENGTH = np.pi, 1.0  # range of a slider where a joint has no limits


def facts(model: Model, mobility: int | None, notes: list[str]) -> str:
    """The model in a few lines of Markdown."""
    counts = Counter(c.kind for c in model.active_constraints)
    lines = [
        f"### {model.name}",
        f"{_counted(model.nb, 'body', 'bodies')}, {model.nv} dof, {float(model.mass):.4g} kg",
    ]
    held = [_counted(counts[kind], *words) for kind, words in _HELD.items() if counts[kind]]
    if mobility is not None and counts:
        held.append(f"mobility {mobility}")
    if held:
        lines.append(", ".join(held))
    # A long path may be broken where it has a slash (by a space of no width), or it would go out of the panel.
    return "  \n".join(lines + [f"*{note}*".replace("/", "/\u200b") for note in notes])


class Playback:
    """Time slider, play and pause, speed, loop, and which rollout."""

    def __init__(self, gui: Any, recording: Recording, changed: Callable[[], None]) -> None:
        self.recording = recording
        start, end = float(recording.time[0]), float(recording.time[-1])
        step = max((end - start) / max(len(recording.time) - 1, 1), 1e-6)
        with gui.add_folder("Playback"):
            self.button = gui.add_button("Pause")
            self.slider = gui.add_slider("time [s]", start, max(end, start + step), step, start)
            self.speed = gui.add_dropdown("speed", SPEEDS, initial_value="1")
            self.loop = gui.add_checkbox("repeat", True)
            self.rollout = None
            if len(recording.q) > 1:
                self.rollout = gui.add_slider("rollout", 0, len(recording.q) - 1, 1, 0)
                self.rollout.on_update(lambda event: changed() if event.client is not None else None)
        self.time, self.playing = start, True
        self.button.on_click(lambda _: self.play(not self.playing))

        @self.slider.on_update
        def _(event: Any) -> None:
            if event.client is not None:
                self.play(False)
                self.time = float(self.slider.value)
                changed()

    def play(self, playing: bool) -> None:
        if playing and self.time >= self.recording.time[-1]:
            self.time = float(self.recording.time[0])
        self.playing, self.button.label = playing, "Pause" if playing else "Play"

    def seek(self, seconds: float) -> None:
        self.time = float(np.clip(seconds, self.recording.time[0], self.recording.time[-1]))
        self.slider.value = self.time

    def advance(self, seconds: float) -> None:
        """The clock of the recording after that much time of the wall's."""
        after = self.time + float(self.speed.value) * seconds
        if after > self.recording.time[-1]:
            if not self.loop.value:
                self.play(False)
            after = float(self.recording.time[0]) if self.loop.value else float(self.recording.time[-1])
        self.time = after

    @property
    def chosen(self) -> tuple[int, int]:
        """Rollout and step."""
        rollout = 0 if self.rollout is None else int(self.rollout.value)
        return rollout, self.recording.step_at(self.time)


class JointSliders:
    """One slider per coordinate, except those of quaternions and of free joints."""

    def __init__(self, gui: Any, model: Model, q: Array, moved: Callable[[int, float], None]) -> None:
        self.sliders: dict[int, Any] = {}
        for body, s in zip(model.bodies, model.layout.q, strict=True):
            if body.joint.type.quaternion_at is not None:
                continue
            for k in range(s.start, s.stop):
                lower, upper = _range(body.joint, k - s.start, float(q[k]))
                name = model.layout.coordinate_name(k)
                value = float(np.clip(q[k], lower, upper))
                slider = gui.add_slider(name, lower, upper, (upper - lower) / 1000.0, value)
                slider.on_update(lambda event, k=k: moved(k, float(event.target.value)) if event.client else None)
                self.sliders[k] = slider

    def follow(self, q: Array, but: int | None = None) -> None:
        """Put every slider where the robot is."""
        for k, slider in self.sliders.items():
            value = float(np.clip(q[k], slider.min, slider.max))
            if k != but and abs(value - slider.value) > 0.5 * slider.step:
                slider.value = value


def _range(joint: Joint, k: int, value: float) -> tuple[float, float]:
    """Of a slider: the joint's limits, or half a turn or a metre both ways; never empty, and with the value inside."""
    reach = _ANGLE if k in joint.type.angles else _LENGTH
    lower, upper = float(joint.lower[k]), float(joint.upper[k])
    if np.isinf(lower):
        lower = -reach if np.isinf(upper) else upper - 2.0 * reach
    if np.isinf(upper):
        upper = lower + 2.0 * reach
    if upper - lower > 2.0 * reach:
        lower, upper = value - reach, value + reach
    lower, upper = min(lower, value), max(upper, value)
    return (lower, upper) if upper > lower else (lower - reach, upper + reach)


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
