"""The files Apache answers from: one per response, found by a hash of what was asked for.

`objects/` holds the responses, by host and target. `closest/` holds them once more (as hard links), by host and
beginning of a target: the rules of `sites.match`, laid out for a binary search on the length of the query's
beginning (Waldvogel et al., SIGCOMM 1997). The search tries the lengths 2^15, 2^14, ... and goes on from each
beginning for which there is a file; the last file it found is the answer. Its cost does not depend on the number
of recorded queries. A file of the same name with the suffix `.us` holds the microseconds to wait before the answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from pathlib import Path

from sites.match import Closest
from sites.materialise import Site
from sites.served import ServedObject
from sites.servers import BODILESS, MISS_HEADERS, PREFLIGHT_HEADERS

WAIT_SUFFIX = ".us"
STEPS = tuple(2**power for power in range(15, -1, -1))  # together more than the longest request line


def write_answers(folder: Path, site: Site) -> None:
    """Every answer of a site, in a folder of its own for each scheme."""
    objects, closest = folder / "objects", folder / "closest"
    objects.mkdir(parents=True)
    closest.mkdir()
    (folder / "miss").write_bytes(_file(404, MISS_HEADERS, b""))
    (folder / "preflight").write_bytes(_file(204, PREFLIGHT_HEADERS, b""))
    waits = {served.key: f"{served.think_ms * 1000:.0f}" for served in site.objects if served.think_ms}
    for served in site.objects:
        file = objects / file_name(served.host, served.target)
        file.write_bytes(as_is(served, site.scheme))
        if served.key in waits:
            file.with_suffix(WAIT_SUFFIX).write_text(waits[served.key])
    for each in site.closest:
        for beginning, target in beginnings(each):
            file = closest / file_name(each.host, beginning)
            file.hardlink_to(objects / file_name(each.host, target))
            if (each.host, target) in waits:
                file.with_suffix(WAIT_SUFFIX).write_text(waits[each.host, target])


def file_name(host: str, target: str) -> str:
    """The file name of the answer to a request: what the template's rewrite rules compute."""
    return hashlib.sha1(f"{host.lower()}{target}".encode("latin-1", "replace")).hexdigest()  # noqa: S324 - a name


def beginnings(closest: Closest) -> Iterator[tuple[str, str]]:
    """The beginnings of targets the search may come by, each with the target that answers there."""
    answers = {rule.prefix: rule.target for rule in closest.rules}
    lengths = sorted({len(prefix) for prefix in answers}, reverse=True)
    tried: set[str] = set()
    for rule in closest.rules:
        for length in _tried_lengths(len(rule.prefix)):
            beginning = rule.prefix[:length]
            if beginning in tried:
                continue
            tried.add(beginning)
            fitting = (beginning[:shorter] for shorter in lengths if shorter <= length)
            yield closest.path + beginning, next(answers[each] for each in fitting if each in answers)


def _tried_lengths(length: int) -> Iterator[int]:
    """The lengths at which the search goes on when a beginning of `length` characters fits."""
    reached = 0
    yield reached
    for step in STEPS:
        if reached + step <= length:
            reached += step
            yield reached


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
