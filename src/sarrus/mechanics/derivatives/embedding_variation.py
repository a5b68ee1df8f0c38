"""How the motion of an embedded model varies with its independent coordinates: dG and dg.

v = G yd and qdd = G ydd + g, where G and g follow from the rows of the clusters (`mechanics/clusters`); their
derivatives follow from that same text, on dual numbers, along motions that keep the loops closed: dq = G dy.
"""

from __future__ import annotations

from typing import NamedTuple

from sarrus.mechanics.clusters.embedded import embedded_at
from sarrus.mechanics.derivatives.constraint_variation import rate_map
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.spatial.arrays import Array
from sarrus.spatial.dual import derivatives_of, variables, with_derivatives
from sarrus.spatial.stages import stage


class EmbeddingVariation(NamedTuple):
    """Derivatives with respect to independent positions, along `integrate`, and velocities."""

    v_y: Array  # (nv, ny) of v = G yd
    qdd_y: Array  # (nv, ny) of qdd = G ydd + g
    qdd_yd: Array  # (nv, ny)
    forces_y: Array  # (ny, ny) of G^T f


def embedding_variation(model: Model, q: Array, yd: Array, ydd: Array, G: Array, f: Array) -> EmbeddingVariation:
    """At q, yd and ydd; f: forces on all joints, held."""
    ny = len(yd)
    with stage("variation of clusters"):
        moved = with_derivatives(q, rate_map(tree_of(model), q) @ G)
        at = embedded_at(model, moved, None, variables(yd, first=ny))
        velocities, accelerations = at.v, at.expand(ydd, bias=True)
        forces = at.reduce_force(f)
    v_y, qdd_y, forces_y = (derivatives_of(x, 2 * ny) for x in (velocities, accelerations, forces))
    return EmbeddingVariation(v_y[:, :ny], qdd_y[:, :ny], qdd_y[:, ny:], forces_y[:, :ny])
