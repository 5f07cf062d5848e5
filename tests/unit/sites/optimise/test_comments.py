"""Comments go, but not where somebody reads them."""

from __future__ import annotations

import pytest

from harness.model.filtersettings import DEFAULTS
from sites.optimise.comments import reads_comments
from sites.optimise.filters import html
from tests.unit.sites.optimise.pages import html_of, page

READERS = [
    "if (n.nodeType === 8) f(n.nodeValue)",
    "8 == a.nodeType && b.push(a)",
    "n.nodeType === Node.COMMENT_NODE",
    "document.createTreeWalker(b, NodeFilter.SHOW_COMMENT)",
    "d.createTreeWalker(b, 128, null, false)",
    "d.createTreeWalker(b)",
    "document.createNodeIterator(b, what)",
    "if (n.nodeName == '#comment') f()",
    "$(e).contents().filter(function () { return this.length })",
    "for (i = 0; i < e.childNodes.length; i++) s += e.childNodes[i].nodeValue",
    "var n = e.firstChild; while (n) { s.push(n.data); n = n.nextSibling }",
    "e.childNodes[2].remove()",
    "e.innerHTML.match(/<!--(.*?)-->/)",
    "document.evaluate('//comment()', document, null, 9)",
]
OTHERS = [
    "document.createComment('x')",
    "if (e.nodeType === 3 || e.nodeType === 8) return",
    "3===a.nodeType||8===a.nodeType",
    "d.createTreeWalker(b, NodeFilter.SHOW_ELEMENT)",
    "d.createTreeWalker(b, 4)",
    "e.append('<!-- x --><p>')",
    "for (n = e.firstChild; n; n = n.nextSibling) if (n.nodeType == 1) f(n.data)",
    "<!--\nf()\n//-->",
]
MARKS = [
    "<p data-reactroot>",
    "<div data-v-app>",
    '<app-root ng-version="17.0.0">',
    '<p q:container="paused">',
    "<astro-island>",
    "<p data-hk=0>",
    "<div hx-get=/x>",
    "<div wire:id=a>",
    "<body data-turbo=false>",
    "<div id=__next>",
    "<span data-big-pipe-placeholder-id=x>",
    "<!--[-->",
    "<!--$-->",
    "<!---->",
    "<!--v-if-->",
    "<!-- ko if: a -->",
    "<!-- ngRepeat: a in b -->",
    '<!--Blazor:{"type":"server"}-->',
    "<!--qv q:key=x-->",
    "<!--frsh-A:0:0-->",
    "<!--M[1-->",
    '<!--#include file="a" -->',
    "<!--esi <p>x</p>-->",
    "<!--googleoff: all-->",
    "<!-- HTML_TAG_START -->",
]


@pytest.mark.parametrize("script", READERS)
def test_comments_stay_where_a_script_of_the_page_reads_some(script: str) -> None:
    assert reads_comments(script)
    for files, source in (
        ({"a.js": script}, "<p>a<!-- b -->c"),
        ({}, f"<p>a<!-- b -->c<script>{script}</script>"),
    ):
        made, notes = html.remove_comments(page(source, files), DEFAULTS)
        assert html_of(made) == source
        assert [note.reason for note in notes] == ["a script reads comments"]


@pytest.mark.parametrize("script", OTHERS)
def test_comments_go_where_scripts_read_none(script: str) -> None:
    source = f"<p>a<!-- b -->c<script>{script}</script>"
    made, notes = html.remove_comments(page(source), DEFAULTS)
    assert html_of(made) == source.replace("<!-- b -->", "")
    assert notes == ()


@pytest.mark.parametrize("mark", MARKS)
def test_comments_stay_in_a_document_that_a_framework_takes_over(mark: str) -> None:
    source = f"<p>a<!-- b -->c{mark}"
    made, notes = html.remove_comments(page(source), DEFAULTS)
    assert html_of(made) == source
    assert [note.reason for note in notes] == ["a framework reads the comments of the document"]


def test_conditional_comments_stay_and_are_no_marks() -> None:
    source = "<!--[if IE]>x<![endif]--><![if !IE]><!-- container --><script><!-- d --></script>"
    made, _ = html.remove_comments(page(f"{source}<!-- b -->"), DEFAULTS)
    assert html_of(made) == source.replace("<!-- container -->", "")
