"""The client of Marionette against a peer that speaks as the protocol has it."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
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
EMPTY_TAB = {"shows": "about:blank", "gone": [], "dialogs": 0, "hops": 0}
FUNCTION = re.compile(r"return (\w+)\(\.\.\.arguments\);$")  # that a script in the browser's process calls


def answer_all(
    theirs: socket.socket, silent: Sequence[str], late: bool, state: Mapping[str, Any] = EMPTY_TAB
) -> None:
    """Answer each command but the silent ones, scripts of the page by the name of their context."""
    context = ""
    told = {
        "state": state,
        "told": json.dumps({**state, "requests": [], "errors": []}),
        "shown": {"gone": [], "asked": None},
    }
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
        called = FUNCTION.search(given["script"]) if script else None
        answer = told.get(called[1], True) if called else 1.0
        theirs.sendall(framed([1, number, failure, {"value": answer if script else None}]))


@contextlib.contextmanager
def steered(
    ends: tuple[socket.socket, socket.socket],
    folder: Path,
    silent: Sequence[str] = (),
    late: bool = False,
    state: Mapping[str, Any] = EMPTY_TAB,
) -> Iterator[FirefoxBrowser]:
    """A browser whose other end answers so; it writes its log into a folder."""
    ours, theirs = ends
    other = threading.Thread(target=answer_all, args=(theirs, silent, late, state))
    other.start()
    with running(Command.of("sleep", "60"), folder / "log") as process:
        try:
            yield FirefoxBrowser(Marionette(ours, 5), folder / "told", process, keeps_bodies=False)
        finally:
            ours.close()
            other.join()


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
    with (
        steered(ends, tmp_path, silent, late) as browser,
        pytest.raises((TrialFailed, TestbedFailed), match=words) as caught,
    ):
        browser.load("https://site.example/", 0.2)
    assert getattr(caught.value, "outcome", None) is outcome


LOADED = {**EMPTY_TAB, "shows": "https://site.example/"}


def test_no_log_is_written_before_counters_are_read(
    ends: tuple[socket.socket, socket.socket], tmp_path: Path
) -> None:
    log = tmp_path / "told"
    with steered(ends, tmp_path, state=LOADED) as browser:
        browser.load("https://site.example/", 5)
        assert not log.exists()
        with pytest.raises(TrialFailed, match="nothing came"):
            browser.timeline()
        assert json.loads(log.read_text())["requests"] == []


def test_the_log_of_a_load_that_lost_a_process_is_kept(
    ends: tuple[socket.socket, socket.socket], tmp_path: Path
) -> None:
    with (
        steered(ends, tmp_path, state={**LOADED, "gone": [7]}) as browser,
        pytest.raises(TrialFailed, match="a process of the page has gone") as caught,
    ):
        browser.load("https://site.example/", 5)
    assert caught.value.died
    assert json.loads((tmp_path / "told").read_text())["gone"] == [7]
