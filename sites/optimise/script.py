"""Scripts: which elements are classic scripts, what makes one unfit to be moved, its minified form. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import rjsmin  # type: ignore[import-untyped, unused-ignore]  # has no types

from sites.mediatype import SCRIPT_TYPES
from sites.optimise.markup import Tag
from sites.optimise.outside import shortened
from sites.optimise.scriptfacts import facts_of

# A script that looks for its own element, or for others, may find something else once it is moved.
_LOOKS_AROUND = re.compile(
    r"currentScript|document\s*\.\s*scripts|script\[|import\.meta|\.stack\s*\.\s*(?:match|split|replace|indexOf|substr)|"
    r"exec\(\s*[\w$.]{1,40}\.stack\b|"
    r"getElementsByTagName(?:NS)?\(\s*[\"']script|querySelector(?:All)?\(\s*[\"'][^\"']{0,80}script",
    re.IGNORECASE,
)
_WRITES = re.compile(r"document\s*\.\s*write(?:ln)?\b|document\s*\[\s*[\"']write")
_DIRECTIVE = re.compile(r"\s*+(?:(?:/\*[^*]*+(?:\*(?!/)[^*]*+)*+\*/|//[^\n]*+\n)\s*+)*+[\"']use strict[\"']")
_DECLARES = re.compile(r"\b(?:function|class|let|const)\b")
_CLASSIC_TYPES = SCRIPT_TYPES | {"", "text/livescript", "text/javascript1.5", "text/jscript"}
# A function of nothing but a comment of several lines: before template literals, a way to write a long text.
_COMMENT_AS_TEXT = re.compile(r"\{\s*/\*(?!\*/)[^*\n]*\n[^*]*+(?:\*(?!/)[^*]*+)*+(\*/\s*\})?")


def is_classic(tag: Tag) -> bool:
    """Whether a script element holds a classic script for today's browsers: no module, data block or `nomodule`."""
    kind = tag.get("type")
    language = tag.get("language")
    if kind is None and language:
        kind = f"text/{language}"
    known = (kind or "").partition(";")[0].strip().lower() in _CLASSIC_TYPES
    return known and "nomodule" not in tag.names and "event" not in tag.names


def holds_up(tag: Tag) -> bool:
    """Whether the parser waits for the classic script of an element. Without a file it does, whatever else is said."""
    return is_classic(tag) and not ("src" in tag.names and {"async", "defer"} & tag.names)


def is_deferred(tag: Tag) -> bool:
    """Whether the script of an element waits for the end of the document: a module, or a file with `defer`."""
    if "async" in tag.names:
        return False
    return _is_module(tag) or (is_classic(tag) and {"src", "defer"} <= tag.names)


def is_async(tag: Tag) -> bool:
    """Whether the script of an element runs as soon as it is there: a module, or a file, with `async`."""
    return "async" in tag.names and (_is_module(tag) or (is_classic(tag) and "src" in tag.names))


def _is_module(tag: Tag) -> bool:
    return (tag.get("type") or "").strip().lower() == "module"


def why_not_movable(script: str) -> str | None:
    """The reason why a script must stay in the file or document that it stands in."""
    if looks_around(script):
        return "a script looks for script elements"
    if imports(script):
        return "a script imports modules, whose address depends on its own"
    return None


def looks_around(script: str) -> bool:
    """Whether a script looks for its own element or other script elements, at the time when it runs."""
    return _LOOKS_AROUND.search(script) is not None


def imports(script: str) -> bool:
    """Whether a script calls `import()`, in code that it evaluates, too: the base URL of a module's address is that of
    the script.
    """
    return "import" in script and facts_of(script).imports


def writes(script: str) -> bool:
    """Whether a script may write into the document while that is parsed."""
    return _WRITES.search(script) is not None


def comes_too_early(script: str, before: Sequence[str]) -> bool:
    """Whether a script declares a function, class or variable of a name that one before it uses: in one file with that,
    the function would be there before the other script runs, and in the place of its own; a class or variable would be
    there, and an error to ask for (its temporal dead zone).
    """
    names = facts_of(script).declared if before and _DECLARES.search(script) else frozenset()
    return any(
        re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text)
        for name in names
        for text in before
        if name in text
    )


def is_strict(script: str) -> bool:
    """Whether a script begins with "use strict", which would spread over what follows it."""
    return _DIRECTIVE.match(script) is not None


def breaks_out(script: str) -> bool:
    """Whether a script cannot stand inside a script element."""
    lower = script.lower()
    return "</script" in lower or "<!--" in lower


def minified(script: str) -> str | None:
    """Without white space and comments (but those that begin with `!`), token for token what it was; None when that
    cannot be told for certain.

    A script thus runs in each engine it ran in before. rjsmin tells tokens apart by what stands around them, which is
    a guess; a parser then has the last word: both forms must be the same program to it. JSON, which some servers send
    as a script for others to read, stays as it is.
    """
    if _is_json(script):
        return script
    program = shortened("javascript", script)
    if program is None or _may_read_comments(script):
        return None
    short: str = rjsmin.jsmin(script, keep_bang_comments=True)
    return short if shortened("javascript", short) == program else None


def _may_read_comments(script: str) -> bool:
    """Whether a script may read the comment that is a function's body."""
    before_reading = script.rpartition("toString")[0]
    return any(comment[1] for comment in _COMMENT_AS_TEXT.finditer(before_reading))


def _is_json(script: str) -> bool:
    if not script.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(script)
    except (ValueError, RecursionError):
        return False
    return True


def parses(script: str) -> bool:
    """Whether the parser takes it for a whole script; it also rejects a name declared twice."""
    return shortened("javascript", script) is not None
