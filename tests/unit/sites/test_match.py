"""The closest recorded query: what it is, and that rules and Apache's files say the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sites.match import Closest, Rule, closest_rules
from sites.served import ServedObject
from sites.servers.apachefiles import STEPS, beginnings

QUERIES = st.text("ab&=", max_size=12).map(lambda text: f"?{text}" if text else "")


def served(target: str, status: int = 200, location: str | None = None) -> ServedObject:
    headers = (("Location", location),) if location else ()
    return ServedObject("site.example", target, status, headers, lambda: b"")


def rules(*recorded: ServedObject) -> Closest:
    (made,) = closest_rules(recorded, "https")
    return made


def shared(one: str, other: str) -> int:
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


@pytest.mark.parametrize(
    ("recorded", "asked", "answer"),
    [
        (["/a?x=1&_=17", "/a?x=2&_=18"], "?x=2&_=99", "/a?x=2&_=18"),  # a cache-buster at the end
        (["/a?x=1", "/a?x=2"], "", "/a?x=1"),  # nothing in common: the first recorded
        (["/a?longer=1", "/a?b"], "?c", "/a?b"),  # or the shortest
        (["/a"], "?_=17", "/a"),  # recorded without a query
        (["/a?v=1"], "", "/a?v=1"),  # asked for without one
        (["/a", "/a?x=1&y=2", "/a?x=1"], "?x=1&z=3", "/a?x=1&y=2"),  # the longest beginning, with its "&"
        (["/a?x=1&y=2", "/a?x=1"], "?x=1z", "/a?x=1"),
    ],
)
def test_the_longest_common_beginning_decides(recorded: list[str], asked: str, answer: str) -> None:
    assert rules(*map(served, recorded)).answer(asked) == answer


def test_a_good_answer_is_preferred() -> None:
    assert rules(served("/a?1", 404), served("/a?22")).answer("?3") == "/a?22"
    assert rules(served("/a?1", 404)).answer("?3") == "/a?1"


def test_a_redirect_within_its_path_is_nobodys_closest() -> None:
    to_itself = served("/a", 302, "?session=1")
    assert closest_rules([to_itself], "https") == ()
    assert rules(to_itself, served("/a?x")).answer("?session=1") == "/a?x"
    assert rules(served("/a", 302, "/b?session=1")).answer("?x") == "/a"
    assert rules(served("/a", 302, "https://other.example/a?x")).answer("?x") == "/a"


def test_hosts_and_paths_are_never_mixed() -> None:
    others = [ServedObject("cdn.example", "/a?x", 200, (), lambda: b""), served("/A?x"), served("/a")]
    assert [(each.host, each.path) for each in closest_rules(others, "https")] == [
        ("cdn.example", "/a"), ("site.example", "/A"), ("site.example", "/a"),
    ]  # fmt: skip


@settings(deadline=None)
@given(st.lists(QUERIES, min_size=1, max_size=12, unique=True), QUERIES)
def test_the_rules_find_the_longest_common_beginning(queries: list[str], asked: str) -> None:
    closest = rules(*(served("/a" + query) for query in queries))
    answer = closest.answer(asked).removeprefix("/a")
    best = max(shared(query, asked) for query in queries)
    alike = [query for query in queries if shared(query, asked) == best]
    assert answer == min(alike, key=len)
    assert len(closest.rules) <= 2 * len(queries)
    assert closest.rules[-1].prefix == ""


@settings(deadline=None)
@given(st.lists(QUERIES, min_size=1, max_size=12, unique=True), QUERIES)
def test_apaches_search_by_halves_finds_the_same(queries: list[str], asked: str) -> None:
    closest = rules(*(served("/a" + query) for query in queries))
    files = dict(beginnings(closest))
    found, left = "/a", asked
    for step in STEPS:  # what the rewrite rules of the template do
        if len(left) >= step and found + left[:step] in files:
            found, left = found + left[:step], left[step:]
    assert files[found] == closest.answer(asked)


def test_many_queries_of_one_path_need_few_files() -> None:
    each = (Rule(f"?id={n}", f"/a?id={n}") for n in range(10, 100))
    closest = Closest("h", "/a", (*each, Rule("", "/a")))
    assert len(list(beginnings(closest))) <= 2 * len(closest.rules)
