"""What the benchmark of `coldload advise` keeps for documents, of lists as the command writes them."""

from __future__ import annotations

from pathlib import Path

from benchmarks.advice import NOT_TRIED, NOTHING_SAVED, OPEN, Asked, changes, saving_text, times
from tests.unit.analysis.report.test_advice import made


def test_each_change_has_a_row_with_what_it_saved_each_time(tmp_path: Path) -> None:
    first = Asked(made(tmp_path / "first").to_json(), 960.0, 220)
    second = Asked(made(tmp_path / "second", trials=14).to_json(), 1020.0, 240)
    without = [each for each in second.told["alternatives"] if each["name"] != "minify"]
    rows = {
        row["change"]: row for row in changes([first, Asked({**second.told, "alternatives": without}, 1, 1)])
    }
    assert list(rows) == ["images", "minify", "shard"]
    assert [row["place"] for row in rows.values()] == ["1, 1", "-, -", "-, -"]
    (fast, slow) = first.links
    assert list(rows["images"])[2:] == [f"{fast}_1", f"{fast}_2", f"{slow}_1", f"{slow}_2"]
    assert rows["minify"][f"{fast}_1"] == NOTHING_SAVED
    assert rows["minify"][f"{fast}_2"] == NOT_TRIED
    assert rows["shard"][f"{slow}_1"] == NOTHING_SAVED  # it makes the page slower
    told = times([first, second])
    assert [row["loads"] for row in told] == ["220", "240"]
    assert [row["minutes"] for row in told] == ["16", "17"]
    assert told[0]["changes"] == "3 of 4"
    assert told[0]["save_time"] == "1"


def test_a_time_of_which_nothing_counts_is_empty(tmp_path: Path) -> None:
    told = made(tmp_path).to_json()
    whole = Asked(told, 1.0, 1)
    assert not whole.empty
    blank = [{**each, "links": []} for each in told["alternatives"]]
    assert Asked({**told, "alternatives": blank}, 1.0, 0).empty
    (first, _) = whole.links
    lost = [
        {
            **each,
            "links": [
                {**one, "as_archived_ms": None} if one["link"] == first else one for one in each["links"]
            ],
        }
        for each in told["alternatives"]
    ]
    assert Asked({**told, "alternatives": lost}, 1.0, 1).empty


def test_what_is_saved_is_told_in_seconds_with_bounds_in_percent_of_the_page() -> None:
    one = {"answer": "less", "as_archived_ms": 3000.0, "saved_ms": 1020.0, "saved_low_ms": 990.0}
    assert saving_text({**one, "saved_high_ms": 1050.0}) == "1.02 s (33.0 to 35.0)"
    assert saving_text({**one, "saved_high_ms": None}) == OPEN
    assert saving_text({**one, "answer": "small", "saved_high_ms": 1050.0}) == NOTHING_SAVED
