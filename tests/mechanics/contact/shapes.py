"""Shapes and poses for the tests of contacts, touches of many poses at once, and MuJoCo's opinion about them."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import mujoco
import numpy as np

from sarrus.codegen.tape.graph import Graph
from sarrus.codegen.tape.interpret import run
from sarrus.codegen.tape.tape import Port, Tape, tape_of
from sarrus.mechanics.contact.narrow_phase import touches
from sarrus.mechanics.contact.touch import Pose, Touch
from sarrus.model.geometries import ContactShape, ConvexMesh, HeightField, Plane
from sarrus.model.visuals import Box, Capsule, Cylinder, Ellipsoid, Sphere
from sarrus.spatial.rotations import rotation_from_quaternion

MESH = ConvexMesh(np.random.default_rng(7).normal(size=(14, 3)) * [0.2, 0.3, 0.1])
SMOOTH = np.add.outer(np.sin(np.linspace(0.0, 4.0, 7)), np.cos(np.linspace(0.0, 5.0, 9))) * 0.1
FIELD = HeightField(SMOOTH, (1.0, 0.8))
SHAPES: dict[str, ContactShape] = {
    "plane": Plane(),
    "sphere": Sphere(0.3),
    "capsule": Capsule(0.12, 0.7),
    "cylinder": Cylinder(0.25, 0.6),
    "box": Box((0.5, 0.8, 0.3)),
    "ellipsoid": Ellipsoid((0.2, 0.45, 0.3)),
    "mesh": MESH,
    "field": FIELD,
}
WORLD: Pose = (np.eye(3), np.zeros(3))
_PORTS = (Port("Ra", (3, 3)), Port("pa", (3,)), Port("Rb", (3, 3)), Port("pb", (3,)))


class Poses(NamedTuple):
    """Of many pairs."""

    Ra: np.ndarray  # (B, 3, 3)
    pa: np.ndarray  # (B, 3)
    Rb: np.ndarray
    pb: np.ndarray

    def swapped(self) -> Poses:
        return Poses(self.Rb, self.pb, self.Ra, self.pa)

    def one(self, k: int) -> tuple[Pose, Pose]:
        return (self.Ra[k], self.pa[k]), (self.Rb[k], self.pb[k])


class Touches(NamedTuple):
    """Of many pairs: n candidates each."""

    point: np.ndarray  # (B, n, 3)
    normal: np.ndarray  # (B, n, 3)
    gap: np.ndarray  # (B, n)


def random_rotations(rng: np.random.Generator, count: int) -> np.ndarray:
    quaternions = rng.normal(size=(count, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    return np.array([rotation_from_quaternion(x).astype(float) for x in quaternions])


def random_poses(count: int, spread: float = 0.5, seed: int = 0) -> Poses:
    """Near each other: touching, deep inside and apart."""
    rng = np.random.default_rng(seed)
    Ra, Rb = random_rotations(rng, count), random_rotations(rng, count)
    pb = rng.normal(size=(count, 3))
    return Poses(Ra, pb + spread * rng.normal(size=(count, 3)), Rb, pb)


def special_poses() -> Poses:
    """Parallel, upright, concentric: axes along axes, distances of zero or of what makes faces meet."""
    turns = [np.eye(3), np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]), np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])]
    tilted = rotation_from_quaternion(np.array([0.0, np.sin(0.1), 0.0, np.cos(0.1)])).astype(float)
    turns += [tilted, turns[1] @ tilted]
    steps = [np.array(x) * s for x in ([0.0, 0, 0], [1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]) for s in (0.1, 0.3, 0.55)]
    steps += [np.array([0.3, 0.3, 0.3]), np.array([0.5, 0.8, 0.3]), np.array([0.0, 0.0, 1e-17])]
    every = [(A, step, B, np.zeros(3)) for A in turns for B in turns for step in steps]
    return Poses(*(np.array(x) for x in zip(*every, strict=True)))


def traced(a: ContactShape, b: ContactShape, pose_b: Pose | None = None) -> Tape:
    """The text of `touches` as a tape; b fixed at a pose if one is given."""
    graph = Graph()
    Ra, pa = graph.inputs(0, 9).reshape(3, 3), graph.inputs(1, 3)
    found = touches(a, (Ra, pa), b, pose_b or (graph.inputs(2, 9).reshape(3, 3), graph.inputs(3, 3)))
    outputs = {"point": [x.point for x in found], "normal": [x.normal for x in found], "gap": [x.gap for x in found]}
    return tape_of(graph, _PORTS, {name: np.array(x, dtype=object) for name, x in outputs.items()})


@lru_cache(maxsize=64)
def _tape(a: ContactShape, b: ContactShape) -> Tape:
    return traced(a, b)


def touches_of(a: ContactShape, b: ContactShape, poses: Poses) -> Touches:
    """All poses at once, by the traced text."""
    count = len(poses.pa)
    point, normal, gap = run(_tape(a, b), [x.reshape(count, -1).T for x in poses])
    stacked = [np.array([np.broadcast_to(x, count) for x in part]).T for part in (point, normal, gap)]
    return Touches(stacked[0].reshape(count, -1, 3), stacked[1].reshape(count, -1, 3), stacked[2])


def as_arrays(found: list[Touch]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of one pose, by the text itself."""
    parts = zip(*[(x.point, x.normal, x.gap) for x in found], strict=True)
    point, normal, gap = (np.array(part, dtype=float) for part in parts)
    return point, normal, gap


# --- MuJoCo -------------------------------------------------------------------------------------------------------


def _geom(shape: ContactShape) -> str:
    def words(*numbers: float) -> str:
        return " ".join(repr(float(x)) for x in numbers)

    if isinstance(shape, Plane):
        return 'type="plane" size="9 9 .1"'
    if isinstance(shape, Sphere):
        return f'type="sphere" size="{words(shape.radius)}"'
    if isinstance(shape, (Capsule, Cylinder)):
        return f'type="{type(shape).__name__.lower()}" size="{words(shape.radius, 0.5 * shape.length)}"'
    if isinstance(shape, Box):
        return f'type="box" size="{words(*(0.5 * x for x in shape.size))}"'
    if isinstance(shape, Ellipsoid):
        return f'type="ellipsoid" size="{words(*shape.radii)}"'
    raise NotImplementedError(type(shape))


class MujocoPair:
    """The same two shapes in MuJoCo: its contacts, from a margin on, and its distance."""

    def __init__(self, a: ContactShape, b: ContactShape, margin: float = 0.3) -> None:
        free, fixed = "<body><freejoint/><geom {} {}/></body>", '<body mocap="true"><geom {} {}/></body>'
        margins = f'margin="{margin}" gap="{margin}"'
        both = "".join((fixed if isinstance(x, Plane) else free).format(_geom(x), margins) for x in (a, b))
        self.model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{both}</worldbody></mujoco>")
        self.data = mujoco.MjData(self.model)

    def place(self, poses: Poses, k: int) -> None:
        for number, (R, p) in enumerate(poses.one(k)):
            quaternion = np.zeros(4)
            mujoco.mju_mat2Quat(quaternion, R.ravel())
            body = number + 1
            mocap = self.model.body_mocapid[body]
            if mocap >= 0:
                self.data.mocap_pos[mocap], self.data.mocap_quat[mocap] = p, quaternion
            else:
                start = self.model.jnt_qposadr[self.model.body_jntadr[body]]
                self.data.qpos[start : start + 7] = [*p, *quaternion]
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)

    def contacts(self, poses: Poses, k: int) -> list[tuple[np.ndarray, np.ndarray, float]]:
        """Point, normal from b to a, gap."""
        self.place(poses, k)
        mujoco.mj_collision(self.model, self.data)
        found = []
        for contact in self.data.contact:
            flip = -1.0 if contact.geom[0] == 0 else 1.0  # MuJoCo's normal: from the first to the second
            found.append((contact.pos.copy(), flip * contact.frame[:3], float(contact.dist)))
        return found

    def distance(self, poses: Poses, k: int) -> float:
        self.place(poses, k)
        return float(mujoco.mj_geomDistance(self.model, self.data, 0, 1, 10.0, None))
