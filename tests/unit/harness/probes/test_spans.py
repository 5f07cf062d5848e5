"""Arithmetic of spans against the same on single instants."""

from __future__ import annotations

import itertools
import random

from harness.probes.waits import Span, Spans, beginning, between, common, length, union, without

END = 60


def drawn(seed: int) -> list[Span]:
    dice = random.Random(seed)  # noqa: S311 - no secret
    return [(dice.randrange(END), dice.randrange(END)) for _ in range(dice.randrange(8))]


def instants(spans: Spans) -> set[int]:
    return {at for begin, end in spans for at in range(begin, end)}


def apart(spans: Spans) -> bool:
    return all(begin < end for begin, end in spans) and all(
        first[1] < second[0] for first, second in itertools.pairwise(spans)
    )


def test_union_holds_every_instant_once() -> None:
    for seed in range(500):
        found = union(drawn(seed))
        assert apart(found)
        assert instants(found) == instants(drawn(seed))
        assert length(found) == len(instants(found))


def test_common_and_without_divide_the_first() -> None:
    for seed in range(500):
        first, second = union(drawn(seed)), union(drawn(-seed - 1))
        assert instants(common(first, second)) == instants(first) & instants(second)
        assert instants(without(first, second)) == instants(first) - instants(second)
        assert length(common(first, second)) + length(without(first, second)) == length(first)


def test_what_is_between_two_instants_is_what_is_common_with_them() -> None:
    for seed in range(300):
        spans = union(drawn(seed))
        for begin, end in drawn(seed + 1000):
            assert list(between(spans, begin, end)) == common(spans, union([(begin, end)]))


def test_the_beginning_of_spans_is_as_long_as_asked_or_as_there_is() -> None:
    spans = [(0, 10), (20, 25), (30, 40)]
    assert list(beginning(spans, 12)) == [(0, 10), (20, 22)]
    assert list(beginning(spans, 0)) == []
    assert list(beginning(spans, 99)) == spans
