"""The study that `coldload advise` makes, and what fits into the time there is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import RecordsError
from harness.model.engine import MOBILE
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.study.advising import (
    CHOICES,
    MOST_BLOCKS,
    ONE_HOST,
    Advising,
    Alternative,
    Budget,
    Choices,
    most_promising_first,
)
from harness.study.planning import make_plan
from harness.study.studyfile import parse_study


def alternative(name: str, **changes: str) -> Alternative:
    return Alternative(name, "it is otherwise", "a build step", changes)


ALTERNATIVES = (
    alternative("minify", variant="minify"),
    alternative("HTTP/3", protocol="h3"),
    alternative("brotli-11", compression="brotli-11"),
    alternative(ONE_HOST, factor=ONE_HOST),
    replace(alternative("extend_cache, on a repeat view", variant="extend_cache"), repeat_view=True),
)
ADVISING = Advising("agency", Protocol.H2, ("cable", "4g"), ALTERNATIVES, 10, 12, ("Written by a test.",))


def test_the_study_differs_from_the_page_as_archived_in_one_thing_at_a_time() -> None:
    study = parse_study(ADVISING.text.text, "advise.toml")
    base = {"variant": "plain", "protocol": "h2", "compression": "recorded", "factor": "usual"}
    differ = [tuple(name for name, value in base.items() if each[name] != value) for each in study.dimensions]
    assert len(differ) == len(study.links) * (
        len(ALTERNATIVES) + 2
    )  # the page as archived, first and repeat views
    assert {len(names) for names in differ} == {0, 1}
    assert {each.origins for each in study.conditions if each.factor == ONE_HOST} == {"single"}
    assert {each.origins for each in study.conditions if each.factor != ONE_HOST} == {"recorded"}


def test_every_alternative_is_a_claim_and_stands_in_each_block_with_what_it_is_set_against() -> None:
    study = parse_study(ADVISING.text.text, "advise.toml")
    assert [claim.name for claim in study.claims] == [each.name for each in ALTERNATIVES]
    plan = make_plan(study, 1)
    assert plan.looks == (10, 12)
    for block in range(1, 13):
        assert {trial.condition for trial in plan.trials if trial.block == block} == plan.distinct


def test_more_alternatives_than_a_figure_holds_are_all_measured() -> None:
    filters = ("minify", "inline", "images", "core", "rewrite_css", "rewrite_javascript", "combine_css",
               "combine_javascript", "resize_images", "recompress_jpeg", "recompress_png", "inline_css",
               "inline_javascript", "inline_images", "shard", "remove_quotes", "remove_comments")  # fmt: skip
    many = tuple(alternative(name, variant=name) for name in filters)
    study = parse_study(replace(ADVISING, alternatives=many, links=("4g",)).text.text, "advise.toml")
    assert {each.variant.name for each in study.conditions} == {"plain", *filters}
    assert study.factors == ()


@pytest.mark.parametrize("seconds", [0.0, 100.0, 300.0, 1200.0, 10_000.0])
def test_what_is_tried_fits_into_the_time(seconds: float) -> None:
    budget = Budget(seconds, view_s=5, repeat_view_s=15, least=10)
    tried = budget.fitting(ALTERNATIVES)
    if tried:
        assert budget.needed_s(tried) <= seconds
        assert budget.least <= budget.blocks(tried) <= MOST_BLOCKS
    for each in ALTERNATIVES:
        assert each in tried or budget.needed_s([*tried, each]) > seconds


def test_what_takes_too_long_keeps_nothing_behind_it_from_being_tried() -> None:
    dear, cheap = ALTERNATIVES[-1], ALTERNATIVES[0]
    budget = Budget(300.0, view_s=5, repeat_view_s=15, least=10)
    assert budget.fitting([dear, cheap]) == [cheap]


def test_a_repeat_view_has_a_page_as_archived_of_its_own() -> None:
    budget = Budget(0, view_s=5, repeat_view_s=15, least=10)
    assert budget.block_s(ALTERNATIVES[:4]) == 5 * 6
    assert budget.block_s(ALTERNATIVES) == 5 * 6 + 15 * 3


def test_the_most_promising_is_the_first() -> None:
    bytes_less = replace(alternative("bytes", variant="images"), fewer_bytes=500_000)  # 0.4 s at 10 Mbit/s
    trips_less = replace(alternative("trips", variant="inline"), fewer_round_trips=1)
    more = replace(alternative("more", variant="shard"), fewer_bytes=-100)
    every = [more, trips_less, bytes_less]
    assert most_promising_first(every, [Link.of(10, 50)]) == [bytes_less, trips_less, more]
    assert most_promising_first(every, [Link.of(10, 900)]) == [trips_less, bytes_less, more]


def test_each_kind_is_tried_before_parts_of_what_is_tried() -> None:
    core, part, own = (
        replace(alternative(name, variant=name), fewer_bytes=saved)
        for name, saved in (("core", 9000), ("rewrite_css", 8000), ("convert_to_avif", 7000))
    )
    faster = replace(alternative("HTTP/3", protocol="h3"), fewer_round_trips=0.01)
    assert most_promising_first([part, faster, own, core], [Link.of(10, 50)]) == [core, faster, own, part]


def test_metrics_of_vitals_are_claims_of_their_own_and_a_fixed_number_of_blocks_has_no_looks() -> None:
    advising = replace(ADVISING, least=7, most=7, metrics=("fcp_ms", "lcp_ms"), device=MOBILE)
    study = parse_study(advising.text.text, "advise.toml")
    assert study.vitals
    assert {each.device for each in study.conditions} == {MOBILE}
    assert not make_plan(study, 1).looks
    names = [(claim.name, claim.metric) for claim in study.claims]
    assert names[:3] == [("minify", "plt_ms"), ("minify, fcp_ms", "fcp_ms"), ("minify, lcp_ms", "lcp_ms")]
    assert len(names) == 3 * len(ALTERNATIVES)


def test_choices_are_read_as_they_were_written(tmp_path: Path) -> None:
    choices = Choices("HTTP/2", ALTERNATIVES, {"core": "it changes nothing"}, {"inline": "no time"})
    choices.write(tmp_path)
    assert Choices.read(tmp_path) == choices
    (tmp_path / CHOICES).write_text('{"protocol": 2}\n')
    with pytest.raises(RecordsError, match=f"{CHOICES}:1 is damaged"):
        Choices.read(tmp_path)
