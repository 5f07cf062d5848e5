"""The client of Marionette against a peer that speaks as the protocol has it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.engines.firefox import driver
from harness.engines.firefox.driver import (
    FirefoxBrowser,
    Marionette,
    MarionetteClosed,
    MarionetteFailed,
    MarionetteSilent,
)
from harness.errors import Outcome, TestbedFailed, TrialFailed
from harness.system.process import running
from harness.system.program import Command

HELLO = {"applicationType": "gecko", "marionetteProtocol": 3}
Say = Callable[[object], None]


def framed(message: object) -> bytes:
    text = json.dumps(message).encode()
    return b"%d:%s" % (len(text), text)


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(5)
        theirs.sendall(framed(HELLO))
        yield ours, theirs


def asked(theirs: socket.socket) -> list[Any]:
    length, _, text = theirs.recv(65536).partition(b":")
    assert int(length) == len(text)
    found: list[Any] = json.loads(text)
    return found


def test_a_command_is_asked_and_its_answer_comes_in_pieces(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    client = Marionette(ours, 5)
    heard: list[Any] = []

    def answer() -> None:
        heard.extend(asked(theirs))
        for byte in framed([1, 1, None, {"value": "ä"}]):
            theirs.sendall(bytes([byte]))

    other = threading.Thread(target=answer)
    other.start()
    assert client.ask("WebDriver:GetTitle", 5, some="thing") == "ä"
    other.join()
    assert heard == [0, 1, "WebDriver:GetTitle", {"some": "thing"}]


def test_answers_of_commands_that_were_given_up_are_passed_over(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = ends
    client = Marionette(ours, 5)
    with pytest.raises(MarionetteSilent, match=r"no answer within 0\.05 s"):
        client.ask("WebDriver:Navigate", 0.05)
    theirs.sendall(framed([1, 1, None, {"value": "late"}]) + framed([1, 2, None, {"a": 1, "b": 2}]))
    assert client.ask("other", 5) == {"a": 1, "b": 2}


def test_a_failure_has_its_name(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    client = Marionette(ours, 5)
    theirs.sendall(framed([1, 1, {"error": "timeout", "message": "Navigation timed out"}, None]))
    with pytest.raises(MarionetteFailed, match="Navigation timed out") as failed:
        client.ask("WebDriver:Navigate", 5)
    assert failed.value.kind == "timeout"


@pytest.mark.parametrize("said", [b"", b"12", b'20:["half"', b"no length at all"])
def test_an_end_that_goes_is_told(ends: tuple[socket.socket, socket.socket], said: bytes) -> None:
    ours, theirs = ends
    client = Marionette(ours, 5)
    theirs.sendall(said)
    theirs.shutdown(socket.SHUT_WR)
    with pytest.raises(MarionetteClosed):
        client.ask("anything", 5)


NAVIGATION = "WebDriver:Navigate"
TOOK_TOO_LONG = {"error": "timeout", "message": "Navigation timed out"}
NOTHING = {
    "requests": [],
    "shows": "about:blank",
    "gone": False,
    "errors": [],
    "dialogs": 0,
    "hops": 0,
}  # that the browser tells of


def answer_all(theirs: socket.socket, silent: Sequence[str], late: bool) -> None:
    """Answer each command but the silent ones, scripts of the page by the name of their context."""
    context = ""
    while True:
        try:
            _, number, command, given = asked(theirs)
        except (OSError, ValueError):
            return
        context = given.get("value", context)
        script = command == "WebDriver:ExecuteScript"
        if (context if script else command) in silent:
            continue
        failure = TOOK_TOO_LONG if late and command == NAVIGATION else None
        told = json.dumps(NOTHING) if context == "chrome" else 1.0
        theirs.sendall(framed([1, number, failure, {"value": told if script else None}]))


@pytest.fixture
def short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "COLLECT_TIMEOUT_S", 0.3)
    monkeypatch.setattr(driver, "LONGER_S", 0.1)


@pytest.mark.usefixtures("short_limits")
@pytest.mark.parametrize(
    ("silent", "late", "outcome", "words"),
    [
        ((), True, Outcome.PAGE_TIMEOUT, "no load event within 0.2 s"),
        ((NAVIGATION,), False, Outcome.PAGE_TIMEOUT, "no load event within 0.2 s"),
        (("content",), False, Outcome.PAGE_ERROR, "the page kept the browser busy after its load event"),
        (("WebDriver:SetTimeouts",), False, None, "Firefox does not answer"),
    ],
)
def test_a_load_has_timed_out_only_when_its_navigation_has(
    silent: Sequence[str],
    late: bool,
    outcome: Outcome | None,
    words: str,
    ends: tuple[socket.socket, socket.socket],
    tmp_path: Path,
) -> None:
    ours, theirs = ends
    other = threading.Thread(target=answer_all, args=(theirs, silent, late))
    other.start()
    with running(Command.of("sleep", "60"), tmp_path / "log") as process:
        browser = FirefoxBrowser(Marionette(ours, 5), tmp_path / "told", process, keeps_bodies=False)
        with pytest.raises((TrialFailed, TestbedFailed), match=words) as caught:
            browser.load("https://site.example/", 0.2)
    ours.close()
    other.join()
    assert getattr(caught.value, "outcome", None) is outcome
