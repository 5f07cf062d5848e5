"""What all tests share: random examples are the same each time, no test is limited in time, and signals are heard.

With `--complete` a skipped test fails, unless it says what no set-up gives a machine.
"""

from __future__ import annotations

import signal
from collections.abc import Generator

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("repeatable")

# What a machine may lack after `make setup-tests`, as a test says it that skips: rights, and a network.
MAY_LACK = ("only root", "this user", "need the network once", "needs the network once")

# Under `nohup`, or behind an `&` of a script, what tests start would ignore these, too: a handler is not inherited.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda *_: None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--complete", action="store_true", help="fail where a test skips what could be installed"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With `--complete` what is skipped for want of what `make setup-tests` installs has failed."""
    report = yield
    if report.skipped and item.config.getoption("complete") and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2]
        if not any(each in reason for each in MAY_LACK):
            report.outcome = "failed"
            report.longrepr = f"{reason}\n`make setup-tests` installs what tests need; with it none may skip"
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Tell a failure at once: what ends the tests before their summary takes no failure with it."""
    if report.failed:
        print(f"\n{report.nodeid} ({report.when}):\n{report.longreprtext}\n", flush=True)
