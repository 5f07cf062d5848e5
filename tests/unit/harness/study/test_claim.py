"""Claims: which conditions they set against each other, what they say, and which of them cannot be."""

from __future__ import annotations

import json
import math
from itertools import product
from typing import Any

import pytest

from harness.errors import StudyError
from harness.study.claim import Claim, DimensionsPair, pairs, selects, settings
from tests.facts import tells


def condition(**said: Any) -> dict[str, Any]:
    rtt_ms, down = said.get("rtt_ms", 20.0), said.get("down_mbps", 10.0)
    return {
        "page": "dummy-2012",
        "variant": "plain",
        "compression": "recorded",
        "protocol": "http1",
        "engine": "chromium",
        "driver": "playwright",
        "server": "caddy",
        "device": "desktop",
        "link": f"{down:g}mbps-{rtt_ms:g}ms",
        "rtt_ms": rtt_ms,
        "down_mbps": down,
        "up_mbps": down,
        "queue_down_bytes": int(1500 * rtt_ms * down),
        "link_loss_down_percent": 0.0,
        "origins": "single",
    } | said


def every(**values: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [condition(**dict(zip(values, each, strict=True))) for each in product(*values.values())]


def told(found: list[DimensionsPair], *dimensions: str) -> list[tuple[Any, ...]]:
    """The pairs by some of their dimensions."""
    return [tuple(side[each] for side in pair if side is not None for each in dimensions) for pair in found]


CLOSE = Claim(name="close", subject={"protocol": "http1-close"}, reference={"protocol": "http1"})


def test_a_selector_holds_a_value_or_several() -> None:
    assert selects({"protocol": "http1", "rtt_ms": (20, 50)}, condition())
    assert not selects({"protocol": "http1", "rtt_ms": [50]}, condition())
    assert selects({}, condition())
    assert not selects({"loss": 1}, condition())


def test_both_sides_agree_in_all_that_is_not_named() -> None:
    conditions = every(
        page=("a", "b"),
        variant=("plain", "core"),
        protocol=("http1-close", "http1", "h2"),
        rtt_ms=(20.0, 50.0),
    )
    found = pairs(CLOSE, conditions)
    assert len(found) == 8
    for subject, reference in found:
        assert reference is not None
        assert (subject["protocol"], reference["protocol"]) == ("http1-close", "http1")
        assert {key for key in subject if subject[key] != reference[key]} == {"protocol"}


def test_where_narrows_both_sides() -> None:
    conditions = every(page=("a", "b", "c"), protocol=("http1-close", "http1"), rtt_ms=(20.0, 50.0))
    claim = Claim(
        name="close",
        subject=CLOSE.subject,
        reference=CLOSE.reference,
        where={"page": ("a", "c"), "rtt_ms": (50,)},
    )
    assert told(pairs(claim, conditions), "page", "rtt_ms") == [("a", 50, "a", 50), ("c", 50, "c", 50)]


def test_a_server_may_follow_the_engine_and_the_protocol() -> None:
    chromium = every(protocol=("http1", "h2"))
    webkit = [
        condition(engine="qtwebkit", driver="pyqt", server="spdy-gateway", protocol=protocol)
        for protocol in ("http1", "spdy")
    ]
    engines = Claim(name="e", subject={"engine": "chromium"}, reference={"engine": "qtwebkit"})
    assert told(pairs(engines, [*chromium, *webkit]), "server", "protocol") == [
        ("caddy", "http1", "spdy-gateway", "http1")
    ]
    protocols = Claim(name="p", subject={"protocol": "spdy"}, reference={"protocol": "http1"})
    assert told(pairs(protocols, [*chromium, *webkit]), "engine") == [("qtwebkit", "qtwebkit")]
    by_server = [condition(server="nginx"), condition(protocol="h3", server="caddy")]
    assert (
        len(pairs(Claim(name="h3", subject={"protocol": "h3"}, reference={"protocol": "http1"}), by_server))
        == 1
    )


def test_what_the_others_do_not_determine_follows_nothing() -> None:
    conditions = every(protocol=("http1", "h2"), server=("caddy", "nginx"))
    claim = Claim(name="h2", subject={"protocol": "h2"}, reference={"protocol": "http1"})
    assert told(pairs(claim, conditions), "server") == [("caddy", "caddy"), ("nginx", "nginx")]
    queues = every(protocol=("http1", "h2"), queue_down_bytes=(64_000, 1_500_000))
    named = [each | {"link": f"link-{each['queue_down_bytes']}"} for each in queues]
    assert told(pairs(claim, named), "link") == [("link-64000",) * 2, ("link-1500000",) * 2]
    assert told(pairs(claim, named[1:3]), "link") == [("link-64000", "link-1500000")]


def test_the_slower_way_follows_the_faster_one_where_it_can() -> None:
    claim = Claim(name="fast", subject={"down_mbps": 10}, reference={"down_mbps": 1})
    symmetric = every(down_mbps=(1.0, 10.0))
    assert told(pairs(claim, symmetric), "up_mbps") == [(10, 1)]
    uneven = condition(up_mbps=1.0, link="10-1mbps-20ms")
    assert told(pairs(claim, [*symmetric, uneven]), "up_mbps") == [(1, 1)]


def test_names_and_queues_of_links_follow_their_numbers_and_nothing_else_does() -> None:
    claim = Claim(name="far", subject={"rtt_ms": 200}, reference={"rtt_ms": 20})
    conditions = every(rtt_ms=(20.0, 200.0), down_mbps=(1.0, 10.0))
    assert told(pairs(claim, conditions), "rtt_ms", "down_mbps") == [(200, 1, 20, 1), (200, 10, 20, 10)]
    lossy = condition(rtt_ms=200.0, link_loss_down_percent=1.0)
    assert pairs(claim, [condition(), lossy]) == []
    names = Claim(name="loss", subject={"link": "lossy"}, reference={"link": "clean"})
    assert (
        len(pairs(names, [condition(link="clean"), condition(link="lossy", link_loss_down_percent=1.0)])) == 1
    )


def test_the_baseline_measured_again_never_takes_part() -> None:
    again = condition(again=True)
    close = condition(protocol="http1-close", again=False)
    assert told(pairs(CLOSE, [again, close, condition(again=math.nan)]), "again")[0][0] is False
    assert pairs(CLOSE, [again, close]) == []
    assert pairs(Claim(name="budget", at_most=1), [again]) == []


def test_what_was_never_recorded_is_alike() -> None:
    """Records of older versions lack some dimensions: NaN in a frame, which is not equal to itself."""
    found = pairs(CLOSE, [condition(driver=math.nan), condition(driver=None, protocol="http1-close")])
    assert len(found) == 1


def test_a_budget_has_a_subject_alone_and_each_page_is_a_setting() -> None:
    budget = Claim(name="lcp", subject={"protocol": "h2"}, metric="lcp_ms", at_most=2500)
    conditions = every(page=("a", "b"), protocol=("http1", "h2"))
    assert [(pair[0]["protocol"], pair[1]) for pair in pairs(budget, conditions)] == [("h2", None)] * 2
    assert [each.dimensions["page"] for each in settings(budget, conditions)] == ["a", "b"]


def test_a_setting_holds_all_pages_of_one_place() -> None:
    conditions = every(page=("a", "b", "c"), variant=("plain", "core"), protocol=("http1-close", "http1"))
    found = settings(CLOSE, conditions)
    assert [each.dimensions["variant"] for each in found] == ["plain", "core"]
    for setting in found:
        assert [subject["page"] for subject, _ in setting.pairs] == ["a", "b", "c"]
        assert not {"page", "protocol"} & setting.dimensions.keys()


def test_what_is_claimed_in_words() -> None:
    claim = Claim(name="c", subject=CLOSE.subject, reference=CLOSE.reference, where={"page": ("dummy-2012",)})
    assert tells([claim.title], "http1-close against http1", "page is dummy-2012", "plt_ms")
    assert claim.sentence == claim.title
    assert not claim.expects
    budget = Claim(
        name="b", subject={"protocol": "h2"}, where={"rtt_ms": (20, 50)}, metric="lcp_ms", at_most=2500
    )
    assert budget.sentence.startswith("h2 where ")
    assert tells([budget.sentence], "rtt_ms is 20 or 50", "lcp_ms", "at most 2500 ms")
    assert budget.expects
    both = Claim(
        name="both",
        subject={"protocol": "h2", "rtt_ms": 20},
        reference={"protocol": "h2", "rtt_ms": 200},
        ratio_below=1,
        ratio_within=(0.1, 0.9),
    )
    expected = ("ratio below 1", "ratio within 0.1 and 0.9")
    assert tells([both.sentence], "rtt_ms 20 against rtt_ms 200", "plt_ms", *expected)
    most = Claim(
        name="m", subject={"protocol": "h2"}, reference={"protocol": "http1"}, ratio_within=(2, 1000)
    )
    assert tells([most.sentence], "h2 against http1", "plt_ms", "ratio at least 2")


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"ratio_below": 0.95},
        {"ratio_within": (0.97, 1.03), "where": {"rtt_ms": (20.0, 50.0)}},
    ],
)
def test_json_holds_a_whole_claim(said: dict[str, Any]) -> None:
    claim = Claim(name="x", subject={"protocol": "h2"}, reference={"protocol": "http1"}, **said)
    assert Claim.from_json(json.loads(json.dumps(claim.to_json()))) == claim


def test_json_holds_a_whole_budget() -> None:
    claim = Claim(name="x", metric="lcp_ms", at_most=2500.0)
    assert Claim.from_json(json.loads(json.dumps(claim.to_json()))) == claim


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"name": "x", "subject": 1, "reference": {}, "where": {}, "metric": "plt_ms"},
        {"name": "x", "subject": {}, "reference": {}, "where": [], "metric": "plt_ms"},
        CLOSE.to_json() | {"ratio_below": "0.9"},
        CLOSE.to_json() | {"ratio_within": [1]},
        CLOSE.to_json() | {"at_most": 1},
        CLOSE.to_json() | {"ratio_below": [0.9, 1.0]},
        CLOSE.to_json() | {"ratio_within": 0.9},
        CLOSE.to_json() | {"ratio_below": True},
        CLOSE.to_json() | {"ratio_within": [None, 1]},
        CLOSE.to_json() | {"name": ""},
        CLOSE.to_json() | {"metric": "pltms"},
        CLOSE.to_json() | {"metric": "protocols"},
        CLOSE.to_json() | {"metric": "cell"},
        CLOSE.to_json() | {"subject": {"colour": "red"}},
        CLOSE.to_json() | {"where": {"page": "agency"}},
        CLOSE.to_json() | {"where": {"colour": ["red"]}},
    ],
)
def test_what_is_no_claim_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(StudyError):
        Claim.from_json(data)


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ({"subject": {"protocol": "http1"}}, "both sides are http1"),
        ({"at_most": 100}, "at_most is a budget"),
        ({"reference": {}, "at_most": 100, "ratio_below": 1}, "at_most goes with no ratio"),
        ({"reference": {}, "at_most": 0}, "at_most is 0; it must be above 0"),
        ({"reference": {}}, "no reference"),
        ({"ratio_below": -1}, "ratio_below is -1"),
        ({"ratio_within": (1.03, 0.97)}, "ratio_within is 1.03 to 0.97"),
        ({"ratio_within": (0.97, 0.97)}, "ratio_within is 0.97 to 0.97"),
        ({"ratio_within": (0.97, 1.03), "ratio_below": 0.9}, "cannot both be"),
    ],
)
def test_a_claim_that_contradicts_itself_is_refused(said: dict[str, Any], says: str) -> None:
    whole: dict[str, Any] = {"subject": {"protocol": "h2"}, "reference": {"protocol": "http1"}} | said
    with pytest.raises(StudyError, match=says):
        Claim(name="x", **whole)
