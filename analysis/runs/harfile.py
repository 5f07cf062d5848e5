"""load.har of a trial, as a picture needs it, and how busy link and main thread were meanwhile, from its addition.

It is of unknown origin: whatever is not as it should be is left out. No metric comes from here. What is left out is
counted, and a file that is no HAR is refused in one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from harness.input import jsontext
from harness.input.shown import clipped, one_line

MOST_STEPS = 2000
MOST_MS, MOST_MBPS = 1e8, 1e5
WAYS = {"linkDown": ("link down", "downMbps"), "linkUp": ("link up", "upMbps")}
MAIN_THREAD = "mainThread"
TELLERS = {"trace": "main thread", "kernel": "main thread, by the kernel"}


@dataclass(frozen=True)
class ActivityRow:
    """For what share of each step something was busy, in per cent, from navigation start on.

    `whole_mbps` is what 100 per cent are, None where that is no rate, or not always the same.
    """

    name: str
    percent: tuple[int, ...]
    whole_mbps: float | None = None


@dataclass(frozen=True)
class Activity:
    """At least one row; all have the same steps."""

    step_ms: float
    rows: tuple[ActivityRow, ...]


def activity_of(told: Mapping[str, Any]) -> Activity | None:
    """What can be read of it; None when that is nothing."""
    step = _number(told.get("stepMs"), MOST_MS)
    if not step:
        return None
    rows = [
        ActivityRow(name, percent, _number(told.get(rate), MOST_MBPS) or None)
        for key, (name, rate) in WAYS.items()
        if (percent := _row(told.get(key)))
    ]
    by = told.get("mainThreadBy")
    thread = _row(told.get(MAIN_THREAD))
    if thread:
        rows.append(ActivityRow(TELLERS.get(by if isinstance(by, str) else "", "main thread"), thread))
    return Activity(step, tuple(rows)) if rows else None


def _row(values: Any) -> tuple[int, ...]:
    """Empty where it is none."""
    if not isinstance(values, list) or len(values) > MOST_STEPS:
        return ()
    numbers = [_number(value, 100) for value in values]
    return () if None in numbers else tuple(round(number or 0) for number in numbers)


def _number(value: Any, most: float, least: float = 0) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if least <= value <= most else None  # NaN is not


FILE = "load.har"
MOST_REQUESTS = 20_000
LONGEST_URL = 2000  # characters
LONGEST_WORD = 40
LATEST_MS = 1e8  # more than a day: no load of ours
MOST_BYTES = 1e12
# What a page's times are called in a HAR, and in a picture, in the order of its legend.
MARKS = {
    "_ttfb": "first byte",
    "_firstContentfulPaint": "first paint",
    "_largestContentfulPaint": "largest paint",
    "onContentLoad": "DOM ready",
    "onLoad": "load event",
}


@dataclass(frozen=True)
class HarRequest:
    """A request. Times are ms, `start_ms` since the page began; the phases follow each other, `ssl_ms` comes after
    `connect_ms`. `body_bytes` are those that travelled, None where they are not known. `status` is 0 without an answer.
    `blocks` says whether the page could not be painted before it came, None where that is not known.
    """

    url: str
    start_ms: float
    blocked_ms: float
    dns_ms: float
    connect_ms: float
    ssl_ms: float
    wait_ms: float
    receive_ms: float
    method: str = "GET"
    kind: str = "other"
    protocol: str = ""
    connection: str = ""
    status: int = 0
    body_bytes: int | None = None
    priority: str = ""
    cached: bool = False
    blocks: bool | None = None

    @property
    def host(self) -> str:
        try:
            return urlsplit(self.url).netloc
        except ValueError:  # brackets that hold no address
            return ""

    @property
    def phases_ms(self) -> tuple[float, ...]:
        """One after the other, see `PHASES`."""
        return (
            self.blocked_ms,
            self.dns_ms,
            self.connect_ms,
            self.ssl_ms,
            self.wait_ms,
            self.receive_ms,
        )

    @property
    def end_ms(self) -> float:
        return self.start_ms + sum(self.phases_ms)

    @property
    def failed(self) -> bool:
        return self.status == 0 or self.status >= 400


PHASES = ("blocked", "DNS", "connect", "TLS", "wait", "download")


@dataclass(frozen=True)
class HarLoad:
    """A load. `connections` is how many there were, also unused ones; None where the file does not tell.

    `left_out`: how many entries were none that could be read. `whole`: the browser's log was not cut off. `activity`
    is of link and main thread, None where it was not kept.
    """

    requests: tuple[HarRequest, ...]
    marks_ms: Mapping[str, float]
    connections: int | None
    left_out: int = 0
    whole: bool = True
    activity: Activity | None = None

    @property
    def body_bytes(self) -> int:
        """Of those bodies whose length is known."""
        return sum(request.body_bytes or 0 for request in self.requests)


def read_har(path: Path) -> HarLoad:
    """The load in a file; ValueError, in one line, when it is none that can be read, OSError when there is none."""
    size = path.stat().st_size
    if not path.is_file() or size > jsontext.MAX_LINE_BYTES:
        raise ValueError(
            f"{size / 1e6:,.0f} MB long; at most {jsontext.MAX_LINE_BYTES / 1e6:.0f} MB are drawn"
        )
    return load_of(jsontext.read(path))


def load_of(har: Mapping[str, Any]) -> HarLoad:
    """`read_har` of an object."""
    log = jsontext.part(har, "log")
    entries = log.get("entries")
    if not isinstance(entries, list):
        raise ValueError("no HAR: it has no list of entries")  # noqa: TRY004 - of the file, as all others
    if len(entries) > MOST_REQUESTS:
        raise ValueError(f"it has {len(entries):,} entries; at most {MOST_REQUESTS:,} are drawn")
    pages = log.get("pages")
    page = pages[0] if isinstance(pages, list) and pages and isinstance(pages[0], dict) else {}
    instants = [_instant(entry) for entry in entries]
    known = [at for at in instants if at is not None]
    began = _instant(page)
    began = min(known, default=0.0) if began is None else began
    read = [
        _request(entry, at - began)
        for entry, at in zip(entries, instants, strict=True)
        if at is not None and -LATEST_MS < at - began < LATEST_MS
    ]
    requests = sorted((request for request in read if request is not None), key=lambda each: each.start_ms)
    told = jsontext.part(page, "pageTimings")
    marks = {name: _number(told.get(key), LATEST_MS) for key, name in MARKS.items()}
    made = log.get("_connections")
    return HarLoad(
        requests=tuple(requests),
        marks_ms={name: at for name, at in marks.items() if at is not None},
        connections=len(made) if isinstance(made, list) else None,
        left_out=len(entries) - len(requests),
        whole="_incomplete" not in log,
        activity=activity_of(jsontext.part(log, "_activity")),
    )


def _request(entry: Mapping[str, Any], start_ms: float) -> HarRequest | None:
    """An entry; None when it does not say what was asked for, or what it says cannot be."""
    asked, answered, timings = (jsontext.part(entry, name) for name in ("request", "response", "timings"))
    url = asked.get("url")
    if not isinstance(url, str) or not url:
        return None
    took = {name: _number(timings.get(name), LATEST_MS, -1) or 0.0 for name in TIMINGS}
    took = {name: max(0.0, value) for name, value in took.items()}
    ssl = min(took["ssl"], took["connect"])
    status = _number(answered.get("status"), 999)
    size = _number(answered.get("bodySize"), MOST_BYTES)
    blocking = entry.get("_renderBlocking")
    return HarRequest(
        url=clipped(url, LONGEST_URL),
        start_ms=start_ms,
        blocked_ms=took["blocked"],
        dns_ms=took["dns"],
        connect_ms=took["connect"] - ssl,
        ssl_ms=ssl,
        wait_ms=took["send"] + took["wait"],
        receive_ms=took["receive"],
        method=_word(asked, "method") or "GET",
        kind=_word(entry, "_resourceType") or "other",
        protocol=_word(asked, "httpVersion"),
        connection=_word(entry, "connection"),
        status=int(status or 0),
        body_bytes=None if size is None else int(size),
        priority=_word(entry, "_priority"),
        cached="_fromCache" in entry,
        blocks=blocking == "blocking" if isinstance(blocking, str) else None,
    )


TIMINGS = ("blocked", "dns", "connect", "ssl", "send", "wait", "receive")


def _instant(holder: Any) -> float | None:
    """When it started, in ms since 1970."""
    text = holder.get("startedDateTime") if isinstance(holder, dict) else None
    try:
        return datetime.fromisoformat(text).timestamp() * 1000 if isinstance(text, str) else None
    except (ValueError, OverflowError):
        return None


def _word(holder: Mapping[str, Any], key: str) -> str:
    value = holder.get(key)
    return clipped(one_line(value), LONGEST_WORD) if isinstance(value, str) else ""
