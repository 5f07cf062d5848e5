"""What answers a request that was not recorded as it is asked, and that the servers' files say the same."""

from __future__ import annotations

import gzip
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sites.match import (
    NAME,
    Callback,
    Closest,
    ClosestRule,
    asked_keys,
    callback_of,
    closest_rules,
    spellings,
)
from sites.served import ServedObject
from sites.servers.closestfiles import STEPS, beginnings

ADDRESSES = st.builds("/{}?{}".format, st.sampled_from("abc"), st.sampled_from(("1", "2", "12", "1&_=1")))
QUERIES = st.text("ab&=", max_size=12).map(lambda text: f"?{text}" if text else "")


def served(target: str, status: int = 200, location: str | None = None) -> ServedObject:
    headers = (("Location", location),) if location else ()
    return ServedObject("site.example", target, status, headers, lambda: b"")


def rules(*recorded: ServedObject) -> Closest:
    """Of the group of a path."""
    return next(each for each in closest_rules(recorded, "https") if "?" not in each.asked)


def answer(recorded: list[ServedObject], target: str, host: str = "site.example") -> str | None:
    """The target of what answers a request."""
    closest = {each.asked: each for each in closest_rules(recorded, "https")}
    group = next((closest[key] for key in asked_keys(host, target) if key in closest), None)
    return group.answer(host + target)[1] if group else None


def shared(one: str, other: str) -> int:
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


@pytest.mark.parametrize(
    ("recorded", "asked", "answered"),
    [
        (["/a?x=1&_=17", "/a?x=2&_=18"], "/a?x=2&_=99", "/a?x=2&_=18"),  # a cache-buster at the end
        (["/a?_=17&x=1", "/a?_=18&x=2"], "/a?_=17&x=2", "/a?_=18&x=2"),  # at the beginning
        (["/a?x=1&y=2", "/a?x=1&y=3"], "/a?y=3&x=1", "/a?x=1&y=3"),  # another order
        (
            ["/a?t=1700000000000&x=1", "/a?t=1700000001111&x=2"],
            "/a?t=1700000000999&x=2",
            "/a?t=1700000001111&x=2",
        ),
        (
            ["/a?id=1111111111&w=1", "/a?id=2222222222&w=1"],
            "/a?id=2222222222&w=1&_=5",
            "/a?id=2222222222&w=1",
        ),
        (["/a?x=1", "/a?x=1&callback=f"], "/a?callback=g&x=1", "/a?x=1&callback=f"),  # JSONP for JSONP
        (["/t/1700000000000.json", "/t/x.json"], "/t/1700000000999.json", "/t/1700000000000.json"),
        (["/a?x=1", "/a?x=2"], "/a", "/a?x=1"),  # nothing in common: the first recorded
        (["/a?longer=1", "/a?b"], "/a?c", "/a?b"),  # or the shortest
        (["/a"], "/a?_=17", "/a"),  # recorded without a query
        (["/a?v=1"], "/a", "/a?v=1"),  # asked for without one
        (["/a", "/a?x=1&y=2", "/a?x=1"], "/a?x=1&z=3", "/a?x=1&y=2"),  # the longest beginning, with its "&"
        (["/a?x=1&y=2", "/a?x=1"], "/a?x=1z", "/a?x=1"),
        (["/b"], "/a", None),
    ],
)
def test_what_asks_for_the_same_answers_else_the_longest_common_beginning(
    recorded: list[str], asked: str, answered: str | None
) -> None:
    assert answer(list(map(served, recorded)), asked) == answered


def test_a_good_answer_is_preferred() -> None:
    assert answer([served("/a?1", 404), served("/a?22")], "/a?3") == "/a?22"
    assert answer([served("/a?1", 404)], "/a?3") == "/a?1"


def test_a_redirect_within_its_path_is_nobodys_closest() -> None:
    to_itself = served("/a", 302, "?session=1")
    assert closest_rules([to_itself], "https") == ()
    assert answer([to_itself, served("/a?x")], "/a?session=1") == "/a?x"
    assert answer([served("/a", 302, "/b?session=1")], "/a?x") == "/a"
    assert answer([served("/a", 302, "https://other.example/a?x")], "/a?x") == "/a"
    assert closest_rules([served("/a", 302, "https://www.site.example/a")], "https") == ()


def walked(recorded: list[ServedObject], target: str) -> list[str | None]:
    """What answers this address on site.example, and then what it redirects to, up to a miss or the 25th."""
    by_target = {each.target: each for each in recorded}
    answers: list[str | None] = []
    while len(answers) < 25:
        found = target if target in by_target else answer(recorded, target)
        answers.append(found)
        location = by_target[found].location if found else None
        if location is None:
            break
        target = location
    return answers


def test_closest_answers_lead_no_browser_round_and_round() -> None:
    sync = [served("/sync?id=1", 302, "/set?back=1"), served("/set?back=1", 302, "/sync?id=1&ok=1")]
    assert walked(sync, "/sync?id=1") == ["/sync?id=1", "/set?back=1", None]
    assert answer(sync, "/set?back=2") == "/set?back=1"  # it leads to no answer of its own group
    landed = [*sync, served("/sync?done")]
    assert walked(landed, "/sync?id=1") == ["/sync?id=1", "/set?back=1", "/sync?done"]
    whole = [*sync, served("/sync?id=1&ok=1")]
    assert walked(whole, "/sync?id=1")[-1] == "/sync?id=1&ok=1"
    elsewhere = [served("/in?id=1", 302, "/out?x"), served("/out?y", 302, "/end"), served("/end")]
    assert walked(elsewhere, "/in?id=2") == ["/in?id=1", "/out?y", "/end"]
    over_two = [served("/a?1", 302, "/b?2"), served("/b?1", 302, "/a?2")]
    assert walked(over_two, "/a?1") == ["/a?1", None]
    same = [served("/a?x=1", 302, "/b"), served("/b", 302, "/a?x=1&_=5"), served("/a?y")]
    assert walked(same, "/a?x=1") == ["/a?x=1", "/b", "/a?y"]


def test_redirects_that_change_places_are_all_taken_out() -> None:
    """Without the first the next would answer, and lead round as well."""
    many = [served(f"/a?{number}", 302, "/b") for number in range(2000)]
    began = time.process_time()
    assert walked([*many, served("/b", 302, "/a")], "/b") == ["/b", None]
    assert time.process_time() - began < 5


@settings(deadline=None)
@given(st.dictionaries(ADDRESSES, ADDRESSES | ADDRESSES | st.none(), min_size=2, max_size=9), ADDRESSES)
def test_no_redirect_is_twice_the_closest_answer_on_the_way(sites: dict[str, str | None], asked: str) -> None:
    recorded = [served(target, 302 if leads else 200, leads) for target, leads in sites.items()]
    by_target = {each.target for each in recorded}
    closest, leads, target = [], dict(sites), asked
    for _ in range(25):
        found = target if target in by_target else answer(recorded, target)
        if found != target:
            closest.append(found)
        if found is None or leads[found] is None:
            break
        target = str(leads[found])
    assert len(closest) == len(set(closest))


def test_a_host_is_the_same_with_and_without_www() -> None:
    both = [ServedObject(host, "/a?x", 200, (), lambda: b"") for host in ("www.site.example", "site.example")]
    assert answer(both[:1], "/a?y") == "/a?x"
    (group,) = closest_rules(both, "https")
    assert [group.answer(f"{host}/a?y")[0] for host in ("www.site.example", "site.example")] == [
        "www.site.example", "site.example",
    ]  # fmt: skip


def test_hosts_and_paths_are_never_mixed() -> None:
    others = [ServedObject("cdn.example", "/a?x", 200, (), lambda: b""), served("/A?x"), served("/a")]
    assert [each.asked for each in closest_rules(others, "https")] == [
        "cdn.example/a", "site.example/A", "site.example/a",
    ]  # fmt: skip


@settings(deadline=None)
@given(st.lists(QUERIES, min_size=1, max_size=12, unique=True), QUERIES)
def test_the_rules_find_the_longest_common_beginning(queries: list[str], asked: str) -> None:
    closest = rules(*(served("/a" + query) for query in queries))
    answer = closest.answer(f"site.example/a{asked}")[1].removeprefix("/a")
    best = max(shared(query, asked) for query in queries)
    alike = [query for query in queries if shared(query, asked) == best]
    assert answer == min(alike, key=len)
    assert len(closest.rules) <= 2 * len(queries)
    assert closest.rules[-1].prefix == ""


@pytest.mark.thorough
@settings(deadline=None)
@given(st.lists(QUERIES, min_size=1, max_size=12, unique=True), QUERIES)
def test_the_search_by_halves_finds_the_same(queries: list[str], asked: str) -> None:
    closest = rules(*(served("/a" + query) for query in queries))
    files = dict(beginnings(closest))
    text, length = f"site.example/a{asked}", 0
    for step in STEPS:  # what closest.lua does
        if length + step <= len(text) and text[: length + step] in files:
            length += step
    assert files[text[:length]] == closest.answer(text)


def test_many_queries_of_one_path_need_few_files() -> None:
    each = (ClosestRule(f"h/a?id={n}", ("h", f"/a?id={n}")) for n in range(10, 100))
    closest = Closest("h/a", (*each, ClosestRule("", ("h", "/a"))))
    assert len(list(beginnings(closest))) <= 2 * len(closest.rules)


def test_what_was_recorded_in_another_spelling_is_found_under_the_one() -> None:
    recorded = [
        *(served(target) for target in ("/plain,", "/a%2cb", "/c%2Cd", "/c,d", "/e%2c", "/%65%2C?x=%7e")),
        *(served(target, 404) for target in ("/f%2cf", "/f%2Cg")),
        served("/f%2Cf"),
    ]
    found = {spelled.removeprefix("site.example"): key[1] for spelled, key in spellings(recorded).items()}
    assert found == {
        "/a,b": "/a%2cb",
        "/e,": "/e%2c",
        "/e,?x=~": "/%65%2C?x=%7e",
        "/f,f": "/f%2Cf",
        "/f,g": "/f%2Cg",
    }


def test_the_closest_query_of_a_path_in_another_spelling() -> None:
    assert answer([served("/a,b?x=1"), served("/c")], "/a%2Cb?x=2") == "/a,b?x=1"
    assert answer([served("/a%2Fb?x=1")], "/a/b?x=2") is None


SCRIPT = "application/javascript; charset=utf-8"


def script(query: str, body: bytes, mime: str = SCRIPT, status: int = 200, coding: str = "") -> ServedObject:
    headers = (("Content-Type", mime), *((("Content-Encoding", coding),) if coding else ()))
    return ServedObject("site.example", f"/x{query}", status, headers, lambda: body)


def calling(callback: Callback, name: bytes) -> bytes:
    """The body as a server sends it to a page that names another function."""
    return callback.marked.replace(callback.mark.encode(), name)


@pytest.mark.parametrize(
    ("query", "body", "renamed"),
    [
        ("?callback=f", b"f({})", b"new({})"),
        (
            "?callback=jsonp_70287273&u=1",
            b'jsonp_70287273({"a":"jsonp_70287273("});',
            b'new({"a":"jsonp_70287273("});',
        ),
        ("?fn=jQuery172_1700", b"/**/jQuery172_1700([1])", b"/**/new([1])"),  # a parameter of any name
        ("?cb=f", b"/**/ typeof f === 'function' && f({});", b"/**/ typeof new === 'function' && new({});"),
        ("?cb=f", b"// API callback\nf ( 1 );", b"// API callback\nnew ( 1 );"),
        ("?cb=f", b"try{window.f(1)}catch(e){}", b"try{window.new(1)}catch(e){}"),
        ("?cb=f", b"if (window.f) { f(1) }", b"if (window.new) { new(1) }"),
        ("?cb=f", b";f && f(1)", b";new && new(1)"),
        ("?cb=window.%24_I.__spool%5B0%5D.h", b"window.$_I.__spool[0].h({})", b"new({})"),
        ("?cb=angular.callbacks._0", b"\xef\xbb\xbfangular.callbacks._0([])", b"\xef\xbb\xbfnew([])"),
        ("?cb=f", b"f('\xe9\xff')", b"f('\xe9\xff')".replace(b"f(", b"new(", 1)),  # not UTF-8
    ],
)
def test_the_called_name_is_exchanged_where_the_body_begins(query: str, body: bytes, renamed: bytes) -> None:
    callback = callback_of(script(query, body))
    assert callback is not None
    assert calling(callback, b"new") == renamed


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("?callback=f", b'{"json": 1}'),
        ("?callback=f", b"var x = 1; f(x)"),  # a script like any other
        ("?callback=f", b"ff(1)"),
        ("?callback=f", b"f.g(1)"),
        ("?callback=alert(1)//", b"alert(1)//(1)"),
        ("?a%22%5D%3Dos.exit()%2C%5B%22b=f", b"f(1)"),  # a name that would end a string of the servers' rules
        ("?lang=en", b"function en(x) {}"),
        ("", b"f(1)"),
    ],
)
def test_other_scripts_are_left_alone(query: str, body: bytes) -> None:
    assert callback_of(script(query, body)) is None


def test_only_text_that_was_found_is_looked_at() -> None:
    assert callback_of(script("?callback=f", b"f(1)", "image/png")) is None
    assert callback_of(script("?callback=f", b"f(1)", status=404)) is None
    assert callback_of(script("?callback=f", b"f(1)", coding="gzip")) is None  # it is not


def test_a_compressed_body_is_decoded() -> None:
    callback = callback_of(script("?callback=f", gzip.compress(b"f(1)"), coding="gzip"))
    assert callback is not None
    assert (calling(callback, b"g"), callback.headers) == (b"g(1)", (("Content-Type", SCRIPT),))


@pytest.mark.parametrize(
    "name", ["alert(1)//", "", "a b", "1a", "a-b", "a;b", "a[b]", "a[0", "<script>", "a\nb", "é"]
)
def test_what_is_no_name_calls_nothing(name: str) -> None:
    assert re.match(NAME, name) is None


def test_a_long_beginning_without_a_call_takes_no_time() -> None:
    for body in (b"/*" * 100_000, b"(" * 100_000, b"f " * 100_000, b"/**/" * 100_000, b"typeof " * 100_000):
        assert callback_of(script("?callback=f", body)) is None
