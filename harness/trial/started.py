"""A browser from its start to its end, each with a limit that nothing inside can outlive."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from harness.engines.browser import Browser
from harness.engines.browsers import FreshBrowser
from harness.probes.watchdog import Watchdog
from harness.system.processtree import kill_family

START_S = 70.0  # the drivers' own limit is 60
END_S = 15.0


@contextlib.contextmanager
def started(fresh: FreshBrowser, watch: Watchdog) -> Iterator[Browser]:
    """The running browser for the length of the block; one in which something failed is killed."""
    with contextlib.ExitStack() as opened:
        with watch.limit(START_S, "browser", starts=True):
            browser = opened.enter_context(fresh.start())
        try:
            yield browser
        except BaseException as error:
            if fresh.pid is not None:
                kill_family(fresh.pid)  # a hanging or half-dead browser cannot be asked to close
            with watch.limit(END_S, "end of the browser"):
                opened.__exit__(type(error), error, error.__traceback__)
            raise
        with watch.limit(END_S, "end of the browser"):
            opened.close()
