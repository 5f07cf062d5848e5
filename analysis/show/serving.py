"""A run's pages on a port of this machine: which address is which page, and who may see them.

Whoever has the token may, by this machine's own names, reading and nothing else. A web page from elsewhere that is open
in the same browser has no token and, if it points a name of its own at this machine, another Host. No answer lets a
browser run, load or send anything but our own script, style and pictures.
"""

from __future__ import annotations

import contextlib
import hmac
import logging
import secrets
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from waitress.channel import HTTPChannel
from waitress.server import BaseWSGIServer, MultiSocketServer, create_server
from waitress.task import ErrorTask
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule
from werkzeug.sansio.utils import host_is_trusted
from werkzeug.wrappers import Request, Response

from analysis.show import runpages, trialpages
from analysis.show.asked import Asked, rendered
from analysis.show.shownrun import LiveRun
from analysis.show.trialpages import attempt_of
from harness.errors import RecordsError, UsageError
from harness.input.shown import shown

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LOG = logging.getLogger(__name__)
HOSTS = ("127.0.0.1", "localhost")  # with any port: ssh may forward another one
METHODS = ("GET", "HEAD")
HEADERS = (
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
)
PageFunction = Callable[..., Response]  # of what was asked and the values in the address
ATTEMPT = "/trials/<trial>/<int(min=1):attempt>"
PAGES: Mapping[str, tuple[str, PageFunction]] = {
    "overview": ("/", runpages.overview),
    "verdicts": ("/verdicts", runpages.verdicts),
    "condition": ("/conditions/<key>", runpages.condition),
    "trials": ("/trials", runpages.trials),
    "trial": (ATTEMPT, trialpages.trial),
    "compare": ("/compare", trialpages.compare),
    "figure": ("/figure.<any(svg, pdf):form>", trialpages.figure),
    "thumbnail": (f"{ATTEMPT}/waterfall.svg", trialpages.small_waterfall),
    "picture": (f"{ATTEMPT}/picture/<path:name>", trialpages.kept_picture),
    "kept": (f"{ATTEMPT}/files/<name>", trialpages.kept),
    "static": ("/static/<name>", trialpages.static),
}
ROUTES = Map([Rule(path, endpoint=name) for name, (path, _) in PAGES.items()])
ADDRESS = "127.0.0.1"
TOKEN_BYTES = 24
THREADS = 6
# Connections that never ask for anything, as a hostile page opens by the hundred, are soon closed, and leave room.
MOST_CONNECTIONS, IDLE_S, LOOKED_AT_EACH_S = 900, 10, 2


class Guard:
    """An application below `/TOKEN/`; everything else is refused in one line."""

    def __init__(self, application: WSGIApplication, token: str) -> None:
        self._application = application
        self._token = token.encode()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        guarded = _with_headers(start_response)
        answer = self._refusal(environ) or self._application
        try:
            return answer(environ, guarded)
        except Exception:  # a fault of ours: its answer has the headers, too
            LOG.exception("a page could not be made")
            return _line("this page could not be made; the terminal tells why", 500)(environ, guarded)

    def _refusal(self, environ: WSGIEnvironment) -> Response | None:
        """Why not; else the token moves from the path to where the application lies."""
        if not host_is_trusted(environ.get("HTTP_HOST"), HOSTS):
            return _line(
                "this address is not one of this machine's own: open the one that coldload printed", 403
            )
        token, slash, rest = environ.get("PATH_INFO", "").removeprefix("/").partition("/")
        if not slash or not hmac.compare_digest(token.encode("latin-1", "replace"), self._token):
            return _line("without its token nothing is shown: open the address that coldload printed", 403)
        if environ["REQUEST_METHOD"] not in METHODS:
            return _line("a run is only read here", 405)
        environ["SCRIPT_NAME"] = f"{environ.get('SCRIPT_NAME', '')}/{token}"
        environ["PATH_INFO"] = f"/{rest}"
        return None


def _line(text: str, status: int) -> Response:
    return Response(f"coldload show: {text}\n", status, mimetype="text/plain")


def _with_headers(start_response: StartResponse) -> Callable[..., Any]:
    def started(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
        return start_response(
            status, [*(header for header in headers if header[0] != "Cache-Control"), *HEADERS], *more
        )

    return started


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
            made = _line_page(adapter.build("overview"), error.description or error.name, error.code)
        except RecordsError as error:
            made = _line_page(adapter.build("overview"), str(error), 503)
        return made(environ, start_response)


def _line_page(home: str, text: str, status: int) -> Response:
    """A page of one line: what cannot be shown, and why."""
    return rendered("line.html.j2", status=status, home=home, text=text)


class _Refusal(ErrorTask):
    """What the server answers by itself, to requests that it cannot read: with the same headers as the pages."""

    def execute(self) -> None:
        self.response_headers = [*self.response_headers, *HEADERS]
        super().execute()


class _Channel(HTTPChannel):
    error_task_class = _Refusal


@dataclass(frozen=True)
class RunServer:
    """An open port. `url` holds the token: who has it may read the run."""

    url: str
    live: LiveRun
    server: BaseWSGIServer | MultiSocketServer

    def url_of(self, text: str) -> str:
        """The address of a trial's page; RecordsError when the run holds none of that name."""
        trial, attempt = attempt_of(text)
        if self.live.now().of_trial(trial, attempt) is None:
            raise RecordsError(
                f"{self.live.directory} holds no trial {shown(text)}; leave it out to see the list"
            )
        path = ROUTES.bind(ADDRESS).build("trial", {"trial": trial, "attempt": attempt})
        return f"{self.url}{path.removeprefix('/')}"

    def serve(self) -> None:
        """Answer until the process is interrupted."""
        self.server.run()


@contextlib.contextmanager
def open_server(directory: Path, port: int = 0) -> Iterator[RunServer]:
    """Pages of a run, also of one that is still going or has no trial yet, at a new token. Port 0: any that is free.

    RecordsError for a directory that is no run; UsageError when the port is taken.
    """
    live = LiveRun(directory)
    if not (directory / "plan.jsonl").is_file():
        live.now()
    logging.getLogger("waitress.queue").setLevel(
        logging.ERROR
    )  # that a browser asks for much at once is no news
    token = secrets.token_urlsafe(TOKEN_BYTES)
    with _bound(port) as bound:
        server = create_server(
            Guard(RunPages(live), token),
            sockets=[bound],
            threads=THREADS,
            ident="coldload",
            connection_limit=MOST_CONNECTIONS,
            channel_timeout=IDLE_S,
            cleanup_interval=LOOKED_AT_EACH_S,
            asyncore_use_poll=True,
        )
        setattr(server, "channel_class", _Channel)  # noqa: B010  # waitress' types tell of it for one kind only
        try:
            yield RunServer(f"http://{ADDRESS}:{bound.getsockname()[1]}/{token}/", live, server)
        finally:
            server.task_dispatcher.shutdown()
            server.close()


def _bound(port: int) -> socket.socket:
    try:
        return socket.create_server((ADDRESS, port))
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"port {port} of {ADDRESS} cannot be had ({error}); choose another, or leave it out"
        ) from error
