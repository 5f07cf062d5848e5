"""What a study leaves out of the variants of a page, and the limits of filters that it sets."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli.studychoice import add_study, chosen
from harness.errors import RecordsError, StudyError
from harness.input import textfile
from harness.model.condition import Condition, dimensions_of
from harness.run.directory import open_run
from harness.study.plan import Plan
from harness.study.planning import make_plan
from harness.study.study import Study
from harness.study.studyfile import parse_study
from harness.study.variantfile import without_text

STUDY = """name = "mine"
pages = ["one", "two.b"]
variants = ["plain", "minify", "core"]
protocols = ["h2"]
trials = 2
[[links]]
down_mbps = 10
rtt_ms = 20
"""
WITHOUT = '[without]\none = ["inline_css", "combine_css"]\n"two.b" = []\n'
FILTERS = "[filters]\ninline_css = {max_bytes = 4096}\nrecompress_jpeg = {quality = 70}\n"


def study(*more: str, text: str = STUDY) -> Study:
    return parse_study("".join((text, *more)), "mine.toml")


def told(made: Study) -> dict[str, str]:
    """Page and variant as records have them, and what else they tell of it."""
    found = {}
    for each in made.conditions:
        known = dimensions_of(each)
        beside = [str(known[key]) for key in ("without", "filter_settings") if key in known]
        found[f"{each.factor} {each.page} {each.variant.name}".strip()] = "; ".join(beside)
    return found


def test_conditions_hold_what_they_go_without_and_by_which_limits() -> None:
    made = study(WITHOUT, FILTERS)
    assert told(made) == {
        "one plain": "",
        "one minify": "",  # has none of these filters
        "one core": "combine_css,inline_css; recompress_jpeg.quality=70",
        "two.b plain": "",
        "two.b minify": "",
        "two.b core": "recompress_jpeg.quality=70,inline_css.max_bytes=4096",
    }
    core = next(each for each in made.conditions if each.page == "one" and each.variant.name == "core")
    assert str(core).startswith("one core without combine_css, inline_css with recompress_jpeg.quality=70 h2")
    assert not {"inline_css", "combine_css"} & set(core.variant.filters)
    assert "inline_javascript" in core.variant.filters
    for each in made.conditions:
        assert Condition.from_json(each.to_json()) == each
    plan = make_plan(made, 1)
    assert Plan.from_lines(plan.to_lines(), "plan.jsonl").trials == plan.trials
    assert len({each.served.archive for each in made.conditions}) == 6


def test_a_study_that_says_nothing_has_the_plan_it_had() -> None:
    text = make_plan(study(), 1).to_lines()
    assert "without" not in text
    assert "filter_settings" not in text
    usual = study("[filters]\ninline_css = {max_bytes = 2048}\n")  # what it is anyway
    assert make_plan(usual, 1).to_lines() == make_plan(study("[without]\none = []\n"), 1).to_lines() == text


def test_factors_change_both_and_keep_the_rest() -> None:
    factors = """[[factors]]
name = "large"
filters = {inline_css = {max_bytes = 9999}}
without = {"two.b" = ["shard"]}
[[factors]]
name = "one page"
pages = ["two.b"]
variants = ["plain", "core,shard"]
"""
    found = told(study(WITHOUT, FILTERS, factors, text=STUDY.replace('"core"', '"core", "shard"')))
    assert found["usual two.b core"] == "recompress_jpeg.quality=70,inline_css.max_bytes=4096"
    assert found["large two.b core"] == "recompress_jpeg.quality=70,inline_css.max_bytes=9999"
    assert found["large two.b shard"] == "shard"
    assert found["large one core"] == "combine_css,inline_css; recompress_jpeg.quality=70"
    assert found["one page two.b core,shard"] == "recompress_jpeg.quality=70,inline_css.max_bytes=4096"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("[without]\nthree = []\n", "without: the study has no page 'three'; it has: one, two.b"),
        ("[without]\none = ['inline_cs']\n", "there is no filter 'inline_cs' (did you mean inline_css?)"),
        ("[without]\none = ['core']\n", "without: one: there is no filter 'core'"),
        ("[without]\none = ['shard']\n", "without: one: no variant of the study has shard"),
        ("[without]\none = 'inline_css'\n", "without: one must be a list of filters, found 'inline_css'"),
        ("[without]\none = [5]\n", "without: one: there is no filter 5"),
        ("[without]\none = [['inline_css']]\n", "without: one: there is no filter ['inline_css']"),
        ("[without]\n", "without must be a table, as in [without]"),
        ("[filters]\ninline_css = {max_byte = 1}\n", "'inline_css.max_byte' (did you mean inline_css.max_bytes?)"),
        ("[filters]\ninline_css = {max_bytes = 0}\n", "inline_css.max_bytes is 0; it must be 1 to 100000000"),
        ("[filters]\ninline_css = {max_bytes = -1}\n", "inline_css.max_bytes is -1; it must be"),
        ("[filters]\ninline_css = {max_bytes = 1e99}\n", "inline_css.max_bytes must be a whole number"),
        ("[filters]\ninline_css = {max_bytes = 4096.0}\n", "inline_css.max_bytes must be a whole number"),
        ("[filters]\ninline_css = {max_bytes = true}\n", "inline_css.max_bytes must be a whole number"),
        ("[filters]\ninline_css = {max_bytes = '4 kB'}\n", "must be a whole number, found '4 kB'"),
        ("[filters]\ninline_css = 4096\n", "filters: inline_css must be a table"),
        ("[filters]\nshard = {hosts = 3}\n", "filters: shard.hosts: no variant of the study has shard"),
        ("[filters]\n", "filters must be a table"),
        ("[filters.inline_css.max_bytes]\nx = 1\n", "inline_css.max_bytes must be a whole number"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_line(more: str, says: str) -> None:
    with pytest.raises(StudyError) as error:
        study(more)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_a_command_line_leaves_out_as_the_file_does(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    add_study(parser)
    path = tmp_path / "mine.toml"
    path.write_text(STUDY + WITHOUT)

    def of(*options: str) -> Study:
        return chosen(parser.parse_args([str(path), *options]))[1]

    made = of("--without", "one=", "--without", "two.b=inline_css", "--only", "variant=core")
    assert told(made) == {"one core": "", "two.b core": "inline_css"}
    assert made.options == (
        ("--without", "one="),
        ("--without", "two.b=inline_css"),
        ("--only", "variant=core"),
    )
    for wrong, says in {
        "one": "--without 'one': write PAGE=FILTERS",
        "=inline_css": "write PAGE=FILTERS",
        "three=inline_css": "the study has no page 'three'",
        "one=inline": "there is no filter 'inline'",
        "one=shard": "no variant of the study has shard",
    }.items():
        with pytest.raises(StudyError, match=says):
            of("--without", wrong)


def test_a_run_goes_on_with_the_same_alone(tmp_path: Path) -> None:
    plan = make_plan(study(WITHOUT), 1)
    with open_run(tmp_path / "run", plan):
        pass
    for other in (study(), study(WITHOUT, FILTERS)):
        same_file = replace(make_plan(other, 1), study_text=plan.study_text)
        with (
            pytest.raises(RecordsError, match="variants of the study have changed"),
            open_run(tmp_path / "run", same_file),
        ):
            pass
    with open_run(tmp_path / "run", plan):
        pass


def test_a_line_to_copy_is_what_the_study_file_takes() -> None:
    line = without_text({"one": ("inline_css", "shard"), 'a.b "c"': ()})
    assert line.count("\n") == 0
    assert textfile.parse_toml(line) == {"without": {"one": ["inline_css", "shard"], 'a.b "c"': []}}
