"""Public calls run the text, unless a test says otherwise (`tests/calls`): what is compared with kernels is the text.

Hypothesis without deadlines (a mechanism's first trace is slow) and with fixed examples: a run is repeatable.
"""

import os

from hypothesis import HealthCheck, settings

os.environ.setdefault("SARRUS_INTERPRET", "1")

settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
settings.register_profile("search", parent=settings.get_profile("repeatable"), derandomize=False, max_examples=1000)
settings.load_profile("repeatable")
