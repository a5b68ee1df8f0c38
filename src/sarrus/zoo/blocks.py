"""Actuation sub-mechanisms as building blocks: gears, belts, differentials, four-bars and connecting rods.

`add_...(builder, mount, name, parts)` puts one on a body and returns where the next one goes. All numbers are made up,
and plausible: no two parts are alike, so that nothing cancels by accident. Constraints hold where q is neutral. Joints
that a designer would call independent are marked so (`Joint.independent`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sarrus.errors import check_name
from sarrus.model.bodies import WORLD_NAME
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import coupling, distance, loop
from sarrus.spatial.arrays import Array
from sarrus.zoo.sketch import Parts, X, Y, Z, at_least

QUARTER_TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # about z


class Mount(NamedTuple):
    """Where a sub-mechanism is attached: a frame on a body. Links hang along its -z, hinges are along its y (or x)."""

    body: str = WORLD_NAME
    position: Array = np.zeros(3)
    rotation: Array = np.eye(3)

    def at(self, p: Any) -> dict[str, Any]:
        """Arguments of `add_body` and `add_frame`: a frame with the mount's axes, at a point of the mount."""
        return {"position": self.position + self.rotation @ np.asarray(p, float), "rotation": self.rotation}


def add_link_and_rotor(
    builder: ModelBuilder, mount: Mount, name: str, parts: Parts, *, ratio: float = 6.0, symmetric: bool = True
) -> Mount:
    """A link and its motor's rotor on the same body: rotor = ratio * link. 2 bodies, 1 row, mobility 1."""
    link, rotor, tip = f"{name}_link", f"{name}_rotor", -parts.length() * Z
    builder.add_body(link, mount.body, axis=Y, independent=True, **mount.at(0.0 * Z), **parts.link(tip))
    _add_rotor(builder, mount, rotor, (0.0, 0.05, 0.0), parts, symmetric)
    _gear(builder, rotor, {link: ratio})
    return Mount(link, tip, QUARTER_TURN)


def add_parallel_belt(
    builder: ModelBuilder, mount: Mount, name: str, parts: Parts, *, ratio: float = 12.0, symmetric: bool = True
) -> Mount:
    """Two links and two rotors at the first hinge, as in the MIT Humanoid's knee and ankle: 4 bodies, 2 rows.

    rotor_1 = ratio * link_1; rotor_2 drives link_2 by a belt over the hinge of link_1, so that it feels both:
    rotor_2 = 0.8 * ratio * (link_1 + link_2).
    """
    link_1, link_2, rotor_1, rotor_2 = (f"{name}_{part}" for part in ("link_1", "link_2", "rotor_1", "rotor_2"))
    tip_1, tip_2 = -parts.length() * Z, -parts.length() * Z
    builder.add_body(link_1, mount.body, axis=Y, independent=True, **mount.at(0.0 * Z), **parts.link(tip_1))
    _add_rotor(builder, mount, rotor_1, (0.01, -0.05, 0.02), parts, symmetric)
    _add_rotor(builder, mount, rotor_2, (0.015, -0.05, 0.13), parts, symmetric)
    builder.add_body(link_2, link_1, axis=Y, independent=True, position=tip_1, **parts.link(tip_2))
    _gear(builder, rotor_1, {link_1: ratio})
    _gear(builder, rotor_2, {link_1: 0.8 * ratio, link_2: 0.8 * ratio})
    return Mount(link_2, tip_2, QUARTER_TURN)


def add_differential(
    builder: ModelBuilder,
    mount: Mount,
    name: str,
    parts: Parts,
    *,
    kind: str = "linear",
    ratio: float = 6.0,
    symmetric: bool = True,
) -> Mount:
    """Two rotors that turn a link in two directions: together in one, against each other in the other. Mobility 2.

    kind  "linear": bevel gears; rotor_1 and rotor_2 = ratio * (swing +- tilt). 4 bodies, 2 rows.
          "rods": as Tello's hips: each rotor turns a crank by a gear, each crank pulls at the link by a massless rod
          between ball joints. A relation of positions that is not linear. 6 bodies, 4 rows.
    """
    check_name("kind of differential", kind, ("linear", "rods"))
    rods = kind == "rods"
    gimbal, link, tip = f"{name}_gimbal", f"{name}_link", -parts.length() * Z
    hip = -0.14 * Z if rods else 0.0 * Z
    builder.add_body(gimbal, mount.body, axis=X, independent=not rods, **mount.at(hip), **parts.link((0.06, 0.03, 0.0)))
    builder.add_body(link, gimbal, axis=Y, independent=not rods, **parts.link(tip))
    for k, side in ((1, 1.0), (2, -1.0)):
        rotor = f"{name}_rotor_{k}"
        _add_rotor(builder, mount, rotor, (0.0, 0.04 * side, 0.0), parts, symmetric, independent=rods)
        if not rods:
            _gear(builder, rotor, {link: ratio, gimbal: side * ratio})
            continue
        crank, pin = f"{name}_crank_{k}", np.array([-0.08, 0.07 * side, 0.0])
        hub = pin * Y
        builder.add_body(crank, mount.body, axis=Y, independent=False, **mount.at(hub), **parts.link(pin - hub, 0.5))
        _gear(builder, rotor, {crank: ratio})
        builder.add_frame(f"{crank}_pin", crank, position=pin - hub)
        builder.add_frame(f"{link}_pin_{k}", link, position=pin)
        rod = float(np.linalg.norm(hip))
        builder.add_constraint(distance(f"{crank}_pin", f"{link}_pin_{k}", rod, name=f"{name}_rod_{k}"))
    return Mount(link, tip, QUARTER_TURN)


def add_four_bar(builder: ModelBuilder, mount: Mount, name: str, parts: Parts, *, joint: str = "connect") -> Mount:
    """An input link that moves the output link by a connecting rod in a plane: 3 bodies, mobility 1.

    joint: the cut joint between rod and output, "connect" (3 rows of rank 2) or "revolute" (5 rows of rank 2)
    """
    names = {part: f"{name}_{part}" for part in ("input", "rod", "output")}
    A, D, tip = np.array([parts.length(0.12), 0.0, 0.02]), 0.0 * Z, -parts.length() * Z
    B = A + parts.length(0.1) * np.array([0.34, 0.0, -0.94])
    E = D + parts.length(0.12) * np.array([0.1, 0.0, -0.995])
    builder.add_body(names["input"], mount.body, axis=Y, independent=True, **mount.at(A), **parts.link(B - A))
    builder.add_body(names["rod"], names["input"], axis=Y, independent=False, position=B - A, **parts.link(E - B))
    builder.add_body(names["output"], mount.body, axis=Y, independent=False, **mount.at(D), **parts.link(tip))
    _close(builder, f"{name}_pin", (names["rod"], E - B), (names["output"], E - D), joint)
    return Mount(names["output"], tip, QUARTER_TURN)


def add_connecting_rod(builder: ModelBuilder, mount: Mount, name: str, parts: Parts, *, rod: str = "body") -> Mount:
    """A rotor with a crank that moves a link about another axis by a rod in space. Mobility 1.

    rod  "body": with a universal joint at the crank and a ball joint at the link; 3 bodies, 3 rows
         "massless": only its length counts; 2 bodies, 1 row
    """
    check_name("rod", rod, ("body", "massless"))
    crank, link, tip = f"{name}_crank", f"{name}_link", -parts.length() * Z
    hub = np.array([-0.02, 0.06, parts.length(0.15)])
    pin, end = hub + parts.length(0.05) * X, np.array([0.035, parts.length(0.06), -0.02])
    builder.add_body(link, mount.body, axis=X, independent=False, **mount.at(0.0 * Z), **parts.link(tip))
    builder.add_body(crank, mount.body, axis=Y, independent=True, **mount.at(hub), **parts.link(pin - hub, 4.0))
    if rod == "massless":
        builder.add_frame(f"{crank}_pin", crank, position=pin - hub)
        builder.add_frame(f"{link}_pin", link, position=end)
        length = float(np.linalg.norm(end - pin))
        builder.add_constraint(distance(f"{crank}_pin", f"{link}_pin", length, name=f"{name}_rod"))
    else:
        along = (end - pin) / np.linalg.norm(end - pin)
        across = np.cross(along, X) / np.linalg.norm(np.cross(along, X))
        builder.add_body(
            f"{name}_rod", crank, joint="universal", axis=tuple(across), second_axis=tuple(np.cross(along, across)),
            independent=False, position=pin - hub, **parts.link(end - pin, 0.5),
        )  # fmt: skip
        _close(builder, f"{name}_ball", (f"{name}_rod", end - pin), (link, end), "connect")
    return Mount(link, tip, QUARTER_TURN)


def add_transmission(
    builder: ModelBuilder,
    mount: Mount,
    name: str,
    parts: Parts,
    *,
    depth: int = 3,
    ratio: float = 6.0,
    symmetric: bool = True,
) -> Mount:
    """A chain of `depth` parallel hinges whose last link is driven by belts from a rotor at its root: 1 row.

    rotor = ratio * (link_1 + ... + link_depth): depth + 1 bodies in one loop, mobility depth.
    """
    at_least(1, depth=depth)
    _add_rotor(builder, mount, f"{name}_rotor", (0.0, 0.06, 0.0), parts, symmetric)
    parent, where, links = mount.body, mount.at(0.0 * Z), []
    for k in range(1, depth + 1):
        tip = -parts.length() * Z
        links.append(f"{name}_link_{k}")
        builder.add_body(links[-1], parent, axis=Y, independent=True, **where, **parts.link(tip))
        parent, where = links[-1], {"position": tip}
    _gear(builder, f"{name}_rotor", dict.fromkeys(links, ratio))
    return Mount(parent, where["position"], QUARTER_TURN)


Block = Callable[..., Mount]

SUB_MECHANISMS: dict[str, Block] = {
    "link_and_rotor": add_link_and_rotor,
    "parallel_belt": add_parallel_belt,
    "four_bar": add_four_bar,
    "differential": add_differential,
    "connecting_rod": add_connecting_rod,
    "transmission": add_transmission,
}


def _add_rotor(
    builder: ModelBuilder, mount: Mount, name: str, at: Any, parts: Parts, symmetric: bool, independent: bool = False
) -> None:
    """A rotor about y on the mount's body."""
    inertia = parts.rotor(Y, symmetric=symmetric)
    builder.add_body(name, mount.body, axis=Y, independent=independent, **mount.at(at), **inertia)


def _gear(builder: ModelBuilder, rotor: str, ratios: dict[str, float]) -> None:
    """rotor = sum of ratio * joint; names are those of the bodies that the joints move."""
    terms = {f"{rotor}_joint": 1.0} | {f"{body}_joint": -ratio for body, ratio in ratios.items()}
    builder.add_constraint(coupling(terms, name=f"{rotor}_gear"))


def _close(builder: ModelBuilder, name: str, a: tuple[str, Array], b: tuple[str, Array], joint: str) -> None:
    """Two bodies that meet at a point of each, by a joint about y."""
    for side, (body, p) in (("a", a), ("b", b)):
        builder.add_frame(f"{name}_{side}", body, position=p)
    builder.add_constraint(loop(f"{name}_a", f"{name}_b", joint, axis=Y, name=name))
