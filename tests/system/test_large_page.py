"""A page of thousands of objects loads: the server starts with it, and finds each answer at the cost of any other.

With 10,000, three times, it takes six minutes: `python -m benchmarks.archive_size --load 10000`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import Outcome
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.records import Record
from harness.trial.trial import browser_lab
from sites.archive import write_archive
from sites.response import Response
from sites.warc import About
from tests.system.conftest import condition, inside, picture, trial

pytestmark = pytest.mark.side_by_side

OBJECTS = 2_000
START = "https://site.example/"
FAST = Link.of(1000, 1)


@pytest.mark.lengthy
def test_a_page_of_thousands_of_objects_loads(tmp_path: Path) -> None:
    tiny = picture(1)
    images = "".join(f"<img src=/{number}.png>" for number in range(OBJECTS))
    page = f'<!doctype html><link rel=icon href="data:,"><body>{images}'
    pictures = (
        Response(f"{START}{number}.png", 200, (("Content-Type", "image/png"), ("ETag", f'"{number}"')), tiny)
        for number in range(OBJECTS)
    )
    document = Response(START, 200, (("Content-Type", "text/html"),), page.encode())
    archive = write_archive(tmp_path, "page", About(START, "test", "test", ()), [document, *pictures])
    protocols = (Protocol.HTTP1, Protocol.H2)

    def loads() -> list[Record]:
        with browser_lab({"page": archive}, protocols) as opened:
            cells = [condition("page", protocol, link=FAST) for protocol in protocols]
            return [trial(opened, number, cell, timeout_s=120) for number, cell in enumerate(cells, 1)]

    for record in inside(loads):
        assert (record.outcome, record.reason) == (Outcome.OK, None), record.planned.condition.protocol
        assert record.observation.requests == OBJECTS + 1
        assert record.observation.missed == ()
