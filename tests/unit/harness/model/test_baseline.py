"""Which condition of a setting is its baseline."""

from __future__ import annotations

import pytest

from harness.model.baseline import Compared, baseline_among


@pytest.mark.parametrize(
    ("kinds", "baseline"),
    [
        ([("h2", "plain", "none"), ("http1", "core", "none"), ("http1", "plain", "none")], 2),
        ([("h3", "plain", "none"), ("h2", "plain", "none")], 1),  # the first in the order of the protocols
        ([("http1", "core", "none"), ("http1", "plain", "gzip-6")], 1),
        ([("http1", "plain", "gzip-6"), ("http1", "plain", "none")], 1),
        ([("http1", None, None), ("h2", None, None)], 0),  # an older run that does not tell
    ],
)
def test_the_baseline_is_http1_plain_without_compression_or_what_is_nearest(
    kinds: list[tuple[str, str, str]], baseline: int
) -> None:
    setting = [Compared(*kind) for kind in kinds]
    assert baseline_among(setting, lambda kind: kind) == setting[baseline]
    assert baseline_among(setting[::-1], lambda kind: kind) == setting[baseline]
