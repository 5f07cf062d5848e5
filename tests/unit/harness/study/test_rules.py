"""What cannot be is refused, in one line, and all else is let through."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from harness.errors import StudyError
from harness.model.condition import CacheState, Compression, Condition
from harness.model.engine import BROWSER_DRIVERS, BROWSERS, DEVICES, Device, Driver, Engine
from harness.model.kind import Kind
from harness.model.link import NO_LINK, Link
from harness.model.protocol import Protocol
from harness.model.settings import TLS_VERSIONS, Replay, ThinkTime
from harness.model.variant import AS_ARCHIVED, parse_variant
from harness.study.rules import ABILITIES, RULES, Combination, Rule, check, check_combination

COMPRESSIONS = (
    "recorded",
    "none",
    "gzip",
    "brotli",
    "zstd",
    "gzip-dynamic",
    "brotli-dynamic",
    "zstd-dynamic",
    "zstd-2-dynamic",
)
# What engines and servers can do, written down once more and by other words than the rules.
SPEAKS = {
    "chromium": {"http1-close", "http1", "https1-close", "https1", "h2", "h3"},
    "firefox": {"http1-close", "http1", "https1-close", "https1", "h2", "h3"},
    "webkit": {"http1-close", "http1", "https1-close", "https1", "h2"},
    "qtwebkit": {
        "http1-close",
        "http1",
        "http1-pipelined",
        "https1-close",
        "https1",
        "https1-pipelined",
        "spdy",
        "spdy-plain",
    },
}
STEERED_BY = {
    "chromium": {"playwright", "selenium"},
    "firefox": {"marionette"},
    "webkit": {"webkitgtk"},
    "qtwebkit": {"pyqt"},
}
CAN_BE = {
    "chromium": {"desktop", "mobile"},
    "firefox": {"desktop"},
    "webkit": {"desktop"},
    "qtwebkit": {"desktop"},
}
TLS_OF = {"h3": {"1.3"}}
RESUMES = {("chromium", "apache"), ("chromium", "caddy"), ("chromium", "nginx")}
DECODES = {
    ("chromium", "https"): {"brotli", "zstd"},
    ("firefox", "https"): {"brotli", "zstd"},
    ("webkit", "https"): {"brotli"},
}
DECODED_BY_ALL = {"recorded", "none", "gzip"}
CODES = {
    "apache": {"gzip-6-dynamic", "brotli-5-dynamic"},
    "caddy": {"gzip-6-dynamic", "zstd-3-dynamic"},
    "nginx": {"gzip-6-dynamic"},
    "spdy-gateway": {"gzip-6-dynamic"},
}


def possible(asked: Combination) -> bool:
    """Whether a combination can be, by those tables and by what servers are stated to speak."""
    engine, server, protocol, replay = asked.engine.value, asked.server, asked.protocol, asked.replay
    compression, ability = replay.compression, ABILITIES[server]
    return (
        protocol.value in SPEAKS[engine]
        and protocol in ability.protocols
        and (asked.driver is None or asked.driver.value in STEERED_BY[engine])
        and asked.device.name in CAN_BE[engine]
        and replay.tls in TLS_OF.get(protocol.value, {"1.2", "1.3"})
        and (not replay.tls_resumption or (engine, server) in RESUMES)
        and (not replay.think_time or protocol in ability.thinking)
        and (not compression.dynamic or str(compression) in CODES[server])
        and compression.kind in DECODED_BY_ALL | DECODES.get((engine, protocol.scheme), set())
    )


def refusal(asked: Combination) -> str | None:
    try:
        check_combination(asked)
    except StudyError as error:
        return str(error)
    return None


@pytest.mark.parametrize("engine", BROWSERS)
@pytest.mark.parametrize("server", ABILITIES)
def test_every_combination_is_let_through_or_refused_in_one_line(server: str, engine: Engine) -> None:
    replays = [
        Replay(compression=Compression.parse(compression), think_time=wait, tls=tls, tls_resumption=resumed)
        for compression in COMPRESSIONS
        for wait in (ThinkTime(), ThinkTime(20), ThinkTime(recorded=True))
        for tls in TLS_VERSIONS
        for resumed in (False, True)
    ]
    drivers: list[Driver | None] = [None, *BROWSER_DRIVERS]
    devices: list[Device] = list(DEVICES.values())
    let_through = 0
    for protocol, replay, driver, device in itertools.product(Protocol, replays, drivers, devices):
        asked = Combination(
            page="page",
            engine=engine,
            protocol=protocol,
            server=server,
            replay=replay,
            driver=driver,
            device=device,
        )
        said = refusal(asked)
        assert (said is None) == possible(asked), (asked, said)
        assert said is None or said == " ".join(said.split())
        let_through += said is None
    common = {protocol.value for protocol in ABILITIES[server].protocols} & SPEAKS[engine]
    assert bool(let_through) == bool(common)


USUAL = Combination.usual("page", Engine.CHROMIUM, AS_ARCHIVED)
HISTORICAL = Combination.usual("page", Engine.QTWEBKIT, AS_ARCHIVED)
LOOP = Combination.usual("page", Engine.H2LOAD, AS_ARCHIVED)
BROTLI_DYNAMIC = Replay(compression=Compression.parse("brotli-dynamic"))
ZSTD = Replay(compression=Compression.parse("zstd"))
BROKEN = {
    "engine speaks protocol": replace(USUAL, protocol=Protocol.SPDY),
    "driver steers engine": replace(USUAL, driver=Driver.PYQT),
    "engine can be device": replace(HISTORICAL, device=DEVICES["mobile"]),
    "engine slows its processor": replace(HISTORICAL, cpu_slowdown=4),
    "engine keeps what it loaded": replace(HISTORICAL, cache=CacheState.WARM),
    "engine takes what the variant names": replace(HISTORICAL, variant=parse_variant("convert_to_avif")),
    "server can compress": replace(USUAL, replay=BROTLI_DYNAMIC),
    "server lets sessions be resumed": replace(HISTORICAL, replay=Replay(tls_resumption=True)),
    "server speaks protocol": replace(USUAL, server="apache", protocol=Protocol.H3),
    "server lets requests wait side by side": replace(USUAL, replay=Replay(think_time=ThinkTime(20))),
    "QUIC has TLS 1.3": replace(USUAL, protocol=Protocol.H3, replay=Replay(tls="1.2")),
    "engine resumes sessions": replace(HISTORICAL, server="nginx", replay=Replay(tls_resumption=True)),
    "engine sets its windows": replace(HISTORICAL, replay=Replay(tls="1.2", h2_stream_window_bytes=65_535)),
    "SPDY's headers can be compressed": replace(
        HISTORICAL, protocol=Protocol.SPDY, replay=Replay(tls="1.2", spdy_header_compression=True)
    ),
    "engine takes the coding": replace(HISTORICAL, protocol=Protocol.HTTPS1, replay=ZSTD),
    "coding goes over the scheme": replace(USUAL, protocol=Protocol.HTTP1, replay=ZSTD),
    "engine reaches the page": replace(HISTORICAL, hosts=("::1",)),
    "engine measures the kind": replace(USUAL, kind=Kind.USERS),
    "pages are loaded over a link": replace(USUAL, emulated=False),
    "a link per client has several clients": replace(USUAL, per_client=True),
    "protocol takes requests behind each other": replace(LOOP, protocol=Protocol.H2, depth=8),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.name))
def test_each_rule_refuses_something_by_its_own_words(rule: Rule) -> None:
    asked = BROKEN[rule.name]
    assert refusal(asked) == rule.says(asked)


def test_rules_have_names_of_their_own() -> None:
    assert sorted(rule.name for rule in RULES) == sorted(BROKEN)


def test_a_condition_is_asked_with_all_that_it_says() -> None:
    usual = Condition.usual("page", Protocol.HTTP1, Link.of(10, 10), Engine.QTWEBKIT)
    condition = replace(usual, server="nginx")
    replay = Replay.usual(Engine.QTWEBKIT)
    check(condition, replay)
    per_client = replace(condition.link, per_client=True)
    for says, wrong in (
        ("engine: qtwebkit does not speak h2", replace(condition, protocol=Protocol.H2)),
        ("driver: selenium does not steer qtwebkit; choose pyqt", replace(condition, driver=Driver.SELENIUM)),
        ("device: qtwebkit cannot be mobile; choose desktop", replace(condition, device=DEVICES["mobile"])),
        ("server: nginx does not speak spdy", replace(condition, protocol=Protocol.SPDY)),
        (
            "variant 'convert_to_avif': qtwebkit does not take AVIF",
            replace(condition, variant=parse_variant("convert_to_avif")),
        ),
        ("per_client: a page load has one client", replace(condition, link=per_client)),
        ("links: none is no link, and pages are loaded over one", replace(condition, link=NO_LINK)),
    ):
        with pytest.raises(StudyError, match=f"^{says}"):
            check(wrong, replay)
    with pytest.raises(StudyError, match=r"^tls_resumption: qtwebkit resumes nothing"):
        check(condition, replace(replay, tls_resumption=True))


def test_a_link_per_client_is_for_crowds_alone() -> None:
    crowd = replace(Combination.usual("page", Engine.K6, AS_ARCHIVED), per_client=True)
    check_combination(replace(crowd, kind=Kind.USERS))
    with pytest.raises(StudyError, match=r"per_client: a closed loop has one client"):
        check_combination(replace(LOOP, kind=Kind.REQUESTS, per_client=True))


def test_side_by_side_with_the_server_is_for_closed_loops_alone() -> None:
    crowd = replace(Combination.usual("page", Engine.K6, AS_ARCHIVED), emulated=False)
    for wrong in (crowd, replace(crowd, kind=Kind.USERS), replace(USUAL, kind=Kind.LOAD, emulated=False)):
        with pytest.raises(StudyError, match=r'name a link \(none goes with kind = "requests"\)'):
            check_combination(wrong)
    check_combination(replace(LOOP, emulated=False))
    check_combination(replace(LOOP, kind=Kind.REQUESTS, emulated=False))


def test_a_depth_is_for_protocols_of_http1() -> None:
    for protocol in (Protocol.HTTP1, Protocol.HTTPS1):
        check_combination(replace(LOOP, protocol=protocol, depth=8))
    check_combination(replace(LOOP, protocol=Protocol.H2, depth=1))


def test_a_page_from_an_ipv6_address_is_refused_for_qtwebkit_with_the_ways_out() -> None:
    hosts = ("localhost", "127.0.0.1", "::1")
    check_combination(replace(USUAL, hosts=hosts))
    check_combination(replace(HISTORICAL, hosts=hosts[:2]))
    with pytest.raises(StudyError, match=r"page page: qtwebkit .* \[::1\]; leave the page out"):
        check_combination(replace(HISTORICAL, hosts=hosts))
