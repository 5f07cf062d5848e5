"""A condition: all its trials beside each other."""

from __future__ import annotations

from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response

from analysis.labels.metrics import main_unit, metric_column
from analysis.runs.harfile import FILE as HAR_FILE
from analysis.runs.series import folder_of
from analysis.show.asked import Asked
from analysis.show.choosing import place_text
from analysis.show.shownrun import interval_text
from analysis.show.triallist import columns_of, trial_row
from harness.model.kind import Kind

MOST_BESIDE = 60
ROOM = 1.15  # behind the longest load
USUAL_MS = 1000.0  # where no trial has a time


def condition(asked: Asked, key: str) -> Response:
    shown = asked.shown
    if key not in shown.conditions:
        raise NotFound(f"The run holds no condition whose first trial is {key[:80]}.")
    found, attempts = shown.conditions[key], shown.of_condition(key)
    by_time = asked.request.args.get("sort") == "time"
    if by_time:
        attempts = attempts.sort_values(shown.metric, kind="stable", na_position="last")
    columns, column = columns_of(shown), metric_column(shown.metric, shown.run.kind)
    part = attempts.head(MOST_BESIDE)
    loads = shown.run.kind is Kind.LOAD
    longest = part[shown.metric].max() * ROOM if loads and part[shown.metric].notna().any() else USUAL_MS
    rows = [trial_row(shown, each, columns) for each in part.to_dict("records")]
    kept = [loads and (folder_of(shown.run, each.trial, each.attempt) / HAR_FILE).exists() for each in rows]
    return asked.page(
        "condition.html.j2",
        condition=found,
        interval=interval_text(found.estimate),
        median=column.text(found.estimate.median) if found.estimate.n else "",
        head=column.head,
        rows=list(zip(rows, kept, strict=True)),
        columns=columns,
        unit=main_unit(shown.run.kind),
        more=len(attempts) - len(part),
        until=f"{longest:.0f}",
        by_time=by_time,
        place=place_text,
    )
