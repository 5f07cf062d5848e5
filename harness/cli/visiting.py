"""What commands that go to a live page have in common: who visits it, and what is told meanwhile."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.paths import given_path
from harness.cli.telling import console
from harness.errors import EnvironmentLacks, UsageError
from harness.input.shown import clipped, printable
from harness.model.engine import BROWSERS, DEFAULT_ENGINE, Capability, Engine

if TYPE_CHECKING:
    from rich.status import Status

    from sites.httrack import Progress, Visit
    from sites.visitor import Visitor

TERMINAL_EVERY_S, LOG_EVERY_S = 1, 10
URL_CHARACTERS = 60
RECORDING = tuple(engine for engine in BROWSERS if engine.can(Capability.WIRE_BODIES))


def add_visit_arguments(parser: argparse.ArgumentParser) -> None:
    """As what, and with what, a live page is visited."""
    parser.add_argument(
        "--user-agent",
        default="desktop",
        metavar="UA",
        help="desktop (default), mobile, or the string itself",
    )
    parser.add_argument(
        "--engine",
        type=Engine,
        choices=BROWSERS,
        default=DEFAULT_ENGINE,
        help=f"the browser of the load; only {', '.join(RECORDING)} (default) {Capability.WIRE_BODIES}",
    )
    parser.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="'NAME: VALUE'",
        help="send this to the host of the page, and to no other; never stored (may be repeated)",
    )
    parser.add_argument(
        "--cookie",
        type=given_path,
        metavar="FILE",
        help="set out with the cookies of this file, in Netscape's format; never stored",
    )
    parser.add_argument(
        "--before",
        type=given_path,
        metavar="SCRIPT",
        help="run before(page) of this Python file first, with Playwright's page at the URL: to sign in, or to click a "
        "banner away; the load that is recorded then finds cookies and storage, and an empty cache",
    )
    parser.add_argument(
        "--visible",
        action="store_true",
        help="show the window in which that happens; without --before act in it yourself, and press Enter",
    )
    parser.add_argument(
        "--wait-for",
        default="",
        metavar="SELECTOR",
        help="record until an element with this selector is to be seen",
    )


def visitor_of(arguments: argparse.Namespace) -> Visitor:
    """Who visits; UsageError for what makes no sense, EnvironmentLacks where a window cannot be shown."""
    from sites.visitor import Visitor, read_cookies, read_headers

    engine = arguments.engine
    if engine not in RECORDING:
        raise UsageError(
            f"--engine {engine}: {engine.traits.label} cannot record a live page, as it does not tell bodies as they "
            f"travel; {', '.join(RECORDING)} can, and its archive is loaded in all engines"
        )
    if arguments.before is not None and not arguments.before.is_file():
        raise UsageError(
            f"--before {arguments.before}: there is no such file; give a Python file with before(page)"
        )
    return Visitor(
        headers=read_headers(arguments.header),
        cookies=() if arguments.cookie is None else read_cookies(arguments.cookie),
        script=arguments.before,
        attended=_Attendance() if arguments.visible and arguments.before is None else None,
        display=_display() if arguments.visible else "",
        wait_for=arguments.wait_for,
    )


def _display() -> str:
    """What shows windows here; EnvironmentLacks where nothing does."""
    if os.environ.get("DISPLAY"):
        # By it a program is let in; the browser has another home.
        os.environ.setdefault("XAUTHORITY", str(Path.home() / ".Xauthority"))
        return "x11"
    if os.environ.get("WAYLAND_DISPLAY"):
        return "wayland"
    raise EnvironmentLacks(
        "--visible: there is no display to show a window on (neither DISPLAY nor WAYLAND_DISPLAY is set); "
        "run it in a desktop session, or sign in by --before or --cookie"
    )


class _Attendance:
    """Whether the person at the terminal has pressed Enter; the first question asks for it."""

    def __init__(self) -> None:
        self._done: threading.Event | None = None

    def __call__(self) -> bool:
        if self._done is None:
            self._done = threading.Event()
            print(
                "sign in or click in the window; then press Enter here, and the page is recorded",
                file=sys.stderr,
            )
            threading.Thread(target=self._wait, args=(self._done,), daemon=True).start()
        return self._done.is_set()

    @staticmethod
    def _wait(done: threading.Event) -> None:
        sys.stdin.readline()
        done.set()


@contextlib.contextmanager
def visiting(arguments: argparse.Namespace, visitor: Visitor, progress: Progress) -> Iterator[Visit]:
    """A visit with a folder of its own, which only its owner can read and which is gone at the end."""
    from harness.system.files import private_folder
    from sites.httrack import Visit

    with private_folder() as work:
        yield Visit(
            work / "work",
            arguments.user_agent,
            progress=progress,
            visitor=visitor,
            engine=arguments.engine,
        )


class FetchStatus:
    """What is being fetched, told each second on a terminal, and every ten seconds on the standard error of a log."""

    def __init__(self) -> None:
        self.line = "starting"

    def __call__(self, what: str, count: int, url: str) -> None:
        """`what` has fetched so many objects, the last one from that URL."""
        last = f" ({printable(clipped(url, URL_CHARACTERS))})" if url else ""
        self.line = f"{what}: {count} objects{last}"

    @contextlib.contextmanager
    def shown(self) -> Iterator[FetchStatus]:
        """Told as long as this lasts."""
        out, over = console(), threading.Event()
        with out.status(self.line) if out.is_terminal else contextlib.nullcontext() as status:
            teller = threading.Thread(target=self._tell, args=(status, over), daemon=True)
            teller.start()
            try:
                yield self
            finally:
                over.set()
                teller.join()

    def _tell(self, status: Status | None, over: threading.Event) -> None:
        began = time.monotonic()
        while not over.wait(LOG_EVERY_S if status is None else TERMINAL_EVERY_S):
            said = f"{time.monotonic() - began:.0f} s, {self.line}"
            if status is None:
                print(said, file=sys.stderr, flush=True)
            else:
                status.update(said)
