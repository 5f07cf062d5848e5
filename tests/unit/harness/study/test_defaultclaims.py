"""What a study without claims is taken to ask."""

from __future__ import annotations

import random
from typing import Any

import pytest

from harness.model.condition import dimensions_of
from harness.model.kind import Kind
from harness.study.claim import Claim, pairs, settings
from harness.study.defaultclaims import Compared, baseline_among, default_claims, factors, single_filters
from harness.study.studyfile import parse_study, read_study, shipped_studies
from tests.unit.harness.study.kindstudies import USERS

STUDY = """
name = "mine"
pages = ["one", "two"]
protocols = ["h2", "http1", "http1-close"]
[[links]]
down_mbps = 10
rtt_ms = [20, 50]
"""


def conditions(text: str) -> list[dict[str, Any]]:
    return [dimensions_of(condition) for condition in parse_study(text, "mine.toml").conditions]


def names(claims: tuple[Claim, ...]) -> list[str]:
    return [claim.name for claim in claims]


def test_each_protocol_against_the_baseline() -> None:
    claims = default_claims(conditions(STUDY))
    assert claims == (
        Claim(
            name="http1-close against http1",
            subject={"protocol": "http1-close"},
            reference={"protocol": "http1"},
        ),
        Claim(name="h2 against http1", subject={"protocol": "h2"}, reference={"protocol": "http1"}),
    )
    assert not any(claim.expects for claim in claims)
    assert [len(settings(claim, conditions(STUDY))) for claim in claims] == [2, 2]  # the round-trip times


def test_what_runs_over_tls_is_set_against_tls_first_and_cleartext_too() -> None:
    claims = default_claims(conditions(STUDY.replace('"http1-close"', '"https1"')))
    assert names(claims) == ["https1 against http1", "h2 against https1", "h2 against http1"]


def test_protocols_in_the_plain_variant_and_variants_with_each_protocol() -> None:
    both = conditions(f'variants = ["core", "plain", "minify"]\n{STUDY}')
    claims = default_claims(both)
    assert names(claims) == [
        "http1-close against http1",
        "h2 against http1",
        "core against plain",
        "minify against plain",
    ]
    assert [dict(claim.where) for claim in claims] == [{"variant": ("plain",)}] * 2 + [{}] * 2
    assert [len(settings(claim, both)) for claim in claims] == [2, 2, 6, 6]


def test_compressions_against_none_or_recorded() -> None:
    three = conditions(f'compression = ["gzip-6", "recorded", "none"]\n{STUDY}')
    claims = default_claims(three)
    assert names(claims)[2:] == ["recorded against none", "gzip-6 against none"]
    assert dict(claims[0].where) == {"compression": ("none",)}
    two = conditions(f'compression = ["gzip-6", "recorded"]\n{STUDY}')
    assert names(default_claims(two))[2:] == ["gzip-6 against recorded"]
    coded = conditions(f'compression = ["gzip-6", "gzip-9"]\n{STUDY}')
    assert len(default_claims(coded)) == 2


def test_a_warm_cache_and_a_slower_processor_against_the_usual() -> None:
    measured = conditions('cache = ["cold", "warm"]\ncpu_slowdown = [1, 4]' + STUDY)
    claims = {claim.name: claim for claim in default_claims(measured)}
    assert {"cache warm against cold", "cpu_slowdown 4 against 1"} <= claims.keys()
    (first, *_) = settings(claims["cache warm against cold"], measured)
    assert first.dimensions["cpu_slowdown"] == 1
    alone = conditions('cache = "warm"' + STUDY)
    assert not any("cache" in name for name in names(default_claims(alone)))


def test_engines_share_a_claim_where_they_share_a_baseline() -> None:
    engines = 'engines = ["chromium", "qtwebkit"]\n' + STUDY
    shared = default_claims(conditions(engines.replace('"http1-close"', '"spdy"')))
    assert names(shared) == ["spdy against http1", "h2 against http1"]
    apart = conditions(engines.replace('"http1", "http1-close"', '"https1", "spdy", "spdy-plain"'))
    apart = [
        dimensions
        for dimensions in apart
        if (dimensions["engine"], dimensions["protocol"]) != ("qtwebkit", "https1")
    ]
    assert [(claim.name, dict(claim.where)) for claim in default_claims(apart)] == [
        ("spdy-plain against spdy in qtwebkit", {"engine": ("qtwebkit",)}),
        ("h2 against https1 in chromium", {"engine": ("chromium",)}),
    ]


def with_factor(changed: str, text: str = STUDY) -> list[dict[str, Any]]:
    return conditions(f'{text}[[factors]]\nname = "x"\n{changed}\n')


def asked(claim: Claim, of: list[dict[str, Any]], *dimensions: str) -> set[tuple[Any, ...]]:
    return {tuple(subject[name] for name in dimensions) for subject, _ in pairs(claim, of)}


@pytest.mark.parametrize(
    "changed",
    ['compression = "none"', 'variants = ["core"]', "cpu_slowdown = 4", "tcp = {initial_window = 3}"],
)
def test_a_claim_is_asked_of_the_study_as_it_is_and_with_each_factor(changed: str) -> None:
    measured = with_factor(changed)
    claims = default_claims(measured)
    assert names(claims) == ["http1-close against http1", "h2 against http1"]
    assert [dict(claim.where) for claim in claims] == [{}, {}]
    for claim in claims:
        assert asked(claim, measured, "factor") == {("usual",), ("x",)}


def test_a_factor_keeps_to_the_first_value_of_the_study_where_it_has_it() -> None:
    several = f'compression = ["recorded", "gzip-6", "gzip-9"]\n{STUDY}'
    window = "\ntcp = {initial_window = 3}"
    (first, *_) = default_claims(with_factor('compression = ["gzip-6", "recorded"]' + window, several))
    assert dict(first.where) == {"compression": ("recorded",)}
    lacking = with_factor('compression = ["gzip-6", "gzip-9"]' + window, several)
    (first, *_) = default_claims(lacking)
    assert dict(first.where) == {"compression": ("recorded", "gzip-6")}
    assert asked(first, lacking, "factor", "compression") == {
        ("usual", "recorded"),
        ("usual", "gzip-6"),  # which the factor is set against
        ("x", "gzip-6"),
    }


def test_a_factor_without_the_baseline_has_one_of_its_own() -> None:
    newer = with_factor('protocols = ["h2", "h3"]')
    claims = default_claims(newer)
    assert names(claims) == ["http1-close against http1", "h2 against http1", "h3 against h2"]
    assert asked(claims[-1], newer, "factor") == {("x",)}
    filters = with_factor('variants = ["core", "minify"]')
    assert asked(default_claims(filters)[-1], filters, "factor", "variant") == {("x", "minify")}
    coded = with_factor('compression = ["none", "gzip-6"]')
    assert names(default_claims(coded))[-1] == "gzip-6 against none"
    head, _, rest = USERS.replace('"old", ', "").partition("[servers.old]")
    servers = with_factor('server = ["nginx", "caddy"]', f"{head}[[links]]{rest.partition('[[links]]')[2]}")
    assert names(default_claims(servers, Kind.USERS))[-2:] == ["caddy against apache", "nginx against caddy"]


def test_single_filters_are_no_claims() -> None:
    claims = default_claims(conditions(f'variants = {{ factorial = "minify" }}\n{STUDY}'))
    assert names(claims)[2:] == ["minify against plain"]


def test_the_order_of_conditions_and_the_baseline_measured_again_change_nothing() -> None:
    measured = conditions(f'variants = ["core", "plain"]\ncompression = ["gzip-6", "none"]\n{STUDY}')
    mixed = [*measured, measured[0] | {"again": True, "protocol": "spdy"}]
    random.Random(1).shuffle(mixed)  # noqa: S311  # an order that can be made again, not a secret
    assert default_claims(mixed) == default_claims(measured)


def test_one_condition_alone_claims_nothing() -> None:
    assert default_claims(conditions(STUDY)[:1]) == ()
    assert default_claims([]) == ()


def test_what_old_records_lack_is_no_obstacle() -> None:
    old = [{"page": "one", "protocol": name, "engine": None, "variant": None} for name in ("http1", "h2")]
    assert names(default_claims(old)) == []
    named = [dimensions | {"engine": "chromium"} for dimensions in old]
    assert names(default_claims(named)) == ["h2 against http1"]


@pytest.mark.thorough
def test_each_study_that_ships_asks_something() -> None:
    for path in shipped_studies().values():
        study = read_study(path)
        assert study.claims or default_claims([dimensions_of(condition) for condition in study.conditions]), (
            study.name
        )


def test_other_kinds_compare_their_servers_too_in_their_own_metric() -> None:
    claims = default_claims(conditions(USERS), Kind.USERS)
    assert names(claims) == [
        "h2 against http1",
        "h3 against http1",
        "apache against old",
        "caddy against old",
    ]
    assert {claim.metric for claim in claims} == {"pages_per_s"}
    server = claims[2]
    assert {setting.dimensions["protocol"] for setting in settings(server, conditions(USERS))} == {
        "http1",
        "h2",
    }


@pytest.mark.parametrize(
    ("kinds", "baseline"),
    [
        ([("h2", "plain", "none"), ("http1", "core", "none"), ("http1", "plain", "none")], 2),
        ([("h3", "plain", "none"), ("h2", "plain", "none")], 1),  # the first in the order of the protocols
        ([("http1", "core", "none"), ("http1", "plain", "gzip-6")], 1),
        ([("http1", "plain", "gzip-6"), ("http1", "plain", "none")], 1),
        ([("http1", None, None), ("h2", None, None)], 0),  # an older run that does not tell
    ],
)
def test_the_baseline_is_http1_plain_without_compression_or_what_is_nearest(
    kinds: list[tuple[str, str, str]], baseline: int
) -> None:
    setting = [Compared(*kind) for kind in kinds]
    assert baseline_among(setting, lambda kind: kind) == setting[baseline]
    assert baseline_among(setting[::-1], lambda kind: kind) == setting[baseline]


def test_filters_are_told_apart_by_what_leaves_them_out() -> None:
    assert factors({"plain", "core", "minify", "core,-a"}) == {"core": ("a",)}
    assert factors({"plain", "core,-a", "a"}) == {}


def test_single_filters_are_those_of_a_whole_variant() -> None:
    assert single_filters({"plain", "core", "minify", "a", "core,-a"}) == {"a", "core,-a"}
    assert single_filters({"plain", "rewrite_css"}) == frozenset()
