"""What filters did to the files of a page, from the report on the variant."""

from __future__ import annotations

from harness.model.variant import parse_variant
from harness.verify.terms import AS_RECORDED, Terms
from sites.optimise.derive import optimise
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
