"""The figures of a study file: what is read, what is measured for them, and one line for each that cannot be."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from harness.cli.studychoice import chosen
from harness.errors import StudyError
from harness.study.figure import FigureKind, FigureSeries, StudyFigure
from harness.study.plan import Plan
from harness.study.planning import make_plan
from harness.study.study import Study
from harness.study.studyfile import parse_study
from tests.facts import tells
from tests.unit.harness.study.kindstudies import REQUESTS

STUDY = """
name = "mine"
pages = ["one", "two"]
variants = ["plain", "inline_css"]
engines = ["qtwebkit", "chromium"]
protocols = ["http1", "spdy", "h2"]
trials = 2
{only}
[[links]]
down_mbps = 10
rtt_ms = [20, 50]
"""
LINES = """
[[figures]]
name = "1"
title = "Figure 1"
x = "rtt_ms"
series = [{protocol = "http1"}, {protocol = "spdy", label = "the new one"}]
reference = {protocol = "http1"}
where = {page = "one", variant = "plain", engine = "qtwebkit"}
"""
BARS = """
[[figures]]
name = "2"
title = "Figure 2"
kind = "bars"
x = "page"
series = ["variant"]
where = {rtt_ms = 20, engine = "chromium", protocol = "h2"}
metric = "bytes_down"
"""


def study(figures: str, only: str = "") -> Study:
    return parse_study(STUDY.format(only=only) + figures, "mine.toml")


def refused(figures: str, only: str = "") -> str:
    with pytest.raises(StudyError) as caught:
        study(figures, only)
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix("mine.toml: ")


def test_figures_are_read_with_all_that_they_say() -> None:
    first, second = study(LINES + BARS).figures
    http1 = FigureSeries({"protocol": "http1"})
    assert first == StudyFigure(
        name="1",
        title="Figure 1",
        kind=FigureKind.LINES,
        x="rtt_ms",
        series=(http1, FigureSeries({"protocol": "spdy"}, "the new one")),
        metric="plt_ms",
        where={"page": ("one",), "variant": ("plain",), "engine": ("qtwebkit",)},
        reference=http1,
    )
    assert (second.kind, second.metric) == (FigureKind.BARS, "bytes_down")
    assert [each.values for each in second.series] == [{"variant": "plain"}, {"variant": "inline_css"}]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            'name = "1"',
            'name = "Figure 1"',
            "figure 'Figure 1': name is 'Figure 1'",
        ),
        ('title = "Figure 1"\n', "", "figure '1': title must be a text"),
        ('x = "rtt_ms"', 'x = "rtt"', "figure '1': x: unknown 'rtt' (did you mean rtt_ms?); known: page, "),
        ('x = "rtt_ms"', 'x = "page"', "x is page, which is no number, and lines need one"),
        (
            'x = "rtt_ms"',
            'x = "rtt_ms"\nkind = "pie"',
            "kind: unknown 'pie'",
        ),
        ('x = "rtt_ms"', 'x = "rtt_ms"\ncolour = 1', "unknown key 'colour' in [figures]"),
        ('x = "rtt_ms"', 'x = "rtt_ms"\nmetric = "pltms"', "metric: unknown 'pltms' (did you mean plt_ms?)"),
        ('x = "rtt_ms"', 'x = "rtt_ms"\nmetric = "tls"', "metric: tls is no number"),
        ('x = "rtt_ms"', 'x = "rtt_ms"\nmetric = "lcp_ms"', "metric: qtwebkit does not tell lcp_ms"),
        ('page = "one"', 'page = "three"', "where: the study has no page 'three'"),
        ('page = "one", ', "", "they differ in page"),
        ('protocol = "spdy"', 'protocol = "h3"', "series: the study has no protocol 'h3' (did you mean h2?)"),
        (
            'protocol = "spdy"',
            'protocol = "h2"',
            "series protocol h2: no condition",
        ),
        ('protocol = "spdy"', "rtt_ms = 50", "series names rtt_ms, which is the figure's x"),
        ('reference = {protocol = "http1"}', 'reference = {protocol = "h2"}', "is none of the series"),
        ('engine = "qtwebkit"}', 'engine = "qtwebkit", protocol = "h2"}', "where: no condition of the study"),
        ("series = [", 'series = ["rtt_ms"]\nxs = [', "unknown key 'xs'"),
    ],
)
def test_a_figure_that_cannot_be_is_one_line(old: str, new: str, says: str) -> None:
    assert old in LINES
    assert says in refused(LINES.replace(old, new))


def test_other_figures_that_cannot_be() -> None:
    assert tells([refused(BARS.replace('["variant"]', '["page"]'))], "series holds page", "figure's x")
    assert tells([refused(BARS.replace('["variant"]', "[]"))], "series must be a list", "at least one")
    assert tells([refused(BARS.replace('["variant"]', "[3]"))], "series holds 3", "list of tables")
    assert tells([refused(LINES + LINES.replace('title = "', 'title = "The '))], "two figures", "name '1'")
    nameless = refused(LINES.replace('name = "1"\n', ""))
    assert nameless.startswith("figure 1: name ")
    assert "text" in nameless


def test_a_study_without_figures_has_the_plan_that_it_had() -> None:
    plain = make_plan(study(""), 1)
    with_figures = make_plan(study(LINES), 1)
    assert "figures" not in json.loads(plain.to_lines().splitlines()[0])
    assert plain.to_lines().splitlines()[1:] == with_figures.to_lines().splitlines()[1:]
    assert Plan.from_lines(with_figures.to_lines(), "plan.jsonl") == with_figures


def test_only_figures_measures_what_the_figures_hold() -> None:
    whole = study(LINES + BARS.replace("Figure 2", "x"))
    # Both figures use every page, variant, engine, protocol and link.
    only = study(LINES + BARS, "only_figures = true")
    wanted = [
        cell
        for cell, told in zip(whole.conditions, whole.dimensions, strict=True)
        if any(figure.holds(told) for figure in whole.figures)
    ]
    assert list(only.conditions) == wanted
    assert len(wanted) == 2 * 2 + 2 * 2 < len(whole.conditions)


def test_only_figures_refuses_what_no_figure_has() -> None:
    assert tells([refused("", "only_figures = true")], "only_figures is true", "no [[figures]]")
    assert tells([refused(LINES, "only_figures = true")], "pages: two", "in no figure")


def options(folder: Path, text: str, *only: str) -> argparse.Namespace:
    path = folder / "mine.toml"
    path.write_text(text)
    return argparse.Namespace(study=str(path), trials=None, until=None, only=list(only), without=[])


def test_a_command_line_keeps_to_what_one_figure_needs(tmp_path: Path) -> None:
    whole = study(LINES + BARS)
    path, left = chosen(options(tmp_path, STUDY.format(only="") + LINES + BARS, "figure=1"))
    assert {(cell.page, cell.protocol.value, cell.engine.value) for cell in left.conditions} == {
        ("one", "http1", "qtwebkit"),
        ("one", "spdy", "qtwebkit"),
    }
    assert left.figures == whole.figures[:1]
    assert (left.pages, [each.value for each in left.engines]) == (("one",), ["qtwebkit"])
    assert (left.text.text, left.options) == (path.read_text(), (("--only", "figure=1"),))
    assert set(left.conditions) < set(whole.conditions)


def test_other_choices_leave_of_a_figure_what_is_measured(tmp_path: Path) -> None:
    file = STUDY.format(only="only_figures = true") + LINES + BARS
    _, left = chosen(options(tmp_path, file, "protocol=spdy"))
    (figure,) = left.figures
    assert ([each.label for each in figure.series], figure.reference) == (["the new one"], None)
    assert (left.pages, left.variants[0].name) == (("one",), "plain")


def test_a_figure_that_the_study_does_not_make_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"^--only figure=3: .*: 1, 2$"):
        chosen(options(tmp_path, STUDY.format(only="") + LINES + BARS, "figure=3"))
    with pytest.raises(StudyError, match=r"^--only figure=3: .* it has none$"):
        chosen(options(tmp_path, STUDY.format(only=""), "figure=3"))


def test_other_kinds_have_figures_too() -> None:
    made = parse_study(
        f"""{REQUESTS}
[[figures]]
name = "rates"
title = "Rates"
x = "connections"
series = ["depth"]
where = {{engine = "wrk", protocol = "http1"}}
""",
        "rates.toml",
    )
    assert [each.values for each in made.figures[0].series] == [{"depth": 1}, {"depth": 8}]
    assert made.figures[0].metric == "requests_per_s"


FACTORS = """
[[factors]]
name = "lossy"
link = {loss_down_percent = 1, name = "lossy"}
[[factors]]
name = "small window"
tcp = {initial_window = 3}
[[figures]]
name = "loss"
title = "Loss"
kind = "bars"
x = "factor"
series = ["protocol"]
where = {factor = ["usual", "lossy"], page = "one", rtt_ms = 20, variant = "plain", engine = "qtwebkit"}
"""


def test_figures_hold_factors_and_leave_others_out(tmp_path: Path) -> None:
    _, left = chosen(options(tmp_path, STUDY.format(only="") + FACTORS, "figure=loss"))
    assert {(cell.factor, cell.protocol.value) for cell in left.conditions} == {
        (factor, protocol) for factor in ("usual", "lossy") for protocol in ("http1", "spdy")
    }
    assert [part.factor for part in left.parts] == ["usual", "lossy"]
    assert all(part.pages == ("one",) for part in left.parts)
    assert "they differ in factor" in refused(
        FACTORS.replace('factor = ["usual", "lossy"], ', "").replace('x = "factor"', 'x = "page"')
    )


def test_a_factor_has_no_figures_of_its_own() -> None:
    said = refused(FACTORS.replace("tcp = {initial_window = 3}", "only_figures = true"))
    assert tells([said], "only_figures", "the same for the whole run")
