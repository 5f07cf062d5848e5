"""What changed from one load to another: requests, bytes, connections and order. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.labels import words
from analysis.runs.harfile import HarLoad, HarRequest


@dataclass(frozen=True)
class LoadChanges:
    """`only_first` and `only_second` are requests that the other load does not have. `moved` is how many of the
    `common` ones would have to come at another place for both to have one order.
    """

    requests: tuple[int, int]
    body_bytes: tuple[int, int]
    connections: tuple[int | None, int | None]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    common: int
    moved: int

    @property
    def text(self) -> str:
        """In one sentence."""
        made = [
            f"{words.count(self.requests[0], 'request')} and {self.requests[1]:,}",
            f"bodies of {words.kilobytes(self.body_bytes[0])} kB and {words.kilobytes(self.body_bytes[1])} kB",
        ]
        if None not in self.connections:
            made.append(f"{words.count(self.connections[0] or 0, 'connection')} and {self.connections[1]:,}")
        alone = [
            f"{len(urls):,} in the {which} alone"
            for urls, which in ((self.only_first, "first"), (self.only_second, "second"))
            if urls
        ]
        order = f"{self.moved:,} of {self.common:,} in another order" if self.moved else "in the same order"
        return f"{', '.join([*made, *alone])}; those in both {order}"


def changes(first: HarLoad, second: HarLoad) -> LoadChanges:
    """Requests are the same by method and address, whatever the scheme; a repeated one by its number."""
    before, after = _keys(first.requests), _keys(second.requests)
    place = {key: number for number, key in enumerate(after)}
    common = [place[key] for key in before if key in place]
    known = set(before)
    return LoadChanges(
        requests=(len(before), len(after)),
        body_bytes=(first.body_bytes, second.body_bytes),
        connections=(first.connections, second.connections),
        only_first=tuple(key[1] for key in before if key not in place),
        only_second=tuple(key[1] for key in after if key not in known),
        common=len(common),
        moved=len(common) - _in_order(common),
    )


def _keys(requests: Sequence[HarRequest]) -> list[tuple[str, str, int]]:
    seen: Counter[tuple[str, str]] = Counter()
    made = []
    for each in requests:
        key = each.method, each.url.partition("://")[2]
        made.append((*key, seen[key]))
        seen[key] += 1
    return made


def _in_order(places: Sequence[int]) -> int:
    """The length of the longest rising subsequence."""
    tails: list[int] = []
    for place in places:
        at = bisect_left(tails, place)
        tails[at : at + 1] = [place]
    return len(tails)
