"""Operations of the narrow phase: `python -m benchmarks.contact_counts` prints the table of docs/contact.md."""

from __future__ import annotations

import numpy as np

from benchmarks.command_line import parser_of
from sarrus.codegen.tape.graph import Graph
from sarrus.codegen.tape.tape import OpCount, Port, tape_of
from sarrus.mechanics.contact.narrow_phase import PAIRS, touch_count, touches
from sarrus.mechanics.contact.touch import Pose
from sarrus.model.geometries import ContactShape, ConvexMesh, HeightField, Plane
from sarrus.model.visuals import Box, Capsule, Cylinder, Ellipsoid, Sphere

WORLD: Pose = (np.eye(3), np.zeros(3))
HEIGHTS = np.random.default_rng(0).normal(size=(8, 8))
TETRAHEDRON = np.array([[1.0, 1, 1], [-1, -1, 1], [-1, 1, -1], [1, -1, -1]]) * [0.1, 0.2, 0.3]
EXAMPLES: dict[type, tuple[str, ContactShape]] = {
    Plane: ("plane", Plane()),
    Sphere: ("sphere", Sphere(0.3)),
    Capsule: ("capsule", Capsule(0.12, 0.7)),
    Cylinder: ("cylinder", Cylinder(0.25, 0.6)),
    Box: ("box", Box((0.5, 0.8, 0.3))),
    Ellipsoid: ("ellipsoid", Ellipsoid((0.2, 0.45, 0.3))),
    ConvexMesh: ("mesh of 4 vertices", ConvexMesh(TETRAHEDRON)),
    HeightField: (
        "height field, 8 x 8",
        HeightField(HEIGHTS, (1.0, 1.0)),
    ),
}
PORTS = (Port("Ra", (3, 3)), Port("pa", (3,)), Port("Rb", (3, 3)), Port("pb", (3,)))


def count(a: ContactShape, b: ContactShape, fixed: bool) -> OpCount:
    """Of all touches of a and b at any poses; `fixed`: b at the world's origin."""
    graph = Graph()
    pose_b = WORLD if fixed else (graph.inputs(2, 9).reshape(3, 3), graph.inputs(3, 3))
    found = touches(a, (graph.inputs(0, 9).reshape(3, 3), graph.inputs(1, 3)), b, pose_b)
    numbers = [x for touch in found for x in (*touch.point, *touch.normal, touch.gap)]
    return tape_of(graph, PORTS, {"touches": np.array(numbers, dtype=object)}).op_count


def table() -> str:
    """In Markdown."""
    lines = [
        "| pair | touches | operations | the second fixed in the world | of these: add, mul | compare | div, sqrt |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for a, b in PAIRS:
        (name_a, shape_a), (name_b, shape_b) = EXAMPLES[a], EXAMPLES[b]
        kinds = (world := count(shape_a, shape_b, fixed=True)).by_kind
        arithmetic, slow = kinds["add"] + kinds["mul"], kinds["div"] + kinds["sqrt"]
        lines.append(
            f"| {name_a}, {name_b} | {touch_count(shape_a, shape_b)} | {count(shape_a, shape_b, fixed=False).total:,} "
            f"| {world.total:,} | {arithmetic:,} | {kinds.get('compare', 0):,} | {slow} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    parser_of(__doc__).parse_args()
    print(table())
