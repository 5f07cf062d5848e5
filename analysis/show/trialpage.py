"""A trial: its metrics, waterfall, film, console, screenshot, files and record."""

from __future__ import annotations

import json

from werkzeug.wrappers import Response

from analysis.labels.metrics import main_label
from analysis.show.asked import Asked
from analysis.show.attempts import ShownAttempt, waterfall_data
from analysis.show.choosing import offered, place_text
from analysis.show.filmframes import shown_frames
from analysis.show.metricrows import metric_rows
from analysis.waterfalls.waterfallview import controls
from harness.model.kind import Kind


def trial(asked: Asked, trial: str, attempt: int) -> Response:
    shown = asked.shown
    found = asked.attempt(trial, attempt)
    before, after = _beside(asked, found)
    return asked.page(
        "trial.html.j2",
        trial=found,
        before=before,
        after=after,
        metric=main_label(shown.run.kind),
        loads=shown.run.kind is Kind.LOAD,
        metrics=metric_rows([found.record], shown.run.kind),
        record=json.dumps(found.record, indent=1, ensure_ascii=False),
        waterfalls=waterfall_data([found]),
        controls=controls(),
        frames=shown_frames(found.film.film, found.film.gone) if found.film.film else (),
        offered=[each for each in offered(shown, found.condition) if each.text != place_text(trial, attempt)],
        here=place_text(trial, attempt),
    )


def _beside(asked: Asked, found: ShownAttempt) -> tuple[str | None, str | None]:
    """The addresses of the attempts before and after it at the same condition."""
    mine = asked.shown.of_condition(found.condition)
    places = list(zip(mine["trial"].astype(str), mine["attempt"].astype(int), strict=True))
    at = places.index((found.trial, found.attempt))
    urls = [
        asked.url("trial", trial=trial, attempt=attempt) for trial, attempt in places[max(0, at - 1) : at + 2]
    ]
    return urls[0] if at else None, urls[-1] if at + 1 < len(places) else None
