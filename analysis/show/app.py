"""The pages of a run as a WSGI application: which address is which page, and what becomes of an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Request, Response

from analysis.show import (
    comparepage,
    conditionpage,
    figurepage,
    filespages,
    overviewpage,
    trialpage,
    trialspage,
)
from analysis.show.asked import Asked
from analysis.show.rendering import rendered
from analysis.show.shownrun import LiveRun
from harness.errors import RecordsError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

Page = Callable[..., Response]  # of what was asked and the values in the address
ATTEMPT = "/trials/<trial>/<int(min=1):attempt>"
PAGES: Mapping[str, tuple[str, Page]] = {
    "overview": ("/", overviewpage.overview),
    "verdicts": ("/verdicts", overviewpage.verdicts),
    "condition": ("/conditions/<key>", conditionpage.condition),
    "trials": ("/trials", trialspage.trials),
    "trial": (ATTEMPT, trialpage.trial),
    "compare": ("/compare", comparepage.compare),
    "figure": ("/figure.<any(svg, pdf):form>", figurepage.figure),
    "thumbnail": (f"{ATTEMPT}/waterfall.svg", filespages.small_waterfall),
    "picture": (f"{ATTEMPT}/picture/<path:name>", filespages.picture),
    "kept": (f"{ATTEMPT}/files/<name>", filespages.kept),
    "static": ("/static/<name>", filespages.static),
}
ROUTES = Map([Rule(path, endpoint=name) for name, (path, _) in PAGES.items()])


class RunPages:
    """Reads what changed of the run, and makes the page that was asked for."""

    def __init__(self, live: LiveRun) -> None:
        self._live = live

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        adapter, request = ROUTES.bind_to_environ(environ), Request(environ)
        try:
            name, values = adapter.match()
            made = PAGES[name][1](Asked(self._live, request, adapter), **values)
        except HTTPException as error:
            if error.code is None or error.code < 400:  # to the address with its slash
                return error.get_response(environ)(environ, start_response)
            made = _line(adapter.build("overview"), error.description or error.name, error.code)
        except RecordsError as error:
            made = _line(adapter.build("overview"), str(error), 503)
        return made(environ, start_response)


def _line(home: str, text: str, status: int) -> Response:
    """A page of one line: what cannot be shown, and why."""
    return rendered("line.html.j2", status=status, home=home, text=text)
