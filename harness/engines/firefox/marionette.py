"""A client of Marionette, Firefox's own remote control: `LENGTH:[type, id, command or error, parameters or result]`."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Sequence
from typing import Any

from harness.errors import ColdloadError

CHUNK_BYTES = 1 << 16
LONGEST_LENGTH = 12  # digits
COMMAND, ANSWER = 0, 1
SYSTEM = "system"  # the sandbox whose scripts have the browser's own rights, and see pages as they were made


class MarionetteFailed(ColdloadError):
    """A command failed: `kind` is WebDriver's name for why."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message or kind)
        self.kind = kind


class MarionetteClosed(MarionetteFailed):
    """There is nobody at the other end."""

    def __init__(self, message: str = "it closed its connection") -> None:
        super().__init__("closed", message)


class MarionetteSilent(MarionetteFailed):
    """No answer came in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__("silent", f"no answer within {seconds:g} s")


class Marionette:
    """One connection, one command at a time. Whatever fails raises MarionetteFailed."""

    def __init__(self, made: socket.socket, timeout_s: float) -> None:
        self._socket = made
        self._rest = b""
        self._number = 0
        self._read(timeout_s)  # it says hello

    def ask(self, command: str, timeout_s: float, **parameters: Any) -> Any:
        """The result of a command; one that is a lone value comes bare."""
        self._number += 1
        text = json.dumps([COMMAND, self._number, command, parameters]).encode()
        try:
            self._socket.settimeout(timeout_s)
            self._socket.sendall(b"%d:%s" % (len(text), text))
        except OSError as error:
            raise MarionetteClosed(str(error)) from error
        end = time.monotonic() + timeout_s
        while True:
            kind, number, failure, result = self._read(max(0.001, end - time.monotonic()), timeout_s)
            if kind != ANSWER or number != self._number:
                continue  # of a command that was given up
            if failure:
                raise MarionetteFailed(str(failure["error"]), str(failure["message"]))
            return result.get("value") if isinstance(result, dict) and set(result) == {"value"} else result

    def run(self, script: str, timeout_s: float, *arguments: Any) -> Any:
        """What a script returns, or its promise, in the page's process with the browser's own rights."""
        return self._run("content", script, timeout_s, arguments)

    def run_in_parent(self, script: str, timeout_s: float, *arguments: Any) -> Any:
        """Likewise, in the browser's own process."""
        return self._run("chrome", script, timeout_s, arguments)

    def _run(self, context: str, script: str, timeout_s: float, arguments: Sequence[Any]) -> Any:
        end = time.monotonic() + timeout_s
        self.ask("Marionette:SetContext", timeout_s, value=context)
        return self.ask(
            "WebDriver:ExecuteScript",
            max(0.001, end - time.monotonic()),
            script=script,
            args=list(arguments),
            sandbox=SYSTEM,
            newSandbox=False,
        )

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()

    def _read(self, timeout_s: float, told_s: float | None = None) -> Any:
        """The next message; `told_s` is what the caller waits in all."""
        end, limit_s = time.monotonic() + timeout_s, told_s or timeout_s
        while b":" not in self._rest:
            if len(self._rest) > LONGEST_LENGTH:
                raise MarionetteClosed("what it says has no length")
            self._more(end, limit_s)
        length, _, self._rest = self._rest.partition(b":")
        while len(self._rest) < int(length):
            self._more(end, limit_s)
        text, self._rest = self._rest[: int(length)], self._rest[int(length) :]
        return json.loads(text)

    def _more(self, end: float, limit_s: float) -> None:
        left = end - time.monotonic()
        if left <= 0:
            raise MarionetteSilent(limit_s)
        try:
            self._socket.settimeout(left)
            if self._socket.family == socket.AF_INET:  # else the rest of an answer waits 40 ms for this
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
            got = self._socket.recv(CHUNK_BYTES)
        except TimeoutError as error:
            raise MarionetteSilent(limit_s) from error
        except OSError as error:
            raise MarionetteClosed(str(error)) from error
        if not got:
            raise MarionetteClosed
        self._rest += got
