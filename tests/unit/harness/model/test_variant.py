"""The language of variants."""

from __future__ import annotations

import pytest

from harness.errors import StudyError
from harness.input.keys import NAME_PATTERN
from harness.model import variant as variants
from harness.model.engine import BROWSERS, Engine
from harness.model.variant import FILTERS, NEEDS, SETS, factorial, parse_variant
from harness.study.study import Study
from harness.study.studyfile import parse_study
from sites.optimise.filters import REGISTRY
from tests.facts import tells


def test_every_filter_has_a_function_and_every_set_has_known_filters() -> None:
    assert list(REGISTRY) == list(FILTERS)
    assert all(name in FILTERS for members in SETS.values() for name in members)


def test_filters_are_applied_in_their_order_whatever_the_order_named() -> None:
    assert parse_variant("inline_css, rewrite_css").filters == ("rewrite_css", "inline_css")
    assert parse_variant("core,-rewrite_images").filters == tuple(
        name for name in FILTERS if name in SETS["core"] and name not in SETS["rewrite_images"]
    )
    assert parse_variant("plain").is_plain
    assert not parse_variant("passthrough").is_plain


@pytest.mark.parametrize("text", ["cor", "", "core,", "core,-x", "-"])
def test_an_unknown_name_is_refused_with_the_list(text: str) -> None:
    with pytest.raises(StudyError, match=r"there is no filter or set .*core.*filters: inline_import_to_link"):
        parse_variant(text)


def test_served_names_are_archive_names_and_tell_variants_apart() -> None:
    everything = ",".join(FILTERS)
    pairs = [
        ("a", "plain"),
        ("a", "core"),
        ("a", "core,-inline_css"),
        ("a", everything),
        ("b" * 100, everything),
    ]
    names = [parse_variant(text).served_name(page) for page, text in pairs]
    assert all(NAME_PATTERN.fullmatch(name) for name in names)
    assert len(set(names)) == len(names)


STUDY = """
name = "x"
pages = ["p"]
protocols = ["h2"]
links = [{ down_mbps = 1, rtt_ms = 1 }]
"""


def names_of(study: Study) -> tuple[str, ...]:
    return tuple(variant.name for variant in study.variants)


def test_a_study_names_variants_as_texts_or_lists() -> None:
    study = parse_study(STUDY + 'variants = ["plain", "core", ["inline_css", "combine_css"]]', "x.toml")
    assert names_of(study) == ("plain", "core", "inline_css,combine_css")
    assert {condition.variant for condition in study.conditions} == set(study.variants)


@pytest.mark.parametrize("value", ['["core", ["core"]]', "[1]", "[[]]", '["cores"]', '"core"'])
def test_a_study_refuses_variants_that_make_no_sense(value: str) -> None:
    with pytest.raises(StudyError, match="variant"):
        parse_study(STUDY + f"variants = {value}", "x.toml")


def test_a_factorial_study_has_each_filter_alone_and_all_without_each() -> None:
    study = parse_study(STUDY + 'variants = { factorial = ["inline", "-inline_images"] }\n', "x.toml")
    names = ("inline_import_to_link", "flatten_css_imports", "inline_css", "inline_javascript")
    whole = "inline,-inline_images"
    assert names_of(study) == ("plain", *names, whole, *(f"{whole},-{name}" for name in names))
    without = factorial(whole)[-1]
    assert without.filters == names[:-1]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ('{ factorial = "inline_css" }', "two filters or more"),
        ('{ factorial = "cor" }', "no filter or set"),
        ("{ factorial = 3 }", "a variant is a text"),
        ("{ }", "variants must be a table with some of factorial"),
        ('{ factorail = "core" }', "factorail"),
    ],
)
def test_a_factorial_of_nothing_is_refused(value: str, says: str) -> None:
    with pytest.raises(StudyError, match=says):
        parse_study(STUDY + f"variants = {value}\n", "x.toml")


def test_a_filter_that_an_engine_cannot_take_is_refused_where_it_is_named_and_not_where_a_set_brings_it() -> (
    None
):
    avif = parse_variant("core,convert_to_avif")
    assert avif.unserved_by_name(Engine.CHROMIUM) == {}
    assert set(avif.unserved_by_name(Engine.QTWEBKIT)) == {"convert_to_avif"}
    both = STUDY.replace('["h2"]', '["h2", "http1"]') + 'engines = ["chromium", "qtwebkit"]\n'
    with pytest.raises(StudyError, match=r"AVIF images; leave convert_to_avif or qtweb"):
        parse_study(both + 'variants = ["core,convert_to_avif"]\n', "x.toml")
    assert names_of(parse_study(both + 'variants = ["core"]\n', "x.toml")) == ("core",)


def test_a_filter_that_comes_with_a_set_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "NEEDS", {"combine_css": "combined style sheets"})
    core = parse_variant("core")
    assert core.unserved_by_name(Engine.QTWEBKIT) == {}
    ((name, why),) = core.unserved(Engine.QTWEBKIT).items()
    assert name == "combine_css"
    assert tells([why], "qtwebkit", "combined style sheets")


def test_what_a_filter_needs_is_something_an_engine_takes() -> None:
    assert set(NEEDS) <= set(FILTERS)
    assert set(NEEDS.values()) == set.union(
        *(set(each) for each in (engine.traits.takes for engine in BROWSERS))
    )
