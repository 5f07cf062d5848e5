"""The Inspector of one page: WebKit's own protocol, over the WebSocket that its HTTP server offers on loopback.

What it tells of the network is kept, line by line as it comes, in a log: the browser's side of a trial's proof. The
page has no part in it: it travels from the page's process to the browser's, and from there to us.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import websocket

from harness.errors import TestbedFailed
from harness.system.netns import Host

LOOPBACK = "127.0.0.1"
PORT = 9229  # the client host is fresh for each trial: nobody else can have it
CONNECT_S = 20.0
ANSWER_S = 10.0
LOOK_AGAIN_S = 0.01
TARGET = re.compile(rb"/socket/\d+/\d+/WebPage")
ENABLED = ("Page", "Network", "Console")  # the domains that tell of what happens
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
        found: Mapping[str, Any] = answer.get("result", {})
        return found

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
    address = f"ws://{LOOPBACK}:{PORT}{found[0].decode()}"
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
        return socket.create_connection((LOOPBACK, PORT), timeout=CONNECT_S)
