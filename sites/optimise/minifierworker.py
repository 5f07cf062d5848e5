"""The process the minifier runs in: `python -m sites.optimise.minifierworker`. Only `minifier` starts it.

A line of JSON is said when it is ready, then one for each line that comes in: ["css" or "javascript", text] is
answered by the shorter text, or by null when the minifier rejects it. It ends when its standard input does.
"""

from __future__ import annotations

import json
import sys

import minify  # type: ignore[import-untyped, unused-ignore]  # has no types


def main() -> None:
    minify.config({"js-keep-var-names": True})
    _say("ready")
    for line in sys.stdin:
        kind, text = json.loads(line)
        _say(_shortened(kind, text))


def _say(answer: str | None) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _shortened(kind: str, text: str) -> str | None:
    if "\0" in text:  # the binding would end the text there
        return None
    # The binding gives the result as much room as the text has; what is minified already may need a little more.
    room = "\n" * (len(text) // 4 + 1000)
    try:
        return str(minify.string(f"text/{kind}", text + room))
    except (minify.MinifyError, UnicodeError):
        return None


if __name__ == "__main__":
    main()
