"""Whether a crowd's trial may count: by the generator's lines and by the server's log. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.capacity.series import PageLine
from harness.capacity.served import NO_TLS, ServedCounts
from harness.lab.losses import lost_outside
from harness.model.protocol import Protocol
from harness.outcome import Outcome
from harness.trial.reason import listed


@dataclass(frozen=True, kw_only=True)
class CrowdEvidence:
    """What a crowd's trial left behind for its proof; None for what it did not get to.

    `hosts` is how many hosts the page asks, `connections_per_host` what HTTP/1.1 may have open to each. `logged`:
    whether the server writes a log of requests at all.
    """

    protocol: Protocol
    hosts: int
    connections_per_host: int
    tls: str
    tls_resumption: bool
    pages: Sequence[PageLine]
    served: ServedCounts | None
    link_reading: Mapping[str, Any] | None
    logged: bool = True


def verdict(evidence: CrowdEvidence) -> tuple[Outcome, str | None]:
    """Whether a trial that reached its end may count; else the outcome with its reason."""
    for outcome, find in CHECKS:
        reason = find(evidence)
        if reason:
            return outcome, reason
    return Outcome.OK, None


def _lossy_testbed(evidence: CrowdEvidence) -> str | None:
    if evidence.link_reading is None:
        return "the link gave no reading"
    return listed("packets were lost outside the emulated link:", lost_outside(evidence.link_reading))


def _nothing_loaded(evidence: CrowdEvidence) -> str | None:
    if any(page.ms is not None for page in evidence.pages):
        return None
    failed = Counter(page.error or "unknown" for page in evidence.pages)
    told = ", ".join(f"{count:,} by {error}" for error, count in failed.most_common())
    return f"no page was loaded: {told}" if told else "no page was loaded, and none failed"


def _wrong_at_generator(evidence: CrowdEvidence) -> str | None:
    protocol = evidence.protocol
    told = [page for page in evidence.pages if page.protocol is not None]
    wrong = Counter(page.protocol for page in told if page.protocol != protocol.wire)
    if wrong:
        return f"pages were not loaded by {protocol}: {_counts(wrong)}"
    expected = evidence.tls if protocol.encrypted else None
    other = Counter(_version(page.tls) for page in told if _version(page.tls) != expected)
    if other:
        return f"pages were not loaded by {f'TLS {expected}' if expected else 'plain HTTP'}: {_counts(other)}"
    return None


def _wrong_connections(evidence: CrowdEvidence) -> str | None:
    """More connections at once than the protocol has, or, where it keeps none, fewer than requests.

    A server may close an idle one, so that a page has more of them one after the other.
    """
    protocol, whole = evidence.protocol, [page for page in evidence.pages if page.ms is not None]
    if not protocol.keep_alive:
        few = sum(page.connections < page.requests for page in whole)
        return f"{few:,} pages had fewer connections than requests, though none is kept" if few else None
    each = evidence.connections_per_host if protocol.wire == Protocol.HTTP1.wire else 1
    most = each * evidence.hosts
    many = sum(_at_once(page) > most for page in whole)
    return f"{many:,} pages had more than {most} connections at once" if many else None


def _wrong_at_server(evidence: CrowdEvidence) -> str | None:
    protocol, served = evidence.protocol, evidence.served
    if not evidence.logged:
        return None
    if served is None:
        return "the server's log was not read"
    wrong = {name: count for name, count in served.by_protocol.items() if name != protocol.wire}
    if wrong:
        return f"the server did not use {protocol} for all requests: {_counts(wrong)}"
    expected = f"TLSv{evidence.tls}" if protocol.encrypted else NO_TLS
    other = {name: count for name, count in served.by_tls.items() if name != expected}
    if other:
        return f"the server did not use {expected} for all requests: {_counts(other)}"
    if served.resumed and not evidence.tls_resumption:
        return f"not cold: the server resumed a TLS session for {served.resumed:,} requests"
    return None


def _unseen_at_server(evidence: CrowdEvidence) -> str | None:
    """What a whole page asked for has been answered, so it has been logged."""
    answered = sum(page.requests - page.failed for page in evidence.pages if page.ms is not None)
    logged = evidence.served.requests if evidence.served else 0
    if evidence.logged and logged < answered:
        return f"{answered:,} requests were answered, but the testbed's server logged {logged:,}"
    return None


CHECKS: tuple[tuple[Outcome, Callable[[CrowdEvidence], str | None]], ...] = (
    (Outcome.TESTBED_FAILED, _lossy_testbed),
    (Outcome.WRONG_PROTOCOL, _wrong_at_generator),
    (Outcome.WRONG_PROTOCOL, _wrong_connections),
    (Outcome.WRONG_PROTOCOL, _wrong_at_server),
    (Outcome.WRONG_PROTOCOL, _unseen_at_server),
    (Outcome.PAGE_ERROR, _nothing_loaded),
)


def _at_once(page: PageLine) -> int:
    """All of them where nobody tells."""
    return page.connections if page.connections_at_once is None else page.connections_at_once


def _version(told: str | None) -> str | None:
    """A version of TLS without the letters that some put before it."""
    return told.removeprefix("TLS").removeprefix("v").strip() if told else None


def _counts(counts: Mapping[Any, int]) -> str:
    return ", ".join(f"{count:,} by {name or 'no TLS'}" for name, count in counts.items())
