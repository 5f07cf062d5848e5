"""Commands of the Chrome DevTools Protocol, for both drivers of Chromium.

Times come from a world of our own inside the page that the page's scripts cannot touch. An isolated world shares the
page's document and timeline, and none of its objects: what a page puts in the place of `performance`, `Promise` or
`Array.prototype` stays in the page's own world. It is made before the first script of each document
(Page.addScriptToEvaluateOnNewDocument with a `worldName`).
"""

from __future__ import annotations

import abc
import base64
import contextlib
import json
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from harness.engines import fonts
from harness.engines.browser import UNREADABLE, TracePart
from harness.engines.chromium.trace import CATEGORIES, MOST_PICTURES, PICTURE_SIDE
from harness.engines.fonts import Characters
from harness.errors import Outcome, TrialFailed

Send = Callable[[str, dict[str, Any]], Mapping[str, Any]]  # a command of the protocol, and its answer

NAME = "coldload"
_SCRIPTS = resources.files("harness.engines.chromium")
OBSERVE, TIMELINE, ENTRIES = (
    _SCRIPTS.joinpath(f"{name}.js").read_text(encoding="utf-8").strip()
    for name in ("observe", "timeline", "entries")
)
IN_THE_TAB = f"if (window === window.top) ({OBSERVE})()"
# Asks a document without waiting for its answer, which is kept for later; a refusal that nobody waits for yet is none.
ASK_ENTRIES = f"({OBSERVE})(); globalThis.coldload.told = ({ENTRIES})().catch(() => null); null"
TELL_ENTRIES = "globalThis.coldload?.told"
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
    times = answer["result"].get("value")
    if not isinstance(times, dict):
        said = answer.get("exceptionDetails", {}).get("text", "it was not observed from its beginning")
        raise TrialFailed(Outcome.PAGE_ERROR, f"{UNREADABLE}: {said}")
    metrics = {metric["name"]: metric["value"] for metric in send("Performance.getMetrics", {})["metrics"]}
    started = metrics.get("NavigationStart")
    return {**times, "navigation_start_ms": started * 1000 if started else None}


def leave(send: Send) -> None:
    """Show an empty document in place of the page."""
    send("Page.navigate", {"url": "about:blank"})


class _AskedDocument(NamedTuple):
    """A document that was asked for its entries: our world in it, and the session that reaches it."""

    send: Send
    world: int

    def told(self) -> list[Mapping[str, Any]]:
        """Its entries, once it has told them; none where it tells nothing."""
        answer = _evaluate(self.send, self.world, TELL_ENTRIES)["result"].get("value")
        return [answer] if isinstance(answer, dict) else []


def entries(
    send: Send, failures: tuple[type[Exception], ...], others: Iterable[Send] = ()
) -> list[Mapping[str, Any]]:
    """What the documents tell that sessions reach, see entries.js: first the one at the top of the tab's session, then
    its frames of the same site, and those of the other sessions. A frame that has gone meanwhile, for which a command
    fails, is left out.

    All frames are asked before any is waited for: out of view, one of another site takes a second or two, and there
    may be many.
    """
    top, *own = _frames(send)
    told = _ask(send, top).told()
    frames = [(send, frame) for frame in own]
    for session in others:
        with contextlib.suppress(*failures):
            frames += [(session, frame) for frame in _frames(session)]
    asked: list[_AskedDocument] = []
    for session, frame in frames:
        with contextlib.suppress(*failures):
            asked.append(_ask(session, frame))
    for document in asked:
        with contextlib.suppress(*failures):
            told += document.told()
    return told


def _ask(send: Send, frame: str) -> _AskedDocument:
    asked = _AskedDocument(send, _world(send, frame))
    _evaluate(send, asked.world, ASK_ENTRIES)
    return asked


def since_a_long_task_ms(send: Send) -> float:
    """How long ago the last long task of the tab's document ended or, without any, its navigation began."""
    return float(evaluated(send, SINCE_A_LONG_TASK) or 0)


def evaluated(send: Send, expression: str) -> Any:
    """The value of an expression in the world of the tab's document; None when it has none."""
    return _answer(send, expression)["result"].get("value")


def _answer(send: Send, expression: str) -> Mapping[str, Any]:
    return _evaluate(send, _world(send, _frames(send)[0]), expression)


def _frames(send: Send) -> list[str]:
    """The ids of the frames that a session reaches, the one at the top first."""
    return list(_of_tree(send("Page.getFrameTree", {})["frameTree"]))


def _of_tree(tree: Mapping[str, Any]) -> Iterator[str]:
    yield tree["frame"]["id"]
    for child in tree.get("childFrames", ()):
        yield from _of_tree(child)


def _world(send: Send, frame: str) -> int:
    """Our world in a frame, which is made where it is not there."""
    made = send("Page.createIsolatedWorld", {"frameId": frame, "worldName": NAME})
    world: int = made["executionContextId"]
    return world


def _evaluate(send: Send, world: int, expression: str) -> Mapping[str, Any]:
    asked = {"expression": expression, "contextId": world, "awaitPromise": True, "returnByValue": True}
    return send("Runtime.evaluate", asked)


# A slower processor is DevTools' own throttling of a page's main thread: Chromium interrupts it and spends time,
# so that what it does takes so many times as long, across navigations. Pictures are decoded, layers composed, and the
# network works, at full speed, and so do workers: the protocol has nothing that slows one.
AT_FULL_SPEED = 1
FRAME, PAGE = "iframe", "page"  # of another site, and so in a process of its own; a window
WORKERS = frozenset({"worker", "shared_worker", "service_worker"})
# Whoever attaches so hears of each frame and worker before it runs, and speaks to it in messages.
AS_THEY_START = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": False}
ATTACHED = "Target.attachedToTarget"


def slow(send: Send, times: int) -> None:
    """Slow the session's own target; at full speed there is nothing to do."""
    if times != AT_FULL_SPEED:
        send("Emulation.setCPUThrottlingRate", {"rate": times})


def slow_too(send: Send, attached: Mapping[str, Any], times: int) -> None:
    """Slow a target that waits to start, if it can be, and let it run."""
    commands: Mapping[str, Any] = {
        "Emulation.setCPUThrottlingRate": {"rate": times},
        "Runtime.runIfWaitingForDebugger": {},
    }
    for number, (method, parameters) in enumerate(commands.items(), start=1):
        message = json.dumps({"id": number, "method": method, "params": parameters})
        send("Target.sendMessageToTarget", {"sessionId": attached["sessionId"], "message": message})


def at_full_speed(send: Send, slowed: Collection[str] = ()) -> int:
    """How many workers there are, frames of other sites but for those that were `slowed` (their ids), and windows. Of
    these the one that is loaded is slowed. A frame within such a frame is told to nobody as it starts.
    """
    there = send("Target.getTargets", {})["targetInfos"]
    kinds = [target["type"] for target in there if target["targetId"] not in slowed]
    return sum(kinds.count(kind) for kind in (*WORKERS, FRAME)) + max(0, kinds.count(PAGE) - 1)


BUFFER_KB = 200_000
LARGEST_TRACE_BYTES = 200_000_000  # gzipped; a page that fills this in a minute wants to
GZIP = 16 + zlib.MAX_WBITS
FIRST_STREAM = "1"  # how Chromium names the first stream of a process


def start_trace(send: Send, parts: Sequence[TracePart]) -> None:
    """Record these from now on."""
    config: dict[str, Any] = {
        "recordMode": "recordAsMuchAsPossible",
        "traceBufferSizeInKb": BUFFER_KB,
        "includedCategories": [category for part in parts for category in CATEGORIES[part]],
        "excludedCategories": ["*"],
    }
    asked = {
        "transferMode": "ReturnAsStream",
        "streamCompression": "gzip",
        "screenshotMaxSize": PICTURE_SIDE,
        "screenshotMaxCount": MOST_PICTURES,
        "traceConfig": config,
    }
    send("Tracing.start", asked)


def fetch_trace(send: Send, stream: str, path: Path) -> bool:
    """Write what a stream holds to a file; whether that is a whole trace, which it is not before the browser has ended
    it. TrialFailed when it is damaged or too large.
    """
    unpacking, size = zlib.decompressobj(GZIP), 0
    told: dict[str, Any] = {"eof": False}
    with path.open("wb") as file:
        while not told["eof"]:
            told = dict(send("IO.read", {"handle": stream, "offset": size}))
            data = base64.b64decode(told["data"]) if told.get("base64Encoded") else told["data"].encode()
            try:
                unpacking.decompress(data)
            except zlib.error as error:
                raise TrialFailed(Outcome.PAGE_ERROR, f"the trace is damaged: {error}") from error
            size += file.write(data)
            if size > LARGEST_TRACE_BYTES:
                raise TrialFailed(
                    Outcome.PAGE_ERROR, f"the trace is larger than {LARGEST_TRACE_BYTES:,} bytes"
                )
    return unpacking.eof


LOADED_FONTS = "[...document.fonts].filter(f => f.status == 'loaded').map(f => [f.family, f.unicodeRange])"


def text_without_glyph(send: Send, shown: Characters) -> Counter[str]:
    """The characters of the page's rendered text for which there is no glyph, with how often each stands there.

    Read from outside the page's scripts. What a web font of the page's own may show, by its name and range, is taken
    for shown. (CSS.getPlatformFontsForNode would tell, but with that domain the browser loads style sheets again.)
    """
    snapshot = send("DOMSnapshot.captureSnapshot", {"computedStyles": ["font-family"]})
    strings = snapshot["strings"]
    lacking: list[tuple[str, Counter[str]]] = []
    for document in snapshot["documents"]:
        layout = document["layout"]
        families = {
            node: strings[style[0]]
            for node, style in zip(layout["nodeIndex"], layout["styles"], strict=True)
            if style
        }
        for node, text in zip(layout["nodeIndex"], layout["text"], strict=True):
            characters = shown.lacking(strings[text]) if text >= 0 else None
            if characters:
                parent = document["nodes"]["parentIndex"][node]
                lacking.append((families.get(node) or families.get(parent, ""), characters))
    own = _web_fonts(send) if lacking else {}
    uncovered: Counter[str] = Counter()
    for family, characters in lacking:
        ranges = [own[name] for name in map(_bare, family.split(",")) if name in own]
        uncovered.update(
            {each: count for each, count in characters.items() if not any(each in its for its in ranges)}
        )
    return uncovered


def _web_fonts(send: Send) -> dict[str, Characters]:
    """The page's own fonts that were loaded: their names, and what they may be used for."""
    families: dict[str, list[tuple[int, int]]] = {}
    for family, text in evaluated(send, LOADED_FONTS) or ():
        families.setdefault(_bare(family), []).extend(map(_range, text.split(",")))
    return {family: Characters(ranges) for family, ranges in families.items()}


def _range(text: str) -> tuple[int, int]:
    """A range of CSS: `U+0-7F`, `U+26`, `U+4??`."""
    first, _, last = text.strip().removeprefix("U+").removeprefix("u+").partition("-")
    return int(first.replace("?", "0"), 16), int((last or first).replace("?", "F"), 16)


def _bare(family: str) -> str:
    return family.strip().strip("\"'").lower()


class DevToolsBrowser(abc.ABC):
    """A Chromium with one tab: what both drivers do by the same commands.

    `failures` are what a driver raises.
    """

    failures: ClassVar[tuple[type[Exception], ...]]
    console_error_count = 0

    @abc.abstractmethod
    def _send(self, name: str, parameters: dict[str, Any]) -> Mapping[str, Any]:
        """The answer to a command."""

    @abc.abstractmethod
    def _meant(self, failure: Exception) -> TrialFailed:
        """What a failure means for the trial."""

    @contextlib.contextmanager
    def _judged(self, what: str = "") -> Iterator[None]:
        """A failure of the driver within the block is one of the trial, told with what it befell."""
        try:
            yield
        except self.failures as error:
            failed = self._meant(error)
            raise (failed.in_which(what) if what else failed) from error

    def timeline(self) -> Mapping[str, Any]:
        with self._judged(UNREADABLE):
            return timeline(self._send)

    def since_a_long_task_ms(self) -> float:
        with self._judged():
            return since_a_long_task_ms(self._send)

    def start_trace(self, parts: Sequence[TracePart]) -> None:
        with self._judged():
            start_trace(self._send, parts)

    def leave(self) -> None:
        with self._judged():
            leave(self._send)

    def quit(self) -> bool:
        """Ask it to end, and do not wait; whether it took that. It may die of it before it answers, too."""
        try:
            self._send("Browser.close", {})
        except self.failures:
            return False
        return True

    def text_without_glyph(self) -> Mapping[str, int]:
        with self._judged():
            return text_without_glyph(self._send, fonts.covered())
