"""A server's status page, asked over one connection that is kept, by a thread that may wait as long as it takes.

Under a crowd a new connection would stand in the queue with all others, and the page would tell what was long ago.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from harness.system.netns import Host
from sites.servers.server import Status, StatusPage

PATIENCE_S = 0.25
LONGEST_S = 30.0  # for an answer; then the connection is given up, and made anew
# A server that is ending, or ends the process that holds the connection, also answers in part.
FAILURES = (OSError, http.client.HTTPException)


class StatusWatch:
    """Asks a status page. Made by `watched_status`."""

    def __init__(self, page: StatusPage, host: Host, thread: ThreadPoolExecutor) -> None:
        self._page, self._host, self._thread = page, host, thread
        self._connection = http.client.HTTPConnection(page.address, page.port, timeout=LONGEST_S)
        self._asked: Future[Status | None] | None = None
        self.questions = 0  # that have been answered
        self.cpu_s = 0.0  # that asking has cost us

    def ask(self) -> Status | None:
        """The status now; None when it does not come at once. A question under way is not asked a second time."""
        if self._asked is None or self._asked.done():
            self._asked = self._thread.submit(self._answer)
        try:
            answer = self._asked.result(PATIENCE_S)
        except TimeoutError:
            return None
        self._asked = None
        return answer

    def _answer(self) -> Status | None:
        began = time.thread_time()
        try:
            if self._connection.sock is None:
                with self._host.entered():
                    self._connection.connect()
            self._connection.request("GET", self._page.target)
            text = self._connection.getresponse().read().decode("latin-1")
        except FAILURES:
            self._connection.close()
            return None
        finally:
            self.cpu_s += time.thread_time() - began
        self.questions += 1
        return self._page.parse(text)

    def give_up(self) -> None:
        """Wait for no answer any more."""
        with contextlib.suppress(OSError, AttributeError):  # not connected
            self._connection.sock.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def watched_status(page: StatusPage | None, host: Host) -> Iterator[StatusWatch | None]:
    """A watch over a status page on a host for the length of the block, already connected; None where there is none."""
    if page is None:
        yield None
        return
    with ThreadPoolExecutor(1, "status") as thread:
        watch = StatusWatch(page, host, thread)
        watch.ask()
        try:
            yield watch
        finally:
            watch.give_up()
