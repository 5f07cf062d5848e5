"""The plan of each study that ships, for one seed, is what it has been: a run that was begun goes on."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from harness.model.engine import DESKTOP, MOBILE
from harness.study.plan import Plan
from harness.study.planning import make_plan
from harness.study.studyfile import read_study, shipped_studies

PLANS = Path(__file__).parents[3] / "data" / "plans"
SEED = 2012


@pytest.mark.parametrize("name", sorted(shipped_studies()))
def test_the_plan_is_what_it_has_been(name: str) -> None:
    plan = make_plan(read_study(shipped_studies()[name]), SEED)
    planned = replace(
        plan, claims=(), figures=(), published=None, title="", portrayed=False
    ).to_lines()  # the stored plans are older
    assert planned.encode() == gzip.decompress((PLANS / f"{name}.jsonl.gz").read_bytes())


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(shipped_studies()))
def test_a_stored_plan_is_read_as_what_it_says(name: str) -> None:
    text = gzip.decompress((PLANS / f"{name}.jsonl.gz").read_bytes()).decode()
    stored = Plan.from_lines(text, name)
    assert stored.to_lines() == text
    assert stored.cells == set(read_study(shipped_studies()[name]).conditions)


def test_a_run_of_either_study_of_distances_makes_one_report() -> None:
    """They ask the same of the same distances, so that the claims of both are one."""
    desktop, phone = (read_study(shipped_studies()[name]) for name in ("distances", "distances-phone"))
    assert desktop.claims == phone.claims
    assert [factor.replays for factor in desktop.parts] == [factor.replays for factor in phone.parts]
    equal, apart = (next(iter(part.replays.values())).distance for part in desktop.parts)
    assert (str(equal), len(apart.of_hosts), apart.others) == ("30 ms", 19, 0)
    assert (desktop.device, phone.device) == (DESKTOP, MOBILE)
