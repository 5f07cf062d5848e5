"""How much load a study file asks for: `[users]` or `[requests]`."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import shown
from harness.model.kind import Kind
from harness.model.workload import Requests, Users, Workload

USERS_KEYS = ("from", "to", "over_s", "steps", "step_s", "think_s", "page_timeout_s", "bucket_s")
REQUESTS_KEYS = ("connections", "depth", "seconds", "warm_s")
MAX_ENTRIES = 50


def workloads_of(data: Mapping[str, Any], kind: Kind) -> tuple[Workload | None, ...]:
    """One crowd, or a loop for every number of connections and depth; a load has none."""
    if kind is Kind.USERS:
        return (_users(_needed(data, "users", USERS_KEYS, "from = 1, to = 100, over_s = 60")),)
    if kind is Kind.REQUESTS:
        return _loops(_needed(data, "requests", REQUESTS_KEYS, "connections = [16, 64]"))
    return (None,)


def _needed(data: Mapping[str, Any], key: str, known: tuple[str, ...], example: str) -> Mapping[str, Any]:
    if key not in data:
        raise StudyError(f"a study of kind {key} needs a table [{key}], as in {key} = {{{example}}}")
    return keys.table(key, data[key], known)


def _users(table: Mapping[str, Any]) -> Users:
    values = {("start" if key == "from" else key): value for key, value in table.items()}
    if "steps" in values:
        values["steps"] = tuple(keys.entries(table, "steps"))
    return Users(**values)


def _loops(table: Mapping[str, Any]) -> tuple[Requests, ...]:
    times = {key: table[key] for key in ("seconds", "warm_s") if key in table}
    return tuple(
        Requests(connections=connections, depth=depth, **times)
        for connections, depth in itertools.product(
            _listed(table, "connections", None), _listed(table, "depth", 1)
        )
    )


def _listed(table: Mapping[str, Any], key: str, default: int | None) -> list[Any]:
    """One number, or a list of several."""
    value = table.get(key, default)
    if value is None:
        raise StudyError(f"requests: {key} is missing; give a number or a list, as in {key} = [16, 64]")
    found = keys.entries(table, key) if isinstance(value, list) else [value]
    if len(found) > MAX_ENTRIES:
        raise StudyError(f"{key} is {shown(value)}; it may hold {MAX_ENTRIES} entries")
    return found
