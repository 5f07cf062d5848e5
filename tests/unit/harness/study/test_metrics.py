"""The metrics of each kind, by which its claims and its report go: what their keys, units, types and columns say fits
together.
"""

from __future__ import annotations

from dataclasses import fields

import pytest

from harness.errors import StudyError
from harness.model.engine import BROWSERS, Engine
from harness.model.kind import MAIN_METRIC, Kind, main_metric
from harness.model.metric import MetricTable, Source, Unit, metrics_declared
from harness.probes.registry import ORDER, PROBES, Observation
from harness.study.metrics import metric_named, metrics_of, numeric_metric, observation_of, unobserved

TYPES = {
    Unit.US: "float",
    Unit.MS: "float",
    Unit.S: "float",
    Unit.BYTES: "int",
    Unit.COUNT: "int",
    Unit.PER_S: "float",
    Unit.BYTES_PER_S: "float",
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
EVERY = [(kind, key) for kind in Kind for key in metrics_of(kind)]


@pytest.mark.parametrize(("kind", "key"), EVERY)
def test_a_metric_has_the_type_of_its_unit(kind: Kind, key: str) -> None:
    (declared,) = (str(each.type) for each in fields(observation_of(kind)) if each.name == key)
    assert declared.removesuffix(" | None") == TYPES[metrics_of(kind)[key].unit]


@pytest.mark.parametrize(("kind", "key"), EVERY)
def test_units_stand_in_keys(kind: Kind, key: str) -> None:
    unit = metrics_of(kind)[key].unit
    said = [each for end, each in OF_A_KEY.items() if key.endswith(end)]
    if unit in (Unit.PER_S, Unit.BYTES_PER_S):
        assert key.endswith("_per_s")
        assert key.startswith("bytes_") == (unit is Unit.BYTES_PER_S)
        return
    assert said in ([], [unit])
    assert (key.startswith("bytes_") or key.endswith("_bytes")) == (unit is Unit.BYTES)


@pytest.mark.parametrize("table", MetricTable)
def test_the_columns_of_a_table_stand_side_by_side(table: MetricTable) -> None:
    positions = [
        each.position
        for metric in metrics_of(Kind.LOAD).values()
        for each in metric.columns
        if each.table is table
    ]
    assert sorted(positions) == list(range(1, len(positions) + 1))


def test_what_is_no_number_has_a_column_for_a_part_of_it_only() -> None:
    columns = [
        (metric.unit, each.part) for metric in metrics_of(Kind.LOAD).values() for each in metric.columns
    ]
    assert all(bool(part) == (not unit.is_number) for unit, part in columns)


@pytest.mark.parametrize("kind", Kind)
def test_labels_are_unique(kind: Kind) -> None:
    labels = [each.label for each in metrics_of(kind).values()]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("kind", Kind)
def test_what_was_not_observed_is_null_and_never_zero(kind: Kind) -> None:
    nothing, metrics = observation_of(kind)(), metrics_of(kind)
    assert not any(getattr(nothing, key) for key in metrics)
    assert all(getattr(nothing, key) is None for key, each in metrics.items() if each.unit.is_number)


@pytest.mark.parametrize("kind", Kind)
def test_the_main_metric_of_a_kind_is_a_number(kind: Kind) -> None:
    metric = metrics_of(kind)[main_metric(kind)]
    assert metric.unit.is_number
    assert metric.more_is_better == (kind is not Kind.LOAD)


def test_the_main_metric_of_loads_is_a_time_of_the_page() -> None:
    assert metrics_of(Kind.LOAD)[MAIN_METRIC].source is Source.TIMELINE
    assert main_metric(Kind.LOAD) == MAIN_METRIC


def test_a_claim_is_about_a_number_of_its_kind() -> None:
    assert numeric_metric("plt_ms") == "plt_ms"
    with pytest.raises(
        StudyError, match=r"unknown 'lod'; .*fcp_ms, .* \d+ more; .*docs/reference/metrics.md"
    ):
        numeric_metric("lod")
    assert numeric_metric("page_p95_ms", Kind.USERS) == "page_p95_ms"
    with pytest.raises(StudyError, match="unknown 'plt_ms'"):
        numeric_metric("plt_ms", Kind.REQUESTS)
    with pytest.raises(StudyError, match="limited_by is no number"):
        numeric_metric("limited_by", Kind.USERS)


@pytest.mark.parametrize("kind", Kind)
def test_main_metrics_are_named_first_in_their_meaning(kind: Kind) -> None:
    assert "default metric" in metrics_of(kind)[main_metric(kind)].meaning


def test_kinds_that_share_a_name_count_it_alike() -> None:
    for name in {key for kind in Kind for key in metrics_of(kind)}:
        units = {metrics_of(kind)[name].unit for kind in Kind if name in metrics_of(kind)}
        assert len(units) == 1, name
        found = metric_named(name)
        assert found is not None
        assert {found.unit} == units
    assert metric_named("nothing") is None


def test_what_probes_declare_is_what_a_load_is_observed_by() -> None:
    assert {each.metrics for each in PROBES if each.metrics is not None} == set(Observation.__bases__)
    declared = [each.name for kept in Observation.__bases__ for each in fields(kept)]
    assert len(set(declared)) == len(declared)


@pytest.mark.parametrize("engine", BROWSERS)
def test_an_engine_has_no_metric_of_a_probe_that_it_cannot_serve(engine: Engine) -> None:
    lacking = {
        key
        for each in PROBES
        if each.metrics is not None and not engine.can(*each.needs)
        for key in metrics_declared(each.metrics)
    }
    assert lacking <= unobserved(engine)
    assert all(metrics_declared(Observation)[key].needs for key in unobserved(engine) - lacking)


def test_metrics_have_the_order_that_they_had_and_new_ones_stand_behind() -> None:
    keys = [*metrics_of(Kind.LOAD)]
    assert keys[: len(ORDER.split())] == ORDER.split()
    assert len(set(keys)) == len(keys)
