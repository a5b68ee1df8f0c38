"""Two boxes: the normal by the separating-axis test, then where two faces overlap and two edges cross.

Penetration is exact; but where the normal of two edges is nearly that of a face, and nothing is deeper along the face's
by more than a thousandth of the smaller box, the face's is taken. Boxes apart have the gap along the axis that
separates them best, where their faces overlap. That is not their distance if a corner is nearest to a corner or to an
edge; it becomes exact as they come to touch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.contact.clipping import Corner, overlap
from sarrus.mechanics.contact.touch import ABSENT, Pose, Touch
from sarrus.model.visuals import Box
from sarrus.spatial.arrays import Array, Scalar, matrix, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import choose_vector, clamp, larger, sign, smaller
from sarrus.spatial.norms import dot, root, total
from sarrus.spatial.rotations import cross

_THINNEST = 1e-9  # metres: half of the least thickness that a box is given
_PARALLEL = 1e-8  # sin^2 of two edges below which they have no common normal
_SAME_NORMAL = 0.999  # the cosine from which on a face is taken for edges: a box set down askew rests on all corners
_SIMILAR_NORMAL = 0.98  # the cosine from which on corners below the edges touch, too
_SAME_GAP = 1e-3  # of half the least length: what may be lost by that; few degrees are millimetres at the next corner


class _Faces(NamedTuple):
    """Two boxes, in the frame of the one whose face the other lies on; its face is normal to the third axis."""

    axes: Array  # (3, 3) columns: those of the first box in the world
    origin: Array  # (3,) its middle in the world
    half: Array  # (3,) of the first
    C: Array  # (3, 3) columns: the other's axes, that of its face last
    d: Array  # (3,) the other's middle
    other_half: Array  # (3,)


def box_box(a: Box, pose_a: Pose, b: Box, pose_b: Pose) -> list[Touch]:
    """Where two edges cross, then up to eight corners of where two faces overlap.

    Where edges are nearest, the corners of the faces that look most along their normal are there, too: the far end of
    an edge that turns may come down within the step.
    """
    (Ra, pa), (Rb, pb) = pose_a, pose_b
    half_a, half_b = (np.maximum(0.5 * np.asarray(box.size), _THINNEST) for box in (a, b))
    C, d = Ra.T @ Rb, Ra.T @ (pb - pa)
    size = matrix([[abs(x) for x in row] for row in C])
    of_a = vector(*[abs(d[i]) - half_a[i] - dot(size[i], half_b) for i in range(3)])
    back = C.T @ d
    of_b = vector(*[abs(back[j]) - half_b[j] - dot(size[:, j], half_a) for j in range(3)])
    face = larger(_largest(of_a), _largest(of_b))
    i, j, apart = _best_edges(C, size, d, half_a, half_b)
    crossing = _crossing_edges(i, j, C, d, half_a, half_b)
    score_a = choose_vector(face, apart, _sizes(crossing.normal), of_a)
    score_b = choose_vector(face, apart, _sizes(C.T @ crossing.normal), of_b)
    # The better one of both boxes' faces, a's if they are equal, and the axes so that it is normal to the third.
    on_b = (_largest(score_a), _largest(score_b))
    half, other_half = choose_vector(*on_b, half_b, half_a), choose_vector(*on_b, half_a, half_b)
    faces = _face_last(
        _Faces(
            _choose_matrix(*on_b, Rb, Ra), choose_vector(*on_b, pb, pa), half,
            _choose_matrix(*on_b, C.T, C), choose_vector(*on_b, -back, d), other_half,
        ),
        choose_vector(*on_b, score_b, score_a),
    )  # fmt: skip
    touches, corners = _overlapping_faces(faces)
    from_b = choose(*on_b, 1.0, -1.0)
    touches = [touch._replace(normal=touch.normal * from_b) for touch in touches]
    crossing = Touch(pa + Ra @ crossing.point, Ra @ crossing.normal, apart)
    return _with_crossing(touches, corners, crossing, face, _SAME_GAP * float(min(*half_a, *half_b)))


def _with_crossing(touches: list[Touch], corners: Scalar, crossing: Touch, face: Scalar, slack: float) -> list[Touch]:
    """The touches of faces, and that of two edges where they separate better; of these two, what is there.

    corners  how many of the touches of faces there are
    face     the separation by the best face
    """
    apart, like_the_face = crossing.gap, dot(crossing.normal, touches[0].normal)
    deepest = touches[0].gap
    for touch in touches[1:]:
        deepest = smaller(deepest, touch.gap)
    # Faces of boxes apart that overlap have true gaps at all corners. Those that do not have none: the face that looks
    # most along the edges' normal is not the one that separates, and boxes apart may overlap along its own.
    clearly = choose(deepest + slack, apart, apart, -ABSENT)
    clearly = choose(0.5, corners, choose(0.0, apart, -ABSENT, clearly), apart)
    edges = (face, choose(like_the_face, _SAME_NORMAL, apart, clearly))
    # What is deeper along the face than the edges are along their normal is as deep as these, or another thing.
    deeper = choose(_SIMILAR_NORMAL, like_the_face, apart, ABSENT)
    gaps = [choose(touch.gap, apart, deeper, touch.gap) for touch in touches]
    gaps[0] = choose(0.5, corners, gaps[0], ABSENT)
    kept = [touch._replace(gap=choose(*edges, gap, touch.gap)) for touch, gap in zip(touches, gaps, strict=True)]
    return [crossing._replace(gap=choose(*edges, apart, ABSENT)), *kept]


def _largest(x: Array) -> Scalar:
    return larger(larger(x[0], x[1]), x[2])


def _sizes(x: Array) -> Array:
    return vector(*[abs(e) for e in x])


def _choose_matrix(a: Scalar, b: Scalar, yes: Array, no: Array) -> Array:
    return matrix([list(choose_vector(a, b, y, n)) for y, n in zip(yes, no, strict=True)])


def _best_edges(C: Array, size: Array, d: Array, half_a: Array, half_b: Array) -> tuple[Scalar, Scalar, Scalar]:
    """The edges, by number, whose common normal separates best, and the separation."""
    best_i, best_j, best = 0.0, 0.0, -ABSENT
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            j1, j2 = (j + 1) % 3, (j + 2) % 3
            sine2 = C[i1, j] * C[i1, j] + C[i2, j] * C[i2, j]
            inverse = 1.0 / root(choose(_PARALLEL, sine2, sine2, 1.0))
            reach = total(
                [
                    half_a[i1] * size[i2, j],
                    half_a[i2] * size[i1, j],
                    half_b[j1] * size[i, j2],
                    half_b[j2] * size[i, j1],
                ]
            )
            apart = (abs(d[i2] * C[i1, j] - d[i1] * C[i2, j]) - reach) * inverse
            apart = choose(_PARALLEL, sine2, apart, -ABSENT)
            best_i, best_j = choose(best, apart, float(i), best_i), choose(best, apart, float(j), best_j)
            best = larger(best, apart)
    return best_i, best_j, best


def _crossing_edges(i: Scalar, j: Scalar, C: Array, d: Array, half_a: Array, half_b: Array) -> Touch:
    """Midway between two edges, in the frame of a, whatever their gap."""
    edge_a, number_b = _column(i), _column(j)
    edge_b = C @ number_b
    across = cross(edge_a, edge_b)
    sine2 = dot(across, across)
    sine2 = choose(_PARALLEL, sine2, sine2, 1.0)
    towards_a = across * (-sign(dot(across, d)) / root(sine2))
    in_b = C.T @ towards_a
    on_a = vector(*[(edge_a[k] - 1.0) * half_a[k] * sign(towards_a[k]) for k in range(3)])
    on_b = d + C @ vector(*[(1.0 - number_b[k]) * half_b[k] * sign(in_b[k]) for k in range(3)])
    apart = on_a - on_b
    cosine = dot(edge_a, edge_b)
    s = -dot(edge_a - edge_b * cosine, apart) / sine2
    t = dot(edge_b - edge_a * cosine, apart) / sine2
    return Touch(0.5 * (on_a + edge_a * s + on_b + edge_b * t), towards_a, 0.0)


def _column(number: Scalar) -> Array:
    """That column of the identity."""
    return vector(
        choose(number, 0.5, 1.0, 0.0),
        choose(number, 0.5, 0.0, choose(number, 1.5, 1.0, 0.0)),
        choose(number, 1.5, 0.0, 1.0),
    )


def _face_last(faces: _Faces, apart: Array) -> _Faces:
    """The same with axes renamed in a circle, so that the faces that lie on each other are the last of both boxes."""
    axes, origin, half, C, d, other_half = faces
    axes, C = _best_last(apart, axes.T).T, _best_last(apart, C)
    half, d = _best_last(apart, half[:, None])[:, 0], _best_last(apart, d[:, None])[:, 0]
    facing = vector(*[abs(c) for c in C[2]])
    return _Faces(axes, origin, half, _best_last(facing, C.T).T, d, _best_last(facing, other_half[:, None])[:, 0])


def _best_last(score: Array, rows: Array) -> Array:
    """Three rows, turned in a circle until the one with the largest score is the last."""
    zero, one, two = score
    turned = [choose_vector(zero, one, rows[(k + 2) % 3], rows[(k + 1) % 3]) for k in range(3)]
    return matrix([list(choose_vector(larger(zero, one), two, rows[k], turned[k])) for k in range(3)])


def _overlapping_faces(faces: _Faces) -> tuple[list[Touch], Scalar]:
    """Where the other's face is above this one's, with normals away from this box; and at how many corners."""
    axes, origin, half, C, d, other_half = faces
    up = sign(d[2])
    middle = d - C[:, 2] * (other_half[2] * up * sign(C[2, 2]))  # of the other's face
    first = C[:, 0] * other_half[0]
    second = C[:, 1] * other_half[1]
    second = second * sign(first[0] * second[1] - first[1] * second[0])  # counter-clockwise, seen along the normal
    corners = overlap(half[:2], middle, first, second)
    # Boxes apart may have faces that do not overlap. Then the first corner is the other's lowest one.
    lowest = middle - first * sign(first[2] * up) - second * sign(second[2] * up)
    nearest = Corner(clamp(lowest[0], half[0]), clamp(lowest[1], half[1]), lowest[2], 1.0)
    count = total([corner.there for corner in corners])
    none = (count, 0.5)
    corners[0] = Corner(*choose_vector(*none, np.array(nearest, dtype=object), np.array(corners[0], dtype=object)))
    touches = []
    for corner in corners:
        gap = corner.height * up - half[2]
        z = 0.5 * (corner.height + half[2] * up)
        point = origin + axes[:, 0] * corner.x + axes[:, 1] * corner.y + axes[:, 2] * z
        touches.append(Touch(point, axes[:, 2] * up, choose(corner.there, 0.5, ABSENT, gap)))
    return touches, count
