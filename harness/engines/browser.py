"""What a driver offers to a trial: start a browser, load one page in it, trace that, close it. And what the trace tells
of the page's main thread, its requests and its tab, and what a browser finds around it.

The venue of a load makes what is around a browser for each trial, so an engine needs to know nothing of the testbed. A
trace is of unknown origin: the page's scripts name some of its events. Its engine tells them from its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from typing import Protocol as Interface

from harness.input.shown import clipped

if TYPE_CHECKING:
    from harness.engines.hop import Security
    from harness.model.protocol import Protocol
    from harness.model.settings import Replay
    from harness.system.netns import Host

SCROLL_SCRIPT = resources.files("harness.engines").joinpath("scroll.js").read_text(encoding="utf-8")
HOLD_TIMERS_SCRIPT = resources.files("harness.engines").joinpath("timers.js").read_text(encoding="utf-8")
RUN_TIMERS_SCRIPT = 'window[Symbol.for("coldload.timers")]()'


HOP = "the hop"  # the program that carries what a browser asks for, in messages and in what is watched
PLAIN_HOP = "the hop of plain http"  # likewise, where there are two
DISPLAY = "the display"  # likewise, of an engine that draws on one
BESIDE_BROWSERS = frozenset({HOP, PLAIN_HOP, DISPLAY})
LINE_LIMIT_CHARACTERS = 300
CONSOLE_LIMIT = 20  # messages kept of a page
CONSOLE_MOST = 200  # that a driver remembers
NOT_LOADED = "Failed to load resource"  # how such a message begins
UNREADABLE = "the page's times cannot be read (pages that go on by themselves, or open dialogs, cause this)"


def one_line(text: str) -> str:
    """A message of the console for a report."""
    return clipped(" ".join(text.split()), LINE_LIMIT_CHARACTERS)


class TracePart(StrEnum):
    """What a browser can be asked to record."""

    TASKS = "tasks"  # what the page's threads do, and what painting waits for
    PICTURES = "pictures"  # what the tab shows, whenever something changes


class Browser(Interface):
    """A started browser with one empty tab."""

    def hold_timers(self) -> None:
        """From the next load on, what scripts put off waits for `run_timers`, see timers.js. Not for measuring.

        Raises TrialFailed like `load`, and where the engine cannot.
        """

    def run_timers(self) -> None:
        """Run what the page's scripts have put off; its frames' scripts wait on. Raises TrialFailed like `load`."""

    def load(self, url: str, timeout_s: float) -> float:
        """Load a page up to its load event; returns the wall time in ms.

        Raises TrialFailed with `page-timeout` when the load event does not come within `timeout_s`, and with
        `page-error` when the page cannot be loaded or the browser died.
        """

    def timeline(self) -> Mapping[str, Any]:
        """The page's timeline after its load event, in ms since navigation start; raises TrialFailed like `load`.

        Its keys are those of timeline.js and `navigation_start_ms`, on the clock of the browser's log. None of them
        comes from what the page's scripts can change.
        """

    def since_a_long_task_ms(self) -> float:
        """How long ago the page's last long task (over 50 ms) ended; raises TrialFailed like `load`."""

    def entries(self) -> Sequence[Mapping[str, Any]]:
        """What the timelines of the page hold, see entries.js: of its document first, then of the frames that can be
        read. None of it comes from what the page's scripts can change. Raises TrialFailed like `load`.
        """

    def start_trace(self, parts: Sequence[TracePart]) -> None:
        """From now on record these; raises TrialFailed like `load`, and where the engine has no trace."""

    def end_trace(self, path: Path) -> None:
        """Write what was recorded, as gzipped JSON in the Trace Event Format; raises TrialFailed like `load`."""

    def leave(self) -> None:
        """Leave the page for an empty one, so that nothing of it goes on; raises TrialFailed like `load`."""

    def at_full_speed(self) -> int:
        """How many of the page's workers, windows and frames run at full speed though its processor is slowed.

        Raises TrialFailed like `load`.
        """

    def linger(self, seconds: float) -> None:
        """Let the loaded page go on for that long; raises TrialFailed like `load`."""

    def console_errors(self, limit: int = CONSOLE_LIMIT) -> tuple[str, ...]:
        """What the page has written to the console as errors, and its uncaught exceptions, each as one line.

        At most `limit` of them. What the browser says of a file that was not loaded begins with its URL.
        """

    @property
    def console_error_count(self) -> int:
        """How many of those the browser knows of, whatever the limit; of `console_errors` as last called."""

    def text_without_glyph(self) -> Mapping[str, int]:
        """The characters of the page's rendered text that no font has, with how often each stands there.

        Raises TrialFailed like `load`, and where the engine cannot tell.
        """

    def scroll(self, screenful: int) -> bool:
        """Show that screenful of the page (0 is the top) with its pictures; tells whether there is more below."""

    def screenshot(self, path: Path) -> None:
        """The visible part of the page as PNG."""

    def close(self) -> None:
        """End the browser in order, so that its log is whole."""


class ThreadWork(StrEnum):
    """What a main thread does."""

    SCRIPT = "script"
    STYLE_LAYOUT = "style and layout"
    PAINT = "paint"
    PARSE = "parse"
    GC = "garbage collection"


class ThreadSpan(NamedTuple):
    """A time in which a thread did one thing, in us by the clock of navigation start; a tuple, as there are thousands.

    Without `work` it is of the same kind as what it runs in. `script` is the address of the script that ran.
    """

    began_us: float
    took_us: float
    work: ThreadWork | None = None
    is_task: bool = False
    script: str | None = None

    @property
    def ended_us(self) -> float:
        return self.began_us + self.took_us


@dataclass(frozen=True)
class Pictures:
    """What a tab showed: JPEG files with their times in ms by the clock of navigation start, as the trace has them.

    `cut`: the browser had no room for more.
    """

    taken: tuple[tuple[float, bytes], ...] = ()
    cut: bool = False


class BrowserTrace(Interface):
    """A trace that was recorded and read; of what was not recorded it tells nothing."""

    def main_thread(self, navigation_start_ms: float) -> Sequence[ThreadSpan] | None:
        """What the thread that loaded the page did from then on; None when the trace does not hold this navigation."""

    def render_blocking(self) -> Mapping[str, str]:
        """Whether painting waited for a request, by URL without fragment, as HARs have it: `blocking` where it did."""

    def pictures(self) -> Pictures:
        """The pictures that were taken."""


class Certificate(Interface):
    """A certificate that is sent for names without one of their own; `pin` is that of its key (RFC 7469)."""

    @property
    def certificate_file(self) -> Path: ...

    @property
    def pin(self) -> str: ...


@dataclass(frozen=True)
class InnerTls:
    """TLS that ends on the client host, for what travels over the link without it."""

    security: Security
    substitute: Certificate


@dataclass(frozen=True)
class Surroundings:
    """What the browser of a trial finds around it.

    `start_url` is the page's. `hosts` are archived. `secure_origins` are http:// origins to be treated as https://
    ones. `local` and `mentioned` are the addresses of hosts that a browser asks no DNS for: archived ones, and IP
    addresses that the page only names. All other names are at `address`. `loopback_ports` are the ports of the
    browser's own loopback addresses where it would look for archived hosts. `trust` is a folder with an NSS
    database of the testbed's `authority`, whose certificate is in that file. `substitute` is sent for names without
    a certificate. `inner_tls` is for protocols that have no TLS on the link. Of a live page `trust` and `substitute`
    may be None: the authorities are those that the browser knows, and no certificate is taken without them.
    """

    client: Host
    protocol: Protocol
    replay: Replay
    start_url: str
    hosts: frozenset[str]
    secure_origins: tuple[str, ...]
    local: Mapping[str, str]
    mentioned: Mapping[str, str]
    loopback_ports: Mapping[tuple[str, int], str]
    address: str
    trust: Path | None
    authority: Path
    substitute: Certificate | None
    inner_tls: InnerTls | None
