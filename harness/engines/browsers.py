"""The browsers of a run: for each trial a fresh one of its condition's engine. `maker_of` knows the engines.

And those that record a live page: `recorder_of` knows the engines that tell bodies as they travel. The package of an
engine is imported when it is first asked for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Protocol as Interface

from harness.engines.browser import Browser, BrowserTrace, Surroundings
from harness.engines.browserlog import BrowserLog
from harness.model.condition import Condition
from harness.model.engine import BROWSERS, Device, Engine
from harness.model.protocol import Headers

if TYPE_CHECKING:
    from playwright.sync_api import Page


class FreshBrowser(Interface):
    """The browser of one trial. It has not started yet and has never seen anything."""

    @property
    def pid(self) -> int | None:
        """Its main process, once it has started."""

    @property
    def driver_pid(self) -> int | None:
        """The main process of what steers it, where that is kept for the run."""

    @property
    def programs(self) -> Mapping[str, int]:
        """The main process of each program beside it that carries what it asks for, by name, once they have started."""

    @property
    def log(self) -> Path:
        """Its own log of the network."""

    @property
    def crashes(self) -> tuple[str, ...]:
        """Its processes that have crashed by themselves, each with its signal, where the engine tells."""

    def holds_pages(self, command_line: bytes, name: bytes, /) -> bool:
        """Whether pages are in one of its processes, by its command line and its name (cmdline, comm: proc(5))."""

    def start(self) -> contextlib.AbstractContextManager[Browser]:
        """The browser for the length of the block; raises TestbedFailed when it does not start.

        At the end of the block it asks for nothing any more, and its log is whole.
        """

    def end(self) -> None:
        """Wait until it is gone; it may go on for a moment after the end of that block."""

    def start_over(self) -> None:
        """Make it new once more, but for what its profile keeps of the pages that it loaded; it has ended before.

        Of engines alone that keep any (`Capability.KEEPS_CACHE`).
        """

    def read_log(self) -> BrowserLog:
        """What it did on the network, after its end; raises TestbedFailed when the log cannot be read."""

    def read_trace(self, path: Path) -> BrowserTrace:
        """What `Browser.end_trace` wrote there; nothing where the file is cut off or too large.

        Of engines alone that record any (`Capability.TRACE`).
        """


class BrowserMaker(Interface):
    """Makes the browsers of one engine during a run; what they share is kept in a folder and ends with a stack.

    `network` is the namespace file of the host they run on; None: the caller's own.
    """

    def __init__(self, folder: Path, stack: contextlib.ExitStack, network: Path | None) -> None: ...

    @staticmethod
    def programs() -> Mapping[str, Callable[[], str]]:
        """What the engine runs by, each with what asks for its version; the engine itself goes by its own name.

        EnvironmentLacks when a program is missing.
        """

    @staticmethod
    def settings() -> Mapping[str, object]:
        """What every browser of the engine is started with, as JSON: what one page or condition adds is not there."""

    @staticmethod
    def refuse_unless_usable() -> None:
        """Raise EnvironmentLacks when this machine cannot run the engine."""

    def prepare(self, condition: Condition) -> None:
        """Start what the trials of a condition share, so that none of them waits for it."""

    def fresh(
        self, name: str, condition: Condition, surroundings: Surroundings, *, bodies: bool
    ) -> contextlib.AbstractContextManager[FreshBrowser]:
        """The browser for a trial of the condition; whatever is left of it is gone afterwards.

        With `bodies` its log holds those of all answers.
        """


def maker_of(engine: Engine) -> type[BrowserMaker]:
    """What makes the browsers of an engine."""
    match engine:
        case Engine.CHROMIUM:
            from harness.engines.chromium.engine import ChromiumMaker

            return ChromiumMaker
        case Engine.FIREFOX:
            from harness.engines.firefox.home import FirefoxMaker

            return FirefoxMaker
        case Engine.WEBKIT:
            from harness.engines.webkit.home import WebKitMaker

            return WebKitMaker
        case Engine.QTWEBKIT:
            from harness.engines.qtwebkit.home import QtWebKitMaker

            return QtWebKitMaker
    raise ValueError(f"{engine} is no browser")


class LiveBrowser(Interface):
    """A browser at a live page, which is recorded and not measured."""

    @property
    def page(self) -> Page:
        """Playwright's page, which the script of a visitor gets."""

    def send_with(self, headers: Headers, goes_to: Callable[[str], bool]) -> None:
        """From now on send these headers to URLs that `goes_to` takes, and to none else, wherever a redirect leads."""

    def load(self, url: str, timeout_s: float) -> float:
        """As `Browser.load`; an error status without a body is a page that cannot be loaded, and told as such."""

    def timeline(self) -> Mapping[str, Any]:
        """As `Browser.timeline`."""

    def linger(self, seconds: float) -> None:
        """As `Browser.linger`."""

    def wait_for_quiet(self, limit_s: float) -> None:
        """Until the page asks for nothing for half a second, at most so long."""


class Recorder(Interface):
    """The browsers of one visit to a live page, one after the other."""

    def acting(self, display: str) -> contextlib.AbstractContextManager[LiveBrowser]:
        """One that nothing is recorded of, in a window if there is a display (`x11`, `wayland`; "": none).

        The browsers after it find what pages have stored in it: no cookies, no cache, nothing learned of servers.
        """

    def recording(self, har: Path) -> contextlib.AbstractContextManager[LiveBrowser]:
        """One whose log holds bodies; at its end it writes a HAR there."""

    def read_log(self) -> BrowserLog:
        """What the last one did on the network, once the recorder has ended; its profile is gone then.

        TestbedFailed when the log cannot be read.
        """


MakesRecorder = Callable[
    [Path, Device, Path | None, Path | None], contextlib.AbstractContextManager[Recorder]
]


def recorder_of(engine: Engine) -> MakesRecorder:
    """What records live pages with an engine: in a folder, as a device, in a network (a namespace file; None: the
    caller's own), with trust in the authorities of a folder with an NSS database, if there is one.
    """
    if engine is not Engine.CHROMIUM:
        raise ValueError(f"{engine} does not tell bodies as they travel")
    from harness.engines.chromium.recording import chromium_recorder

    return chromium_recorder


class Browsers:
    """What a run makes its browsers by: a maker per engine, made when first needed and kept."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack, network: Path | None) -> None:
        self._folder = folder
        self._stack = stack
        self._network = network
        self._makers: dict[Engine, BrowserMaker] = {}

    def of(self, engine: Engine) -> BrowserMaker:
        """The maker of an engine's browsers."""
        if engine not in self._makers:
            self._makers[engine] = maker_of(engine)(self._folder, self._stack, self._network)
        return self._makers[engine]

    def prepare(self, condition: Condition) -> None:
        """Start what the trials of a condition share, so that none of them waits for it."""
        self.of(condition.engine).prepare(condition)

    @contextlib.contextmanager
    def fresh(
        self, name: str, condition: Condition, surroundings: Surroundings, *, bodies: bool = False
    ) -> Iterator[FreshBrowser]:
        """The browser for a trial of the condition; whatever is left of it is gone afterwards."""
        with self.of(condition.engine).fresh(name, condition, surroundings, bodies=bodies) as made:
            yield made


def browser_programs() -> dict[str, Callable[[], str]]:
    """What engines run by, each with what asks for its version."""
    return {name: ask for engine in BROWSERS for name, ask in maker_of(engine).programs().items()}


def browser_settings(engines: Collection[Engine]) -> dict[str, object]:
    """What the browsers among these engines are started with: Chromium's settings by their names, then those of each
    other engine under the engine's name.
    """
    used = {engine: maker_of(engine).settings() for engine in BROWSERS if engine in engines}
    own = used.pop(Engine.CHROMIUM, {})
    return {**own, **{engine.value: settings for engine, settings in used.items()}}
