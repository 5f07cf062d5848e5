"""What mod_pagespeed does to the HTML itself: white space, comments, attributes, quotes.

Comments stay where somebody reads them: scripts that walk over nodes, frameworks that take a document over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from harness.model.filtersettings import FilterSettings
from sites.mediatype import words
from sites.optimise.document import Document, Edit, Notes, edit_documents
from sites.optimise.lookups import script_facts, scripts_of
from sites.optimise.markup import SPACE, Attribute, Chars, Comment, MarkupToken, Tag, ends_a_value
from sites.optimise.page import Note, Page

_RUN = re.compile(r"[\t\n\f\r ]{2,}|[\t\f\r]")
_PREFORMATTED = frozenset({"pre", "listing"})
_BARE_VALUE = re.compile(r"[A-Za-z0-9_.:/#%,;+!*()@$|~\[\]{}?&-]+")
_QUOTED = re.compile(r"(=[\t\n\f\r ]*)(?:\"([^\"]*)\"|'([^']*)')\Z")
# Attribute values that a browser assumes by itself (HTML standard).
_DEFAULTS: dict[str, tuple[tuple[str, frozenset[str]], ...]] = {
    "script": (
        ("type", frozenset({"text/javascript", "application/javascript"})),
        ("language", frozenset({"javascript"})),
    ),
    "style": (("type", frozenset({"text/css"})), ("media", frozenset({"all"}))),
    "link": (("media", frozenset({"all"})),),
    "form": (
        ("method", frozenset({"get"})),
        ("enctype", frozenset({"application/x-www-form-urlencoded"})),
        ("autocomplete", frozenset({"on"})),
    ),
    "input": (("type", frozenset({"text"})),),
    "button": (("type", frozenset({"submit"})),),
    "area": (("shape", frozenset({"rect"})),),
    "td": (("colspan", frozenset({"1"})), ("rowspan", frozenset({"1"}))),
    "th": (("colspan", frozenset({"1"})), ("rowspan", frozenset({"1"}))),
    "a": (("target", frozenset({"_self"})), ("shape", frozenset({"rect"}))),
}
_BOOLEAN = words(
    "async autofocus autoplay checked compact controls defer disabled formnovalidate hidden ismap loop multiple muted "
    "nohref noresize noshade novalidate nowrap open readonly required reversed selected"
)
# Comments by which frameworks find their places again, as they write them: Angular, AngularJS, Aurelia, Blazor, Ember,
# Fresh, Knockout, Lit, Livewire, Marko, Nuxt, Polymer, Qwik, React, Solid, Stencil, Svelte, Vue, Wicket; what servers
# and crawlers read: ESI, server-side includes, BigPipe, Google, Yandex.
_MARK = re.compile(
    r"<!--(?:\s*/?\s*-->|\s*/?(?:ko\b|wicket|esi\b|noindex|big_?-?pipe)|\s*(?:react-|HTML_TAG_|(?:end )?ng[A-Z]|"
    r"directive:|#|googleo(?:n|ff))|/?(?:\$|&|lit-|teleport|async-|container-->|qv?\b|t=|t-->|frsh-|fresh-|view-->|nuxt|"
    r"wire:)|\[(?!if |endif)|\]|!\[(?!endif)|\?|%|v-if|ng-|nghm|ngetn|ngtns|bindings=|F!?-->|!\$|M[#_\[^|/]|bl:|Blazor|"
    r"css-build|au-|anchor-->|[rctsno]\.\d|__|isµ|_hyper)"
)
# Attributes of a document that a framework takes over, or exchanges parts of.
_TAKEN_OVER = re.compile(
    r"data-(?:react|v-app|server-rendered|ssr|hk|hydrat|astro|svelte|island|fresh|marko|qwik|hx-|turbo|big-pipe|lit|"
    r"ember|preact|vue|nuxt|n-head|phx|wp-interactive|remix|solid)|(?:ng-version|ng-server-context|ngh|c-id|s-id)\Z|"
    r"(?:q:|astro-|client:|hx-|wire:|phx-|b-[a-z0-9]{10}\Z)"
)
_TAKEN_OVER_ELEMENTS = re.compile(r"(?:astro|turbo|fresh|nuxt|next|qwik|blazor|phx|is)-(?!is\b)|app-root")
_TAKEN_OVER_IDS = words("__next __nuxt ___gatsby __docusaurus svelte blazor-error-ui __layout")
_READS = re.compile(
    r"COMMENT_NODE|SHOW_COMMENT|SHOW_ALL|nodeType\s*[!=]==?\s*8\b|\b8\s*[!=]==?\s*[\w.$\[\]]{0,40}nodeType|[\"'`]#comment[\"'`]|"
    r"createNodeIterator|\bcomment\(\)|instanceof\s+Comment\b|"
    r"nodeType\s*[!=]==?\s*[\w$.]{0,40}(?i:comment)|childNodes\s*\.\s*length\s*[!=]==?\s*[02-9]|"
    r"(?:match|replace|replaceAll|split|indexOf|search|startsWith|includes|RegExp)\s*\(\s*[\"'`/][^\"'`/\n]{0,20}(?:<!--|-->)|"
    r"=\s*/[^\"'`/\n]{0,20}<!--|"
    r"\.contents\(\)\s*(?:\.(?:filter|each|map|eq|not|slice|get|toArray)\b|\[)|childNodes\s*(?:\[\s*[1-9]|\.item\()"
)
# jQuery passes over texts and comments alike, or over comments alone, and so reads none.
_SKIPS = re.compile(
    r"3\s*[!=]==?\s*([\w$]{1,40})\.nodeType\s*(?:\|\||&&)\s*8\s*[!=]==?\s*\1\.nodeType|"
    r"\b([\w$]{1,40})\.nodeType\s*[!=]==?\s*3\s*(?:\|\||&&)\s*\2\.nodeType\s*[!=]==?\s*8|"
    r"nodeType\s*!==?\s*8\s*\)\s*\{?\s*[\w$]{1,40}\s*\+="
)
# An attribute in a path, behind what may stand there before one; `* @type` in a comment is none.
_PATH = re.compile(
    r"(?:[\[/(,|=<>+-]\s*|\b(?:and|or|div|mod)\s+|[\"'`]\s*)@([A-Za-z][\w-]*)|attribute\s*::\s*([A-Za-z][\w-]*)"
)
_SWITCH = re.compile(r"switch\s*\([^()]{0,60}nodeType\s*\)")
_CASE = re.compile(r"\bcase\s*8\s*:")
_WALKER = re.compile(r"createTreeWalker\s*\(([^;]{0,200})")
_TO_OTHERS = re.compile(r"[^,]*,\s*(?:[145]\b|(?:\w+\.)*SHOW_(?:ELEMENT|TEXT)\b(?!\s*[|+]))")
_STEP = re.compile(r"\b(?:childNodes|firstChild|lastChild|nextSibling|previousSibling)\b")
_DATA = re.compile(r"\.\s*(?:nodeValue|data)\b(?!\s*=[^=])")
_KIND = re.compile(r"\b(?:nodeType|nodeName|tagName|TEXT_NODE)\b")
# Ends and beginnings of texts that read otherwise once nothing stands between them: a tag, a reference, a line break.
_JOINS = (
    (re.compile(r"<\Z"), re.compile(r"[A-Za-z/!?]")),
    (re.compile(r"&#?[A-Za-z0-9]*\Z"), re.compile(r"[#A-Za-z0-9;]")),
    (re.compile(r"\r\Z"), re.compile(r"\n")),
)


def remove_comments(page: Page, _settings: FilterSettings) -> tuple[Page, Notes]:
    """Comments go, but for conditional ones and what keeps texts apart, unless somebody reads those of the document."""

    def change(document: Document) -> Edit:
        idle = any(map(is_idle, document.tokens))
        reason = why_comments_stay(page, document.tokens) if idle else None
        if reason:
            return Edit(document.tokens, notes=(Note(document.url, reason),))
        return Edit(list(_without_comments(document.tokens)))

    return edit_documents(page, change)


def _without_comments(tokens: Iterable[MarkupToken]) -> Iterator[MarkupToken]:
    """Of comments in a row where one must stay the first stays."""
    before: MarkupToken | None = None
    comment: MarkupToken | None = None
    for token in tokens:
        if is_idle(token):
            comment = comment or token
            continue
        if comment is not None and _read_otherwise(before, token):
            yield comment
        yield token
        before, comment = token, None


def _read_otherwise(before: MarkupToken | None, after: MarkupToken) -> bool:
    """Whether two tokens mean something else without a comment between them."""
    if not isinstance(after, Chars):
        return False
    if isinstance(before, Tag):  # a line break directly behind such a start tag is not shown
        return is_preformatted(before) and not before.closing and after.source.startswith(("\n", "\r"))
    return isinstance(before, Chars) and any(
        end.search(before.source) and start.match(after.source) for end, start in _JOINS
    )


def is_idle(token: MarkupToken) -> bool:
    """Whether a token is a comment, and none that Internet Explorer reads into."""
    return isinstance(token, Comment) and not token.is_conditional


def why_comments_stay(page: Page, tokens: Iterable[MarkupToken]) -> str | None:
    """The reason why the comments of a document are left alone. When in doubt there is one."""
    if is_taken_over(tokens):
        return "a framework reads the comments of the document"
    if any(reads_comments(text) for text in scripts_of(page)):
        return "a script reads comments"
    return None


def is_taken_over(tokens: Iterable[MarkupToken]) -> bool:
    """Whether a document bears the marks of a framework."""
    return any(
        is_mark(token) if isinstance(token, Comment) else isinstance(token, Tag) and _bears_mark(token)
        for token in tokens
    )


def is_mark(comment: Comment) -> bool:
    """Whether a comment marks a place."""
    return _MARK.match(comment.source) is not None


def reads_comments(script: str) -> bool:
    """Whether a script may read comments of the document. Making some (`createComment`) is no reading."""
    if _READS.search(_SKIPS.sub("", script)) or (_SWITCH.search(script) and _CASE.search(script)):
        return True
    if any(not _TO_OTHERS.match(walker[1]) for walker in _WALKER.finditer(script)):
        return True
    return bool(_STEP.search(script) and _DATA.search(script) and not _KIND.search(script))


def _bears_mark(tag: Tag) -> bool:
    if _TAKEN_OVER_ELEMENTS.match(tag.name) or tag.get("id") in _TAKEN_OVER_IDS:
        return True
    return any(_TAKEN_OVER.match(attribute.name) for attribute in tag.attributes)


def collapse_whitespace(page: Page, _settings: FilterSettings) -> tuple[Page, Notes]:
    """Runs of white space become one space, or one line break where they held one; not in preformatted text."""
    return edit_documents(page, lambda document: Edit(list(_collapsed(document.tokens))))


def _collapsed(tokens: tuple[MarkupToken, ...]) -> Iterator[MarkupToken]:
    preformatted, foreign = 0, False
    for token in tokens:
        if isinstance(token, Tag):
            foreign = token.foreign and not (token.closing and token.name in ("svg", "math"))
        if isinstance(token, Tag) and is_preformatted(token):
            preformatted = max(0, preformatted + (-1 if token.closing else 1))
        if isinstance(token, Chars) and not token.within and not preformatted and not foreign:
            yield Chars(_RUN.sub(lambda run: "\n" if "\n" in run[0] else " ", token.source))
        else:
            yield token


def is_preformatted(tag: Tag) -> bool:
    """Whether white space shows in an element."""
    return tag.name in _PREFORMATTED


def elide_attributes(page: Page, _settings: FilterSettings) -> tuple[Page, Notes]:
    """Default values go, boolean attributes lose their value; not where a selector or script may ask for them."""
    asked = _AskedAttributes.of(page)

    def change(document: Document) -> Edit:
        kept = frozenset({"target"} if names_target(document.tokens) else ())
        return Edit(
            [_elided(token, asked, kept) if isinstance(token, Tag) else token for token in document.tokens]
        )

    return edit_documents(page, change)


def names_target(tokens: Iterable[MarkupToken]) -> bool:
    """Whether a document has a <base target>, which holds for each link that names none itself."""
    return any(
        isinstance(token, Tag) and token.name == "base" and "target" in token.names for token in tokens
    )


@dataclass(frozen=True)
class _AskedAttributes:
    """Which attributes a page asks for: everything in which a selector may stand, names in paths (XPath), names that
    scripts read, and what they read of elements of which name.
    """

    selectors: str
    paths: frozenset[str]
    read: frozenset[str]
    found: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, page: Page) -> _AskedAttributes:
        facts = list(script_facts(page))
        read: frozenset[str] = frozenset().union(*(script.attributes for script in facts))
        lookups = {lookup for script in facts for lookup in script.lookups if lookup.reads}
        pairs = {
            (name, attribute)
            for lookup in lookups
            for name in re.findall(r"(?<![\w.#-])[a-z]+", lookup.selector)
            for attribute in lookup.reads
        }
        paths = {name.lower() for text in scripts_of(page) for found in _PATH.findall(text) for name in found}
        return cls(_selectors(page), frozenset(paths), read, frozenset(pairs))


def is_selected(name: str, asked: _AskedAttributes) -> bool:
    """Whether a selector or path asks for an attribute."""
    return f"[{name}" in asked.selectors or name in asked.paths


def is_value_selected(name: str, asked: _AskedAttributes) -> bool:
    """Whether a selector asks for a value of an attribute, or a path for the attribute."""
    return bool(re.search(rf"\[{re.escape(name)}[~|^$*]?=", asked.selectors)) or name in asked.paths


def is_read(name: str, asked: _AskedAttributes) -> bool:
    """Whether a script reads an attribute as it stands in the document (`getAttribute`)."""
    return name in asked.read


def is_found_and_read(tag: Tag, name: str, asked: _AskedAttributes) -> bool:
    """Whether a script looks for elements of this name and reads the property of the attribute."""
    return (tag.name, name) in asked.found


def _selectors(page: Page) -> str:
    """Everything of the page in which an attribute selector may stand."""
    texts = [
        resource.body.decode("latin-1")
        for resource in page.resources.values()
        if resource.is_style or resource.is_script
    ]
    documents = [page.resources[url].body.decode("latin-1") for url in page.documents]
    return re.sub(r"\s", "", "\n".join(texts + documents)).lower()


def _elided(tag: Tag, asked: _AskedAttributes, kept_names: frozenset[str]) -> Tag:
    if tag.closing or tag.foreign:
        return tag
    gone = [
        name
        for name, values in _DEFAULTS.get(tag.name, ())
        if (tag.get(name) or "").strip().lower() in values
        and name not in kept_names
        and not (is_selected(name, asked) or is_read(name, asked) or is_found_and_read(tag, name, asked))
    ]
    if tag.name == "script" and "language" in tag.names.difference(gone):  # it counts where there is no type
        gone = [name for name in gone if name != "type"]
    rest = tag.without(*gone)
    kept = []
    for attribute, after in _with_followers(rest):
        name = attribute.name
        asked_for = is_value_selected(name, asked) or is_read(name, asked)
        if says_nothing(tag, attribute) and not asked_for and ends_a_name(after):
            kept.append(
                replace(attribute, source=attribute.source.partition("=")[0].rstrip(SPACE), value=None)
            )
        else:
            kept.append(attribute)
    return replace(rest, attributes=tuple(kept))


def _with_followers(tag: Tag) -> Iterator[tuple[Attribute, str]]:
    """Each attribute of a tag with the text that follows it."""
    following = [*(follower.source for follower in tag.attributes[1:]), tag.tail]
    return zip(tag.attributes, following, strict=False)


def ends_a_name(following: str) -> bool:
    """Whether the name of an attribute without value ends where this begins."""
    return following.startswith((*SPACE, "/", ">"))


def says_nothing(tag: Tag, attribute: Attribute) -> bool:
    """Whether it has a value that says nothing. Elements of the page's own have attributes of their own."""
    says = tag.name == "marquee" or "-" in tag.name or attribute.value == "until-found"
    return attribute.name in _BOOLEAN and attribute.value is not None and not says


def remove_quotes(page: Page, _settings: FilterSettings) -> tuple[Page, Notes]:
    """Quotes go where the value holds nothing that would end it."""

    def change(document: Document) -> Edit:
        return Edit([_unquoted(token) if isinstance(token, Tag) else token for token in document.tokens])

    return edit_documents(page, change)


def _unquoted(tag: Tag) -> Tag:
    """What follows a value must begin with white space, or end the tag: a slash would become part of the value."""
    if tag.closing or tag.foreign:
        return tag
    attributes = tuple(
        _bare(attribute) if ends_a_value(after) else attribute for attribute, after in _with_followers(tag)
    )
    return replace(tag, attributes=attributes)


def needs_no_quotes(value: str) -> bool:
    """Whether a value holds nothing that would end it."""
    return _BARE_VALUE.fullmatch(value) is not None


def _bare(attribute: Attribute) -> Attribute:
    match = _QUOTED.search(attribute.source)
    value = None if match is None else match[2] if match[2] is not None else match[3]
    if match is None or not value or not needs_no_quotes(value):
        return attribute
    return replace(attribute, source=attribute.source[: match.start()] + "=" + value)
