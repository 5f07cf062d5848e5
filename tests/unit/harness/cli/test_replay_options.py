"""The options of a single load give what the keys of a study give, and are refused in the same words."""

from __future__ import annotations

import argparse

import pytest

from harness.cli.replay_options import add_replay_options, add_server_options, replay_of
from harness.errors import StudyError
from harness.model.condition import Origins
from harness.model.engine import Engine
from harness.model.protocol import Protocol
from harness.model.settings import Compression, Replay, ThinkTime


def replay(*words: str, protocol: Protocol = Protocol.H2, server: str = "nginx") -> Replay:
    parser = argparse.ArgumentParser()
    add_replay_options(parser)
    add_server_options(parser)
    engine = Engine.CHROMIUM if Engine.CHROMIUM in protocol.engines else Engine.QTWEBKIT
    return replay_of(parser.parse_args(words), [protocol], engine, server)


def test_the_default_is_that_of_a_study() -> None:
    assert replay() == Replay()
    assert replay(protocol=Protocol.SPDY, server="spdy-gateway") == Replay(tls="1.2")


def test_each_setting_has_its_option() -> None:
    assert replay("--determinism", "false") == Replay(determinism=False)
    assert replay("--compression", "brotli-11") == Replay(compression=Compression("brotli", 11))
    assert replay("--compression", "gzip-9-dynamic") == Replay(
        compression=Compression("gzip", 9, dynamic=True)
    )
    assert replay("--origins", "recorded") == Replay(origins=Origins.RECORDED)
    assert replay("--tls", "1.2") == Replay(tls="1.2")
    assert replay("--tls-resumption") == Replay(tls_resumption=True)
    assert replay("--think-time", "recorded") == Replay(think_time=ThinkTime(recorded=True))
    assert replay("--think-time", "12.5") == Replay(think_time=ThinkTime(12.5))


@pytest.mark.parametrize(
    ("words", "server", "said"),
    [
        (("--compression", "gzip-10"), "nginx", "gzip-1 to gzip-9"),
        (("--compression", "brotli-dynamic"), "nginx", "servers that can: apache"),
        (("--compression", "zstd-4-dynamic"), "caddy", "leave -dynamic out, or choose another level"),
        (("--think-time", "50ms"), "nginx", 'unknown \'50ms\'; it is "none", "recorded" or a number of ms'),
        (("--think-time", "-1"), "nginx", "think_time is -1; it must be 0 to"),
        (("--think-time", "nan"), "nginx", "think_time is nan; it must be"),
        (("--think-time", "50"), "caddy", "servers that can: nginx"),
    ],
)
def test_what_cannot_be_is_refused(words: tuple[str, ...], server: str, said: str) -> None:
    with pytest.raises(StudyError, match=said):
        replay(*words, server=server)
