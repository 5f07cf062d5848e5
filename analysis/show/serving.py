"""A run's pages on a port of this machine, which only programs on this machine reach."""

from __future__ import annotations

import contextlib
import logging
import secrets
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from waitress.channel import HTTPChannel
from waitress.server import BaseWSGIServer, MultiSocketServer, create_server
from waitress.task import ErrorTask

from analysis.show.app import ROUTES, RunPages
from analysis.show.choosing import place_of
from analysis.show.guard import HEADERS, Guard
from analysis.show.shownrun import LiveRun
from harness.errors import RecordsError, UsageError
from harness.input.shown import shown

ADDRESS = "127.0.0.1"
TOKEN_BYTES = 24
THREADS = 6
# Connections that never ask for anything, as a hostile page opens by the hundred, are soon closed, and leave room.
MOST_CONNECTIONS, IDLE_S, LOOKED_AT_EACH_S = 900, 10, 2


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
        trial, attempt = place_of(text)
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
