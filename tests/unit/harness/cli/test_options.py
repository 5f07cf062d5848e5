"""Options that describe a link, and how a page is served."""

from __future__ import annotations

import argparse

import pytest

from harness.cli.commands import main
from harness.cli.options import (
    add_link_options,
    add_replay_options,
    add_server_options,
    engine_and_protocol,
    link_of,
    replay_of,
)
from harness.errors import StudyError
from harness.model.condition import Compression, Origins
from harness.model.engine import DEFAULT_ENGINE, Engine, speaking
from harness.model.link import NO_LINK, Link, Way
from harness.model.protocol import Protocol
from harness.model.settings import CertificateChain, CertificateKey, Distances, Replay, ThinkTime
from harness.study.linkfile import named_links
from harness.study.rules import Combination, check_combination


def link(*words: str) -> Link:
    parser = argparse.ArgumentParser()
    add_link_options(parser)
    return link_of(parser.parse_args(words))


def test_the_round_trip_is_halved_unless_delays_are_given() -> None:
    assert link() == Link.of(10, 50)
    assert link("--down-mbps", "5", "--up-mbps", "1", "--rtt-ms", "28") == Link.of(5, 28, 1)
    own = link("--delay-down-ms", "40", "--delay-up-ms", "45")
    assert (own.rtt_ms, own.delay_ms(Way.DOWN), own.delay_ms(Way.UP)) == (85, 40, 45)


@pytest.mark.parametrize(
    "words",
    [
        ("--delay-down-ms", "40"),
        ("--delay-up-ms", "40"),
        ("--rtt-ms", "85", "--delay-down-ms", "40", "--delay-up-ms", "45"),
    ],
)
def test_a_link_says_its_delay_in_one_way(words: tuple[str, ...]) -> None:
    with pytest.raises(StudyError, match=r"^give --rtt-ms, or both --delay-down-ms and --delay-up-ms$"):
        link(*words)


def test_a_delay_below_zero_is_refused_by_its_name() -> None:
    with pytest.raises(StudyError, match="delay_up_ms is -5"):
        link("--delay-down-ms", "40", "--delay-up-ms", "-5")


def test_a_link_by_its_name_goes_with_no_other() -> None:
    assert link("--link", "cable") == named_links("cable")[0]
    with pytest.raises(StudyError, match="2012-10mbps names 6 links: 2012-10mbps-20ms, "):
        link("--link", "2012-10mbps")
    with pytest.raises(StudyError, match=r"no link is named 'cabel' \(did you mean cable\?\)"):
        link("--link", "cabel")
    assert link("--link", "none") == NO_LINK
    with pytest.raises(StudyError, match=r"there are: .*, cable, .*, none, .*2012-10mbps-20ms") as refused:
        link("--link", "zzz")
    for name in str(refused.value).partition("there are: ")[2].split(", "):
        assert link("--link", name).name == name
    with pytest.raises(StudyError, match="give --link, or rates and delays"):
        link("--link", "cable", "--delay-up-ms", "3")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "calibrate --link cable --down-mbps 2",
            "--down-mbps does nothing beside --link; leave one of them out",
        ),
        ("calibrate --all --rtt-ms 0", "--rtt-ms does nothing beside --all"),
        ("calibrate --study none.toml --delay-up-ms 3", "--delay-up-ms does nothing beside --study"),
        ("calibrate --live a.example --short", "--short does nothing beside --live"),
        ("calibrate --live a.example --clients 3", "--clients does nothing beside --live"),
        ("calibrate --live a.example --up-mbps 3", "--up-mbps does nothing beside --live"),
        (
            "run demo-quick --certificates x",
            "--certificates does nothing without --on; leave it out, or give --on",
        ),
        ("run demo-quick --insecure", "--insecure does nothing without --on"),
        ("run demo-quick --allow-mixed", "--allow-mixed does nothing without --on"),
        ("run demo-quick --on=", "--on '' is no address of a scheduler"),
        ("versus . --new", "--new does nothing without B"),
        ("versus . --link cable", "--link does nothing without B"),
        ("crowd none --rounds 3", "--rounds does nothing without --find-limit"),
        ("doctor --rounds 3", "--rounds does nothing without --lanes"),
        ("verify none --times 3", "--times does nothing without --live"),
        ("verify none --down-mbps 0", "--down-mbps does nothing without --live"),
        ("archive https://a.example/ --jobs 3", "--jobs does nothing without --list"),
        ("archive --shipped --replace", "--replace does nothing beside --shipped"),
    ],
)
def test_an_option_that_would_do_nothing_is_told_in_one_line(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def replay(*words: str, protocol: Protocol = Protocol.H2, server: str = "nginx") -> Replay:
    parser = argparse.ArgumentParser()
    add_replay_options(parser)
    add_server_options(parser)
    engine = speaking(protocol)[0]
    found = replay_of(parser.parse_args(words), engine)
    check_combination(Combination(page="page", engine=engine, protocol=protocol, server=server, replay=found))
    return found


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
    assert replay("--origins", "recorded", "--distance", "recorded").distance == Distances(others="recorded")
    table = replay("--origins", "recorded", "--distance", "cdn.example=12.5,*=recorded").distance
    assert table == Distances((("cdn.example", 12.5),), "recorded")
    assert replay("--tls", "1.2") == Replay(tls="1.2")
    assert replay("--tls-resumption") == Replay(tls_resumption=True)
    chain = CertificateChain(3, CertificateKey.RSA_2048)
    assert replay("--certificate-chain", "3", "--certificate-key", "rsa-2048") == Replay(chain=chain)
    assert replay("--think-time", "recorded") == Replay(think_time=ThinkTime(recorded=True))
    assert replay("--think-time", "12.5") == Replay(think_time=ThinkTime(12.5))


@pytest.mark.parametrize(
    ("words", "server", "said"),
    [
        (("--compression", "gzip-10"), "nginx", "gzip-1 to gzip-9"),
        (("--compression", "brotli-dynamic"), "nginx", "servers that can: apache"),
        (("--compression", "zstd-4-dynamic"), "caddy", "leave -dynamic out, or choose another level"),
        (("--certificate-chain", "6"), "nginx", "certificate_chain is 6; it must be 1 to 5"),
        (("--think-time", "50ms"), "nginx", 'unknown \'50ms\'; it is "none", "recorded" or a number of ms'),
        (("--think-time", "-1"), "nginx", "think_time is -1; it must be 0 to"),
        (("--think-time", "nan"), "nginx", "think_time is nan; it must be"),
        (("--think-time", "50"), "caddy", "servers that can: nginx"),
    ],
)
def test_what_cannot_be_is_refused(words: tuple[str, ...], server: str, said: str) -> None:
    with pytest.raises(StudyError, match=said):
        replay(*words, server=server)


@pytest.mark.parametrize(
    ("engine", "protocol", "chosen"),
    [
        (None, None, (DEFAULT_ENGINE, Protocol.H2)),
        (None, "spdy", (Engine.QTWEBKIT, Protocol.SPDY)),
        (None, "http1", (DEFAULT_ENGINE, Protocol.HTTP1)),
        ("qtwebkit", None, (Engine.QTWEBKIT, Protocol.HTTP1)),
        ("chromium", "spdy", (Engine.CHROMIUM, Protocol.SPDY)),  # for the rules to refuse
    ],
)
def test_the_engine_is_the_one_that_speaks_the_protocol(
    engine: str | None, protocol: str | None, chosen: tuple[Engine, Protocol]
) -> None:
    assert engine_and_protocol(argparse.Namespace(engine=engine, protocol=protocol)) == chosen
