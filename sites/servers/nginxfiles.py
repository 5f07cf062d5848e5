"""The files nginx answers from, found by a hash of what was asked for (answers.lua).

`heads/` and `bodies/` hold the responses by host and target: the head is a line with status, microseconds to wait and
the header by which a browser asks whether the response still holds, then the headers. How it finds those that answer
for others: `sites.servers.closestfiles`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sites.materialise import Site
from sites.served import ServedObject
from sites.servers.closestfiles import file_name, write_closest
from sites.servers.server import BODILESS, MISS_HEADERS, PREFLIGHT_HEADERS


def write_answers(folder: Path, site: Site) -> None:
    """Every answer of a site, in a folder of its own for each scheme."""
    for kind in ("heads", "bodies"):
        (folder / kind).mkdir(parents=True)
    for served in site.objects:
        body = b"" if served.status in BODILESS else served.body
        _write(folder, file_name(served.host, served.target), _first_line(served), served.headers, body=body)
    _write(folder, "miss", "404 0", MISS_HEADERS)
    _write(folder, "preflight", "204 0", PREFLIGHT_HEADERS)
    write_closest(folder, site)


def _first_line(served: ServedObject) -> str:
    question = " {}: {}".format(*served.validator) if served.validator else ""
    return f"{served.status} {served.think_ms * 1000:.0f}{question}"


def _write(
    folder: Path, name: str, first_line: str, headers: Sequence[tuple[str, str]], *, body: bytes = b""
) -> None:
    lines = [first_line, *(f"{field}: {value}" for field, value in headers)]
    head = "".join(f"{line}\n" for line in lines)
    (folder / "heads" / name).write_bytes(head.encode("latin-1", "replace"))
    (folder / "bodies" / name).write_bytes(body)
