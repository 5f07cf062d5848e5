"""The files Apache answers from: one per response, found by a hash of what was asked for.

`objects/` holds the responses, by host and target, `kept/` what tells a browser that it may go on using one, by those
and by how it asks. A file in `objects/` with the suffix `.us` holds the microseconds to wait before the answer. How it
finds those that answer for others: `sites.servers.closestfiles`.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path

from sites.materialise import Site
from sites.served import ServedObject
from sites.servers.closestfiles import file_name, write_closest
from sites.servers.server import BODILESS, MISS_HEADERS, PREFLIGHT_HEADERS

WAIT_SUFFIX = ".us"


def write_answers(folder: Path, site: Site) -> None:
    """Every answer of a site, in a folder of its own for each scheme."""
    objects, kept = folder / "objects", folder / "kept"
    objects.mkdir(parents=True)
    kept.mkdir()
    (folder / "miss").write_bytes(_file(404, MISS_HEADERS, b""))
    (folder / "preflight").write_bytes(_file(204, PREFLIGHT_HEADERS, b""))
    for served in site.objects:
        file = objects / file_name(served.host, served.target)
        file.write_bytes(as_is(served, site.scheme))
        if served.validator is not None:
            question = kept / file_name(served.host, f"{served.target} {served.validator[1]}")
            question.write_bytes(_file(304, served.headers, b""))
        if served.think_ms:
            file.with_suffix(WAIT_SUFFIX).write_text(f"{served.think_ms * 1000:.0f}")
    write_closest(folder, site)


def as_is(served: ServedObject, scheme: str) -> bytes:
    """A response as mod_asis reads it: status, headers, empty line, body."""
    headers = [
        (name, _absolute(value, served.host, scheme) if name.lower() == "location" else value)
        for name, value in served.headers
    ]
    return _file(served.status, headers, b"" if served.status in BODILESS else served.body)


def _file(status: int, headers: Sequence[tuple[str, str]], body: bytes) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Status"
    lines = [f"Status: {status} {phrase}", *(f"{name}: {value}" for name, value in headers)]
    if status not in BODILESS:
        lines.append(f"Content-Length: {len(body)}")  # Apache would find it out for GET, but not for HEAD
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body


def _absolute(location: str, host: str, scheme: str) -> str:
    """A Location that starts with a slash is one that mod_asis would follow itself instead of sending it."""
    if location.startswith("//"):
        return f"{scheme}:{location}"
    return f"{scheme}://{host}{location}" if location.startswith("/") else location
