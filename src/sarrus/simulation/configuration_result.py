"""What is found by those who look for a configuration: `assemble` and `inverse_kinematics`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.spatial.arrays import Array
from sarrus.status import Status


class ConfigurationResult(NamedTuple):
    """A configuration, or a batch of them, and whether it is what you asked for.

    OK: loops are closed and targets are met to 1e-10. For `inverse_kinematics`, joints are also within their limits,
    unless these were ignored.

    >>> found = sarrus.assemble(sarrus.zoo.four_bar(), {"crank_joint": 0.3})
    >>> found.in_words(), found.outside_limits
    (['ok'], ())
    """

    q: Array  # (nq,) or (B, nq)
    error: Array  # () or (B,) the largest that is left, of loops and targets: m, rad
    status: Array  # () or (B,) a `sarrus.Status`
    outside_limits: tuple[str, ...]  # joints that are outside their limits, somewhere in the batch

    def in_words(self) -> list[str]:
        """The status of every configuration."""
        return [Status(int(k)).words for k in np.atleast_1d(self.status)]

    def only(self) -> ConfigurationResult:
        """Of a batch of one, the configuration itself."""
        return ConfigurationResult(self.q[0], self.error[0], self.status[0], self.outside_limits)
