"""The minifier: tdewolff/minify, whose parsers reject what they do not understand. Pure.

It is a Go library, and a Go runtime does not survive fork(2): a child that calls it waits for ever. So it is loaded by
the process that first minifies, never on import, and a process that has minified must not fork one that will.
"""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=512)
def shortened(kind: str, text: str) -> str | None:
    """A style sheet (`css`) or script (`javascript`) without what a browser needs not; None when it is rejected.

    Names in scripts are kept, as mod_pagespeed keeps them: a renamed parameter breaks scripts that read their own.
    """
    import minify  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415  # has no types

    if "\0" in text:  # the binding would end the text there
        return None
    # The binding gives the result as much room as the text has; what is minified already may need a little more.
    room = "\n" * (len(text) // 4 + 1000)
    minify.config({"js-keep-var-names": True})
    try:
        return str(minify.string(f"text/{kind}", text + room))
    except (minify.MinifyError, UnicodeError):
        return None
