"""What a page is made from: the run as it is now, what was asked, the addresses of other pages, and its template.

Every value becomes text: none is markup, none moves a terminal or turns the writing around.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from werkzeug.exceptions import NotFound
from werkzeug.routing import MapAdapter
from werkzeug.wrappers import Request, Response

from analysis.labels.markup import templates
from analysis.show.attempts import ShownAttempt, shown_attempt
from analysis.show.shownrun import LiveRun, ShownRun

ENVIRONMENT = templates("analysis.show", "templates")


def sentence(text: str) -> str:
    """A line as a sentence: its first letter large, a full stop at its end."""
    return f"{text[:1].upper()}{text[1:]}."


ENVIRONMENT.filters["sentence"] = sentence


def rendered(template: str, status: int = 200, **context: Any) -> Response:
    """A page."""
    return Response(ENVIRONMENT.get_template(template).render(context), status, mimetype="text/html")


@dataclass(frozen=True)
class Asked:
    """A request for a page. `shown` raises RecordsError when the run cannot be read."""

    live: LiveRun
    request: Request
    adapter: MapAdapter

    @cached_property
    def shown(self) -> ShownRun:
        """One state of the run for the whole page."""
        return self.live.now()

    def url(self, endpoint: str, **values: Any) -> str:
        """The address of a page; values that are none of its parts become its arguments."""
        return self.adapter.build(endpoint, values)

    def attempt(self, trial: str, attempt: int) -> ShownAttempt:
        """An attempt of the run, or a page that says there is none."""
        found = shown_attempt(self.shown, trial, attempt)
        if found is None:
            raise NotFound(f"The run holds no attempt {attempt} at a trial {trial[:80]}.")
        return found

    def page(self, template: str, **context: Any) -> Response:
        """A page with the head that all pages of a run have."""
        return rendered(
            template,
            url=self.url,
            title=self.shown.run.title,
            directory=self.shown.run.directory.resolve().name,
            progress=self.shown.progress,
            **context,
        )
