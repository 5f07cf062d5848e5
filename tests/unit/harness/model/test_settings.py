"""How far hosts are beyond the link: by a table, by the recording, or not at all."""

from __future__ import annotations

import pytest

from harness.errors import StudyError
from harness.model.settings import Distances, beyond_link
from tests.facts import tells

GROUPS = (("site.example", "www.site.example"), ("cdn.example",), ("ads.example",))
ROUND_TRIPS = {"site.example": 31.25, "www.site.example": 31.25, "cdn.example": 12.125, "ads.example": 98.0}


def of(value: object, round_trips: dict[str, float] | None = None) -> tuple[float, ...]:
    return Distances.parse(value).of("page", GROUPS, ROUND_TRIPS if round_trips is None else round_trips)


@pytest.mark.parametrize(
    ("value", "distances", "told"),
    [
        ("equal", (0, 0, 0), "equal"),
        ("recorded", (19.125, 0, 85.875), "recorded"),
        ({"*": 7}, (7, 7, 7), "7 ms"),
        (
            {"CDN.example": 12, "www.site.example": 0, "ads.example": 0.5},
            (0, 12, 0.5),
            "cdn.example 12 ms, www.site.example 0 ms, ads.example 0.5 ms",
        ),
        ({"cdn.example": 3, "*": "recorded"}, (19.125, 3, 85.875), "cdn.example 3 ms, * recorded"),
    ],
)
def test_a_distance_is_what_the_study_says(value: object, distances: tuple[float, ...], told: str) -> None:
    assert of(value) == distances
    assert str(Distances.parse(value)) == told
    assert bool(Distances.parse(value)) == any(distances)


def test_the_nearest_address_of_a_recording_is_at_the_end_of_its_link() -> None:
    assert beyond_link({"a": 20.5, "b": 20.5, "c": 61.0}) == {"a": 0, "b": 0, "c": 40.5}
    assert beyond_link({}) == {}


def test_names_that_sharding_made_are_as_far_as_their_host() -> None:
    groups = (*GROUPS, ("shard1.cdn.example",), ("shard2.other.example",))
    table = Distances.parse({"cdn.example": 12, "*": 3})
    assert table.of("page", groups, {}) == (3, 12, 3, 12, 3)
    recorded = Distances.parse("recorded").of("page", groups[:-1], ROUND_TRIPS)
    assert recorded == (19.125, 0, 85.875, 0)


@pytest.mark.parametrize(
    ("value", "round_trips", "facts"),
    [
        ("far", None, ("distance", "unknown 'far'", '"equal", "recorded"', "table of ms by host")),
        ({}, None, ("distance", "unknown {}")),
        (12, None, ("distance", "unknown 12")),
        ({"cdn.example": "12 ms"}, None, ("distance of 'cdn.example'", "in ms", "a number", "found '12 ms'")),
        ({"cdn.example": -1}, None, ("distance of 'cdn.example'", "in ms", "is -1", "0, or 0.01 to 60000")),
        ({"cdn.example": float("nan")}, None, ("in ms", "is nan")),
        (
            "recorded",
            ROUND_TRIPS | {"ads.example": 1e9},
            ("recording of page", "ads.example is 1e+09 ms away", "the most is 60000"),
        ),
        (
            {"cdn.example": 3},
            None,
            (
                *("distance", "table does not name site.example, www.site.example of page"),
                *('[distance] "site.example" = MS', '"*" = MS'),
            ),
        ),
        ("recorded", {}, ("distance", "recording of page", "no connect times", "in a table")),
        (
            "recorded",
            {"cdn.example": 3.0, "site.example": 4.0},
            ("distance", "recording of page does not tell", "ads.example", "in a table"),
        ),
        (
            {"site.example": 3, "www.site.example": 4, "*": 0},
            None,
            (
                *("distance", "site.example and www.site.example", "one server address in page"),
                *("3 and 4 ms", "one distance"),
            ),
        ),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    value: object, round_trips: dict[str, float] | None, facts: tuple[str, ...]
) -> None:
    with pytest.raises(StudyError) as raised:
        of(value, round_trips)
    assert tells([str(raised.value)], *facts)
    assert "\n" not in str(raised.value)
