"""A budget is read, becomes claims, and what is wrong with it is one line that names the file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import StudyError
from harness.model.kind import Kind
from harness.study.budget import PageBudget
from harness.study.studyfile import parse_study

STUDY = parse_study(
    'name = "x"\npages = ["a", "b"]\nprotocols = ["h2"]\nlinks = ["cable", "4g"]\ntrials = 1\n', "x"
)


def budget(folder: Path, text: str) -> PageBudget:
    path = folder / "budget.toml"
    path.write_text(text)
    return PageBudget.read(path)


def test_limits_are_claims(tmp_path: Path) -> None:
    text = '[[budget]]\nplt_ms = 3000\nrequests = 60\n[[budget]]\nwhere = {link = "4g"}\nplt_ms = 5000\n'
    found = budget(tmp_path, text).claims(STUDY.dimensions, Kind.LOAD)
    assert [(each.metric, each.at_most, dict(each.where)) for each in found] == [
        ("plt_ms", 3000.0, {}),
        ("requests", 60.0, {}),
        ("plt_ms", 5000.0, {"link": ("4g",)}),
    ]
    assert len({each.name for each in found}) == 3


def test_one_table_will_do(tmp_path: Path) -> None:
    (claim,) = (
        budget(tmp_path, "[budget]\nplt_ms = 3000\n").of({"page": "b"}).claims(STUDY.dimensions, Kind.LOAD)
    )
    assert (claim.subject, claim.at_most) == ({"page": "b"}, 3000.0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no limit in None; name a metric"),
        ("[budget]\n", "no limit in {}; name a metric"),
        ("[budgets]\nplt_ms = 1\n", r"unknown key 'budgets' .*did you mean budget\?"),
        ("[budget]\nplt = 1\n", r"unknown key 'plt' in \[budget\] \(did you mean plt_ms\?\)"),
        ('[budget]\nwhere = "4g"\nplt_ms = 1\n', "where must be a table, found '4g'"),
        ('[budget]\nwhere = {link = "4g"}\n', "no limit in "),
        ("[budget]\npainted = 1\n", r"unknown key 'painted' in \[budget\]"),
        ("[budget]\nfailed_requests = 0\n", "failed_requests is 0; .* where none is allowed, say 0.5"),
        ('[budget]\nplt_ms = "3 s"\n', "plt_ms must be a number, found '3 s'"),
        ("budget = 3\n", "no limit in 3"),
        ("budget = [3]\n", "no limit in 3"),
        ("budget = []\n", r"no limit in \[\]; name a metric"),
        ("[budget\n", "it is not TOML"),
    ],
)
def test_what_is_no_budget_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(StudyError, match=says) as told:
        budget(tmp_path, text)
    assert str(tmp_path / "budget.toml") in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[budget]\npages_per_s = 1\n", "metric: unknown 'pages_per_s'"),
        ('[budget]\nwhere = {link = "dsl"}\nplt_ms = 1\n', "the study has no link 'dsl'; it has: cable, 4g"),
        ('[budget]\nwhere = {lnk = "4g"}\nplt_ms = 1\n', r"unknown key 'lnk' in \[where\]"),
    ],
)
def test_what_the_study_does_not_have_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(StudyError, match=says) as told:
        budget(tmp_path, text).claims(STUDY.dimensions, Kind.LOAD)
    assert str(tmp_path / "budget.toml") in str(told.value)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"cannot read the budget .*none\.toml: No such file"):
        PageBudget.read(tmp_path / "none.toml")


def test_a_limit_of_what_the_study_does_not_observe_is_refused_before_it_runs(tmp_path: Path) -> None:
    found = budget(tmp_path, "[budget]\nlcp_ms = 4000\n")
    with pytest.raises(StudyError, match=r"budget.toml .*lcp_ms, .*vitals = true"):
        found.refuse_unless_of(STUDY)
    found.refuse_unless_of(replace(STUDY, vitals=True))
