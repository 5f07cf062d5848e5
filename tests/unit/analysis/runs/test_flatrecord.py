"""Records of one shape are checked together, and none is the less checked for that."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.runs import flatrecord
from analysis.runs.flatrecord import FlatRecords, flat_record
from analysis.runs.runfields import LARGEST
from harness.errors import RecordsError
from harness.model.kind import Kind
from tests.unit.analysis.synthetic import Synthetic

RECORDS = Synthetic(trials=2, outcomes={"00003": "page-timeout"}).records()
FIRST = RECORDS[0]


def rows(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    known = FlatRecords()
    return [known.row(each, Kind.LOAD, "here") for each in records]


def odd_ones() -> list[dict[str, Any]]:
    """Records that each have a shape of their own."""
    return [
        {**FIRST, "requests": 24.5},
        {**FIRST, "requests": None},
        {**FIRST, "run": "mine", "record_run": "theirs"},
        dict(reversed(FIRST.items())),
        {**FIRST, "link_reading": {"b": 1, "down": {"c": [1], "d": {"e": None}}, "a": "last"}},
        {**FIRST, "link_reading": None, "protocols": {"h2": 3, "h1": 1}},
        {**FIRST, "errors": {"reset": 2, "odd": True, "refused": 1}},
        {**FIRST, "painted": None},
    ]


@pytest.mark.parametrize("most", [1, 2, 1000])
def test_a_row_is_the_same_whatever_was_read_before(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(flatrecord, "MOST_SHAPES", most)
    records = [each for odd in odd_ones() for each in (FIRST, odd)] + RECORDS
    for found, record in zip(rows(records), records, strict=True):
        assert list(found.items()) == list(flat_record(record, Kind.LOAD, "here").items())


def test_nested_values_stand_in_their_order_under_the_keys_that_lead_to_them() -> None:
    (found,) = rows([odd_ones()[4]])
    reading = {key: value for key, value in found.items() if key.startswith("link_reading_")}
    assert list(reading.items()) == [
        ("link_reading_b", 1),
        ("link_reading_down_d_e", None),
        ("link_reading_a", "last"),
    ]


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("plt_ms", LARGEST * 1.01, r"plt_ms is 1010000000000; it may be 1e\+12"),
        ("plt_ms", -LARGEST * 1.01, "it may be 1e"),
        ("plt_ms", 1e-9, "no page loads in less than"),
        ("requests", True, "requests is True; it must be a number or null"),
        ("requests", "24", "it must be a number or null"),
        ("requests", [24], "it must be a number or null"),
        ("protocols", [], r"protocols is \[\]; expected: counts by name, or null"),
        ("painted", 1, "expected: true or false, or null"),
    ],
)
def test_a_wrong_value_is_refused_behind_right_ones_of_its_shape(key: str, value: Any, says: str) -> None:
    with pytest.raises(RecordsError, match=says):
        rows([FIRST, FIRST, {**FIRST, key: value}])
