"""`view`: a robot, or what it did, in the browser."""

from __future__ import annotations

import contextlib
import io
import socket
import threading
import time
import webbrowser
from typing import Any

import numpy as np

from sarrus.diagnosis import diagnose
from sarrus.errors import StateError, optional_package
from sarrus.model.constraints import Constraint
from sarrus.model.model import Model
from sarrus.model.state import check_configuration, starting_configuration
from sarrus.spatial.arrays import Array
from sarrus.viewer.contacts import ContactLayer, Touching
from sarrus.viewer.mechanism import CLOSED, Mechanism
from sarrus.viewer.panels import JointSliders, Playback, facts
from sarrus.viewer.recording import Recording, recording_of
from sarrus.viewer.scene import LAYERS, Scene, in_words

_FRAME = 1.0 / 30.0  # seconds between pictures
_FOLLOW = 0.2  # seconds between updates of the controls while playing
_FOV, _AWAY = 0.8, 2.7 * np.array([0.72, -0.62, 0.31])  # rad, upright; from the robot to the camera, robots
_PHONE, _SHEET = 36, 0.34  # em: windows up to which viser's panel is a sheet at the bottom; its part of the window
# It would cover up to 60 % of the window, and the robot with it: the rest of it is seen by scrolling.
_ON_PHONES = (
    f"<style>@media (max-width: {_PHONE}em) "
    f'{{[style*="max-height: 60%"] {{max-height: {_SHEET:.0%} !important}}}}</style>'
)


def view(
    model: Model,
    q: Any = None,
    trajectory: Any = None,
    *,
    port: int = 8080,
    host: str = "127.0.0.1",
    open_browser: bool = True,
    block: bool = True,
) -> Viewer:
    """Show a robot in the browser.

    q           a configuration; default: the pose in the file, or neutral
    trajectory  what to play: a `Trajectory`, its file (.npz), or configurations (T, nq); with (B, T, nq) you can choose
                the rollout
    port        of the web page; the next free one if it is taken
    host        "0.0.0.0" makes it visible to other machines
    block       wait for Ctrl-C; otherwise return the `Viewer` at once, which draws other states with `show(q)`

    Needs viser: pip install "sarrus[viewer]"

    open_browser  whether to open a page; otherwise its address is printed
    returns     the `Viewer`
    errors      `MissingDependencyError`: viser is not installed; `StateError`: no such port or host

    >>> viewer = sarrus.view(sarrus.zoo.chain(3), block=False, open_browser=False)  # doctest: +SKIP
    """
    viewer = Viewer(model, q, trajectory, port=port, host=host)
    if open_browser:
        webbrowser.open(viewer.url)
    if block:
        viewer.wait()
    return viewer


def _check_address(host: str, port: int) -> None:
    """Viser's server, in a thread of its own, would not come up, and everything would wait for it."""
    if not 0 <= port <= 65535:
        raise StateError(f"port {port}: expected a whole number from 0 to 65535")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as trial:
            trial.bind(address)
    except OSError as error:
        raise StateError(
            f"host {host!r} is no address of this machine ({error.strerror}). Use 127.0.0.1, "
            "or 0.0.0.0 to be seen by others"
        ) from None


class Viewer:
    """A web page with a robot on it. `show(q)` draws a configuration; `close()` ends it; also a context manager."""

    def __init__(
        self, model: Model, q: Any = None, trajectory: Any = None, *, port: int = 8080, host: str = "127.0.0.1"
    ) -> None:
        viser = optional_package("viser", "viewing needs viser", '"sarrus[viewer]"')
        _check_address(host, port)
        self.model, self.mechanism = model, Mechanism(model)
        recording = None if trajectory is None else recording_of(model, trajectory)
        self._mobility: int | None = None
        self.q = self._start(q, recording)
        self._forces: Array | None = None
        self._lock = threading.RLock()
        self._closed = threading.Event()
        with contextlib.redirect_stdout(io.StringIO()):  # the page's address is for the caller to say
            self.server = viser.ViserServer(host=host, port=port, verbose=False)
        self.scene = Scene(self.server.scene, self.mechanism, self.q)
        self._look_at_robot()
        self.server.on_client_connect(self._look_from_phone)
        self.touching = ContactLayer(self.server.scene, self.scene.size, self.scene.weight)
        self.contacts = None if recording is None else recording.contacts
        self._add_controls(recording)
        self.show(self.q)
        self._thread = threading.Thread(target=self._play, name="sarrus viewer", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        host = self.server.get_host()
        return f"http://{'localhost' if host in ('0.0.0.0', '127.0.0.1') else host}:{self.server.get_port()}"

    @property
    def missing_meshes(self) -> dict[str, str]:
        """Files that could not be drawn, and why."""
        return dict(self.scene.meshes.missing)

    # --- drawing ---------------------------------------------------------------------------------------

    def show(self, q: Any, forces: Any = None) -> None:
        """Draw a configuration, with the constraint forces that are given (else those of being let go there)."""
        q = check_configuration(self.model, q)
        if q.ndim != 1:
            raise StateError(f"show takes one configuration of shape ({self.model.nq},), got {q.shape}")
        self._draw(q, None if forces is None else np.asarray(forces, float).reshape(self.model.n_rows))
        self.joints.follow(self.q)

    def _draw(self, q: Array, forces: Array | None = None) -> None:
        with self._lock, self.server.atomic():
            self.q, self._forces = np.array(q), forces
            poses, errors = self.mechanism.poses(self.q), self.mechanism.errors(self.q)
            self.scene.place(poses)
            self.scene.show_errors(poses, errors, self.show_errors.value)
            vectors = self._force_vectors()
            self.scene.show_forces(poses, vectors, float(self.force_scale.value))
            self._draw_contacts()
            self._say_state(errors, vectors)

    def _draw_contacts(self) -> None:
        """Those of the step that is played, if it is what is shown."""
        found = None
        if self.contacts is not None and self.playback is not None and self.show_contacts.value:
            q = self.playback.recording.q
            rollout, step = self.playback.chosen
            if np.array_equal(q[rollout, step], self.q):  # not moved by a slider
                found = Touching.of(self.contacts[rollout, step])
        self.touching.draw(found, cones=self.show_cones.value, scale=float(self.force_scale.value))

    def redraw(self) -> None:
        """The same again, after a control has changed."""
        self._draw(self.q, self._forces)

    def _force_vectors(self) -> Array | None:
        if not self.show_forces.value or not self.mechanism.pairs:
            return None
        forces = self.mechanism.forces_at_rest(self.q) if self._forces is None else self._forces
        return self.mechanism.force_vectors(self.q, forces)

    def _say_state(self, errors: dict[Constraint, float], vectors: Array | None) -> None:
        worst = max(errors, key=lambda c: errors[c], default=None)
        if worst is None:
            return
        open_ones = [c for c, error in errors.items() if error > CLOSED]
        if not open_ones:
            text = f"constraints hold to {errors[worst]:.0e}"
        else:
            said = in_words(worst, errors[worst])
            text = f"**{len(open_ones)} of {len(errors)} constraints open**; {worst.name}: {said}"
        if vectors is not None:
            text += f"  \nlargest constraint force {np.linalg.norm(vectors, axis=1).max(initial=0.0):.3g} N"
        if self.closure_text.content != text:
            self.closure_text.content = text

    # --- controls --------------------------------------------------------------------------------------

    def _add_controls(self, recording: Recording | None) -> None:
        gui, model = self.server.gui, self.model
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(60, 100, 160))
        gui.set_panel_label("Sarrus")
        gui.add_html(_ON_PHONES)
        self.notes = self._notes(recording)
        gui.add_markdown(facts(model, self._mobility, self.notes))
        self.closure_text = gui.add_markdown("", visible=bool(self.mechanism.rows))
        self.message = gui.add_markdown("", visible=False)
        self.playback = None if recording is None else Playback(gui, recording, self._show_step)
        with gui.add_folder("Show", expand_by_default=True):
            self._add_layers(gui)
        few = len(model.bodies) <= 12
        with gui.add_folder("Joints", expand_by_default=recording is None and few):
            reset = gui.add_button("Reset")
            self.joints = JointSliders(gui, model, self.q, self._joint_moved)
        start = self.q.copy()

        @reset.on_click
        def _(_: Any) -> None:
            self._say("")
            self.show(start)

    def _add_layers(self, gui: Any) -> None:
        has = self.scene.layers
        shown = {"visuals": True, "joints": self.scene.hinges_shown}
        for layer, label in LAYERS.items():
            if has[layer]:
                box = gui.add_checkbox(label, shown.get(layer, False))
                box.on_update(lambda event, layer=layer: self.scene.show_layer(layer, event.target.value))
        held = bool(self.mechanism.pairs)
        self.show_errors = gui.add_checkbox("open loops", True, visible=held)
        self.show_forces = gui.add_checkbox("constraint forces", False, visible=held)
        self.force_scale = gui.add_slider("force scale", 0.1, 5.0, 0.1, 1.0, visible=held)
        touches = self.contacts is not None
        self.force_scale.visible = held or touches
        self.show_contacts = gui.add_checkbox("contacts", True, visible=touches)
        self.show_cones = gui.add_checkbox("friction cones", False, visible=touches)
        for control in (self.show_errors, self.show_forces, self.force_scale, self.show_contacts, self.show_cones):
            control.on_update(lambda _: self.redraw())

    def _joint_moved(self, k: int, value: float) -> None:
        """A slider was moved: the loops stay closed, or the robot stays as far as it gets."""
        if self.playback is not None:
            self.playback.play(False)
        with self._lock:
            q, reached = self.mechanism.with_coordinate(self.q, k, value)
            self._draw(q)
            self.joints.follow(q, but=k)
        name = self.model.layout.coordinate_name(k)
        self._say("" if reached else f"{name} gets no farther than {q[k]:.3f}: the loops would open")

    def _say(self, text: str) -> None:
        self.message.content, self.message.visible = text, bool(text)

    def _notes(self, recording: Recording | None) -> list[str]:
        notes = [recording.note] if recording is not None and recording.note else []
        for first, why in list(self.missing_meshes.items())[:1]:
            which = f"{first}: {why}"
            count = len(self.missing_meshes)
            notes.append(f"{count} meshes are not drawn; the first: {which}" if count > 1 else f"not drawn: {which}")
        return notes

    def _look_at_robot(self) -> None:
        away = self.scene.extent * _AWAY
        camera = self.server.initial_camera
        camera.look_at, camera.position, camera.up = self.scene.middle, self.scene.middle + away, (0.0, 0.0, 1.0)
        camera.fov = _FOV
        camera.near, camera.far = 0.01 * self.scene.extent, 1000.0 * self.scene.extent

    def _look_from_phone(self, client: Any) -> None:
        """On a narrow window: from farther away, and with the robot above the sheet."""
        camera = client.camera
        if camera.image_width <= 16 * _PHONE and camera.aspect < 1.0:
            away = self.scene.extent * _AWAY * min(2.0, max(1.0 / (1.0 - _SHEET), 0.65 / camera.aspect))
            down = np.array([0.0, 0.0, _SHEET * np.linalg.norm(away) * np.tan(0.5 * _FOV)])
            camera.position = self.scene.middle - down + away  # first: it takes `look_at` along
            camera.look_at = self.scene.middle - down

    # --- time ------------------------------------------------------------------------------------------

    def _play(self) -> None:
        before, followed = time.perf_counter(), 0.0
        while not self._closed.wait(_FRAME):
            now = time.perf_counter()
            if self.playback is not None and self.playback.playing:
                self.playback.advance(now - before)
                self._show_step()
                if now - followed > _FOLLOW:
                    self.playback.seek(self.playback.time)
                    self.joints.follow(self.q)
                    followed = now
            before = now

    def _show_step(self) -> None:
        assert self.playback is not None
        recording, (rollout, step) = self.playback.recording, self.playback.chosen
        q = recording.q[rollout, step]
        if not np.isfinite(q).all():
            self._say(f"rollout {rollout} is not finite at {recording.time[step]:.4g} s: it is not drawn")
            return
        self._say("")
        self._draw(q, None if recording.forces is None else recording.forces[rollout, step])

    # --- end -------------------------------------------------------------------------------------------

    def wait(self) -> None:
        """Until Ctrl-C, or until it is closed elsewhere."""
        try:
            while not self._closed.wait(1.0):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        if not self._closed.is_set():
            self._closed.set()
            self._thread.join(timeout=2.0)
            with contextlib.redirect_stdout(io.StringIO()):
                self.server.stop()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _start(self, q: Any, recording: Recording | None) -> Array:
        """The configuration to begin with: without a wish, one with closed loops near the file's pose."""
        if q is None and recording is not None and np.isfinite(recording.q[0, 0]).all():
            q = recording.q[0, 0]
        given = None if q is None else np.array(check_configuration(self.model, q))
        if not self.mechanism.rows:
            return starting_configuration(self.model) if given is None else given
        found = diagnose(self.model, given)
        self._mobility = found.mobility
        return np.array(found.q) if given is None else given
