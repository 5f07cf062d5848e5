"""Sets of pages: where they are looked for, how a study takes them, what its plan keeps, each mistake in one line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from harness.cli.studychoice import _only
from harness.errors import RecordsError, StudyError
from harness.study.claim import settings
from harness.study.pageset import all_sets, read_set, set_text
from harness.study.plan import Plan
from harness.study.planning import make_plan
from harness.study.study import Study, of_one_figure
from harness.study.studyfile import parse_study
from tests.facts import tells

STUDY = """
name = "mine"
pages = {pages}
protocols = ["http1", "h2"]
trials = 2
[[links]]
down_mbps = 10
rtt_ms = 20
{more}
"""
WHERE = """
[[claims]]
subject = {{protocol = "h2"}}
reference = {{protocol = "http1"}}
where = {{set = "{name}"}}
"""
FIGURE = """
[[figures]]
name = "pages"
title = "Pages of a set"
kind = "bars"
x = "page"
series = ["protocol"]
where = {{set = "{name}"}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "small.toml").write_text('title = "small ones"\npages = ["a", "b"]\n')
    (tmp_path / "sets" / "large.toml").write_text('pages = ["c"]\n')
    return tmp_path


def study(folder: Path, pages: str, more: str = "") -> Study:
    return parse_study(STUDY.format(pages=pages, more=more), "mine.toml", folder)


def mistake(folder: Path, pages: str, more: str = "") -> str:
    """What is said about a study that cannot be."""
    with pytest.raises(StudyError) as caught:
        study(folder, pages, more)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_set_stands_for_its_pages_and_a_page_is_measured_once(folder: Path) -> None:
    made = study(folder, '["x", "@small", "@large", "b"]')
    assert made.pages == ("x", "a", "b", "c")
    assert made.sets == {"small": ("a", "b"), "large": ("c",)}


def test_the_sets_that_ship_can_be_named_and_do_not_overlap(tmp_path: Path) -> None:
    made = study(tmp_path, '["@mobile", "@desktop", "@mobile-2025", "@desktop-2025"]')
    assert all(len(pages) >= 4 for pages in made.sets.values())
    assert len(made.pages) == sum(map(len, made.sets.values()))
    assert all(each.title != each.name for each in all_sets())


def test_a_set_beside_the_study_goes_before_one_of_the_working_directory(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path_factory.mktemp("here")
    (here / "sets").mkdir()
    for name in ("small", "own", "mobile"):
        (here / "sets" / f"{name}.toml").write_text(f'pages = ["{name}-page"]\n')
    monkeypatch.chdir(here)
    made = study(folder, '["@small", "@own", "@mobile"]')
    assert made.pages == ("a", "b", "own-page", "mobile-page")


@pytest.mark.parametrize(
    ("pages", "says"),
    [
        ('["@smal"]', r"'@smal' \(did you mean small\?\); there are: @desktop, @desktop-2025, @large, @mobile, "),
        ('["@"]', "no set is named '@'"),
        ('["@../small"]', "no set is named '@../small'"),
        ('["@small", "@small"]', "pages holds '@small' twice"),
        ("[7]", "pages holds 7, which cannot be the name of an archive"),
        ('["a b"]', "pages holds 'a b', which cannot be"),
    ],
)  # fmt: skip
def test_a_set_that_is_not_there_is_named_with_those_that_are(folder: Path, pages: str, says: str) -> None:
    assert re.search(says, mistake(folder, pages))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("pages = []", "pages must be a list with at least one entry"),
        ("", "pages must be a list"),
        ('pages = ["a", "a"]', "pages holds 'a' twice"),
        ('pages = ["@small"]', "pages holds '@small'"),
        ('page = ["a"]', "unknown key 'page' in the set (did you mean pages?)"),
        ("pages = [", "it is not TOML"),
        ('pages = ["a"]\ntitle = 3', "title must be a text"),
    ],
)
def test_an_empty_or_damaged_set_is_one_line_with_its_file(folder: Path, text: str, says: str) -> None:
    (folder / "sets" / "odd.toml").write_text(text)
    said = mistake(folder, '["@odd"]')
    assert says in said
    assert "odd.toml" in said


def test_a_page_is_of_one_set(folder: Path) -> None:
    (folder / "sets" / "other.toml").write_text('pages = ["b", "d"]\n')
    assert tells([mistake(folder, '["@small", "@other"]')], "page 'b'", "@small and of @other")


def test_the_plan_keeps_the_sets_and_plans_without_have_no_such_key(folder: Path) -> None:
    plan = make_plan(study(folder, '["@small", "x"]'), 1)
    assert json.loads(plan.to_lines().splitlines()[0])["sets"] == {"small": ["a", "b"]}
    assert Plan.from_lines(plan.to_lines(), "plan.jsonl") == plan
    assert "sets" not in json.loads(make_plan(study(folder, '["a"]'), 1).to_lines().splitlines()[0])


@pytest.mark.parametrize(
    "sets", [7, {"small": "a"}, {"small": []}, {"a b": ["a"]}, {"one": ["a"], "two": ["a"]}]
)
def test_damaged_sets_of_a_plan_are_refused(folder: Path, sets: object) -> None:
    head, *rows = make_plan(study(folder, '["@small"]'), 1).to_lines().splitlines()
    text = "\n".join([json.dumps(json.loads(head) | {"sets": sets}), *rows])
    with pytest.raises(RecordsError, match=r"plan\.jsonl is damaged"):
        Plan.from_lines(text, "plan.jsonl")


def test_a_run_keeps_what_makes_its_sets_again(folder: Path) -> None:
    (folder / "sets" / "kept.toml").write_text(set_text("kept", ("a", "b")))
    assert read_set("kept", folder).pages == ("a", "b")


def test_a_claim_can_be_about_the_pages_of_a_set(folder: Path) -> None:
    made = study(folder, '["@small", "@large", "x"]', WHERE.format(name="@small"))
    (claim,) = made.claims
    (setting,) = settings(claim, made.dimensions)
    assert claim.where == {"set": ("small",)}
    assert [one["page"] for one, _ in setting.pairs] == ["a", "b"]


def test_claims_have_a_verdict_for_each_set(folder: Path) -> None:
    made = study(folder, '["@small", "@large", "x"]')
    (claim,) = make_plan(made, 1).claims
    found = settings(claim, made.dimensions)
    assert [(each.dimensions["set"], len(each.pairs)) for each in found] == [
        ("small", 2),
        ("large", 1),
        (None, 1),
    ]


@pytest.mark.parametrize(
    ("pages", "more", "says"),
    [
        ('["@small"]', WHERE.format(name="large"), "the study has no set 'large'; it has: small"),
        ('["a"]', WHERE.format(name="small"), "the study names no set"),
        (
            '["@small"]',
            '[[claims]]\nsubject = {set = "small"}\nreference = {set = "large"}',
            "subject: set goes into where",
        ),
    ],
)
def test_a_claim_on_a_set_that_the_study_does_not_name(
    folder: Path, pages: str, more: str, says: str
) -> None:
    assert says in mistake(folder, pages, more)


@pytest.mark.parametrize("name", ["small", "@small"])
def test_a_figure_can_hold_the_pages_of_a_set(name: str, folder: Path) -> None:
    made = study(folder, '["@small", "@large", "x"]', FIGURE.format(name=name))
    (figure,) = made.figures
    assert figure.where == {"set": ("small",)}
    assert {each["page"] for each in made.dimensions if figure.holds(each)} == {"a", "b"}
    left = of_one_figure(made, "pages")
    assert left.pages == ("a", "b")
    assert make_plan(left, 1).sets == {"small": ("a", "b")}


def test_a_figure_over_sets_names_the_page_that_a_point_would_hold_twice(folder: Path) -> None:
    more = FIGURE.format(name="small").replace('x = "page"', 'x = "set"')
    assert "they differ in page" in mistake(folder, '["@small"]', more)
    one_each = study(folder, '["@large", "x"]', more.replace('where = {set = "small"}', ""))
    assert [each["set"] for each in one_each.dimensions if one_each.figures[0].holds(each)][:2] == [
        "large",
        "large",
    ]


def test_the_command_line_keeps_to_a_set(folder: Path) -> None:
    made = study(folder, '["@small", "@large", "x"]')
    for choice in ("set=small", "set=@small"):
        left = _only(made, choice)
        assert left.pages == ("a", "b")
        assert make_plan(left, 1).sets == {"small": ("a", "b")}
    with pytest.raises(StudyError, match=r"^--only set=none: .* it has: small, large$"):
        _only(made, "set=none")


def test_a_factor_may_take_another_set_and_no_page_is_of_two(folder: Path) -> None:
    more = '[[factors]]\nname = "few"\npages = ["{pages}"]\n'
    made = study(folder, '["@small"]', more.format(pages="@large"))
    assert make_plan(made, 1).sets == {"small": ("a", "b"), "large": ("c",)}
    assert {each["page"]: each["set"] for each in made.dimensions} == {
        "a": "small",
        "b": "small",
        "c": "large",
    }
    (folder / "sets" / "other.toml").write_text('pages = ["b"]\n')
    twice = mistake(folder, '["@small"]', more.format(pages="@other"))
    assert tells([twice], "page 'b'", "@small and of @other")
