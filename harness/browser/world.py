"""A world of our own inside the page: times that the page's scripts cannot touch, for both drivers of Chromium.

An isolated world shares the page's document and timeline, and none of its objects: what a page puts in the place of
`performance`, `Promise` or `Array.prototype` stays in the page's own world. It is made before the first script of
each document (Chrome DevTools Protocol, Page.addScriptToEvaluateOnNewDocument with a `worldName`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from typing import Any

from harness.outcome import Outcome, TrialFailed

Send = Callable[[str, dict[str, Any]], Mapping[str, Any]]  # a command of the protocol, and its answer

NAME = "coldload"
UNREADABLE = "the page's times cannot be read (pages that go on by themselves, or open dialogs, cause this)"
_SCRIPTS = resources.files("harness.browser")
OBSERVE, TIMELINE, ENTRIES = (
    _SCRIPTS.joinpath(f"{name}.js").read_text(encoding="utf-8").strip()
    for name in ("observe", "timeline", "entries")
)
IN_THE_TAB = f"if (window === window.top) ({OBSERVE})()"
SINCE_A_LONG_TASK = """(() => {
  const tasks = globalThis.coldload?.longtask;
  tasks?.rest();
  return performance.now() - Math.max(0, ...(tasks ?? []).map((task) => task.start + task.duration));
})()"""


def prepare(send: Send) -> None:
    """Make the world part of every document from now on."""
    send("Page.enable", {})
    send("Performance.enable", {"timeDomain": "timeTicks"})
    send("Page.addScriptToEvaluateOnNewDocument", {"source": IN_THE_TAB, "worldName": NAME})


def timeline(send: Send) -> Mapping[str, Any]:
    """The timeline of the tab's document, see timeline.js, and `navigation_start_ms` on the clock of the NetLog.

    Raises TrialFailed with `page-error` when the document has no such world: it is not one that was loaded.
    """
    answer = _answer(send, f"({TIMELINE})()")
    found = answer["result"].get("value")
    if not isinstance(found, dict):
        said = answer.get("exceptionDetails", {}).get("text", "it was not observed from its beginning")
        raise TrialFailed(Outcome.PAGE_ERROR, f"{UNREADABLE}: {said}")
    metrics = {each["name"]: each["value"] for each in send("Performance.getMetrics", {})["metrics"]}
    started = metrics.get("NavigationStart")
    return {**found, "navigation_start_ms": started * 1000 if started else None}


def leave(send: Send) -> None:
    """Show an empty document in place of the page."""
    send("Page.navigate", {"url": "about:blank"})


def entries(send: Send, failures: tuple[type[Exception], ...]) -> Iterator[Mapping[str, Any]]:
    """What the documents tell that a session reaches, see entries.js: first the one at the top, then its frames of the
    same site. A frame that has gone meanwhile, for which a command fails, is left out.
    """
    top, *others = _frames(send("Page.getFrameTree", {})["frameTree"])
    yield from _entries(send, top)
    for frame in others:
        with contextlib.suppress(*failures):
            yield from _entries(send, frame)


def _entries(send: Send, frame: str) -> list[Mapping[str, Any]]:
    _evaluate(send, frame, f"({OBSERVE})()")  # it does nothing where it ran at first
    found = _evaluate(send, frame, f"({ENTRIES})()")["result"].get("value")
    return [found] if isinstance(found, dict) else []


def since_a_long_task_ms(send: Send) -> float:
    """How long ago the last long task of the tab's document ended or, without any, its navigation began."""
    return float(evaluated(send, SINCE_A_LONG_TASK) or 0)


def evaluated(send: Send, expression: str) -> Any:
    """The value of an expression in the world of the tab's document; None when it has none."""
    return _answer(send, expression)["result"].get("value")


def _answer(send: Send, expression: str) -> Mapping[str, Any]:
    return _evaluate(send, send("Page.getFrameTree", {})["frameTree"]["frame"]["id"], expression)


def _frames(tree: Mapping[str, Any]) -> Iterator[str]:
    """The ids of a tree of frames, the one at the top first."""
    yield tree["frame"]["id"]
    for child in tree.get("childFrames", ()):
        yield from _frames(child)


def _evaluate(send: Send, frame: str, expression: str) -> Mapping[str, Any]:
    """In the world of a frame, which is made where it is not there."""
    world = send("Page.createIsolatedWorld", {"frameId": frame, "worldName": NAME})["executionContextId"]
    asked = {"expression": expression, "contextId": world, "awaitPromise": True, "returnByValue": True}
    return send("Runtime.evaluate", asked)
