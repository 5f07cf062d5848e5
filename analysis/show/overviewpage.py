"""The first page: how far the run is, what became of its claims, and its conditions."""

from __future__ import annotations

from werkzeug.wrappers import Response

from analysis.labels import words
from analysis.labels.metrics import metric_column
from analysis.report.summary import Said
from analysis.show.asked import Asked
from analysis.show.choosing import place_text
from analysis.show.shownrun import ShownRun, interval_text
from harness.errors import RecordsError

MOST_AT_ONCE = 3000  # attempts whose claims are judged while a reader waits for the first page


def overview(asked: Asked) -> Response:
    shown = asked.shown
    column = metric_column(shown.metric, shown.run.kind)
    counted = [each for each in shown.conditions.values() if each.estimate.n]
    slowest = max((each.estimate.median for each in counted), default=0.0)
    rows = [
        (
            each,
            column.text(each.estimate.median) if each.estimate.n else words.DASH,
            interval_text(each.estimate),
            each.estimate.median / slowest if each.estimate.n and slowest > 0 else 0.0,
            place_text(*each.median_trial) if each.median_trial else "",
        )
        for each in shown.conditions.values()
    ]
    said = _said(shown) if len(shown.attempts) <= MOST_AT_ONCE else None
    return asked.page("overview.html.j2", rows=rows, head=column.head, verdicts=said, notes=shown.run.notes)


def verdicts(asked: Asked) -> Response:
    """The same claims by themselves, where judging them takes a while."""
    return asked.page("verdicts.html.j2", verdicts=_said(asked.shown))


def _said(shown: ShownRun) -> list[Said]:
    try:
        return list(shown.verdicts)
    except RecordsError as error:
        return [Said(f"The run cannot be evaluated as one: {error}", "bad")]
