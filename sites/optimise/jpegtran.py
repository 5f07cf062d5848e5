"""JPEG files as progressive ones, by mozjpeg in a process of its own: of some damaged files it ends its process.

`python -m sites.optimise.jpegtran` is that process. It says a line of JSON when it is ready, then one for each line
that comes in: a file in base64 is answered by the progressive one, or by null when it cannot be read.
"""

from __future__ import annotations

import base64
import json
import sys

import mozjpeg_lossless_optimization as mozjpeg  # type: ignore[import-untyped, unused-ignore]  # has no types

from harness.system.worker import Worker

_worker = Worker("mozjpeg", "sites.optimise.jpegtran")


def progressive(data: bytes) -> bytes | None:
    """The file with the same coefficients and all its metadata; None when mozjpeg cannot read it, or dies of it."""
    try:
        answer = _worker.ask(base64.b64encode(data).decode())
    except EOFError:
        return None
    return base64.b64decode(answer) if isinstance(answer, str) else None


def main() -> None:
    _say("ready")
    for line in sys.stdin:
        try:
            made = mozjpeg.optimize(base64.b64decode(json.loads(line)), copy=mozjpeg.COPY_MARKERS.ALL)
            _say(base64.b64encode(made).decode())
        except ValueError:
            _say(None)


def _say(answer: str | None) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
