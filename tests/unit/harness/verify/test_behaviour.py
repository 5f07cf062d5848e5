"""What a load asked for, got and wrote to its console is held against other loads, without what chance puts there."""

from __future__ import annotations

import pytest

from harness.engines.browserlog import BrowserLog, Exchange, Failure, Request
from harness.model.variant import parse_variant
from harness.verify.behaviour import AS_RECORDED, Behaviour, Differences, Terms, differences
from sites.optimise.derive import optimise
from sites.servers.server import Match
from tests.facts import tells
from tests.unit.harness.probes.goodload import START, evidence, request, served
from tests.unit.sites.optimise.pages import page, photo

HTML = (
    "<html><head><link rel=stylesheet href=a.css><link rel=stylesheet href=b.css></head><body>"
    "<script src=a.js></script><script src=b.js></script><img src=small.png>"
    "<img src=1.png><img src=2.png><img src=3.png><img src=4.png></body></html>"
)
FILES: dict[str, str | bytes] = {
    "a.css": "@import 'c.css'; p { background: url(back.png) }",
    "b.css": "b { color: red }",
    "c.css": "i { color: red }",
    "a.js": "one()",
    "b.js": "fetch('c.js')",
    "c.js": "three()",
    **{f"{name}.png": photo("PNG", (9, 9)) for name in ("small", "back", "1", "2", "3", "4")},
}


def terms(variant: str) -> Terms:
    original = page(HTML, FILES)
    made, report = optimise(original, parse_variant(variant).filters)
    return Terms.of(report, original, made)


def names(*paths: str) -> frozenset[str]:
    return frozenset(f"page.example/{path}" for path in paths)


def test_what_is_joined_or_inlined_need_not_be_asked_for() -> None:
    assert terms("flatten_css_imports").joined == names("c.css")
    combined = terms("flatten_css_imports,combine_css,combine_javascript")
    assert combined.joined == names("a.css", "b.css", "c.css", "a.js", "b.js")
    assert {url.rpartition(".")[2] for url in combined.added} == {"css", "js"}
    assert combined.unasked == combined.joined
    assert terms("inline_images").joined == names(*(f"{name}.png" for name in ("small", "1", "2", "3", "4")))


def test_what_no_filter_joins_stays() -> None:
    """A picture whose address a moved style sheet would lose, or what a script asks for, is no part of anything."""
    assert not names("back.png", "c.js") & terms("core").unasked
    assert terms("minify") == AS_RECORDED


def test_what_is_inlined_may_still_be_named_by_a_rule_that_applies_to_nothing() -> None:
    html = "<link rel=stylesheet href=a.css><img src=back.png>"
    original = page(html, {"a.css": ".none { background: url(back.png) }", "back.png": FILES["back.png"]})
    made, report = optimise(original, ["inline_images"])
    assert Terms.of(report, original, made).joined == names("back.png")
    made, report = optimise(original, ["combine_css"])
    assert Terms.of(report, original, made).joined == frozenset()


def test_a_shard_is_the_host_it_stands_for() -> None:
    sharded = terms("combine_javascript,shard")
    (combined,) = sharded.added
    assert set(sharded.renamed.values()) == names("small.png", "1.png", "2.png", "3.png", "4.png") | {
        combined
    }
    assert all(url.startswith("shard") for url in sharded.renamed)
    assert sharded.original("http://shard1.page.example/1.png?x=2") == "shard1.page.example/1.png?x=2"
    (shard,) = (url for url, old in sharded.renamed.items() if old == "page.example/1.png")
    assert sharded.original(f"https://{shard}#top") == "page.example/1.png"


def test_images_that_a_filter_left_for_later_wait() -> None:
    assert terms("lazyload_images").waiting == names("3.png", "4.png")
    assert terms("lazyload_images,shard").waiting == names("3.png", "4.png")
    assert terms("minify").waiting == frozenset()


NOT_LOADED = "{} - Failed to load resource: the server responded with a status of 404 ()"


def load(
    *asked: str | Request, errors: tuple[str, ...] = (), at_rest: bool = True, terms: Terms = AS_RECORDED
) -> Behaviour:
    """A load of the page, which asks for this; paths are answered, one that ends with `!` is not archived."""
    requests = [request(START)]
    for one in asked:
        gone = isinstance(one, str) and one.endswith("!")
        made = request(START + one.rstrip("!")) if isinstance(one, str) else one
        requests.append(request(made.url, status=404) if gone else made)
    seen = evidence(
        browser_log=BrowserLog(tuple(requests), ()), served=(), console_errors=errors, at_rest=at_rest
    )
    return Behaviour.of(seen, terms)


def of(original: Behaviour, made: Behaviour, terms: Terms = AS_RECORDED) -> Differences:
    return differences([original], [made], terms)


def test_what_is_no_longer_asked_for_and_what_is_new_differs() -> None:
    differences = of(load("a.js", "b.js"), load("a.js", "c.js", "d.js!"))
    assert differences == Differences(
        lost=(f"{START}b.js",), new=(f"{START}c.js",), failing=(f"{START}d.js (404)",)
    )
    unanswered, lost, new = str(differences).split("; ")
    assert all(fact in unanswered for fact in ("no answer", f"{START}d.js (404)"))
    assert "no longer" in lost
    assert [text.endswith(url) for text, url in ((lost, f"{START}b.js"), (new, f"{START}c.js"))] == [
        True,
        True,
    ]
    assert not of(load("a.js"), load("a.js"))


def test_what_was_answered_and_is_no_more_differs() -> None:
    assert of(load("a.js"), load("a.js!")).failing == (f"{START}a.js (404)",)
    assert not of(load("a.js!"), load("a.js!"))
    assert not of(load("a.js!"), load("a.js"))
    told = Exchange(error="net::ERR_BLOCKED_BY_RESPONSE")
    refused = request(f"{START}a.js", failure=Failure.REFUSED, exchange=told)
    assert of(load("a.js"), load(refused)).failing == (f"{START}a.js (net::ERR_BLOCKED_BY_RESPONSE)",)
    assert not of(load("a.js"), load(request(f"{START}a.js", failure=Failure.ABORTED, status=None)))


def test_an_answer_of_another_kind_is_none() -> None:
    asked = request(f"{START}a.js?v=2", accepts="script", mime="text/html")
    closest = (served(asked.url, match=Match.CLOSEST),)
    log = BrowserLog((request(START), asked), ())
    made = Behaviour.of(evidence(browser_log=log, served=closest), AS_RECORDED)
    assert of(load("a.js?v=2"), made).failing == (f"{asked.url} (answered with text/html)",)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("hit?_=1700000000000", "hit?_=1700000009999"),
        ("hit?rnd=8311&page=1", "hit?rnd=9277&page=1"),
        ("hit/k3j9x0a1.gif!", "hit/0p2m4q8z.gif!"),
    ],
)
def test_what_chance_puts_into_a_url_is_no_difference(one: str, other: str) -> None:
    assert not of(load(one), load(other))


@pytest.mark.parametrize(
    ("one", "other"), [("api?page=1", "api?page=2"), ("a.json", "b.json"), ("hit?r=8311", "hit?r=9277!")]
)
def test_a_changed_request_is_a_difference(one: str, other: str) -> None:
    differences = of(load(one), load(other))
    assert differences.lost == (START + one,)
    assert differences.new or differences.failing


def test_what_the_original_does_in_some_loads_only_tells_nothing() -> None:
    with_it, without = load("a.js", errors=("x failed",)), load()
    assert of(with_it, without)
    assert not differences([with_it, without], [without], AS_RECORDED)
    assert not differences([without], [with_it, without], AS_RECORDED)
    assert not differences([with_it, without], [with_it], AS_RECORDED)


def test_a_page_that_goes_on_asking_is_compared_without_its_counting() -> None:
    def polling(count: int, *others: str) -> Behaviour:
        polls = [request(f"{START}poll?n={number}", started_ms=9000 + number) for number in range(count)]
        errors = tuple(NOT_LOADED.format(request.url) for request in polls)
        return load(*others, *polls, errors=errors, at_rest=False)

    assert not of(polling(17, "1.png", "2.png"), polling(19, "1.png", "2.png"))
    assert of(polling(17, "1.png", "2.png"), polling(19, "1.png")).lost == (f"{START}2.png",)
    assert of(load("1.png", "poll?n=1"), load("1.png")).lost == (f"{START}poll?n=1",)


TERMS = Terms(
    joined=frozenset({"site.example/a.js", "site.example/b.js"}),
    added=frozenset({"site.example/combined-1.js"}),
    renamed={"shard1.site.example/p.png": "site.example/p.png"},
    waiting=frozenset({"site.example/below.png"}),
)


def test_a_variant_is_compared_in_terms_of_its_original() -> None:
    original = load("a.js", "b.js", "p.png", "below.png")
    shard = request("https://shard1.site.example/p.png")
    assert not of(original, load("combined-1.js", shard, terms=TERMS), TERMS)
    assert of(original, load("combined-1.js", terms=TERMS), TERMS).lost == (f"{START}p.png",)
    broken = of(original, load("combined-1.js!", shard, terms=TERMS), TERMS)
    assert broken.failing == (f"{START}combined-1.js (404)",)


def test_a_file_that_is_not_loaded_hides_no_other() -> None:
    icon, blocked = NOT_LOADED.format(f"{START}favicon.ico"), NOT_LOADED.format(f"{START}font.woff2")
    original = load("favicon.ico!", "font.woff2", errors=(icon,))
    differences = of(original, load("favicon.ico!", "font.woff2", errors=(icon, blocked)))
    assert differences == Differences(errors=(blocked,))


def test_a_request_that_is_told_is_not_told_again_as_a_message() -> None:
    differences = of(load(), load("a.js!", errors=(NOT_LOADED.format(f"{START}a.js"),)))
    assert differences == Differences(failing=(f"{START}a.js (404)",))


def test_messages_are_counted_one_by_one() -> None:
    three = load(errors=("item 1 is gone", "item 2 is gone", "item 3 is gone"))
    assert not of(three, load(errors=("item 7 is gone", "item 8 is gone", "item 9 is gone")))
    four = load(errors=("item 1 is gone", "item 2 is gone", "item 3 is gone", "item 4 is gone"))
    (more,), (fewer,) = of(three, four).errors, of(four, three).gone
    assert tells([more], "item 4 is gone", "4 in place of 3")
    assert tells([fewer], "item 4 is gone", "3 in place of 4")
    assert of(three, load()).gone == ("item 1 is gone",)


def test_how_often_a_message_comes_counts_where_that_is_the_same_each_time() -> None:
    many = [load(errors=("tick",) * count) for count in (4, 5, 6, 7)]
    assert not differences(many[:2], many[2:], AS_RECORDED)
    assert not differences(many[2:], many[:2], AS_RECORDED)
    assert differences(many[:1], many[2:], AS_RECORDED)


@pytest.mark.parametrize(
    ("original", "made"),
    [
        (f"x at {START}a.js:12:7", f"x at {START}combined-1.js:900"),
        (f"x at {START}a.js:12:7", f"x at {START}:3:7"),
        (f"'{START}a.js' is old", f"'{START}combined-1.js' is old"),
    ],
)
def test_another_place_in_a_script_is_no_other_message(original: str, made: str) -> None:
    assert not of(load(errors=(original,)), load(errors=(made,), terms=TERMS), TERMS)


def test_a_message_on_another_resource_is_another_message() -> None:
    one, other = (f"Access to font at '{START}{name}' was blocked" for name in ("a.woff", "b.woff"))
    differences = of(load(errors=(one,)), load(errors=(other,)))
    assert (differences.errors, differences.gone) == ((other,), (one,))


def test_exceptions_are_told_by_their_message() -> None:
    differences = of(
        load(errors=("uncaught TypeError: a is null",)), load(errors=("uncaught TypeError: b is null",))
    )
    new, gone = str(differences).split("; ")
    assert all(fact in new for fact in ("new", "uncaught TypeError: b is null"))
    assert all(fact in gone for fact in ("no longer", "uncaught TypeError: a is null"))


def test_what_is_printed_is_short_and_does_nothing_to_a_terminal() -> None:
    differences = of(
        load(), load(*(f"{number}.js!" for number in range(9)), errors=("\x1b[31m" + "x" * 999,))
    )
    assert "2.js (404) and 6 more" in str(differences)
    assert "\x1b" not in str(differences)
    assert len(str(differences)) < 1000
