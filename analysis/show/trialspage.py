"""The trials as a list."""

from __future__ import annotations

from werkzeug.wrappers import Response

from analysis.show.asked import Asked
from analysis.show.choosing import place_text
from analysis.show.triallist import BEFORE, BEHIND, COUNTING, ListQuery, listed


def trials(asked: Asked) -> Response:
    shown = asked.shown
    found = listed(shown, ListQuery.of(asked.request.args))
    heads = {**BEFORE, **{each.name: each.head for each in found.columns}, **BEHIND}
    return asked.page(
        "trials.html.j2",
        found=found,
        heads=heads,
        conditions=shown.conditions.values(),
        counting=COUNTING,
        place=place_text,
    )
