"""The robot in viser's scene: one node per body, whose pose alone changes, and what is drawn over it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sarrus.model.bodies import WORLD
from sarrus.model.constraints import Constraint, Kind
from sarrus.model.visuals import Mesh, Visual
from sarrus.spatial.arrays import Array
from sarrus.viewer.geometries import hills, planes, touching_shapes
from sarrus.viewer.mechanism import CLOSED, Mechanism, Poses
from sarrus.viewer.shapes import MeshLibrary, add_visual, corners, wxyz
from sarrus.viewer.skeleton import joint_markers, skeleton, typical_length

_FORCE, _ERROR, _CONTACT = (40, 90, 220), (220, 30, 30), (30, 150, 90)
LAYERS = {  # what can be shown and hidden, with its label
    "visuals": "shapes", "collision": "collision shapes", "skeleton": "skeleton", "joints": "joints",
    "frames": "frames", "names": "names",
}  # fmt: skip


class Scene:
    """Draws configurations of one model. `layers` are what can be shown and hidden, each a list of viser's nodes."""

    def __init__(self, scene: Any, mechanism: Mechanism, q: Array) -> None:
        self.scene, self.mechanism, self.model = scene, mechanism, mechanism.model
        self.meshes = MeshLibrary()
        self.size = typical_length(self.model)
        scene.add_frame("/world", show_axes=False)
        # Slashes separate the levels of viser's tree: none in names.
        self._paths = {i: f"/world/{i:04d} {body.name.replace('/', '|')}" for i, body in enumerate(self.model.bodies)}
        self.nodes = [scene.add_frame(path, show_axes=False) for path in self._paths.values()]
        self._paths[WORLD] = "/world"
        self.layers: dict[str, list[Any]] = {name: [] for name in LAYERS}
        shown = self._add_shapes()
        self.low, self.high = self._bounds(mechanism.poses(q), shown)
        self.grounds: list[Any] = []
        self._add_ground()
        self._add_names_and_frames()
        self._arrows: Any = None
        self._errors: list[Any] = []
        self._contacts = self._add_contacts()

    # --- what is there once ----------------------------------------------------------------------------

    @property
    def middle(self) -> Array:
        return 0.5 * (self.low + self.high)

    @property
    def extent(self) -> float:
        """Radius of a ball around the robot."""
        return max(0.5 * float(np.linalg.norm(self.high - self.low)), 0.01)

    @property
    def weight(self) -> float:
        """Of the robot, in newtons."""
        return float(self.model.mass) * float(np.linalg.norm(self.model.gravity))

    def _bounds(self, poses: Poses, shown: list[Visual]) -> tuple[Array, Array]:
        points = [np.zeros((1, 3)) if not shown else poses.p]
        for visual in shown:
            at = corners(visual, self.meshes)
            points.append(at if visual.body == WORLD else at @ poses.R[visual.body].T + poses.p[visual.body])
        everything = np.concatenate(points)
        return everything.min(axis=0), everything.max(axis=0)

    def _add_ground(self) -> None:
        """The planes of the model; without one, a grid at the height of zero or of the lowest point."""
        grounds = [(plane.placement.p, wxyz(plane.placement.R)) for plane in planes(self.model)]
        if not grounds:
            grounds = [(np.array([0.0, 0.0, min(0.0, float(self.low[2]))]), wxyz(np.eye(3)))]
        cell = 10.0 ** np.floor(np.log10(self.extent))  # 1, 10, 100 ... centimetres or metres
        width = 20.0 * cell
        for k, (position, turn) in enumerate(grounds):
            grid = self.scene.add_grid(
                f"/ground {k}", width, width, cell_size=cell / 2.0, section_size=cell * 2.0, position=position,
                wxyz=turn, cell_color=(225, 228, 232), section_color=(185, 190, 198), plane_color=(248, 249, 251),
                plane_opacity=1.0, fade_distance=15.0 * self.extent, fade_strength=1.5, infinite_grid=True,
            )  # fmt: skip
            self.grounds.append(grid)

    def _add_shapes(self) -> list[Visual]:
        """The result lists what is seen at first."""
        shapes = [v for v in self.model.visuals if not v.collision]
        collision_shapes = touching_shapes(self.model) or [v for v in self.model.visuals if v.collision]
        drawn = self._add_layer("visuals", shapes)
        self._add_layer("visuals", hills(self.model), kind="hills")
        self._add_layer("collision", collision_shapes, visible=False)
        # All bodies are bare if nothing is drawn on any; else those whose shapes are all missing. They are shown by
        # their collision shapes, if they have some, else by their skeleton; and by both where nobody drew anything,
        # because what touches may be no more than a foot.
        on = {v.body for v in drawn} - {WORLD}
        bare = {v.body for v in shapes} - on - {WORLD} if on else set(range(self.model.nb))
        stand_ins = [
            replace(v, color=None, collision=False)
            for v in collision_shapes
            if v.body in bare and not isinstance(v.shape, Mesh)
        ]
        bones, covered = skeleton(self.model), {v.body for v in stand_ins}
        bony = bare - covered if on or covered == bare else bare
        stand_ins += [v for v in bones if v.body in bony]
        self._add_layer("visuals", stand_ins, kind="stand-in")
        self._add_layer("skeleton", bones, visible=False)
        self.hinges_shown = not any(isinstance(v.shape, Mesh) for v in drawn)
        markers = self._add_layer("joints", joint_markers(self.model), visible=self.hinges_shown)
        return [*drawn, *stand_ins, *(markers if self.hinges_shown else [])]

    def _add_layer(self, layer: str, visuals: Any, *, visible: bool = True, kind: str = "") -> list[Visual]:
        """The result lists those that could be drawn."""
        drawn = []
        for k, visual in enumerate(visuals):
            name = f"{self._paths[visual.body]}/{kind or layer} {k}"
            node = add_visual(self.scene, name, visual, self.meshes, visible=visible)
            if node is not None:
                self.layers[layer].append(node)
                drawn.append(visual)
        return drawn

    def _add_names_and_frames(self) -> None:
        length = 0.35 * self.size
        for i, body in enumerate(self.model.bodies):
            path = self._paths[i]
            label = self.scene.add_label(f"{path}/name", body.name, visible=False, anchor="bottom-center")
            axes = self.scene.add_frame(
                f"{path}/axes", axes_length=length, axes_radius=0.04 * length, origin_radius=0.0, visible=False
            )
            self.layers["names"].append(label)
            self.layers["frames"].append(axes)

    def _add_contacts(self) -> dict[int, Any]:
        """A disc at every frame that is held against the world."""
        found = {}
        for k, pair in enumerate(self.mechanism.pairs):
            if pair.constraint.kind is Kind.LINK:
                found[k] = self.scene.add_icosphere(
                    f"/contacts/{k}", radius=0.06 * self.size, color=_CONTACT, opacity=0.8, subdivisions=2
                )
        return found

    # --- what changes ----------------------------------------------------------------------------------

    def place(self, poses: Poses) -> None:
        for node, R, p in zip(self.nodes, poses.R, poses.p, strict=True):
            node.position, node.wxyz = p, wxyz(R)
        for k, node in self._contacts.items():
            node.position = poses.b[k]

    def show_layer(self, layer: str, visible: bool) -> None:
        for node in self.layers[layer]:
            node.visible = visible

    def show_errors(self, poses: Poses, errors: dict[Any, float], visible: bool = True) -> None:
        """Red between the two frames of whatever is open, with words; a ball where only directions are wrong."""
        for node in self._errors:
            node.remove()
        self._errors = []
        for k, pair in enumerate(self.mechanism.pairs):
            error = errors.get(pair.constraint, 0.0)
            if not visible or error <= CLOSED:
                continue
            a, b = poses.a[k], poses.b[k]
            apart, where = float(np.linalg.norm(b - a)), 0.5 * (a + b)
            text = f"{pair.constraint.name}: {in_words(pair.constraint, error, apart)}"
            self._errors.append(
                self.scene.add_icosphere(f"/open/{k}/ball", radius=0.07 * self.size, color=_ERROR, position=where)
            )
            self._errors.append(self.scene.add_label(f"/open/{k}/words", text, position=where, anchor="bottom-center"))
            if apart > CLOSED:
                line = np.stack([a, b])[None].astype(np.float32)
                self._errors.append(
                    self.scene.add_line_segments(f"/open/{k}/line", line, _ERROR, thickness=0.04 * self.size)
                )

    def show_forces(self, poses: Poses, vectors: Array | None, scale: float = 1.0) -> None:
        """Arrows at the second frame of each constraint; the largest force of all is about a body long at scale 1."""
        if self._arrows is not None:
            self._arrows.remove()
            self._arrows = None
        if vectors is None or not len(vectors):
            return
        largest = max(float(np.linalg.norm(vectors, axis=1).max()), 1e-3 * self.weight, 1e-6)  # rounding is no force
        unit = 1.5 * self.size * scale / largest
        lengths = unit * np.linalg.norm(vectors, axis=1)
        kept = lengths > 0.02 * self.size
        if not kept.any():
            return
        points = np.stack([poses.b, poses.b + unit * vectors], axis=1)[kept]
        thick = 0.03 * self.size
        self._arrows = self.scene.add_arrows(
            "/forces", points.astype(np.float32), _FORCE, shaft_radius=thick, head_radius=2.5 * thick,
            head_length=5.0 * thick,
        )  # fmt: skip


def in_words(constraint: Constraint, error: float, apart: float | None = None) -> str:
    """How far open; `apart`: the distance between its frames."""
    if constraint.joints:
        return f"off by {error:.3g}"
    if apart is not None and apart < CLOSED:
        return f"turned by {np.degrees(error):.3g} degrees"
    return f"open by {1000.0 * error:.3g} mm"
