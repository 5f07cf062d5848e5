"""The files nginx answers from, found by a hash of what was asked for (answers.lua).

`heads/` and `bodies/` hold the responses by host and target: the head is a line with status and microseconds to wait,
then the headers. `closest/` holds the name of the response that answers the beginning of a target, for the search by
halves of `sites.servers.apachefiles`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sites.materialise import Site
from sites.servers import BODILESS, MISS_HEADERS, PREFLIGHT_HEADERS
from sites.servers.apachefiles import beginnings, file_name


def write_answers(folder: Path, site: Site) -> None:
    """Every answer of a site, in a folder of its own for each scheme."""
    for kind in ("heads", "bodies", "closest"):
        (folder / kind).mkdir(parents=True)
    for served in site.objects:
        body = b"" if served.status in BODILESS else served.body
        wait_us = round(served.think_ms * 1000)
        _write(
            folder,
            file_name(served.host, served.target),
            served.status,
            served.headers,
            body=body,
            wait_us=wait_us,
        )
    _write(folder, "miss", 404, MISS_HEADERS)
    _write(folder, "preflight", 204, PREFLIGHT_HEADERS)
    for each in site.closest:
        for beginning, target in beginnings(each):
            (folder / "closest" / file_name(each.host, beginning)).write_text(file_name(each.host, target))


def _write(
    folder: Path,
    name: str,
    status: int,
    headers: Sequence[tuple[str, str]],
    *,
    body: bytes = b"",
    wait_us: int = 0,
) -> None:
    lines = [f"{status} {wait_us}", *(f"{field}: {value}" for field, value in headers)]
    head = "".join(f"{line}\n" for line in lines)
    (folder / "heads" / name).write_bytes(head.encode("latin-1", "replace"))
    (folder / "bodies" / name).write_bytes(body)
