"""load.har is read as what anybody may have written: what can be drawn comes out, and nothing else."""

from __future__ import annotations

import contextlib
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.runs.harfile import (
    FILE,
    LATEST_MS,
    LONGEST_URL,
    MOST_REQUESTS,
    MOST_STEPS,
    HarLoad,
    activity_of,
    load_of,
    read_har,
)
from tests.unit.analysis.synthetic_har import HOSTILE_URLS, entry, har_of, load


def test_a_load_is_what_its_file_tells(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.write_text(json.dumps(load(3, 400.0)))
    read = read_har(path)
    first, second, _ = read.requests
    assert first.phases_ms == (1, 20, 20, 20, 30, 5)
    assert (first.start_ms, first.end_ms, first.kind, first.host) == (0, 96, "document", "site.example")
    assert (second.start_ms, second.status, second.body_bytes, second.connection) == (190, 200, 1000, "4000")
    assert read.marks_ms == {
        "first byte": 60,
        "first paint": pytest.approx(400 / 3),
        "DOM ready": 200,
        "load event": 400,
    }
    assert (read.connections, read.left_out, read.whole, read.body_bytes) == (2, 0, True, 3000)


def test_entries_come_in_the_order_of_their_start() -> None:
    read = load_of(har_of([entry("https://b.example/", 9), entry("https://a.example/", 3)]))
    assert [request.host for request in read.requests] == ["a.example", "b.example"]


def test_hostile_names_stay_names_and_are_clipped() -> None:
    read = load_of(har_of([entry(url, number) for number, url in enumerate(HOSTILE_URLS)]))
    assert len(read.requests) == len(HOSTILE_URLS)
    assert max(len(request.url) for request in read.requests) <= LONGEST_URL + 1
    assert all(isinstance(request.host, str) for request in read.requests)


@pytest.mark.parametrize(
    "change",
    [
        {"request": {"method": "GET"}},
        {"request": {"url": 7}},
        {"request": []},
        {"startedDateTime": "yesterday"},
        {"startedDateTime": None},
        {"startedDateTime": "9999-12-31T23:59:59Z"},
    ],
)
def test_an_entry_that_cannot_be_is_left_out_and_counted(change: dict[str, Any]) -> None:
    read = load_of(har_of([entry("https://a.example/"), entry("https://b.example/") | change]))
    assert ([request.host for request in read.requests], read.left_out) == (["a.example"], 1)


def test_phases_that_cannot_be_take_no_time() -> None:
    odd = {"blocked": -1, "dns": -5, "connect": "9", "ssl": 1e300, "send": None, "wait": True, "receive": 7}
    (request,) = load_of(har_of([entry("https://a.example/", timings=odd)])).requests
    assert request.phases_ms == (0, 0, 0, 0, 0, 7)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Expecting value"),
        ("[]", "not a JSON object"),
        ("{}", "no list of entries"),
        ('{"log": {"entries": {}}}', "no list of entries"),
        ('{"log": {"entries": [' + "[" * 30 + "]" * 30 + "]}}", "brackets"),
        (json.dumps(har_of([{}] * (MOST_REQUESTS + 1))), "20,001 entries; at most 20,000"),
        (json.dumps(load())[:-40], "delimiter|Unterminated|Expecting"),
    ],
)
def test_what_is_no_har_is_refused_in_one_line(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / FILE
    path.write_text(text)
    with pytest.raises(ValueError, match=why) as caught:
        read_har(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_too_long_is_not_even_read(tmp_path: Path) -> None:
    path = tmp_path / FILE
    with path.open("wb") as file:
        file.truncate(30_000_000)
    with pytest.raises(ValueError, match="30 MB long; at most 20 MB"):
        read_har(path)


def test_a_log_that_was_cut_off_says_so() -> None:
    made = load()
    made["log"]["_incomplete"] = True
    assert not load_of(made).whole


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(HOSTILE_URLS)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
)


@pytest.mark.thorough
@given(data=st.data())
def test_any_damage_gives_a_load_that_can_be_drawn_or_one_line(data: st.DataObject) -> None:
    made = load(3)
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            places.append((value, key))
            if isinstance(value[key], dict | list):
                walk(value[key])

    walk(made)
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(places))
        holder[key] = data.draw(VALUES)
    with contextlib.suppress(ValueError):
        drawable(load_of(made))


def drawable(read: HarLoad) -> None:
    for request in read.requests:
        assert all(math.isfinite(took) and 0 <= took <= 2 * LATEST_MS for took in request.phases_ms)
        assert abs(request.start_ms) <= LATEST_MS
        assert len(request.url) <= LONGEST_URL + 1
    assert all(0 <= at <= LATEST_MS for at in read.marks_ms.values())


TOLD = {
    "stepMs": 2,
    "linkDown": [0, 50, 100],
    "linkUp": [0, 0, 1],
    "downMbps": 10,
    "upMbps": 1.5,
    "mainThread": [7],
    "mainThreadBy": "kernel",
}


def test_rows_come_out_as_they_were() -> None:
    made = load(3)
    made["log"]["_activity"] = TOLD
    activity = load_of(made).activity
    assert activity is not None
    assert activity.step_ms == 2
    assert [(row.name, row.percent, row.whole_mbps) for row in activity.rows] == [
        ("link down", (0, 50, 100), 10),
        ("link up", (0, 0, 1), 1.5),
        ("main thread, by the kernel", (7,), None),
    ]
    assert load_of(load(3)).activity is None


@pytest.mark.parametrize(
    ("changes", "rows"),
    [
        ({"stepMs": 0}, None),
        ({"stepMs": True}, None),
        ({"stepMs": float("nan")}, None),
        ({"stepMs": "</script>"}, None),
        ({"linkDown": [101], "linkUp": [-1], "mainThread": "1"}, None),
        ({"linkDown": [0] * (MOST_STEPS + 1)}, 2),
        ({"linkDown": [0, None]}, 2),
        ({"linkUp": {}, "mainThread": []}, 1),
        ({"mainThreadBy": ["<b>"], "downMbps": 10**400, "upMbps": 0}, 3),
    ],
)
def test_what_is_not_as_it_should_be_is_left_out(changes: dict[str, Any], rows: int | None) -> None:
    activity = activity_of(TOLD | changes)
    assert (activity and len(activity.rows)) == rows
    if rows == 3:
        assert activity is not None
        assert [(row.name, row.whole_mbps) for row in activity.rows] == [
            ("link down", None),
            ("link up", None),
            ("main thread", None),
        ]
