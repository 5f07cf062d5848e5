"""When a link was busy: the emulator's account of a load, on the client's side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Spans = tuple[tuple[int, int], ...]
NS_PER_US = 1000


@dataclass(frozen=True)
class LinkAccount:
    """When packets waited or were in transmission each way, as spans in us of CLOCK_MONOTONIC.

    Spans down are later by the link's delay: the client waits for what comes down until it is there.
    """

    down: Spans
    up: Spans


def spans_since(epoch_ns: int, edges_us: Sequence[int]) -> Spans:
    """Begins and ends by turns, told in us since an instant, as spans."""
    edges = [epoch_ns // NS_PER_US + edge for edge in edges_us]
    return tuple(zip(edges[::2], edges[1::2], strict=True))
