"""What a browser's trace tells of a page's main thread, its requests and its tab, whichever engine recorded it.

A trace is of unknown origin: the page's scripts name some of its events. Its engine tells them from its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple
from typing import Protocol as Interface


class TracePart(StrEnum):
    """What a browser can be asked to record."""

    TASKS = "tasks"  # what the page's threads do, and what painting waits for
    PICTURES = "pictures"  # what the tab shows, whenever something changes


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
