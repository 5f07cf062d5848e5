"""Who may see a run: whoever has the token, by this machine's own names, reading and nothing else.

A web page from elsewhere that is open in the same browser has no token and, if it points a name of its own at this
machine, another Host. No answer lets a browser run, load or send anything but our own script, style and pictures.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from werkzeug.sansio.utils import host_is_trusted
from werkzeug.wrappers import Response

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
            status, [*(each for each in headers if each[0] != "Cache-Control"), *HEADERS], *more
        )

    return started
