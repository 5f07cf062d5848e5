"""Who reads the comments of a document: scripts that walk over nodes, frameworks that take a document over. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sites.optimise.lookups import scripts_of
from sites.optimise.markup import Comment, Tag, Token, words
from sites.optimise.page import Page

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
_SWITCH = re.compile(r"switch\s*\([^()]{0,60}nodeType\s*\)")
_CASE = re.compile(r"\bcase\s*8\s*:")
_WALKER = re.compile(r"createTreeWalker\s*\(([^;]{0,200})")
_TO_OTHERS = re.compile(r"[^,]*,\s*(?:[145]\b|(?:\w+\.)*SHOW_(?:ELEMENT|TEXT)\b(?!\s*[|+]))")
_STEP = re.compile(r"\b(?:childNodes|firstChild|lastChild|nextSibling|previousSibling)\b")
_DATA = re.compile(r"\.\s*(?:nodeValue|data)\b(?!\s*=[^=])")
_KIND = re.compile(r"\b(?:nodeType|nodeName|tagName|TEXT_NODE)\b")


def why_comments_stay(page: Page, tokens: Iterable[Token]) -> str | None:
    """The reason why the comments of a document are left alone. When in doubt there is one."""
    if is_taken_over(tokens):
        return "a framework reads the comments of the document"
    if any(reads_comments(text) for text in scripts_of(page)):
        return "a script reads comments"
    return None


def is_taken_over(tokens: Iterable[Token]) -> bool:
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
    return any(_TAKEN_OVER.match(each.name) for each in tag.attributes)
