"""HARs of loads that never were, for testing the analysis alone."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
HOSTILE_URLS = (
    "https://site.example/<script>alert(1)</script>",
    'https://site.example/"><img src=x onerror=alert(1)>',
    "https://site.example/\u202egnp.exe?\u2066\u2069",
    "https://site.example/$x^2$_{%}\\frac",
    "https://[/" + "long/" * 3000,
    "https://site.example/\x1b[2J\x00\ud800\U0001f600",
    "</script><script>alert(2)</script>",
    "javascript:alert(3)",
)


def entry(url: str, start_ms: float = 0.0, **changes: Any) -> dict[str, Any]:
    """A request that was not the first of its connection: 5 ms blocked, 20 of waiting, 10 of downloading."""
    timings = {"blocked": 5, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 20, "receive": 10}
    timings |= changes.pop("timings", {})
    return {
        "startedDateTime": (BEGAN + timedelta(milliseconds=start_ms)).isoformat(),
        "request": {"method": "GET", "url": url, "httpVersion": "h2"},
        "response": {"status": 200, "bodySize": 1000, "content": {"size": 3000, "mimeType": "text/css"}},
        "timings": timings,
        "connection": "4000",
        "_resourceType": "image",
        **changes,
    }


def har_of(entries: list[dict[str, Any]], **times: float) -> dict[str, Any]:
    """A HAR with these entries and times of its page."""
    page = {"startedDateTime": BEGAN.isoformat(), "id": "page_1", "title": "t", "pageTimings": times}
    return {"log": {"version": "1.2", "pages": [page], "entries": entries, "_connections": [{}, {}]}}


def load(requests: int = 12, plt_ms: float = 500.0, host: str = "site.example") -> dict[str, Any]:
    """A page and what it asked for, one thing after the other; the first waits for look-up and handshakes."""
    first = {"blocked": 1, "dns": 20, "connect": 40, "ssl": 20, "wait": 30, "receive": 5}
    made = [entry(f"https://{host}/", timings=first, _resourceType="document")]
    step = plt_ms / (requests + 1)
    made += [entry(f"https://{host}/{n}.png?v=1", 90 + n * step) for n in range(1, requests)]
    return har_of(made, onLoad=plt_ms, onContentLoad=plt_ms / 2, _ttfb=60.0, _firstContentfulPaint=plt_ms / 3)


def busy(plt_ms: float, step_ms: float = 10.0) -> dict[str, Any]:
    """An activity: the link down full in the first half and idle then, the main thread the other way round."""
    steps = max(2, round(plt_ms / step_ms))
    first = [100 * (number < steps // 2) for number in range(steps)]
    link = {"linkDown": first, "linkUp": [5] * steps, "downMbps": 10, "upMbps": 1}
    thread = {"mainThread": [100 - each for each in first], "mainThreadBy": "kernel"}
    return {"stepMs": step_ms, **link, **thread}


def keep_hars(run: Path, requests: int = 12) -> Path:
    """Put a HAR beside every attempt of a synthetic run, as long as its record says, and return the run."""
    for line in (run / "records.jsonl").read_text().splitlines():
        record = json.loads(line)
        name = record["trial"] if record["attempt"] == 1 else f"{record['trial']}-{record['attempt']}"
        folder = run / "trials" / name
        folder.mkdir(parents=True)
        plt_ms = record["plt_ms"] or 100.0
        har = load(requests, plt_ms)
        har["log"]["_activity"] = busy(plt_ms)
        (folder / "load.har").write_text(json.dumps(har))
    return run
