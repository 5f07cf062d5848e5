"""Which variants only serve to tell filters apart."""

from __future__ import annotations

from harness.model.factors import factors, single_filters


def test_filters_are_told_apart_by_what_leaves_them_out() -> None:
    assert factors({"plain", "core", "minify", "core,-a"}) == {"core": ("a",)}
    assert factors({"plain", "core,-a", "a"}) == {}


def test_single_filters_are_those_of_a_whole_variant() -> None:
    assert single_filters({"plain", "core", "minify", "a", "core,-a"}) == {"a", "core,-a"}
    assert single_filters({"plain", "rewrite_css"}) == frozenset()
