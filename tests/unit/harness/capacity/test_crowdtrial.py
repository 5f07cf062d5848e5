"""What the record says was the limit; whole trials are in tests/system/test_crowd.py."""

from __future__ import annotations

import pytest

from harness.capacity.crowdtrial import limited_by
from harness.capacity.limit import Limit, Verdict


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Verdict(Limit.NOTHING, None, ()), "nothing"),
        (Verdict(Limit.WORKERS, 12.0, ()), "workers"),
        (Verdict(Limit.WORKERS, 12.0, ("generator-saturated",)), "generator-cpu"),
        (Verdict(Limit.GENERATOR_CPU, 1.0, ("generator-saturated", "emulator-saturated")), "generator-cpu"),
        (Verdict(Limit.LINK, 1.0, ("emulator-saturated",)), "emulator"),
    ],
)
def test_a_spoilt_trial_says_what_spoilt_it(found: Verdict, said: str) -> None:
    assert limited_by(found) == said
