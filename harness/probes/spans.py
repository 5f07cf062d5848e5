"""Arithmetic of spans of time: sorted, apart from each other, whole numbers. Pure."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

Span = tuple[int, int]  # from one instant to a later one
Spans = Sequence[Span]


def union(spans: Iterable[Span]) -> Spans:
    """Any spans as ones that are sorted and apart; what is empty or ends before it begins is none."""
    found: list[Span] = []
    for begin, end in sorted(spans):
        if begin >= end:
            continue
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found


def common(first: Spans, second: Spans) -> Spans:
    """What is in both."""
    return list(_common(first, second))


def _common(first: Spans, second: Spans) -> Iterator[Span]:
    one, other = 0, 0
    while one < len(first) and other < len(second):
        begin, end = max(first[one][0], second[other][0]), min(first[one][1], second[other][1])
        if begin < end:
            yield begin, end
        if first[one][1] < second[other][1]:
            one += 1
        else:
            other += 1


def without(spans: Spans, taken: Spans) -> Spans:
    """What is in the first and not in the second."""
    if not spans:
        return []
    edges = [spans[0][0], *(edge for span in taken for edge in span), spans[-1][1]]
    gaps = [(begin, end) for begin, end in zip(edges[::2], edges[1::2], strict=True) if begin < end]
    return common(spans, gaps)


def between(spans: Spans, begin: int, end: int) -> Iterator[Span]:
    """What lies between two instants; quick where there are many spans."""
    first = max(0, bisect_right(spans, (begin, begin)) - 1)
    for each in itertools.islice(spans, first, None):
        if each[0] >= end:
            return
        if each[1] > begin < end:
            yield max(begin, each[0]), min(end, each[1])


def length(spans: Spans) -> int:
    return sum(end - begin for begin, end in spans)


def beginning(spans: Iterable[Span], most: int) -> Iterator[Span]:
    """The first parts of spans, in all at most that long."""
    for begin, end in spans:
        if most <= 0:
            return
        yield begin, min(end, begin + most)
        most -= end - begin
