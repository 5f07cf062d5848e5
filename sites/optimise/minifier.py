"""What tells whether two texts are the same sheet or script: tdewolff/minify, in a process of its own.

Its parsers reject what they do not understand. It is a Go library, and a Go runtime does not survive fork(2), which the
enclosure does: a child that called it would wait for ever. A text on which it dies is a text that it rejects.
"""

from __future__ import annotations

from functools import lru_cache

from harness.system.worker import Worker

_minifier = Worker("the minifier", "sites.optimise.minifierworker")


@lru_cache(maxsize=512)
def shortened(kind: str, text: str) -> str | None:
    """A style sheet (`css`) or script (`javascript`) in its shortest form, names kept; None when it is rejected.

    It is for comparing and for the verdict of the parser. No page gets it: it is wrong in places, and may be in
    newer syntax than an engine reads.
    """
    try:
        answer = _minifier.ask([kind, text])
    except EOFError:
        return None
    return answer if isinstance(answer, str) else None
