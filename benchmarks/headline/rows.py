"""The rows of the headline, in the order of the page. What a module says of itself is what the page says of the row."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import ModuleType

from benchmarks.headline import advice, link, overhead, replay, report, users
from benchmarks.headline.row import Row


def row_of(module: ModuleType) -> Row:
    how = inspect.getdoc(module)
    assert how is not None
    return Row(module.TITLE, how, module.TURNS, module.MINUTES, module.measure)


ROWS: Mapping[str, Row] = {
    name: row_of(module)
    for name, module in (
        ("overhead", overhead),
        ("link", link),
        ("replay", replay),
        ("users", users),
        ("report", report),
        ("advice", advice),
    )
}
