"""What all tests share: random examples are the same each time, no test is limited in time, and signals are heard."""

from __future__ import annotations

import signal

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("repeatable")

# Under `nohup`, or behind an `&` of a script, what tests start would ignore these, too: a handler is not inherited.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda *_: None)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Tell a failure at once: what ends the tests before their summary takes no failure with it."""
    if report.failed:
        print(f"\n{report.nodeid} ({report.when}):\n{report.longreprtext}\n", flush=True)
