"""What all tests share: random examples are the same each time, and no test is limited in time."""

from __future__ import annotations

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("repeatable")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Tell a failure at once: what ends the tests before their summary takes no failure with it."""
    if report.failed:
        print(f"\n{report.nodeid} ({report.when}):\n{report.longreprtext}\n", flush=True)
