"""Studies of crowds and of request rates: what a kind brings to the study file, and what it refuses."""

from __future__ import annotations

import re

import pytest

from harness.errors import StudyError
from harness.model.engine import Engine
from harness.model.kind import Kind, Requests, Users
from harness.model.link import NO_LINK
from harness.study.studyfile import parse_study
from tests.unit.harness.study.kindstudies import GOOD, REQUESTS, USERS


def kind_refusal(text: str, old: str, new: str) -> str:
    """The message for a study with one thing replaced."""
    assert old in text
    with pytest.raises(StudyError) as caught:
        parse_study(text.replace(old, new), "mine.toml")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_study_of_crowds_is_the_product_with_its_servers() -> None:
    study = parse_study(USERS, "mine.toml")
    assert study.kind is Kind.USERS
    cells = {(each.server, each.protocol.value) for each in study.conditions}
    assert cells == {
        *((server, protocol) for server in ("old", "apache") for protocol in ("http1", "h2")),
        *(("caddy", protocol) for protocol in ("http1", "h2", "h3")),  # Apache speaks no HTTP/3
    }
    assert {each.workload for each in study.conditions} == {Users(start=1, to=1000, over_s=1200)}
    assert {each.engine for each in study.conditions} == {Engine.K6}
    assert len({each.served for each in study.conditions}) == len(study.conditions)


CROWD_OF_2012 = """
name = "mine"
kind = "users"
generator = ["k6", "spdy-client"]
server = "spdy-gateway"
pages = ["one"]
protocols = ["http1", "https1", "spdy"]
trials = 3
users = {from = 1, to = 10, over_s = 20}
[[links]]
per_client = true
down_mbps = 10
rtt_ms = 50
"""


def test_a_crowd_on_the_gateway_is_made_by_the_generators_that_speak_its_protocols() -> None:
    study = parse_study(CROWD_OF_2012, "mine.toml")
    assert {(each.engine.value, each.protocol.value) for each in study.conditions} == {
        *(("k6", protocol) for protocol in ("http1", "https1")),
        *(("spdy-client", protocol) for protocol in ("http1", "https1", "spdy")),
    }
    assert {engine.value: replay.tls for engine, replay in study.replays.items()} == {
        "k6": "1.3",
        "spdy-client": "1.2",
    }


def test_a_study_of_request_rates_has_depths_where_protocols_take_them() -> None:
    study = parse_study(REQUESTS, "mine.toml")
    loops = {(each.engine.value, each.protocol.value, each.workload) for each in study.conditions}
    assert {workload for _, protocol, workload in loops if protocol == "h2"} == {
        Requests(connections=16, seconds=10),
        Requests(connections=64, seconds=10),
    }
    assert {engine for engine, protocol, _ in loops if protocol == "h2"} == {"h2load"}
    assert len(study.conditions) == len(loops) == 2 * 2 * 2 * 2 + 2
    assert [setup.server.settings is None for setup in study.setups] == [False, False]


@pytest.mark.parametrize(
    ("text", "old", "new", "said"),
    [
        (
            GOOD,
            "trials = 3",
            'trials = 3\nkind = "crowd"',
            "kind: unknown 'crowd'; known: load, users, requests",
        ),
        (
            GOOD,
            "trials = 3",
            "trials = 3\nusers = {from = 1}",
            'users goes with kind = "users", and this study\'s',
        ),
        (
            GOOD,
            "trials = 3",
            'trials = 3\ngenerator = "k6"',
            'generator goes with kind = "users" or "requests"',
        ),
        (GOOD, "trials = 3", 'trials = 3\nengine = "k6"', "engine: unknown 'k6'"),
        (USERS, "trials = 3", 'trials = 3\nengine = "chromium"', 'engine goes with kind = "load"'),
        (USERS, "trials = 3", 'trials = 3\nkeep = ["netlog"]', 'keep goes with kind = "load" or "requests"'),
        (
            USERS,
            "trials = 3",
            'trials = 3\ngenerator = "wrk"',
            "generator: unknown 'wrk'; known: k6, spdy-client",
        ),
        (USERS, "trials = 3", 'trials = 3\ngenerator = "chromium"', "generator: unknown 'chromium'"),
        (
            USERS,
            '"h3"]',
            '"h3", "spdy"]',
            "spdy; generators that do: spdy-client",
        ),
        (USERS, "to = 1000", "to = 0", "to is 0"),
        (USERS, "from = 1", "from = 1001", "the ramp .*from 1001 to 1000"),
        (USERS, ', "caddy"', "", "server: none .*speaks h3"),
        (USERS, '["http1", "h2", "h3"]', '["h3"]', "server: old speaks none .*by k6"),
        (USERS, 'mpm = "worker"', 'mpm = "prefork"', "ThreadsPerChild"),
        (REQUESTS, "depth = [1, 8]", "depth = 8", "depth: h2 has no pipelining"),
        (REQUESTS, "rtt_ms = 1", "rtt_ms = 1\nper_client = true", "per_client: .*one client"),
        (REQUESTS, '"h2"]', '"h3"]', "generator: wrk does not speak h3"),
        (REQUESTS, "[1, 8]", "[1, 8]\nthink_s = 5", r"unknown key 'think_s' in \[requests\]"),
        (REQUESTS, "[requests]", "[users]", 'users goes with kind = "users"'),
    ],
)
def test_what_cannot_be_measured_is_refused_by_name(text: str, old: str, new: str, said: str) -> None:
    message = kind_refusal(text, old, new)
    assert re.search(said, message), message


def without_a_link(text: str) -> str:
    return 'links = ["none"]\n' + text.partition("[[links]]")[0]


@pytest.mark.parametrize("text", [GOOD, USERS])
def test_pages_are_loaded_over_a_link(text: str) -> None:
    with pytest.raises(StudyError, match="links: none is no link"):
        parse_study(without_a_link(text), "mine.toml")


def test_a_closed_loop_may_do_without_one() -> None:
    study = parse_study(without_a_link(REQUESTS), "mine.toml")
    assert {each.link for each in study.conditions} == {NO_LINK}


def test_a_single_server_must_speak_every_protocol() -> None:
    text = USERS.replace('["old", "apache", "caddy"]', '"old"')
    with pytest.raises(StudyError, match="server: apache does not speak h3"):
        parse_study(text, "mine.toml")
    prefork = text.replace(', "h3"', "").replace('"worker"', '"prefork"').replace("ThreadsPerChild = 25", "")
    with pytest.raises(StudyError, match="prefork MPM speaks no HTTP/2"):
        parse_study(prefork, "mine.toml")
    assert {each.protocol.value for each in parse_study(prefork.replace(', "h2"', ""), "x").conditions} == {
        "http1"
    }


def test_claims_of_a_kind_are_about_its_metrics() -> None:
    claim = """
[[claims]]
subject = {server = "apache"}
reference = {server = "old"}
"""
    (made,) = parse_study(USERS + claim, "mine.toml").claims
    assert made.metric == "pages_per_s"
    with pytest.raises(StudyError, match="metric: unknown 'plt_ms'"):
        parse_study(USERS + claim + 'metric = "plt_ms"', "mine.toml")
    deeper = "[[claims]]\nsubject = {depth = 8}\nreference = {depth = 1}\nwhere = {connections = 64}\n"
    (made,) = parse_study(REQUESTS + deeper, "mine.toml").claims
    assert (made.metric, made.where) == ("requests_per_s", {"connections": (64,)})
    with pytest.raises(StudyError, match=r"claim 1: unknown key 'connections' in \[where\]"):
        parse_study(GOOD + deeper, "mine.toml")


CROWD = """
kind = "users"
name = "crowd"
pages = ["one"]
protocols = ["h2"]
server = ["apache", "caddy"]
compression = ["none", "brotli-5-dynamic", "zstd-3-dynamic"]
users = {from = 1, to = 10, over_s = 30}
[[links]]
per_client = true
down_mbps = 5
rtt_ms = 10
"""


def test_a_compression_is_measured_with_the_servers_that_can() -> None:
    study = parse_study(CROWD, "crowd.toml")
    assert [(each.server, str(each.compression)) for each in study.conditions] == [
        ("apache", "none"),
        ("caddy", "none"),
        ("apache", "brotli-5-dynamic"),
        ("caddy", "zstd-3-dynamic"),
    ]
    assert {setup.server.name: [str(each) for each in setup.compressions] for setup in study.setups} == {
        "apache": ["none", "brotli-5-dynamic"],
        "caddy": ["none", "zstd-3-dynamic"],
    }


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('["apache", "caddy"]', '["nginx", "caddy"]', "none of the servers compresses by brotli-5-dynamic"),
        (
            '"none", ',
            "",
            "nginx speaks none of the protocols by k6",
        ),
    ],
)
def test_a_server_or_a_compression_with_nothing_to_do_is_named(old: str, new: str, told: str) -> None:
    text = CROWD.replace('"caddy"]', '"caddy", "nginx"]') if old.startswith('"none') else CROWD
    with pytest.raises(StudyError, match=told):
        parse_study(text.replace(old, new), "crowd.toml")
