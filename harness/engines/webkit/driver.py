"""Our side of a started WebKit: commands and answers of its process, and the Inspector of its page.

The Inspector is WebKit's own protocol, over the WebSocket that its HTTP server offers on loopback. What it tells of the
network is kept, line by line as it comes, in a log: the browser's side of a trial's proof. The page has no part in it:
it travels from the page's process to the browser's, and from there to us.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import IO, Any

import websocket

from harness.engines.browser import (
    CONSOLE_LIMIT,
    HOLD_TIMERS_SCRIPT,
    NOT_LOADED,
    RUN_TIMERS_SCRIPT,
    SCROLL_SCRIPT,
    UNREADABLE,
    one_line,
)
from harness.engines.relay import entries
from harness.engines.steered import CRASHES, SteeredBrowser, asked, unable
from harness.engines.webkit.log import BODY
from harness.errors import Outcome, TestbedFailed, TrialFailed
from harness.system.netns import Host
from harness.system.process import Conversation

LOOPBACK = "127.0.0.1"
INSPECTOR_PORT = 9229  # the client host is fresh for each trial: nobody else can have it
CONNECT_S = 20.0
ANSWER_S = 10.0
LOOK_AGAIN_S = 0.01
TARGET = re.compile(rb"/socket/\d+/\d+/WebPage")
ENABLED = ("Page", "Network", "Console")  # the domains that tell of what happens
OTHER_PROCESS = (
    "the page's clock started after its answer had come: it asks for a process of its own "
    "(Cross-Origin-Opener-Policy), and WebKit cannot time such a page"
)
DISPATCHED, MADE = "Target.dispatchMessageFromTarget", "Target.targetCreated"


class InspectorFailed(Exception):
    """The Inspector does not answer, or refuses a command."""


class Inspector:
    """A connection to the Inspector of a page; `log` gets what it tells. Made by `inspecting`."""

    def __init__(self, connected: socket.socket, connection: websocket.WebSocket, log: IO[str]) -> None:
        self._socket = connected
        self._connection = connection
        self._log = log
        self._answers: dict[int, Mapping[str, Any]] = {}
        self._writing = threading.Lock()
        self._news = threading.Condition()
        self._target = ""
        self._asked = 0
        self._over = False
        self._listening = threading.Thread(target=self._listen, name="inspector", daemon=True)

    def begin(self) -> None:
        """From now on, what happens in the page is told."""
        self._listening.start()
        with self._news:
            if not self._news.wait_for(lambda: self._target or self._over, CONNECT_S) or self._over:
                raise InspectorFailed("it names no page")
        for domain in ENABLED:
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> Mapping[str, Any]:
        """The answer to a command for the page; everything that was told before it is in the log then."""
        self._asked += 1
        number = self._asked
        self._send(number, self._target, {"id": number, "method": method, "params": parameters})
        with self._news:
            if not self._news.wait_for(lambda: number in self._answers or self._over, ANSWER_S):
                raise InspectorFailed(f"no answer to {method} within {ANSWER_S:g} s")
            answer = self._answers.pop(number, None)
        if answer is None:
            raise InspectorFailed(f"the Inspector has gone before it answered {method}")
        if "error" in answer:
            raise InspectorFailed(f"{method}: {answer['error'].get('message')}")
        result: Mapping[str, Any] = answer.get("result", {})
        return result

    def note(self, method: str, parameters: Mapping[str, Any]) -> None:
        """Put a line into the log."""
        line = {"told_ms": round(time.time() * 1000, 3), "method": method, "params": parameters}
        with self._writing:
            self._log.write(json.dumps(line) + "\n")

    def end(self) -> None:
        """Hear no more; the log is whole as far as it was told."""
        with contextlib.suppress(OSError):  # the browser has gone before
            self._socket.shutdown(socket.SHUT_RDWR)
        self._listening.join()
        self._socket.close()

    def _send(self, number: int, target: str, message: Mapping[str, Any]) -> None:
        wrapped = {"targetId": target, "message": json.dumps(message)}
        asked = {"id": number, "method": "Target.sendMessageToTarget", "params": wrapped}
        try:
            self._connection.send(json.dumps(asked))
        except (OSError, websocket.WebSocketException) as error:
            raise InspectorFailed(f"the Inspector has gone: {error}") from error

    def _listen(self) -> None:
        """In a thread of its own, until the connection ends."""
        try:
            while text := self._connection.recv():
                self._hear(json.loads(text))
        except (OSError, websocket.WebSocketException, ValueError):
            pass  # the browser has gone: whoever waits for an answer is told
        finally:
            with self._news:
                self._over = True
                self._news.notify_all()

    def _hear(self, message: Mapping[str, Any]) -> None:
        if message.get("method") == MADE:
            with self._news:
                self._target = message["params"]["targetInfo"]["targetId"]
                self._news.notify_all()
        elif message.get("method") == DISPATCHED:
            inner = json.loads(message["params"]["message"])
            if "method" in inner:
                self.note(inner["method"], inner.get("params", {}))
            else:
                with self._news:
                    self._answers[inner["id"]] = inner
                    self._news.notify_all()


@contextlib.contextmanager
def inspecting(client: Host, log: Path) -> Iterator[Inspector]:
    """The Inspector of the page that a browser on this host shows, for the length of the block."""
    with log.open("w", encoding="utf-8", buffering=1) as file:
        try:
            inspector = Inspector(*_connected(client), file)
            inspector.begin()
        except (OSError, websocket.WebSocketException, InspectorFailed) as error:
            raise TestbedFailed(f"WebKit's Inspector cannot be reached: {error}") from error
        try:
            yield inspector
        finally:
            inspector.end()


def _connected(client: Host) -> tuple[socket.socket, websocket.WebSocket]:
    until = time.monotonic() + CONNECT_S
    while not (found := TARGET.search(_listed(client))):
        if time.monotonic() > until:
            raise InspectorFailed("it lists no page")
        time.sleep(LOOK_AGAIN_S)
    connected = _socket(client)
    address = f"ws://{LOOPBACK}:{INSPECTOR_PORT}{found[0].decode()}"
    made = websocket.create_connection(address, socket=connected, suppress_origin=True)
    made.settimeout(None)
    return connected, made


def _listed(client: Host) -> bytes:
    """What the HTTP server lists: its page of the pages that can be inspected."""
    with _socket(client) as asking:
        asking.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = b""
        while b"</html>" not in answer and (more := asking.recv(65536)):
            answer += more
    return answer


def _socket(client: Host) -> socket.socket:
    with client.entered():
        return socket.create_connection((LOOPBACK, INSPECTOR_PORT), timeout=CONNECT_S)


COLLECT_TIMEOUT_S = 10.0
TIMELINE = resources.files("harness.engines.webkit").joinpath("timeline.js").read_text(encoding="utf-8")
ECHO = "Runtime.evaluate"  # what was told before its answer is in the log then
PNG = "data:image/png;base64,"
CRASHED, OUT_OF_MEMORY = "crashed", "exceeded-memory-limit"  # why the page's process ended, in WebKit's words
VIEWPORT = (1280, 657)  # what Chromium's window leaves for the page


class WebKitBrowser(SteeredBrowser):
    """A started WebKit with an empty page; `log` is what its Inspector tells, `crash` a file for how it crashed."""

    def __init__(self, program: Conversation, inspector: Inspector, log: Path, crash: Path) -> None:
        self._program = program
        self._inspector = inspector
        self._log = log
        self._crash = crash
        self.console_error_count = 0

    def shut_the_door(self) -> None:
        """Nobody but us, no page either, comes to the Inspector from now on."""
        self._ask({"shut": True})

    def hold_timers(self) -> None:
        self._ask({"at_first": HOLD_TIMERS_SCRIPT})

    def run_timers(self) -> None:
        self._value({"run": RUN_TIMERS_SCRIPT}, "the page's timers do not run")

    def load(self, url: str, timeout_s: float) -> float:
        silence = f"no load event within {timeout_s:g} s"
        answer = self._ask({"load": url}, timeout_s, silence, Outcome.PAGE_TIMEOUT)
        if "went_on" in answer:
            raise TrialFailed(
                Outcome.PAGE_ERROR,
                f"before its load event the page went on to another document: {one_line(answer['went_on'] or '')}",
            )
        if not answer["ok"]:
            raise TrialFailed(Outcome.PAGE_ERROR, f"the page was not loaded: {one_line(answer['error'])}")
        return float(answer["navigate_ms"])

    def timeline(self) -> Mapping[str, Any]:
        found = json.loads(self._value({"read": TIMELINE}, UNREADABLE))
        if (found["ttfb_ms"] or 0) < 0:
            raise TrialFailed(Outcome.PAGE_ERROR, OTHER_PROCESS)
        return {**found, "navigation_start_ms": found["time_origin_ms"]}

    def entries(self) -> Sequence[Mapping[str, Any]]:
        raise unable("does not tell of paints, shifts and tasks")

    def console_errors(self, limit: int = CONSOLE_LIMIT) -> tuple[str, ...]:
        self._inspected(ECHO, expression="0")
        told = [event["params"]["message"] for event in self._told("Console.messageAdded")]
        errors = [_said(message) for message in told if message["level"] == "error"]
        self.console_error_count = len(errors)
        return tuple(one_line(text) for text in errors[:limit])

    def scroll(self, screenful: int) -> bool:
        script = f"return await ({SCROLL_SCRIPT.strip()})({screenful})"
        return self._value({"read": script}, "the page does not scroll") == "true"

    def screenshot(self, path: Path) -> None:
        width, height = VIEWPORT
        shot = self._inspected(
            "Page.snapshotRect", x=0, y=0, width=width, height=height, coordinateSystem="Viewport"
        )
        path.write_bytes(base64.b64decode(shot["dataURL"].removeprefix(PNG)))

    def keep_bodies(self) -> None:
        """Put what was answered into the log; nothing of an answer that the Inspector has not kept."""
        with contextlib.suppress(InspectorFailed):  # the browser may have died: the trial has its outcome
            self._inspector.ask(ECHO, expression="0")
        for event in self._told("Network.loadingFinished"):
            number = event["params"]["requestId"]
            with contextlib.suppress(InspectorFailed):
                body = self._inspector.ask("Network.getResponseBody", requestId=number)
                self._inspector.note(f"Network.{BODY}", {"requestId": number, **body})

    def close(self) -> None:
        """Whatever was told before is in the log; the process ends by itself when it hears no more."""
        with contextlib.suppress(InspectorFailed):  # the browser may have died: the trial has its outcome
            self._inspector.ask(ECHO, expression="0")
        self._program.close()

    def _told(self, method: str) -> list[Mapping[str, Any]]:
        text = self._log.read_text(encoding="utf-8")
        return [event for event in entries(text) if event["method"] == method]

    def _inspected(self, method: str, **parameters: Any) -> Mapping[str, Any]:
        try:
            return self._inspector.ask(method, **parameters)
        except InspectorFailed as error:
            raise TrialFailed(Outcome.PAGE_ERROR, str(error), died=not self._program.alive) from error

    def _value(self, command: Mapping[str, object], failure: str) -> str:
        """What a script returned, as text."""
        silence = "the page kept the browser busy after its load event"
        answer = self._ask(command, COLLECT_TIMEOUT_S, silence)
        if "error" in answer:
            raise TrialFailed(Outcome.PAGE_ERROR, f"{failure}: {one_line(answer['error'])}")
        return str(answer["value"])

    def _ask(
        self,
        command: Mapping[str, object],
        timeout_s: float = COLLECT_TIMEOUT_S,
        silence: str = "the browser does not answer",
        outcome: Outcome = Outcome.PAGE_ERROR,
    ) -> dict[str, Any]:
        answer = asked(self._program, command, timeout_s, silence, outcome)
        if "died" in answer:
            raise self._died(answer["died"], answer["signal"])
        return answer

    def _died(self, why: str, number: int | None) -> TrialFailed:
        """A process of the browser has ended: by itself where the signal is one that only its own faults bring."""
        name = why if number is None else signal.Signals(number).name
        if number in CRASHES or why == OUT_OF_MEMORY:
            which = "page" if why in (CRASHED, OUT_OF_MEMORY) else "process"
            self._crash.write_text(f"{which} by {name}", encoding="utf-8")
        return TrialFailed(Outcome.PAGE_ERROR, f"the browser died: one of its processes by {name}", died=True)


def _said(message: Mapping[str, Any]) -> str:
    """A message with the URL that it is about, as Chromium's drivers write it."""
    text = str(message.get("text", ""))
    about = message.get("url", "") if text.startswith(NOT_LOADED) else ""
    return f"{about} - {text}" if about else text
