"""The metrics are declared in one way: what their keys, units, types and columns say fits together."""

from __future__ import annotations

from dataclasses import fields

import pytest

from harness.model.metric import MetricTable, Unit
from harness.model.observation import MAIN_METRIC, METRICS, TIMELINE_METRICS, Observation

TYPES = {
    Unit.MS: "float",
    Unit.S: "float",
    Unit.BYTES: "int",
    Unit.COUNT: "int",
    Unit.SHARE: "float",
    Unit.SCORE: "float",
    Unit.FLAG: "bool",
    Unit.TEXT: "str",
    Unit.TEXTS: "tuple[str, ...]",
    Unit.COUNTS: "Mapping[str, int]",
    Unit.READING: "Mapping[str, Any]",
}
OF_A_KEY = {
    "_ms": Unit.MS,
    "_s": Unit.S,
    "_share": Unit.SHARE,
    "_requests": Unit.COUNT,
    "_connections": Unit.COUNT,
}


@pytest.mark.parametrize("key", METRICS)
def test_a_metric_has_the_type_of_its_unit(key: str) -> None:
    (declared,) = (str(each.type) for each in fields(Observation) if each.name == key)
    assert declared.removesuffix(" | None") == TYPES[METRICS[key].unit]


@pytest.mark.parametrize("key", METRICS)
def test_units_stand_in_keys(key: str) -> None:
    said = [unit for end, unit in OF_A_KEY.items() if key.endswith(end)]
    assert said in ([], [METRICS[key].unit])
    assert key.startswith("bytes_") == (METRICS[key].unit is Unit.BYTES)


@pytest.mark.parametrize("table", MetricTable)
def test_the_columns_of_a_table_stand_side_by_side(table: MetricTable) -> None:
    places = [each.place for metric in METRICS.values() for each in metric.columns if each.table is table]
    assert sorted(places) == list(range(1, len(places) + 1))


def test_what_is_no_number_has_a_column_for_a_part_of_it_only() -> None:
    columns = [(metric.unit, each.part) for metric in METRICS.values() for each in metric.columns]
    assert all(bool(part) == (not unit.is_number) for unit, part in columns)


def test_labels_are_unique() -> None:
    labels = [each.label for each in METRICS.values()]
    assert len(set(labels)) == len(labels)


def test_what_was_not_observed_is_null_and_never_zero() -> None:
    nothing = Observation()
    assert not any(getattr(nothing, key) for key in METRICS)
    assert all(getattr(nothing, key) is None for key, each in METRICS.items() if each.unit.is_number)


def test_the_main_metric_is_a_time_of_the_page() -> None:
    assert MAIN_METRIC in TIMELINE_METRICS
