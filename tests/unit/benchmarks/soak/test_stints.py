"""The studies of a soak: as many trials as asked for, over all protocols, engines and drivers."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.hostile.commands import Workdir
from benchmarks.hostile.truth import HONEST
from benchmarks.soak.__main__ import shares
from benchmarks.soak.stints import BLOCKS, REAL_PER_BLOCK, Stint, hostile_names, stints
from harness.model.engine import BROWSER_DRIVERS, BROWSERS
from harness.model.protocol import Protocol
from harness.study.plan import Plan
from harness.study.planning import make_plan
from harness.study.studyfile import read_study

pytestmark = pytest.mark.thorough  # all hostile pages are made


def plan_of(stint: Stint, workdir: Workdir) -> Plan:
    return make_plan(read_study(stint.write(workdir) / "study.toml"), 1)


@pytest.mark.parametrize("trials", [1, 40, 170, 10_000])
def test_there_are_as_many_trials_as_asked_for(trials: int) -> None:
    made = stints(trials, 1)
    total = sum(stint.trials for stint in made)
    assert trials <= total <= trials + BLOCKS * REAL_PER_BLOCK
    assert made == stints(trials, 1)
    assert len({stint.name for stint in made}) == len(made)


def test_a_soak_has_all_hostile_pages_before_any_comes_again() -> None:
    hostile = [stint for stint in stints(10_000, 1) if stint.hostile]
    assert all(stint.pages[0] == HONEST for stint in hostile)
    asked = [page for stint in hostile for page in stint.pages[1:]]
    assert set(asked[: len(hostile_names())]) == set(hostile_names())
    assert all(len(set(stint.pages)) == len(stint.pages) for stint in hostile)
    assert stints(10_000, 2)[1].pages != stints(10_000, 1)[1].pages


def test_a_page_that_ships_is_loaded_by_all_there_is(tmp_path: Path) -> None:
    workdir = Workdir(tmp_path)
    for stint in (each for each in stints(2_000, 1) if not each.hostile):
        plan = plan_of(stint, workdir)
        assert len(plan.trials) == stint.trials
        assert {condition.protocol for condition in plan.distinct} == set(Protocol)
        assert {condition.engine for condition in plan.distinct} == set(BROWSERS)
        assert {condition.driver for condition in plan.distinct} == set(BROWSER_DRIVERS)


def test_hostile_pages_are_archived_and_loaded_by_all_drivers(tmp_path: Path) -> None:
    workdir = Workdir(tmp_path)
    stint = stints(40, 1)[1]
    plan = plan_of(stint, workdir)
    assert {condition.page for condition in plan.distinct} == set(stint.pages)
    assert all((workdir.archives / page).is_dir() for page in stint.pages)
    assert len(plan.trials) == stint.trials == len(stint.pages) * len(BROWSER_DRIVERS)


def test_a_study_that_was_written_stays_as_it_is(tmp_path: Path) -> None:
    """A run goes on with the same study alone."""
    workdir = Workdir(tmp_path)
    (stint,) = stints(1, 1)
    study = stint.write(workdir) / "study.toml"
    study.write_text("as it was")
    stint.write(workdir)
    assert study.read_text() == "as it was"


def test_each_study_is_in_one_share_and_each_share_has_both_kinds(tmp_path: Path) -> None:
    studies = stints(2000, 1)
    parts = shares(tmp_path, studies, 3)
    assert sorted(stint.number for part in parts for stint in part.stints) == [s.number for s in studies]
    assert len({part.out for part in parts}) == 3
    assert all({stint.hostile for stint in part.stints} == {False, True} for part in parts)
    (alone,) = shares(tmp_path, studies, 1)
    assert (alone.out, [*alone.stints]) == (tmp_path, studies)
