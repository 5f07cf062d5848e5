"""The filters that break a page are found, alone and together, with as few loads as halving takes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.probes.loadedpage import Screenful
from harness.verify.likeness import Likeness
from harness.verify.mending import Finding, breaking
from sites.optimise.findings import Breakage

FILTERS = tuple("abcdefghij")


def found(*bad: str) -> tuple[list[tuple[str, tuple[str, ...]]], int]:
    """What is found when each word of `bad` is a set of filters that break the page together; and the checks made."""
    asked = 0

    def is_whole(filters: Sequence[str]) -> bool:
        nonlocal asked
        asked += 1
        return not any(set(word) <= set(filters) for word in bad)

    return list(breaking(FILTERS, is_whole)), asked


@pytest.mark.parametrize(
    ("bad", "culprits"),
    [
        ((), []),
        (("a",), [("a", ("a",))]),
        (("j",), [("j", FILTERS)]),
        (("c", "f"), [("c", ("a", "b", "c")), ("f", ("a", "b", "d", "e", "f"))]),
        (("bd",), [("d", ("a", "b", "c", "d"))]),
    ],
)
def test_what_breaks_a_page_is_left_out(bad: tuple[str, ...], culprits: list[object]) -> None:
    assert found(*bad)[0] == culprits


def test_the_search_halves() -> None:
    assert found()[1] == 1
    assert found("e")[1] <= 1 + 4 + 1


@given(st.lists(st.text(alphabet="".join(FILTERS), min_size=1, max_size=3), max_size=3))
def test_what_is_left_is_whole(bad: list[str]) -> None:
    left = set(FILTERS) - {name for name, _ in found(*bad)[0]}
    assert not any(set(word) <= left for word in bad)


def test_a_variant_is_whole_if_it_was_or_is_without_what_breaks_it() -> None:
    good, bad = (Likeness("v", "desktop", each, Screenful(1), 1) for each in (1.0, 0.5))
    off = (Breakage("a", "why", "v", "now", "chromium", "desktop", (), "0" * 64, "0.1.0"),)
    assert Finding((good, good)).ok
    assert not Finding((good, bad)).ok
    assert Finding((bad,), off, (good,)).ok
    assert not Finding((bad,), off, (bad,)).ok
    assert Finding((bad,), off, ()).ok  # nothing is left that could break it
    assert not Finding((bad,), by_itself=(bad,)).ok
