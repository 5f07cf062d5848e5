"""How long an archive of many responses takes to import, index and open: `python benchmarks/large_archive.py [N]`.

Twice: with the text gzip-encoded, as most recorders keep it, and decoded, so that it has to be encoded again.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sites.archive import open_archive, rebuild_index
from sites.htcache import gzip_encoded
from sites.importers import import_recording
from sites.response import Response
from sites.warc import About, Writer

RESPONSES = 20_000
HOSTS = 50
BODY_BYTES = (200, 20_000)
SEED = 1


def recording(path: Path, count: int, *, coded: bool) -> None:
    """A WARC of `count` responses, half of them text, from a seed."""
    chance = random.Random(SEED)  # noqa: S311
    words = [f"w{number:x}" for number in range(4096)]
    with path.open("wb") as file:
        writer = Writer(file, About("https://host0.example/0", "", "", ()))
        for number in range(count):
            size = chance.randint(*BODY_BYTES)
            text = number % 2 == 0
            body = " ".join(chance.choices(words, k=size // 5)).encode() if text else chance.randbytes(size)
            headers = (
                ("Content-Type", "text/html" if text else "image/webp"),
                ("Cache-Control", "max-age=60"),
            )
            response = Response(f"https://host{number % HOSTS}.example/{number}", 200, headers, body)
            writer.add(gzip_encoded(response) if text and coded else response)


def timed(what: str, work: Callable[[], object]) -> None:
    began, computed = time.perf_counter(), time.process_time()
    work()
    print(f"{what:8} {time.perf_counter() - began:6.2f} s, {time.process_time() - computed:6.2f} s of CPU")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else RESPONSES
    for coded in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            root, path = Path(folder), Path(folder) / "large.warc.gz"
            recording(path, count, coded=coded)
            kind = "gzip-encoded" if coded else "decoded"
            print(f"{count} responses, {path.stat().st_size / 1e6:.0f} MB of WARC, text {kind}")
            measure(path, root)


def measure(path: Path, root: Path) -> None:
    timed("import", lambda: import_recording(path, root, "large"))
    timed("index", lambda: rebuild_index(root / "large"))
    timed("open", lambda: open_archive(root, "large"))


if __name__ == "__main__":
    main()
