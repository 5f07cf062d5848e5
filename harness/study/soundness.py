"""Which attempts count. The runner asks right after an attempt; the report asks the same reasons of all records
(analysis/runs/exclude.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness.model.kind import Kind
from harness.model.soundness import ENDINGS, ENDINGS_OF_LOADS, OF_A_PAGE, OF_CAPACITY, Keys, Reason, without
from harness.probes.registry import LEFT_OUT

_REASONS: Mapping[Kind, tuple[Reason, ...]] = {
    Kind.LOAD: (*ENDINGS_OF_LOADS, *LEFT_OUT),
    Kind.USERS: (
        *ENDINGS,
        without("pages_per_s", "no-page-rate", "the crowd came to its end, but no page rate was observed"),
        *(replace(reason, spares=OF_A_PAGE) for reason in OF_CAPACITY),
    ),
    Kind.REQUESTS: (
        *ENDINGS,
        without("requests_per_s", "no-request-rate", "the loop came to its end, but no rate was observed"),
        *OF_CAPACITY,
    ),
}
MACHINE = frozenset(reason.name for reasons in _REASONS.values() for reason in reasons if reason.machine)


def reasons_of(kind: Kind) -> tuple[Reason, ...]:
    """Why an attempt of a kind does not count, in the order in which they are asked."""
    return _REASONS[kind]


def kind_of(record: Mapping[str, Any]) -> Kind:
    """The kind of a record, as a JSON mapping; one that says none is of a load. ValueError for an unknown one."""
    return Kind(record.get("kind", Kind.LOAD))


def unsound(record: Mapping[str, Any]) -> str | None:
    """The name of the first reason why a record, as a JSON mapping, does not count; None when it counts."""
    reason = _reason_against(record)
    return reason.name if reason else None


def disturbance(record: Mapping[str, Any]) -> Reason | None:
    """Why a record does not count, where it is the machine's fault."""
    reason = _reason_against(record)
    return reason if reason and reason.machine else None


def _reason_against(record: Mapping[str, Any]) -> Reason | None:
    for reason in reasons_of(kind_of(record)):
        if reason.applies(*[_value(record, keys) for keys in reason.reads]):
            return reason
    return None


def _value(record: object, keys: Keys) -> object:
    for key in keys:
        record = record.get(key) if isinstance(record, dict) else None
    return record
