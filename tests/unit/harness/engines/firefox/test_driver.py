"""The client of Marionette against a peer that speaks as the protocol has it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness.engines.firefox.driver import (
    Marionette,
    MarionetteClosed,
    MarionetteFailed,
    MarionetteSilent,
)

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
