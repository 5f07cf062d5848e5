"""What is compared stands together in a block, and the baseline of each setting is there twice."""

from __future__ import annotations

import itertools
import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from harness.model.condition import Condition, dimensions_of
from harness.study.planning import MOST_TOGETHER, baseline_of, make_plan, settings_of, shuffled
from harness.study.studyfile import parse_study, read_study, shipped_studies
from tests.unit.harness.study.kindstudies import REQUESTS

TWO_SETTINGS = """
name = "mine"
pages = ["one", "two"]
variants = ["core", "plain"]
compression = ["gzip-6", "none"]
protocols = ["http1-close", "http1", "h2"]
trials = 3
[[links]]
down_mbps = 10
rtt_ms = 20
"""


def place(condition: Condition) -> tuple[object, ...]:
    return condition.page, condition.link, condition.engine, condition.driver


def test_a_setting_is_one_stretch_of_each_block() -> None:
    plan = make_plan(read_study(shipped_studies()["inlining-minification"]), 1)
    for _, block in itertools.groupby(plan.trials, lambda trial: trial.block):
        stretches = [key for key, _ in itertools.groupby(place(trial.condition) for trial in block)]
        assert len(stretches) == len(set(stretches)) == 4 * 2  # links and engines


def test_settings_and_members_are_in_another_order_in_each_block() -> None:
    plan = make_plan(parse_study(TWO_SETTINGS.replace("trials = 3", "trials = 10"), "x"), 1)
    orders = [
        [trial.condition for trial in block]
        for _, block in itertools.groupby(plan.trials, lambda trial: trial.block)
    ]
    assert all(one != other for one, other in itertools.combinations(orders, 2))
    assert {order[0].page for order in orders} == {"one", "two"}


def test_the_baseline_is_http1_plain_without_compression() -> None:
    study = parse_study(TWO_SETTINGS, "x")
    for setting in settings_of(study.conditions, twice=True):
        (twin,) = (cell for group in setting for cell in group if cell.again)
        assert (twin.protocol, twin.variant.name, str(twin.compression)) == ("http1", "plain", "none")
    first = parse_study(
        TWO_SETTINGS.replace('"http1-close", "http1", "h2"', '"h2", "https1"').replace(', "plain"', ""), "x"
    )
    found = baseline_of([cell for cell in first.conditions if cell.page == "one"])
    assert (found.protocol, found.variant.name) == ("https1", "core")


def test_a_study_of_one_condition_measures_it_twice() -> None:
    one = 'name = "mine"\npages = ["one"]\nprotocols = ["h2"]\n{}[[links]]\ndown_mbps = 10\nrtt_ms = 20\n'
    (condition,) = parse_study(one.format(""), "x").conditions
    block = [
        trial.condition for trial in make_plan(parse_study(one.format(""), "x"), 1).trials if trial.block == 1
    ]
    assert sorted(map(str, block)) == sorted([str(condition), f"{condition} (again)"])
    assert make_plan(parse_study(one.format("aa = false\n"), "x"), 1).conditions == 1


def test_a_factorial_setting_is_split_by_what_has_the_fewest_values() -> None:
    """36 variants by two protocols: the variants of a protocol stand together, the twin beside its baseline."""
    settings = settings_of(read_study(shipped_studies()["factorial"]).conditions, twice=True)
    assert len(settings) == 2  # pages
    for setting in settings:
        assert [{cell.protocol.value for cell in group} for group in setting] == [{"http1"}, {"h2"}]
        assert all(len({cell.variant for cell in group}) == 36 for group in setting)
        assert [sum(cell.again for cell in group) for group in setting] == [1, 0]


def test_what_varies_in_one_way_only_cannot_be_split() -> None:
    factorial = read_study(shipped_studies()["factorial"])
    (alone,) = (
        setting
        for setting in settings_of(
            [cell for cell in factorial.conditions if cell.protocol == "h2" and cell.page == "agency"],
            twice=False,
        )
    )
    assert [len(group) for group in alone] == [36]
    assert len(alone[0]) > MOST_TOGETHER


@given(st.integers(0, 2**32), st.booleans())
def test_a_block_holds_every_condition_once(seed: int, twice: bool) -> None:
    conditions = parse_study(TWO_SETTINGS, "x").conditions
    order = shuffled(settings_of(conditions, twice=twice), random.Random(seed))  # noqa: S311
    assert Counter(cell for cell in order if not cell.again) == Counter(conditions)
    assert sum(cell.again for cell in order) == (2 if twice else 0)


def test_a_large_setting_of_loops_is_split_until_it_stays_close() -> None:
    """30 loops of h2load: those of a depth stand together and, of the many at depth 1, those of a server."""
    wide = REQUESTS.replace("[16, 64]", "[4, 16, 64]").replace(
        'server = "nginx"', 'server = ["nginx", "apache"]'
    )
    _, by_h2load = settings_of(parse_study(wide, "x").conditions, twice=False)
    depths = [{dimensions_of(cell)["depth"] for cell in group} for group in by_h2load]
    servers = [{cell.server for cell in group} for group in by_h2load]
    assert [len(group) for group in by_h2load] == [9, 9, 12]
    assert depths == [{1}, {1}, {8}]
    assert servers == [{"nginx"}, {"apache"}, {"nginx", "apache"}]


def test_pages_that_a_claim_sets_against_each_other_stand_together() -> None:
    """The baseline of both is the reference, the first page, and is measured twice once."""
    text = (
        'name = "mine"\npages = ["one", "two", "three"]\nprotocols = ["h2"]\nlinks = ["cable", "4g"]\n'
        '[[claims]]\nsubject = {page = "two"}\nreference = {page = "one"}\n'
    )
    study = parse_study(text, "x")
    found = settings_of(study.conditions, twice=True, claims=study.claims)
    assert [[cell.page for group in setting for cell in group] for setting in found] == [
        ["one", "two", "one"],
        ["one", "two", "one"],
        ["three", "three"],
        ["three", "three"],
    ]
    assert len(settings_of(study.conditions, twice=True)) == 6


PAGES = 'name = "mine"\npages = ["one", "two", "three"]\nprotocols = ["http1", "h2"]\nlinks = ["cable"]\ntrials = 2\n'


def draws(text: str) -> dict[str, set[int | None]]:
    """The draws of the second block, by page."""
    found: dict[str, set[int | None]] = {}
    for trial in make_plan(parse_study(text, "x"), 1, draw=7_000_000_000).trials:
        if trial.block == 2:
            found.setdefault(trial.condition.page, set()).add(trial.own_draw)
    assert all(len(of_page) == 1 for of_page in found.values())
    return found


def test_pages_of_a_published_claim_stand_together_and_draw_alike() -> None:
    text = (
        'published = {title = "A paper", source = "Somebody, 2012"}\n' + PAGES + "[[claims]]\n"
        'name = "c"\nsubject = {page = "two"}\nreference = {page = "one"}\n'
        'published = 0.9\ntext = "less"\nstands = "figure 1"\n'
    )
    study = parse_study(text, "x")
    settings = settings_of(study.conditions, twice=False, claims=study.every_claim)
    assert [len(group) for setting in settings for group in setting] == [4, 2]
    block = [trial.condition.page for trial in make_plan(study, 1).trials if trial.block == 1]
    assert len([page for page, _ in itertools.groupby(block, lambda page: page == "three")]) == 2
    found = draws(text)
    assert found["one"] == found["two"] != found["three"]


def test_pages_draw_alike_that_a_claim_sets_against_each_other_with_something_else() -> None:
    apart = draws(PAGES)
    assert len({*apart["one"], *apart["two"], *apart["three"]}) == 3
    claim = '[[claims]]\nsubject = {page = "two", protocol = "h2"}\nreference = {page = "one", protocol = "http1"}\n'
    found = draws(PAGES + claim)
    assert found["one"] == found["two"] != found["three"]
    assert len(settings_of(parse_study(PAGES + claim, "x").conditions, twice=False)) == 3
    factor = (
        '[[factors]]\nname = "other"\npages = ["four"]\n'
        '[[claims]]\nsubject = {factor = "other"}\nreference = {factor = "usual"}\nwhere = {page = ["three", "four"]}\n'
    )
    found = draws(PAGES + factor)
    assert found["three"] == found["four"]
    assert len({*found["one"], *found["two"], *found["three"]}) == 3
