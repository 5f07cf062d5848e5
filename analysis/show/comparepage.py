"""Two trials side by side."""

from __future__ import annotations

from werkzeug.wrappers import Response

from analysis.runs.harfile import MARKS
from analysis.show.asked import Asked
from analysis.show.attempts import waterfall_data
from analysis.show.choosing import chosen, offered, place_text
from analysis.show.metricrows import metric_rows
from analysis.waterfalls.waterfallview import controls
from harness.model.kind import Kind


def compare(asked: Asked) -> Response:
    shown = asked.shown
    places, why_not = chosen(shown, asked.request.args.getlist("of"))
    both = [] if why_not else [asked.attempt(*place) for place in places]
    return asked.page(
        "compare.html.j2",
        both=both,
        why_not=why_not,
        given=[*(place_text(*place) for place in places), "", ""][:2],
        offered=offered(shown),
        loads=shown.run.kind is Kind.LOAD,
        metrics=metric_rows([each.record for each in both], shown.run.kind) if both else [],
        waterfalls=waterfall_data(both),
        controls=controls(),
        marks=[
            name
            for name in MARKS.values()
            if all(each.har.load and name in each.har.load.marks_ms for each in both)
        ],
    )
