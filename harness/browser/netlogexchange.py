"""A request of a NetLog in detail, put together event by event."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.browser.browserlog import Exchange, Headers
from harness.browser.netlogevents import Event, headers_of

SENDS = "HTTP_TRANSACTION_SEND_REQUEST"
# Headers of the answer, and those that the browser makes for a redirect of its own.
ANSWERS = ("HTTP_TRANSACTION_READ_RESPONSE_HEADERS", "URL_REQUEST_FAKE_RESPONSE_HEADERS_CREATED")
BODY, PLAIN_BODY = "URL_REQUEST_JOB_BYTES_READ", "URL_REQUEST_JOB_FILTERED_BYTES_READ"


@dataclass
class ExchangeEvents:
    """What the events of a request have told so far. `job` and `session` are the sources of what carried it."""

    priority: str = ""
    asked_with: Headers = ()
    initiator: str = ""
    job: int | None = None
    session: int | None = None
    sending_ms: int | None = None
    sent_ms: int | None = None
    answered_with: Headers = ()
    status_line: str = ""
    plain_bytes: int | None = None
    bodies: dict[str, list[str]] = field(default_factory=dict)
    net_error: int | None = None
    over_ms: int | None = None

    def note(self, event: Event) -> None:
        """Take in an event of the request."""
        told = event.parameters
        if event.name == "HTTP_STREAM_REQUEST_BOUND_TO_JOB":
            self.job = event.leads_to
        elif event.name == "HTTP_STREAM_REQUEST_BOUND_TO_QUIC_SESSION":
            self.session = event.leads_to
        elif event.name == "URL_REQUEST_SET_PRIORITY":
            self.priority = told.get("priority", self.priority)
        elif event.name == SENDS and event.begins:
            self.sending_ms = event.time_ms
        elif event.name == SENDS and event.ends:
            self.sent_ms = event.time_ms
        elif event.name.startswith("HTTP_TRANSACTION_") and event.name.endswith("SEND_REQUEST_HEADERS"):
            self.asked_with = headers_of(event)
        elif event.name in ANSWERS:
            self._note_answer(event)
        elif event.name in (BODY, PLAIN_BODY):
            self._note_body(event)

    def _note_answer(self, event: Event) -> None:
        self.answered_with = headers_of(event)
        self.status_line = next(iter(event.parameters.get("headers", [])), "")

    def _note_body(self, event: Event) -> None:
        if event.name == PLAIN_BODY:
            self.plain_bytes = (self.plain_bytes or 0) + event.parameters.get("byte_count", 0)
        if "bytes" in event.parameters:
            self.bodies.setdefault(event.name, []).append(event.parameters["bytes"])

    def end(self, time_ms: int, net_error: int | None = None) -> None:
        """The request is over, perhaps with an error."""
        self.over_ms = time_ms
        self.net_error = net_error or self.net_error

    def body(self, *names: str) -> bytes | None:
        """The body by the first of these events that the log holds; None when it holds none."""
        for name in names:
            if name in self.bodies:
                return b"".join(map(base64.b64decode, self.bodies[name]))
        return None

    def finished(self, carried: str | None, errors: Mapping[int, str]) -> Exchange:
        """The exchange; `carried` is the `local` of the connection that carried it, `errors` are names of errors."""
        return Exchange(
            connection=carried,
            sending_ms=self.sending_ms,
            sent_ms=self.sent_ms,
            asked_with=self.asked_with,
            answered_with=self.answered_with,
            status_line=self.status_line,
            decoded_bytes=self.plain_bytes,
            decoded=self.body(PLAIN_BODY, BODY),
            priority=self.priority,
            initiator=self.initiator,
            error=errors.get(self.net_error, f"net::{self.net_error}") if self.net_error else "",
            over_ms=self.over_ms,
        )
