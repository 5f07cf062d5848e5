"""The table of replays beside live pages is that of its data."""

from __future__ import annotations

import json
from pathlib import Path

RESULTS = Path(__file__).parents[3] / "docs" / "results"


def test_the_document_shows_the_table_of_the_data() -> None:
    data = json.loads((RESULTS / "data" / "live.json").read_text(encoding="utf-8"))
    _, _, rest = (RESULTS / "replay.md").read_text(encoding="utf-8").partition("<!-- of data/live.json -->\n")
    shown, end, _ = rest.partition("<!-- end -->")
    assert end
    assert [line.removeprefix("- ") for line in shown.splitlines()] == data["table"]
    assert len(data["pages"]) == sum(line.startswith("| `") for line in data["table"])
