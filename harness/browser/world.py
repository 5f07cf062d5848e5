"""A world of our own inside the page: times that the page's scripts cannot touch, for both drivers of Chromium.

An isolated world shares the page's document and timeline, and none of its objects: what a page puts in the place of
`performance`, `Promise` or `Array.prototype` stays in the page's own world. It is made before the first script of
each document (Chrome DevTools Protocol, Page.addScriptToEvaluateOnNewDocument with a `worldName`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

from harness.outcome import Outcome, TrialFailed

Send = Callable[[str, dict[str, Any]], Mapping[str, Any]]  # a command of the protocol, and its answer

NAME = "coldload"
UNREADABLE = "the page's times cannot be read (pages that go on by themselves, or open dialogs, cause this)"
_SCRIPTS = resources.files("harness.browser")
OBSERVE = _SCRIPTS.joinpath("observe.js").read_text(encoding="utf-8")
TIMELINE = _SCRIPTS.joinpath("timeline.js").read_text(encoding="utf-8")


def prepare(send: Send) -> None:
    """Make the world part of every document from now on."""
    send("Page.enable", {})
    send("Performance.enable", {"timeDomain": "timeTicks"})
    send("Page.addScriptToEvaluateOnNewDocument", {"source": OBSERVE, "worldName": NAME})


def timeline(send: Send) -> Mapping[str, Any]:
    """The timeline of the tab's document, see timeline.js, and `navigation_start_ms` on the clock of the NetLog.

    Raises TrialFailed with `page-error` when the document has no such world: it is not one that was loaded.
    """
    answer = _answer(send, f"({TIMELINE.strip()})()")
    found = answer["result"].get("value")
    if not isinstance(found, dict):
        said = answer.get("exceptionDetails", {}).get("text", "it was not observed from its beginning")
        raise TrialFailed(Outcome.PAGE_ERROR, f"{UNREADABLE}: {said}")
    metrics = {each["name"]: each["value"] for each in send("Performance.getMetrics", {})["metrics"]}
    started = metrics.get("NavigationStart")
    return {**found, "navigation_start_ms": started * 1000 if started else None}


def evaluated(send: Send, expression: str) -> Any:
    """The value of an expression in the world of the tab's document; None when it has none."""
    return _answer(send, expression)["result"].get("value")


def _answer(send: Send, expression: str) -> Mapping[str, Any]:
    frame = send("Page.getFrameTree", {})["frameTree"]["frame"]["id"]
    world = send("Page.createIsolatedWorld", {"frameId": frame, "worldName": NAME})["executionContextId"]
    asked = {"expression": expression, "contextId": world, "awaitPromise": True, "returnByValue": True}
    return send("Runtime.evaluate", asked)
