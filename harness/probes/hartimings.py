"""How the time of a request divides into the phases of a HAR. Pure.

The parts but `ssl` add up to the whole; `ssl` is within `connect`, as HAR 1.2 has it. A phase that the request did
not wait in is None: only the first request of a connection waits for its look-up and its handshakes, and of those only
for what was not over before it was asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.engines.browserlog import Connection, Request, Span

DIGITS = 3  # of ms; Chromium counts whole ones


@dataclass(frozen=True)
class Phases:
    """What a request waited for, one after the other, in ms."""

    blocked: float | None
    dns: float | None
    connect: float | None
    ssl: float | None
    send: float
    wait: float
    receive: float

    @property
    def total_ms(self) -> float:
        parts = (self.blocked, self.dns, self.connect, self.send, self.wait, self.receive)
        return round(sum(each or 0.0 for each in parts), DIGITS)

    def to_json(self) -> dict[str, float]:
        """As a HAR has them: -1 for what does not apply."""
        return {
            name: -1 if value is None else round(value, DIGITS)
            for name, value in (
                ("blocked", self.blocked),
                ("dns", self.dns),
                ("connect", self.connect),
                ("ssl", self.ssl),
                ("send", self.send),
                ("wait", self.wait),
                ("receive", self.receive),
            )
        }


def asked_ms(request: Request) -> float:
    """When the page asked for it, as far as its engine tells."""
    return request.started_ms if request.asked_ms is None else request.asked_ms


def phases(request: Request, made: Connection | None, lookup: Span | None) -> Phases:
    """The phases of a request. `made` is its connection where it is the first on it, `lookup` that of its host.

    An engine that does not tell when it sends (QtWebKit) has the time in its own queue in `wait`.
    """
    began, seen = asked_ms(request), request.exchange
    told = (began, seen.sending_ms, seen.sent_ms, request.answered_ms, request.ended_ms)
    end = max(each for each in told if each is not None)
    if request.answered_ms is None and seen.over_ms is not None:
        end = max(end, seen.over_ms)  # it was given up while it waited for something
    answered = _within(began, request.answered_ms, end, unknown=end)
    ready = made.connecting.ended_ms if made is not None and made.connecting is not None else began
    sending = _within(began, seen.sending_ms, answered, unknown=end if request.protocol is None else ready)
    sent = _within(sending, seen.sent_ms, answered, unknown=sending)
    dns, connect, ssl = _handshakes(began, sending, made, lookup)
    blocked = sending - began - (dns or 0.0) - (connect or 0.0)
    knows = seen.sending_ms is not None or request.protocol is None
    return Phases(
        blocked=blocked if knows or blocked > 0 else None,
        dns=dns,
        connect=connect,
        ssl=ssl,
        send=sent - sending,
        wait=answered - sent,
        receive=end - answered,
    )


def _within(least: float, at: float | None, most: float, *, unknown: float) -> float:
    """An instant between two others, whatever a log says of their order."""
    return max(least, min(unknown if at is None else at, most))


def _handshakes(
    began: float, until: float, made: Connection | None, lookup: Span | None
) -> tuple[float | None, float | None, float | None]:
    """How long it waited for the look-up of the name, for the connection, and for TLS within that."""
    connecting = made.connecting if made is not None else None
    if made is None or connecting is None:
        return None, None, None
    dns = lookup.overlap_ms(began, min(until, connecting.began_ms)) if lookup is not None else 0.0
    secured = made.securing.overlap_ms(began, until) if made.securing is not None else 0.0
    connected = connecting.overlap_ms(began, until)
    return dns or None, connected or None, min(secured, connected) or None
