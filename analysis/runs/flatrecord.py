"""A record as one flat row: its condition, and what was observed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from analysis.runs.runfields import LARGEST, check_number, optional, required, workload_in
from harness.errors import RecordsError
from harness.input.shown import shown
from harness.model.dimensions import OF_VARIANTS, USUAL
from harness.model.kind import Kind
from harness.model.metric import Unit
from harness.model.metrics import metrics_of
from harness.model.workload import Users

SCHEMAS = (1, 2)
LINK_COLUMNS = {
    "name": "link",
    "down_mbps": "down_mbps",
    "up_mbps": "up_mbps",
    "rtt_ms": "rtt_ms",
    "queue_down_bytes": "queue_down_bytes",
    "queue_up_bytes": "queue_up_bytes",
}
SMALLEST_MS = 1e-3  # of a load
MOST_SHAPES = 1000  # that are remembered
OF_A_RECORD = (
    "schema",
    "trial",
    "block",
    "order",
    "attempt",
    "restart",
    "machine",
    "left_out",
    "lane",
    "lanes",
    "outcome",
    "reason",
    "kind",
)  # and its metrics: not of its condition
TAKEN = ("run", "panel", "place", "cell", "excluded_by")  # the analysis' own columns
COUNTED = (
    "protocols",
    "requests_by_protocol",
    "tls_versions",
    "errors",
)  # of the counts by name: also as one text
OF_EVERY_RECORD = ("trial", "block", "outcome", "condition")
OF_EVERY_CONDITION = ("page", "protocol", "link")
OF_EVERY_LINK = ("down_mbps", "rtt_ms")
CONDITION_COLUMNS = ("page", "variant", "compression", "protocol", "engine", "driver", "origins", "server")


@cache
def numbers_of(kind: Kind) -> tuple[str, ...]:
    """The keys of a record that hold numbers."""
    return (
        *(key for key, each in metrics_of(kind).items() if each.unit.is_number),
        "overhead_ms",
        "machine_speed",
    )


@cache
def _others_of(kind: Kind) -> tuple[tuple[str, Unit], ...]:
    """The metrics that are no numbers, each with what it holds instead."""
    return tuple((key, each.unit) for key, each in metrics_of(kind).items() if not each.unit.is_number)


def kind_of(data: Mapping[str, Any], above: Kind | None, where: str) -> Kind:
    """What the record is of, which is what those above it are of; records of older versions are of loads."""
    name = optional(data, "kind", str, where) or Kind.LOAD.value
    if above is not None and name == above:
        return above
    if name not in list(Kind):
        raise RecordsError(
            f"{where}: kind is {shown(name)}; this version knows {', '.join(Kind)}: read the run with the version that "
            "wrote it"
        )
    if above is not None and name != above:
        raise RecordsError(f"{where}: kind is {name}, above it is {above}; a run is of one kind")
    return Kind(name)


def check_keys(data: Mapping[str, Any], where: str) -> None:
    """RecordsError that names what a record must hold and does not."""
    condition = data.get("condition")
    link = condition.get("link") if isinstance(condition, dict) else None
    missing = [
        key
        for holder, required in (
            (data, OF_EVERY_RECORD),
            (condition, OF_EVERY_CONDITION),
            (link, OF_EVERY_LINK),
        )
        for key in required
        if isinstance(holder, dict) and key not in holder
    ]
    if missing:
        raise RecordsError(
            f"{where}: a record of schema {shown(data.get('schema'))} without {', '.join(missing)}; this version "
            f"reads schema {' and '.join(map(str, SCHEMAS))}: read the run with the version that wrote it, or run its "
            "study again"
        )


def flat_condition(data: Mapping[str, Any], kind: Kind, where: str) -> dict[str, Any]:
    """The columns that name the condition of a record."""
    condition = required(data, "condition", dict, where)
    link = required(condition, "link", dict, where)
    for key in ("page", "protocol"):
        required(condition, key, str, where)
    for key in (*CONDITION_COLUMNS, *OF_VARIANTS):
        optional(condition, key, str, where)
    optional(link, "name", str, where)
    for key in ("down_mbps", "rtt_ms"):
        required(link, key, (int, float), where)
    for key in LINK_COLUMNS:
        if key != "name":
            check_number(link, key, where)
    flat = {key: condition.get(key) for key in CONDITION_COLUMNS}
    flat |= {column: link.get(key) for key, column in LINK_COLUMNS.items()}
    flat |= {f"link_{key}": _scalar(value) for key, value in link.items() if key not in LINK_COLUMNS}
    if not isinstance(condition.get("again", False), bool):
        raise RecordsError(f"{where}: again is {shown(condition['again'])}; it must be true or false")
    flat["again"] = condition.get("again", False)  # older records have none
    flat |= {key: condition.get(key, usual) for key, usual in USUAL.items()} if kind is Kind.LOAD else {}
    flat |= _flat_workload(condition, where)
    others = condition.keys() - {"link", "workload", *flat, *OF_A_RECORD, *numbers_of(kind)}
    return flat | {_free(key): _scalar(value) for key, value in condition.items() if key in others}


def _flat_workload(condition: Mapping[str, Any], where: str) -> dict[str, Any]:
    """How much load a trial put on its server; nothing for a page load."""
    workload = workload_in(condition, where)
    if workload is None:
        return {}
    if isinstance(workload, Users):
        flat: dict[str, Any] = {"users": str(workload)}
        told: tuple[str, ...] = ("from", "to", "over_s", "steps", "step_s")
    else:
        flat = {"connections": workload.connections, "depth": workload.depth}
        told = ("connections", "depth")
    return flat | {f"workload_{key}": value for key, value in workload.to_json().items() if key not in told}


def flat_record(data: Mapping[str, Any], kind: Kind, where: str) -> dict[str, Any]:
    """What was observed, its metrics checked; nested counts and readings as columns of their own."""
    return FlatRecords().row(data, kind, where)


class _Shape(NamedTuple):
    """What records share that have the same keys with values of the same types: these are right for their metrics."""

    keys: tuple[str, ...]  # of values that are columns as they are
    columns: tuple[str, ...]  # the names of these columns
    numbers: tuple[str, ...]  # the keys of the metrics that are there and numbers


class FlatRecords:
    """Makes records flat. Of those of one shape the first is checked key by key, as most are of few shapes."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[Any, ...], _Shape] = {}

    def row(self, data: Mapping[str, Any], kind: Kind, where: str) -> dict[str, Any]:
        """`flat_record`."""
        likeness = (kind, *data, *map(type, data.values()))
        shape = self._shapes.get(likeness)
        if shape is None:
            _check_metrics(data, kind, where)
            if len(self._shapes) >= MOST_SHAPES:
                self._shapes.clear()
            shape = self._shapes[likeness] = _shape_of(data, kind)
        elif any(not -LARGEST <= data[number] <= LARGEST for number in shape.numbers):
            _check_metrics(data, kind, where)  # which says what is wrong
        load = data.get("plt_ms")
        if load is not None and 0 < load < SMALLEST_MS:
            raise RecordsError(
                f"{where}: plt_ms is {shown(load)}; no page loads in less than {SMALLEST_MS:g} ms"
            )
        flat = dict(zip(shape.columns, [data[key] for key in shape.keys], strict=True))
        for key in COUNTED:
            if isinstance(data.get(key), dict):
                flat[key] = ", ".join(f"{name} {count}" for name, count in sorted(data[key].items()))
        if isinstance(data.get("errors"), dict):
            flat["error_count"] = sum(count for count in data["errors"].values() if _is_count(count))
        if isinstance(data.get("link_reading"), dict):
            flat |= _leaves(data["link_reading"], "link_reading")
        return flat


def _check_metrics(data: Mapping[str, Any], kind: Kind, where: str) -> None:
    """RecordsError for a metric that is none."""
    for key in numbers_of(kind):
        check_number(data, key, where)
    for key, unit in _others_of(kind):
        if data.get(key) is not None and not unit.is_of(data[key]):
            raise RecordsError(f"{where}: {key} is {shown(data[key])}; expected: {unit}, or null")


def _shape_of(data: Mapping[str, Any], kind: Kind) -> _Shape:
    keys = tuple(key for key, value in data.items() if not isinstance(value, dict | list))
    numbers = tuple(key for key in numbers_of(kind) if data.get(key) is not None)
    return _Shape(keys, tuple(map(_free, keys)), numbers)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST


def _free(key: str) -> str:
    """A name for the column of a field."""
    return f"record_{key}" if key in TAKEN else key


def _scalar(value: Any) -> Any:
    """A nested value of a condition as text, so that it still tells two conditions apart."""
    return json.dumps(value, sort_keys=True) if isinstance(value, dict | list) else value


def _leaves(data: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The values of nested objects, each by the keys that lead to it."""
    found: dict[str, Any] = {}
    for name, value in zip(_names(prefix, tuple(data)), data.values(), strict=True):
        if isinstance(value, dict):
            found |= _leaves(value, name)
        elif not isinstance(value, list):
            found[name] = value
    return found


@lru_cache(maxsize=MOST_SHAPES)
def _names(prefix: str, keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{prefix}_{key}" for key in keys)
