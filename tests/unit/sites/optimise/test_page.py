"""What a page weighs, as one load asks for it."""

from __future__ import annotations

import time

from harness.model.variant import parse_variant
from sites.optimise.derive import optimise
from sites.optimise.page import Inventory, Page, Resource, Size
from sites.response import Response
from tests.unit.sites.optimise.pages import START, html_of, page

HTML = (
    '<link rel=stylesheet href=a.css><link rel=stylesheet href=b.css><script src="a.js"></script>'
    '<img src=one.png srcset="two.png 2x">'
)
SECURE = START.replace("http:", "https:")
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


def asked(*paths: str, start: str = SECURE) -> list[str]:
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
    recorded = [Response(START, 301, (("Location", SECURE),), b""), Response(SECURE, 200, HTML_TYPE, b"<p>")]
    inventory = Inventory.of(Page(START, {each.url: Resource.of(each) for each in recorded}))
    assert inventory.size == inventory.size_of_load(inventory, [SECURE]) == Size(1, 3)


def test_a_link_leads_to_what_was_recorded_whichever_scheme_it_names() -> None:
    sheet, imported, frame = f"@import '{SECURE}b.css';", "c{d:e}", "<p>a  b"
    html = (
        f"<link rel=stylesheet href={SECURE}a.css><img src={SECURE}i.png><img src=i.png>"
        f"<link rel=preload href={SECURE}p.png as=image><iframe src={SECURE}f.html></iframe>"
    )
    before = page(html, {"a.css": sheet, "b.css": imported, "i.png": "i", "p.png": "p", "f.html": frame})
    assert before.documents == (START, f"{START}f.html")
    assert before.preloaded == {f"{START}p.png"}
    assert Inventory.of(before).size == size(html, sheet, imported, "i", "p", frame)
    filters = parse_variant("flatten_css_imports,inline_css,inline_images,collapse_whitespace").filters
    made, _ = optimise(before, filters)
    assert html_of(made) == html.replace(
        f"<link rel=stylesheet href={SECURE}a.css>", f"<style>{imported}\n</style>"
    )
    assert made.resources[f"{START}f.html"].body == b"<p>a b"
    names = ("", "i.png", "p.png", "f.html")
    assert Inventory.of(made).unscripted == tuple(f"page.example/{name}" for name in names)


def test_of_two_schemes_the_start_urls_counts_where_it_was_answered() -> None:
    made = page("<p>", {"a.css": "a{b:c}", f"{SECURE}a.css": "d{e:f}", f"{SECURE}b.css": "g{h:i}"})
    moved = Response(f"{START}b.css", 301, (("Location", f"{SECURE}b.css"),), b"")
    made = made.with_resources([Resource.of(moved)])
    for start in (START, SECURE):
        found = [made.get(start, name) for name in ("a.css", "b.css", "c.css")]
        assert [each and each.body for each in found] == [b"a{b:c}", b"g{h:i}", None]
