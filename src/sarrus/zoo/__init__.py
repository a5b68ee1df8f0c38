"""Mechanisms for learning, testing and benchmarking. All numbers are invented but plausible.

>>> sarrus.zoo.four_bar().nv
3
"""

from sarrus.zoo.chains import (
    chain,
    chain_all_welded,
    chain_every_kth_welded,
    chain_welded_tip,
    ladder,
    random_tree,
    stem,
    tree,
)
from sarrus.zoo.linkages import bennett, delta, five_bar, flat_four_bar, four_bar, sarrus_linkage, slider_crank, stewart
from sarrus.zoo.loops import chain_of_loops, coupled_loops, cycle, hand_cube, star_pairs, star_to_one, two_hands_cube
from sarrus.zoo.robots import biped, geared_quadruped, humanoid_leg
from sarrus.zoo.transmissions import (
    connecting_rod,
    differential,
    link_and_rotor,
    parallel_belt,
    parallel_chains,
    transmission,
    tree_of,
)

__all__ = [
    "bennett", "biped", "chain", "chain_all_welded", "chain_every_kth_welded", "chain_of_loops", "chain_welded_tip",
    "connecting_rod", "coupled_loops", "cycle", "delta", "differential", "five_bar", "flat_four_bar", "four_bar",
    "geared_quadruped", "hand_cube", "humanoid_leg", "ladder", "link_and_rotor", "parallel_belt", "parallel_chains",
    "random_tree", "sarrus_linkage", "slider_crank", "star_pairs", "star_to_one", "stem", "stewart", "transmission",
    "tree", "tree_of", "two_hands_cube",
]  # fmt: skip
