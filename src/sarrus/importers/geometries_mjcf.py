"""What touches: MuJoCo's geoms with a contype, a conaffinity or a pair; pairs and exclusions.

MuJoCo's contacts are soft (solref, solimp) and push from the margin on; what of that a file changes is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from sarrus.errors import ModelError, listed
from sarrus.importers.contact_assets import UnreadableError
from sarrus.importers.mjcf_assets import AssetFiles, rotation_or_none
from sarrus.importers.mujoco_fields import disabled, field_of, name_of, word
from sarrus.importers.names import Names
from sarrus.importers.visuals_mjcf import primitive
from sarrus.model.bodies import Placement
from sarrus.model.builder import ModelBuilder
from sarrus.model.geometries import ContactShape, Plane

_PLANE, _HFIELD, _MESH, _KINDS = 0, 1, 7, 8  # mjtGeom, and how many of them have a shape here
_SOLREF, _SOLIMP, _SOLMIX = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0), 1.0  # MuJoCo's defaults
_BITS = 2**32 - 1


def add_geometries(mj: Any, builder: ModelBuilder, bodies: Sequence[str], files: AssetFiles) -> None:
    """Geoms that can touch anything. `bodies`: the names of MuJoCo's bodies in the model."""
    importer = _Geometries(mj, builder, bodies, files)
    if disabled(mj, "CONTACT"):
        if importer.touching:
            builder.report(f"{len(importer.touching)} geoms that could touch: the file disables contacts")
        return
    importer.add()
    importer.add_pairs()
    importer.report_softness()


class _Geometries:
    def __init__(self, mj: Any, builder: ModelBuilder, bodies: Sequence[str], files: AssetFiles) -> None:
        self.mj, self.builder, self.bodies, self.files = mj, builder, bodies, files
        in_pairs = {int(g) for side in (mj.pair_geom1, mj.pair_geom2) for g in side}
        filtered = np.flatnonzero(mj.geom_contype | mj.geom_conaffinity)
        self.touching = sorted(in_pairs | {int(g) for g in filtered})
        self.names = self._names()
        self.lost: dict[str, list[int]] = {}  # why: geoms

    def _names(self) -> list[str]:
        """MuJoCo's, or made-up ones that are free."""
        given = [name_of(self.mj, "GEOM", g) for g in range(self.mj.ngeom)]
        names, first = Names(given), self.mj.body_geomadr
        on = self.mj.geom_bodyid
        return [
            name or names.claim(f"{self.bodies[on[g]]}_geometry_{g - first[on[g]]}") for g, name in enumerate(given)
        ]

    def add(self) -> None:
        mj = self.mj
        for geom in self.touching:
            friction, margin = mj.geom_friction[geom], mj.geom_margin[geom]
            if self._overridden:
                friction, margin = mj.opt.o_friction[[0, 2, 3]], 0.5 * mj.opt.o_margin
            try:
                shape, placement = self._shape(geom)
                self.builder.add_geometry(
                    self.bodies[int(mj.geom_bodyid[geom])], shape, name=self.names[geom], position=placement.p,
                    rotation=placement.R, friction=np.maximum(friction, 0.0), dimensions=int(mj.geom_condim[geom]),
                    category=int(mj.geom_contype[geom]) & _BITS, collides_with=int(mj.geom_conaffinity[geom]) & _BITS,
                    margin=max(float(margin), 0.0), priority=int(mj.geom_priority[geom]),
                )  # fmt: skip
            except UnreadableError as why:
                self.lost.setdefault(str(why), []).append(geom)
            except ModelError as why:
                self.lost.setdefault(f"cannot be kept: {why}", []).append(geom)
        for why, geoms in self.lost.items():
            which = listed([self.names[g] for g in geoms])
            paths = [path for path in dict.fromkeys(self.files.file_of(mj, g) for g in geoms) if path]
            of = f" of {listed(paths)}" if paths else ""
            self.builder.report(f"{len(geoms)} geoms touch nothing ({which}): the shape{of} {why}", lost=True)

    def _shape(self, geom: int) -> tuple[ContactShape, Placement]:
        mj, kind = self.mj, int(self.mj.geom_type[geom])
        placement = Placement(rotation_or_none(mj.geom_quat[geom]), mj.geom_pos[geom].copy())
        size = mj.geom_size[geom]
        if geom in self.files.fitted:
            kind, size, placement = self.files.fit(geom, placement)
        if kind == _PLANE:
            return Plane(), placement
        if kind == _HFIELD:
            return self.files.height_field(mj, geom), placement
        if kind == _MESH:
            return self.files.hull(mj, geom, placement)
        if kind >= _KINDS:
            import mujoco

            raise UnreadableError(f"({word(mujoco.mjtGeom(kind))}) is not represented")
        shape = primitive(kind, size)
        assert shape is not None
        return shape, placement

    @property
    def _overridden(self) -> bool:
        """Whether the file gives all contacts the same friction and margin."""
        import mujoco

        return bool(int(self.mj.opt.enableflags) & int(mujoco.mjtEnableBit.mjENBL_OVERRIDE))

    # --- pairs -----------------------------------------------------------------------------------------

    def add_pairs(self) -> None:
        mj = self.mj
        dropped = {geom for geoms in self.lost.values() for geom in geoms}
        excluded = {(int(x) >> 16, int(x) & 0xFFFF) for x in mj.exclude_signature}
        for a, b in sorted(excluded):
            self.builder.exclude_pair(self.bodies[a], self.bodies[b])
        if disabled(mj, "FILTERPARENT"):
            for a, b in self._parents_and_children(excluded):
                if not {a, b} & dropped:
                    self.builder.add_geometry_pair(self.names[a], self.names[b])
        unequal = []
        for k in range(mj.npair):
            a, b = int(mj.pair_geom1[k]), int(mj.pair_geom2[k])
            if {a, b} & dropped or a == b:
                continue
            friction, margin = mj.pair_friction[k], mj.pair_margin[k]
            if self._overridden:
                friction, margin = mj.opt.o_friction, mj.opt.o_margin
            first, second, torsional, third, fourth = (max(float(x), 0.0) for x in friction)
            if first != second or third != fourth:
                unequal.append(f"{self.names[a]} and {self.names[b]}")
            self.builder.add_geometry_pair(
                self.names[a], self.names[b], friction=(max(first, second), torsional, max(third, fourth)),
                dimensions=int(mj.pair_dim[k]), margin=max(float(margin), 0.0),
            )  # fmt: skip
        if unequal:
            self.builder.report(
                f"{len(unequal)} contact pairs whose friction depends on the direction ({listed(unequal)}): the larger "
                f"coefficient holds in all",
                lost=True,
            )

    def _parents_and_children(self, excluded: set[tuple[int, int]]) -> list[tuple[int, int]]:
        """Geoms of a body and of the one it hangs on, where the file lets such meet."""
        mj, found = self.mj, []
        above = {int(body): int(mj.body_weldid[mj.body_parentid[body]]) for body in set(mj.body_weldid)}
        for a, b in combinations(self.touching, 2):
            bodies = int(mj.geom_bodyid[a]), int(mj.geom_bodyid[b])
            one, other = (int(mj.body_weldid[body]) for body in bodies)
            meet = mj.geom_contype[a] & mj.geom_conaffinity[b] or mj.geom_contype[b] & mj.geom_conaffinity[a]
            related = one != other and 0 not in (one, other) and (above[one] == other or above[other] == one)
            if meet and related and bodies not in excluded and bodies[::-1] not in excluded:
                found.append((a, b))
        return found

    # --- what is reported ------------------------------------------------------------------------------

    def report_softness(self) -> None:
        mj, kept = self.mj, [g for g in self.touching if not any(g in geoms for geoms in self.lost.values())]
        own = [g for g in kept if self._is_soft(mj.geom_solref[g], mj.geom_solimp[g], mj.geom_solmix[g])]
        pairs = [k for k in range(mj.npair) if self._is_soft(mj.pair_solref[k], mj.pair_solimp[k])]
        if own or pairs or self._overridden:
            self.builder.report(
                f"{len(own)} geoms and {len(pairs)} contact pairs with their own solref, solimp or solmix (softness): "
                f"not represented"
            )
        margins = [*mj.geom_margin[kept], *mj.pair_margin, mj.opt.o_margin * self._overridden]
        if np.any(np.array(margins) != 0.0):
            self.builder.report(
                f"contact margins of up to {max(margins, key=abs):g} m: contacts are looked at from there on, but push "
                f"only where surfaces touch",
                lost=True,
            )
        gaps = [*(field_of(mj, "geom_gap", g) for g in kept), *(field_of(mj, "pair_gap", k) for k in range(mj.npair))]
        if np.any(gaps):
            self.builder.report(f"contact gaps of up to {max(gaps):g} m: not represented")

    @staticmethod
    def _is_soft(solref: Any, solimp: Any, solmix: float = _SOLMIX) -> bool:
        usual = np.allclose(solref, _SOLREF) and np.allclose(solimp, _SOLIMP) and solmix == _SOLMIX
        return not usual
