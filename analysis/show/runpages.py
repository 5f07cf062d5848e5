"""The pages of a whole run: the first page, a condition with all its trials, and the trials as a list."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response

from analysis.labels import words
from analysis.labels.metrics import MAIN_UNITS, MetricColumn, metric_column
from analysis.report.summary import Said
from analysis.runs.harfile import FILE as HAR_FILE
from analysis.show.asked import Asked
from analysis.show.shownrun import CONDITION, LEFT_OUT, ShownRun, interval_text
from analysis.show.trialpages import attempt_text
from harness.errors import RecordsError
from harness.model.kind import Kind

PAGE_ROWS = 200
MOST_PAGES = 1_000_000
TELLING: Mapping[Kind, tuple[str, ...]] = {
    Kind.LOAD: ("fcp_ms", "lcp_ms", "speed_index_ms", "requests", "connections", "bytes_down"),
    Kind.USERS: ("users_at_most_pages", "page_ms", "pages_failed", "requests"),
    Kind.REQUESTS: ("latency_p50_ms", "latency_p99_ms", "requests"),
}
BEFORE = {"order": "Order", "trial": "Trial", "block": "Block", "outcome": "Outcome"}
BEHIND = {"condition": "Condition"}
COUNTING = {"": "all attempts", "counted": "those that count", "left-out": "those left out"}
MOST_AT_ONCE = 3000  # attempts whose claims are judged while a reader waits for the first page
MOST_BESIDE = 60
ROOM = 1.15  # behind the longest load
USUAL_MS = 1000.0  # where no trial has a time


@dataclass(frozen=True)
class ListQuery:
    """What of the list is asked for. Anything that is not known is as if it had not been said."""

    sort: str = "order"
    down: bool = False
    condition: str = ""
    counting: str = ""
    page: int = 1

    @classmethod
    def of(cls, given: Mapping[str, str]) -> ListQuery:
        number = given.get("page", "")
        return cls(
            sort=given.get("sort", "order"),
            down="down" in given,
            condition=given.get("condition", ""),
            counting=given.get("counting", "") if given.get("counting") in COUNTING else "",
            page=min(int(number), MOST_PAGES)
            if number.isascii() and number.isdecimal() and len(number) < 9
            else 1,
        )

    def given(self, **changes: Any) -> dict[str, str]:
        """As arguments of an address, those that differ from the usual ones."""
        new = replace(self, **changes)
        said = {"sort": new.sort, "condition": new.condition, "counting": new.counting}
        said |= {"down": "1" if new.down else "", "page": str(new.page) if new.page > 1 else ""}
        return {key: value for key, value in said.items() if value and (key, value) != ("sort", "order")}


@dataclass(frozen=True)
class TrialRow:
    trial: str
    attempt: int
    order: str
    block: int
    condition: str
    label: str
    outcome: str
    left_out: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class TrialList:
    """A page of the list: its rows, the columns of metrics, and how many rows and pages there are in all."""

    query: ListQuery
    rows: tuple[TrialRow, ...]
    columns: tuple[MetricColumn, ...]
    total: int
    pages: int


def columns_of(shown: ShownRun) -> tuple[MetricColumn, ...]:
    """The main metric, and those of the telling ones that some attempt observed."""
    names = (shown.metric, *TELLING[shown.run.kind])
    return tuple(
        metric_column(metric, shown.run.kind)
        for metric in names
        if metric == shown.metric or shown.attempts[metric].notna().any()
    )


def listed(shown: ShownRun, query: ListQuery) -> TrialList:
    """The rows that a query asks for."""
    columns, attempts = columns_of(shown), shown.attempts
    if query.condition in shown.conditions:
        attempts = attempts[attempts[CONDITION] == query.condition]
    if query.counting:
        attempts = attempts[attempts[LEFT_OUT].isna() == (query.counting == "counted")]
    attempts = _sorted(shown, attempts, query, {column.name for column in columns})
    pages = max(1, -(-len(attempts) // PAGE_ROWS))
    query = replace(query, page=max(1, min(query.page, pages)))
    first = (query.page - 1) * PAGE_ROWS
    part = attempts.iloc[first : first + PAGE_ROWS].to_dict("records")
    rows = tuple(trial_row(shown, attempt, columns) for attempt in part)
    return TrialList(query, rows, columns, len(attempts), pages)


def trial_row(shown: ShownRun, attempt: Mapping[Any, Any], columns: tuple[MetricColumn, ...]) -> TrialRow:
    """An attempt as a line of a table."""
    left_out, order = attempt[LEFT_OUT], attempt.get("order")
    return TrialRow(
        trial=str(attempt["trial"]),
        attempt=int(attempt["attempt"]),
        order="" if order is None or pd.isna(order) else str(order),
        block=int(attempt["block"]),
        condition=str(attempt[CONDITION]),
        label=shown.conditions[attempt[CONDITION]].label,
        outcome=str(attempt["outcome"]),
        left_out="" if pd.isna(left_out) else str(left_out),
        values=tuple(
            "" if pd.isna(attempt[column.name]) else column.text(attempt[column.name]) for column in columns
        ),
    )


def _sorted(shown: ShownRun, attempts: pd.DataFrame, query: ListQuery, metrics: set[str]) -> pd.DataFrame:
    """Stable, so that what is equal stays in the order in which it was measured; what is not known comes last."""
    if query.sort == "condition":
        ranks = {key: rank for rank, key in enumerate(shown.conditions)}
        keys = attempts[CONDITION].map(ranks)
    elif query.sort in ("trial", "block", "outcome") or query.sort in metrics:
        keys = attempts[query.sort]
    else:
        return attempts.iloc[::-1] if query.down else attempts
    order = keys.sort_values(kind="stable", ascending=not query.down, na_position="last").index
    return attempts.loc[order]


def overview(asked: Asked) -> Response:
    shown = asked.shown
    column = metric_column(shown.metric, shown.run.kind)
    counted = [shown_condition for shown_condition in shown.conditions.values() if shown_condition.estimate.n]
    slowest = max(
        (
            shown_condition.estimate.median
            for shown_condition in counted
            if math.isfinite(shown_condition.estimate.median)
        ),
        default=0.0,
    )
    rows = [
        (
            shown_condition,
            column.text(shown_condition.estimate.median) if shown_condition.estimate.n else words.DASH,
            interval_text(shown_condition.estimate),
            min(shown_condition.estimate.median / slowest, 1.0)
            if shown_condition.estimate.n and slowest > 0
            else 0.0,
            attempt_text(*shown_condition.median_trial) if shown_condition.median_trial else "",
            shown.portraits[shown_condition.key]["trial"] if shown_condition.key in shown.portraits else "",
        )
        for shown_condition in shown.conditions.values()
    ]
    said = _said(shown) if len(shown.attempts) <= MOST_AT_ONCE else None
    return asked.page(
        "overview.html.j2",
        rows=rows,
        portrayed=bool(shown.portraits),
        head=column.head,
        verdicts=said,
        notes=shown.run.notes,
    )


def verdicts(asked: Asked) -> Response:
    """The same claims by themselves, where judging them takes a while."""
    return asked.page("verdicts.html.j2", verdicts=_said(asked.shown))


def _said(shown: ShownRun) -> list[Said]:
    try:
        return list(shown.verdicts)
    except RecordsError as error:
        return [Said(f"The run cannot be evaluated as one: {error}", "bad")]


def condition(asked: Asked, key: str) -> Response:
    shown = asked.shown
    if key not in shown.conditions:
        raise NotFound(f"The run holds no condition whose first trial is {key[:80]}.")
    shown_condition, attempts = shown.conditions[key], shown.of_condition(key)
    by_time = asked.request.args.get("sort") == "time"
    if by_time:
        attempts = attempts.sort_values(shown.metric, kind="stable", na_position="last")
    columns, column = columns_of(shown), metric_column(shown.metric, shown.run.kind)
    part = attempts.head(MOST_BESIDE)
    loads = shown.run.kind is Kind.LOAD
    longest = part[shown.metric].max() * ROOM if loads and part[shown.metric].notna().any() else USUAL_MS
    rows = [trial_row(shown, attempt, columns) for attempt in part.to_dict("records")]
    kept = [loads and (shown.run.folder_of(row.trial, row.attempt) / HAR_FILE).exists() for row in rows]
    return asked.page(
        "condition.html.j2",
        condition=shown_condition,
        portrait=asked.attempt(shown.portraits[key]["trial"], 1) if key in shown.portraits else None,
        interval=interval_text(shown_condition.estimate),
        median=column.text(shown_condition.estimate.median) if shown_condition.estimate.n else "",
        head=column.head,
        rows=list(zip(rows, kept, strict=True)),
        unit=MAIN_UNITS[shown.run.kind],
        more=len(attempts) - len(part),
        until=f"{longest:.0f}",
        by_time=by_time,
        attempt_text=attempt_text,
    )


def trials(asked: Asked) -> Response:
    shown = asked.shown
    trial_list = listed(shown, ListQuery.of(asked.request.args))
    heads = {**BEFORE, **{column.name: column.head for column in trial_list.columns}, **BEHIND}
    return asked.page(
        "trials.html.j2",
        found=trial_list,
        heads=heads,
        conditions=shown.conditions.values(),
        counting=COUNTING,
        attempt_text=attempt_text,
    )
