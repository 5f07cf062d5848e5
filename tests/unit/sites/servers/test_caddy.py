"""Caddy's configuration and log: the tree of routes must decide as the rules of `sites.match` do."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import TestbedFailed
from harness.model.protocol import TODAY, Headers, Protocol
from sites.asked import in_one_spelling
from sites.match import asked_keys, callbacks_of, closest_rules, spellings
from sites.materialise import Site
from sites.served import ServedObject
from sites.servers.caddy import configuration, parse_line
from sites.servers.caddyroutes import (
    AS_SENT,
    ASKED,
    EXACT,
    LEAF_ROUTES,
    PATH,
    SPELLED,
    TARGET,
    WHOLE,
    named_routes,
    routes,
)
from sites.servers.server import Match
from tests.unit.sites.servers.setups import setup_of

TEXT = (("Content-Type", "text/plain"),)


def served(target: str, status: int = 200, headers: Headers = TEXT) -> ServedObject:
    return ServedObject("site.example", target, status, headers, lambda: b"body")


def site(objects: Sequence[ServedObject], scheme: str = "https") -> Site:
    return Site(
        start_url=f"{scheme}://site.example/",
        scheme=scheme,
        hosts=("site.example",),
        mentioned_hosts=("cdn.example",),
        ports=(8443,),
        objects=tuple(objects),
        closest=closest_rules(objects, scheme),
        notes=(),
    )


def found(made: Site, asked: str) -> tuple[Match, int | None] | None:
    """What Caddy does with a request, once its variables are set (that it sets them so, test_servers.py shows)."""
    host, slash, target = asked.partition("/")
    by_target, by_path = asked_keys(host, slash + target)
    variables = {
        ASKED: asked,
        SPELLED: host + in_one_spelling(slash + target),
        TARGET: by_target,
        PATH: by_path,
    }
    return _found(routes(made, "/x"), variables, named_routes(made, "/x"))


def _found(
    made: Sequence[Any], variables: dict[str, str], named: Mapping[str, Any]
) -> tuple[Match, int | None] | None:
    """The first terminal route that fits, subroutes first."""
    for route in made:
        if not all(_fits(matcher, variables) for matcher in route.get("match", [])):
            continue
        handlers = {handler["handler"]: handler for handler in route["handle"]}
        value = handlers.get("vars", {}).get(ASKED)
        if value is not None:
            told = {f"{{http.vars.{SPELLED}}}": variables[SPELLED], AS_SENT: variables[ASKED]}
            exact = told.get(value, value.replace(r"\{", "{").replace(r"\}", "}"))
        below = None
        if "subroute" in handlers:
            below = _found(handlers["subroute"]["routes"], variables, named)
        elif handlers.get("invoke", {}).get("name") == EXACT:
            inner = variables if value is None else {**variables, ASKED: exact}
            below = _found(named[handlers["invoke"]["name"]]["handle"][0]["routes"], inner, named)
        if below:
            return below
        if "subroute" not in handlers and "log_append" in handlers:
            number = int(handlers["invoke"]["name"]) if "invoke" in handlers else None
            return Match(handlers["log_append"]["value"]), number
    return None


def _fits(matcher: dict[str, Any], variables: dict[str, str]) -> bool:
    if "vars" in matcher:
        ((name, values),) = matcher["vars"].items()
        return variables[name] in [value.replace(r"\{", "{").replace(r"\}", "}") for value in values]
    if "vars_regexp" in matcher:
        ((name, wanted),) = matcher["vars_regexp"].items()
        return name in variables and re.match(wanted["pattern"], variables[name]) is not None
    return False  # methods: all of these are GET


targets = st.builds(
    lambda path, query: f"/{path}{query}",
    st.lists(st.sampled_from(["a", "b", "{", ",", "%2C", "%2c", "%61"]), max_size=3).map("".join),
    st.one_of(st.just(""), st.text("x=&}._", max_size=6).map(lambda text: f"?{text}")),
)


@given(recorded=st.sets(targets, min_size=1, max_size=40), asked=targets)
def test_the_tree_answers_as_the_rules_of_the_replay_say(recorded: set[str], asked: str) -> None:
    objects = [served(target) for target in sorted(recorded)]
    made = site(objects)
    closest = {each.asked: each for each in made.closest}
    group = next((closest[key] for key in asked_keys("site.example", asked) if key in closest), None)
    targets = [each.target for each in objects]
    plain = in_one_spelling(asked)
    spelled = plain if plain in targets else spellings(objects).get(f"site.example{plain}", ("", ""))[1]
    if asked in targets:
        expected: tuple[Match, int | None] = Match.EXACT, targets.index(asked)
    elif spelled:
        expected = Match.EXACT, targets.index(spelled)
    elif group:
        expected = Match.CLOSEST, targets.index(group.answer(f"site.example{asked}")[1])
    else:
        expected = Match.MISS, None
    assert found(made, f"site.example{asked}") == expected


def test_addresses_of_which_each_begins_the_next_are_found_in_few_levels() -> None:
    asked = [f"/x?{'a' * length}" for length in range(1, 2001)]
    many = replace(site([]), objects=tuple(map(served, asked)))
    assert json.dumps([routes(many, "/x"), named_routes(many, "/x")]).count(ASKED) > len(asked)
    for length in (1, 50, 51, 2000):
        assert found(many, f"site.example/x?{'a' * length}") == (Match.EXACT, length - 1)
    made = site([served(target) for target in asked[:600]])
    for more, length in (("b", 2), ("b", 300), ("a", 600)):
        assert found(made, f"site.example/x?{'a' * length}{more}") == (Match.CLOSEST, length - 1)


@pytest.mark.thorough
def test_finding_an_answer_takes_few_comparisons_in_a_large_archive() -> None:
    def widest(made: Sequence[Any]) -> int:
        below = [
            widest(handler["routes"])
            for route in made
            for handler in route["handle"]
            if handler["handler"] == "subroute"
        ]
        return len(made) + max(below, default=0)

    small, large = (
        widest([named_routes(made, "/x")[EXACT], *routes(made, "/x")])
        for count in (50, 5000)
        for made in [site([served(f"/img/{number:05d}.png") for number in range(count)])]
    )
    assert large < small + 5 * LEAF_ROUTES


def test_each_response_is_set_up_once_and_what_all_share_too() -> None:
    """Caddy takes time and memory for each handler: with two sets of its own a response, 10,000 took it a minute."""
    headers = (*TEXT, ("ETag", '"e"'))
    few, many = (
        site([served(f"/{number}.png", headers=headers) for number in range(count)]) for count in (100, 200)
    )
    handlers = [
        str(routes(each, "/x")).count("'handler'") + str(named_routes(each, "/x")).count("'handler'")
        for each in (few, many)
    ]
    assert handlers[1] - handlers[0] < 100 * 10
    assert [str(named_routes(each, "/x")).count("file_server") for each in (few, many)] == [1, 1]


def test_only_of_what_was_recorded_whole_a_part_is_sent() -> None:
    made = named_routes(site([served("/", 206), served("/gone", 404), served("/whole")]), "/x")
    removed = [
        [handler["request"]["delete"] for handler in made[number]["handle"] if "request" in handler]
        for number in ("0", "1", "2")
    ]
    assert removed == [[["Range", "If-*"]], [["Range", "If-*"]], []]


def test_of_a_script_that_calls_what_is_asked_for_no_part_is_sent() -> None:
    """The file server would cut the template of it."""
    script = replace(
        served("/jsonp?f=old", headers=(("Content-Type", "text/javascript"),)), load=lambda: b"old(1)"
    )
    made = replace(site([script]), callbacks=callbacks_of([script]))
    assert json.dumps(routes(made, "/x")).count(json.dumps(WHOLE)[1:-1]) == 1


def test_recorded_headers_replace_all_that_caddy_adds() -> None:
    many = (*TEXT, ("Link", "<a>"), ("Link", "<b>"), ("Vary", "A"), ("Vary", "B"), ("NEL", '{"a":1}'))
    response_route = named_routes(site([served("/", 404, many)]), "/x")["0"]
    handlers = {handler["handler"]: handler for handler in response_route["handle"]}
    response = handlers["headers"]["response"]
    assert response["set"] == {"content-type": ["text/plain"], "vary": ["A, B"], "nel": [r'\{"a":1\}']}
    assert response["add"] == {"link": ["<a>", "<b>"]}
    assert response["delete"] == ["Accept-Ranges"]
    assert handlers["file_server"]["status_code"] == 404


def conf(*protocols: Protocol, tls: str = "1.3") -> dict[str, Any]:
    plain, secure = site([served("/")], "http"), site([served("/")])
    made: dict[str, Any] = json.loads(configuration(setup_of(protocols, plain, secure, tls=tls)))
    return made


def test_each_protocol_has_an_address_of_its_own() -> None:
    servers = conf(*TODAY)["apps"]["http"]["servers"]
    plain, secure = servers["http"], servers["https"]
    assert plain["listen"] == ["tcp/10.0.0.1:80", "tcp/10.0.0.1:8443", "tcp/10.0.0.2:80", "tcp/10.0.0.2:8443"]
    assert secure["listen"][-2:] == ["udp/10.0.0.6:443", "udp/10.0.0.6:8443"]
    assert secure["listen_protocols"][-4:] == [["h1", "h2"], ["h1", "h2"], ["h3"], ["h3"]]
    assert [policy["alpn"] for policy in secure["tls_connection_policies"]] == [
        ["http/1.1"],
        ["http/1.1"],
        ["h2"],
        ["h3"],
    ]
    assert "10.0.0.1" in str(plain["routes"][1]["match"])  # closes connections
    assert "10.0.0.3" in str(secure["routes"][1]["match"])


def test_tls_is_one_version_and_never_resumed() -> None:
    made = conf(Protocol.HTTPS1, tls="1.2")["apps"]
    (policy,) = made["http"]["servers"]["https"]["tls_connection_policies"]
    assert (policy["protocol_min"], policy["protocol_max"]) == ("tls1.2", "tls1.2")
    assert made["tls"]["session_tickets"] == {"disabled": True}
    assert made["http"]["servers"]["https"]["allow_0rtt"] is False


LINE: dict[str, Any] = {
    "ts": 2_000_000_000,
    "request": {
        "remote_ip": "10.64.0.1",
        "remote_port": "5000",
        "proto": "HTTP/3.0",
        "method": "GET",
        "host": "Site.example",
        "uri": "/a?b",
        "tls": {"resumed": False, "version": 772, "proto": "h3"},
    },
    "duration": 500_000,
    "size": 12,
    "status": 200,
    "server_address": "10.0.0.6",
    "server_port": "443",
    "upgrade": None,
    "answer": "closest",
}


def test_a_line_of_the_log() -> None:
    request = parse_line(json.dumps(LINE))
    assert (request.protocol, request.tls, request.resumed, request.match) == (
        "h3",
        "TLSv1.3",
        False,
        Match.CLOSEST,
    )
    assert (request.started_us, request.duration_us) == (1_999_500, 500)
    assert request.url == "https://site.example/a?b"
    assert request.connection == ("10.64.0.1", 5000, "10.0.0.6", 443)


@pytest.mark.parametrize("line", ["", "{}", "[]", json.dumps({**LINE, "answer": "odd"})])
def test_a_strange_line_is_refused(line: str) -> None:
    with pytest.raises(TestbedFailed, match="strange line"):
        parse_line(line)
