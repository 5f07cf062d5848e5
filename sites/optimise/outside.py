"""Libraries in a process of their own: tdewolff/minify, mozjpeg.

The minifier is a Go library, and a Go runtime does not survive fork(2), which the enclosure does: a child that called
it would wait for ever. Of some damaged files mozjpeg ends its process. What a library dies of is what it rejects.

`python -m sites.optimise.outside` is such a process. It says a line of JSON when it is ready, then one for each line
that comes in: ["css" or "javascript", text] is answered by the shorter text, ["jpeg", a file in base64] by the
progressive one, and what is rejected by null. It ends when its standard input does.
"""

from __future__ import annotations

import base64
import json
import sys
from functools import lru_cache

from harness.system.process import Worker

_minifier, _mozjpeg = (
    Worker("the minifier", "sites.optimise.outside"),
    Worker("mozjpeg", "sites.optimise.outside"),
)


@lru_cache(maxsize=512)
def shortened(kind: str, text: str) -> str | None:
    """A style sheet (`css`) or script (`javascript`) in its shortest form, names kept; None when it is rejected.

    It is for comparing and for the verdict of the parser, which rejects what it does not understand. No page gets it:
    it is wrong in places, and may be in newer syntax than an engine reads.
    """
    return _asked(_minifier, kind, text)


def made_progressive(data: bytes) -> bytes | None:
    """A JPEG file with the same coefficients and all its metadata; None when mozjpeg cannot read it, or dies of it."""
    answer = _asked(_mozjpeg, "jpeg", base64.b64encode(data).decode())
    return None if answer is None else base64.b64decode(answer)


def _asked(worker: Worker, *question: str) -> str | None:
    try:
        answer = worker.ask(question)
    except EOFError:
        return None
    return answer if isinstance(answer, str) else None


def main() -> None:
    _say("ready")
    for line in sys.stdin:
        kind, given = json.loads(line)
        _say(_made_progressive(given) if kind == "jpeg" else _minified(kind, given))


def _say(answer: str | None) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


# The libraries have no types, and are imported only in the process that they may end.


def _minified(kind: str, text: str) -> str | None:
    import minify  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    if "\0" in text:  # the binding would end the text there
        return None
    minify.config({"js-keep-var-names": True})
    # The binding gives the result as much room as the text has; what is minified already may need a little more.
    room = "\n" * (len(text) // 4 + 1000)
    try:
        return str(minify.string(f"text/{kind}", text + room))
    except (minify.MinifyError, UnicodeError):
        return None


def _made_progressive(file: str) -> str | None:
    import mozjpeg_lossless_optimization as mozjpeg  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    try:
        made = mozjpeg.optimize(base64.b64decode(file), copy=mozjpeg.COPY_MARKERS.ALL)
    except ValueError:
        return None
    return base64.b64encode(made).decode()


if __name__ == "__main__":
    main()
