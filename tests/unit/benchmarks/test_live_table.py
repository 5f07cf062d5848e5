"""The table of replays beside live pages is that of its data."""

from __future__ import annotations

import json
import re
from pathlib import Path

RESULTS = Path(__file__).parents[3] / "docs" / "results"


def test_the_document_shows_the_table_of_the_data() -> None:
    data = json.loads((RESULTS / "data" / "live.json").read_text(encoding="utf-8"))
    _, _, rest = (RESULTS / "replay.md").read_text(encoding="utf-8").partition("<!-- of data/live.json -->\n")
    shown, end, _ = rest.partition("<!-- end -->")
    assert end
    assert [line.removeprefix("- ") for line in shown.splitlines()] == data["table"]
    assert len(data["pages"]) == sum(line.startswith("| `") for line in data["table"])


def test_the_front_says_what_the_table_comes_to() -> None:
    data = json.loads((RESULTS / "data" / "live.json").read_text(encoding="utf-8"))
    (told,) = [line for line in data["table"] if line.startswith("Page-load time: ")]
    found = re.search(r"off by (.+ %) at the median of (\d+) pages, (.+ %) at most", told)
    assert found
    median, pages, most = found.groups()
    front = RESULTS.with_suffix(".md").read_text(encoding="utf-8")
    assert f"| Of {pages} pages the load is off by {median} at the median, by {most} at most |" in front
