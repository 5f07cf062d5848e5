"""What changed between two loads."""

from __future__ import annotations

from analysis.evaluation.loadchanges import changes
from analysis.runs.harfile import HarLoad, load_of
from tests.unit.analysis.synthetic_har import entry, har_of, load


def loaded(*urls: str) -> HarLoad:
    return load_of(har_of([entry(url, number) for number, url in enumerate(urls)]))


def test_the_same_load_by_another_scheme_changed_nothing() -> None:
    found = changes(
        loaded("http://a.example/", "http://a.example/b"), loaded("https://a.example/", "https://a.example/b")
    )
    assert (found.only_first, found.only_second, found.common, found.moved) == ((), (), 2, 0)
    assert found.text == (
        "2 requests and 2, bodies of 2.0 kB and 2.0 kB, 2 connections and 2; those in both in the same order"
    )


def test_what_only_one_has_and_what_moved() -> None:
    first = loaded(*(f"https://a.example/{name}" for name in "abcdef"))
    second = loaded(*(f"https://a.example/{name}" for name in "acbdxyf"))
    found = changes(first, second)
    assert (found.only_first, found.only_second) == (("a.example/e",), ("a.example/x", "a.example/y"))
    assert (found.common, found.moved) == (5, 1)
    assert "1 in the first alone, 2 in the second alone; those in both 1 of 5 in another order" in found.text


def test_a_repeated_request_counts_as_often_as_it_was_made() -> None:
    found = changes(loaded("https://a.example/", "https://a.example/"), loaded("https://a.example/"))
    assert (found.only_first, found.common) == (("a.example/",), 1)


def test_loads_without_a_request_are_alike() -> None:
    empty = load_of(har_of([]))
    assert changes(empty, empty).common == 0
    assert changes(empty, load_of(load(3))).only_second
