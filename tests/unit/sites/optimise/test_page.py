"""What a page weighs, as one load asks for it."""

from __future__ import annotations

import time

from harness.model.variant import parse_variant
from sites.optimise.derive import optimise
from sites.optimise.page import Inventory, Page, Resource, Size
from sites.response import Response
from tests.unit.sites.optimise.pages import START, page

HTML = (
    '<link rel=stylesheet href=a.css><link rel=stylesheet href=b.css><script src="a.js"></script>'
    '<img src=one.png srcset="two.png 2x">'
)
HTML_TYPE = (("Content-Type", "text/html"),)
FILES = {
    "a.css": "a { b : c }",
    "b.css": "d { e : f }",
    "a.js": "load ( 'late.js' )",
    "late.js": "late ( )  // asked for by a.js alone",
    "late.js?v=1&t=5": "with ( query )",
    "one.png": "1",
    "two.png": "22",
    "never.png": "333",
}


def inventories(variant: str) -> tuple[Inventory, Inventory]:
    made, _ = optimise(page(HTML, FILES), parse_variant(variant).filters)
    return Inventory.of(page(HTML, FILES)), Inventory.of(made)


def size(*texts: str) -> Size:
    return Size(len(texts), sum(map(len, texts)))


def asked(*paths: str, start: str = START.replace("http:", "https:")) -> list[str]:
    return [start, *(start + path for path in paths)]


def test_a_load_is_weighed_by_what_it_asked_for_over_whatever_scheme() -> None:
    original, _ = inventories("passthrough")
    without_scripts = ["a.css", "b.css", "a.js", "one.png", "two.png"]
    assert original.size == size(HTML, *(FILES[each] for each in without_scripts))
    load = asked("a.css", "b.css", "a.js", "two.png", "late.js", "late.js#again")
    expected = size(HTML, *(FILES[each] for each in ("a.css", "b.css", "a.js", "two.png", "late.js")))
    assert original.size_of_load(original, load) == expected


def test_what_only_scripts_ask_for_is_weighed_as_the_filters_left_it() -> None:
    original, minified = inventories("rewrite_javascript")
    load = asked("a.css", "b.css", "a.js", "two.png", "late.js")
    assert minified.size_of_load(original, load) == size(
        HTML, FILES["a.css"], FILES["b.css"], "load('late.js')", "22", "late()"
    )


def test_files_that_were_joined_or_inlined_are_asked_for_no_more_and_new_ones_are() -> None:
    original, combined = inventories("combine_css")
    load = asked("a.css", "b.css", "a.js", "one.png", "late.js")
    assert combined.size_of_load(original, load).requests == 1 + len(load) - 2
    original, inlined = inventories("inline_css,inline_javascript")
    assert inlined.size_of_load(original, load).requests == len(load) - 3
    assert (
        inlined.size_of_load(original, load).bytes
        == len(FILES["late.js"]) + 1 + inlined.bytes["page.example/"]
    )


def test_a_file_that_was_moved_counts_where_the_load_asked_for_it() -> None:
    html = "<picture><source type=image/webp srcset=two.png><img src=one.png></picture><img src=never.png loading=lazy>"
    made, _ = optimise(page(html, FILES), ["shard"])
    original, moved = Inventory.of(page(html, FILES)), Inventory.of(made)
    assert len(moved.bytes) == len(original.bytes) + 2
    for load in (asked("two.png"), asked("one.png", "never.png")):
        assert moved.size_of_load(original, load).requests == len(load)


def test_a_header_of_many_links_takes_no_square_of_the_time() -> None:
    made = page("<p>")
    start = made.resources[START].with_header("Link", "<a>;x" * 20_000)
    started = time.process_time()
    assert made.with_resources([start]).preloaded == frozenset()
    assert time.process_time() - started < 5


def test_a_query_that_was_not_recorded_counts_as_what_answered_it() -> None:
    original, _ = inventories("passthrough")
    late = "page.example/late.js?v=1&t=5"
    assert original.asked(asked("late.js?v=1&t=99", "elsewhere.js")) == {late, "page.example/"}


def test_a_redirect_to_the_same_page_by_another_scheme_is_no_request() -> None:
    secure = START.replace("http:", "https:")
    recorded = [Response(START, 301, (("Location", secure),), b""), Response(secure, 200, HTML_TYPE, b"<p>")]
    inventory = Inventory.of(Page(START, {each.url: Resource.of(each) for each in recorded}))
    assert inventory.size == inventory.size_of_load(inventory, [secure]) == Size(1, 3)
