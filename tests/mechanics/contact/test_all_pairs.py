"""What holds for every pair: finite everywhere, unit normals, one text for floats, symbols and native code."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.codegen.runtime.native import build_native
from sarrus.codegen.tape.interpret import run
from sarrus.errors import UnsupportedError
from sarrus.mechanics.contact.narrow_phase import PAIRS, is_supported, touch_count, touches
from sarrus.mechanics.contact.touch import ABSENT
from sarrus.model.geometries import ConvexMesh, HeightField, Plane
from sarrus.model.visuals import Box, Capsule, Cylinder, Ellipsoid, Sphere
from sarrus.spatial.precision import precision
from tests.mechanics.contact.shapes import (
    SHAPES,
    WORLD,
    Poses,
    as_arrays,
    random_poses,
    special_poses,
    touches_of,
    traced,
)

NAMES = {type(shape): name for name, shape in SHAPES.items()}
PAIR_NAMES = [(NAMES[a], NAMES[b]) for a, b in PAIRS]
POSES = [random_poses(2000), random_poses(1000, spread=1e-3, seed=1), random_poses(1000, spread=50.0), special_poses()]
NOTHING = {  # shapes of no size
    Sphere: Sphere(0.0),
    Capsule: Capsule(0.0, 0.0),
    Cylinder: Cylinder(0.0, 0.0),
    Box: Box((0.0, 0.0, 0.0)),
    Ellipsoid: Ellipsoid((0.0, 0.0, 0.0)),
    ConvexMesh: ConvexMesh(np.zeros((4, 3))),
    Plane: Plane(),
    HeightField: HeightField(np.zeros((2, 2)), (1.0, 1.0)),
}


@pytest.mark.parametrize(("a", "b"), PAIR_NAMES)
def test_finite_with_unit_normals_everywhere(a: str, b: str) -> None:
    for poses in POSES:
        found = touches_of(SHAPES[a], SHAPES[b], poses)
        assert all(np.isfinite(x).all() for x in found)
        assert np.abs(np.linalg.norm(found.normal, axis=-1) - 1.0).max() < 1e-9
        assert np.abs(found.point - poses.pb[:, None]).max() < 1e3
        assert found.gap.shape[1] == touch_count(SHAPES[a], SHAPES[b])


@pytest.mark.parametrize(("a", "b"), list(PAIRS), ids=lambda x: x.__name__)
def test_shapes_without_size_are_points(a: type, b: type) -> None:
    for poses in (POSES[0], POSES[-1]):
        for x, y in ((NOTHING[a], NOTHING[b]), (NOTHING[a], SHAPES[NAMES[b]]), (SHAPES[NAMES[a]], NOTHING[b])):
            found = touches_of(x, y, poses)
            assert all(np.isfinite(part).all() for part in found)
            assert np.abs(np.linalg.norm(found.normal, axis=-1) - 1.0).max() < 1e-9


@pytest.mark.parametrize(("a", "b"), PAIR_NAMES)
def test_the_same_text_on_floats_and_on_symbols(a: str, b: str) -> None:
    poses = random_poses(40, seed=3)
    found = touches_of(SHAPES[a], SHAPES[b], poses)
    for k in range(40):
        point, normal, gap = as_arrays(touches(SHAPES[a], poses.one(k)[0], SHAPES[b], poses.one(k)[1]))
        np.testing.assert_allclose(found.point[k], point, atol=1e-10)
        np.testing.assert_allclose(found.normal[k], normal, atol=1e-10)
        np.testing.assert_allclose(found.gap[k], gap, atol=1e-10)


@pytest.mark.parametrize(("a", "b"), PAIR_NAMES)
def test_exchanged_shapes_touch_at_the_same_points(a: str, b: str) -> None:
    poses = random_poses(500, seed=4)
    here, there = (
        touches_of(SHAPES[a], SHAPES[b], poses),
        touches_of(SHAPES[b], SHAPES[a], poses.swapped()),
    )
    if a != b:
        np.testing.assert_array_equal(here.point, there.point)
        np.testing.assert_array_equal(here.normal, -there.normal)
        np.testing.assert_array_equal(here.gap, there.gap)
    else:  # the deepest one
        order = np.arange(500), here.gap.argmin(axis=1)
        other = np.arange(500), there.gap.argmin(axis=1)
        np.testing.assert_allclose(here.gap[order], there.gap[other], atol=1e-9)
        touching = here.gap[order] < 0.0
        np.testing.assert_allclose(here.normal[order][touching], -there.normal[other][touching], atol=1e-6)


@pytest.mark.parametrize(("a", "b"), PAIR_NAMES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_native_code_computes_the_text(a: str, b: str, dtype: str) -> None:
    with precision(np.dtype(dtype)):
        tape = traced(SHAPES[a], SHAPES[b])
    rough = dtype == "float32"
    for poses in (random_poses(300, seed=5), special_poses()):
        count = len(poses.pa)
        inputs = [np.ascontiguousarray(x.reshape(count, -1), dtype=dtype) for x in poses]
        outputs = [np.empty((count, port.size), dtype) for port in tape.outputs]
        build_native(tape, dtype, cache=False).run(inputs, outputs, count, 1)
        assert all(np.isfinite(x).all() for x in outputs)
        gaps = touches_of(SHAPES[a], SHAPES[b], poses).gap
        deepest = gaps.min(axis=1)
        assert np.abs(outputs[2].min(axis=1) - deepest).max() < (1e-4 if rough else 1e-9)


@pytest.mark.parametrize(("a", "b"), PAIR_NAMES)
def test_moving_both_moves_the_touches(a: str, b: str) -> None:
    poses, other = random_poses(300, seed=6), random_poses(300, seed=7)
    R, p = other.Ra, other.pa
    moved = Poses(R @ poses.Ra, p + _times(R, poses.pa), R @ poses.Rb, p + _times(R, poses.pb))
    before, after = touches_of(SHAPES[a], SHAPES[b], poses), touches_of(SHAPES[a], SHAPES[b], moved)
    np.testing.assert_allclose(after.gap, before.gap, atol=1e-9)
    there = before.gap < 0.5 * ABSENT
    points = p[:, None] + np.einsum("bij,bnj->bni", R, before.point)
    np.testing.assert_allclose(after.point[there], points[there], atol=1e-7)
    normals = np.einsum("bij,bnj->bni", R, before.normal)
    np.testing.assert_allclose(after.normal[there], normals[there], atol=1e-7)


@pytest.mark.parametrize(("a", "b"), [pair for pair in PAIR_NAMES if pair[1] != "field"])
def test_a_small_move_changes_the_smallest_gap_by_as_little(a: str, b: str) -> None:
    """No gap is a jump: a distance changes by no more than what is moved. (Boxes: where they penetrate.)"""
    rng = np.random.default_rng(31)
    for poses in (random_poses(3000, seed=8), random_poses(1000, spread=0.05, seed=9), special_poses()):
        step = 1e-7 * rng.uniform(-1.0, 1.0, poses.pa.shape)
        before = touches_of(SHAPES[a], SHAPES[b], poses).gap.min(axis=1)
        after = touches_of(SHAPES[a], SHAPES[b], poses._replace(pa=poses.pa + step)).gap.min(axis=1)
        inside = before < (0.0 if a == b == "box" else np.inf)
        face_for_edges = 1.1e-3 * np.abs(before) if a == b == "box" else 0.0
        assert (np.abs(after - before) <= np.linalg.norm(step, axis=1) + 1e-10 + face_for_edges)[inside].all()


def _times(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.einsum("bij,bj->bi", R, x)


@pytest.mark.parametrize(("a", "b"), PAIR_NAMES)
def test_a_shape_fixed_in_the_world_is_touched_as_one_that_moves(a: str, b: str) -> None:
    """Zeros and ones of its pose fold away, and nothing else."""
    poses = random_poses(200, seed=10)
    for fixed in (WORLD, poses.one(0)[1]):
        here = poses._replace(Rb=np.tile(fixed[0], (200, 1, 1)), pb=np.tile(fixed[1], (200, 1)))
        point, normal, gap = run(traced(SHAPES[a], SHAPES[b], fixed), [x.reshape(200, -1).T for x in here])
        found = touches_of(SHAPES[a], SHAPES[b], here)
        for part, expected in ((point, found.point), (normal, found.normal), (gap, found.gap)):
            got = np.array([np.broadcast_to(x, 200) for x in part]).T
            np.testing.assert_allclose(got, expected.reshape(200, -1), atol=1e-9)


def test_the_ground_costs_next_to_nothing() -> None:
    """Its normal is a constant: a ball is four operations."""
    assert traced(SHAPES["sphere"], SHAPES["plane"], WORLD).op_count.total == 4
    assert traced(SHAPES["capsule"], SHAPES["plane"], WORLD).op_count.total <= 17
    assert traced(SHAPES["box"], SHAPES["plane"], WORLD).op_count.total <= 82


def test_what_has_no_closed_form_is_refused_in_words() -> None:
    for a, b in (("cylinder", "ellipsoid"), ("ellipsoid", "ellipsoid"), ("mesh", "mesh"), ("ellipsoid", "box")):
        assert not is_supported(SHAPES[a], SHAPES[b])
        assert not is_supported(SHAPES[b], SHAPES[a])
    assert is_supported(SHAPES["plane"], SHAPES["box"])
    with pytest.raises(UnsupportedError, match="A Cylinder can touch: Box, Capsule, Cylinder, Plane, Sphere"):
        touches(SHAPES["cylinder"], WORLD, SHAPES["ellipsoid"], WORLD)
