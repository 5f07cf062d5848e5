"""Figures of crowds and request rates: what they hold, and that figures of page loads are not asked of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from analysis.charts import crowdcharts, figures, lines, plots, ratecharts
from analysis.charts.plots import Drawing
from analysis.evaluation.results import evaluate
from analysis.labels.conditions import STYLES
from analysis.runs.rundirectory import load
from analysis.tables.capacitytables import crowds, rates
from tests.facts import tells
from tests.unit.analysis.synthetic import write_lines
from tests.unit.analysis.synthetic_capacity import SyntheticCrowd, SyntheticRate

pytestmark = pytest.mark.thorough

CROWD = SyntheticCrowd(protocols=("http1", "h2"), trials=3)
RATE = SyntheticRate(connections=(16, 64), made_by={"wrk": ("http1",), "h2load": ("http1", "h2")}, trials=2)


def drawings(tmp_path: Path, of: SyntheticCrowd | SyntheticRate) -> dict[str, Drawing]:
    results = evaluate([load(of.write(tmp_path / "run"))])
    with plots.look():
        made = {each.name: each for each in figures.draw(results)}
        for each in made.values():
            each.figure.draw_without_rendering()
    return made


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Drawing]:
    """The figures of `CROWD`, by name; nothing changes them."""
    return drawings(tmp_path_factory.mktemp("crowd"), CROWD)


@pytest.fixture(scope="module")
def rate(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Drawing]:
    """Those of `RATE`."""
    return drawings(tmp_path_factory.mktemp("rate"), RATE)


def estimates(made: dict[str, Drawing]) -> set[str]:
    return {name for name, each in made.items() if not each.of_data} - {figures.CLAIMS}


def axis_labels(figure: Figure) -> set[str]:
    return {text for axes in figure.axes for text in (axes.get_xlabel(), axes.get_ylabel()) if text}


def legend_of(figure: Figure) -> list[str]:
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def test_a_crowd_is_drawn_against_time_and_users_with_every_trial(crowd: dict[str, Drawing]) -> None:
    assert estimates(crowd) == {"head", "crowd_icons-5-mbit-s", "cost_icons-5-mbit-s"}
    figure = crowd["crowd_icons-5-mbit-s"].figure
    assert axis_labels(figure) == {
        *("Pages/s", "Page time (s)\n(logarithmic)", "Failed pages/s", "Busy workers"),
        *("Time (min)", "Users"),
    }
    for axes in figure.axes:
        for name in CROWD.protocols:
            colour = STYLES[name].colour
            mine = [line for line in axes.lines if line.get_color() == colour]
            thin = [line for line in mine if line.get_linewidth() < 1]
            assert (len(thin), len(mine) - len(thin)) == (3, 1)
    median = next(line for line in figure.axes[0].lines if line.get_linewidth() > 1)
    assert np.size(median.get_xdata()) == 40  # buckets of 30 s in 20 minutes
    assert axis_labels(crowd["cost_icons-5-mbit-s"].figure) == {
        "CPU idle (%)",
        "Server's memory (MB)",
        "Users",
    }


def test_a_server_that_starts_workers_as_it_needs_them_has_one_line_for_the_most(tmp_path: Path) -> None:
    run = replace(CROWD, trials=1).write(tmp_path / "run")
    for path in run.glob("trials/*/buckets.jsonl"):
        told = [json.loads(line) for line in path.read_text().splitlines()]
        write_lines(path, [bucket | {"workers": 50} if n < 10 else bucket for n, bucket in enumerate(told)])
    with plots.look():
        (figure,) = (
            each.figure for each in figures.draw(evaluate([load(run)])) if each.name == "crowd_icons-5-mbit-s"
        )
    busy = next(axes for axes in figure.axes if axes.get_ylabel() == "Busy workers")
    assert len([line for line in busy.lines if line.get_color() == "#555555"]) == 1


def test_what_no_server_tells_has_no_row(tmp_path: Path) -> None:
    made = drawings(tmp_path, replace(CROWD, servers=("caddy",), users=100, seconds=300.0))
    figure = made["crowd_icons-5-mbit-s"].figure
    assert axis_labels(figure) == {"Pages/s", "Page time (s)", "Time (s)", "Users"}
    assert "No page failed." in made["crowd_icons-5-mbit-s"].caption


def test_servers_that_speak_the_same_have_figures_of_their_own_and_stand_beside_each_other(
    tmp_path: Path,
) -> None:
    made = drawings(tmp_path, replace(CROWD, servers=("apache-2013", "caddy"), trials=1, seconds=300.0))
    beside = {f"servers_icons-5-mbit-s-{name}" for name in ("http-1.1", "http-2-tls")}
    assert {name for name in made if name.startswith("crowd_")} == {
        *("crowd_icons-5-mbit-s-apache-2013", "crowd_icons-5-mbit-s-caddy"),
        *(f"crowd_{name}" for name in beside),
    }
    assert {f"cost_{name}" for name in beside} <= set(made)
    assert "one trial" in made["crowd_icons-5-mbit-s-caddy"].caption
    assert legend_of(made["crowd_icons-5-mbit-s-caddy"].figure) == ["HTTP/1.1", "HTTP/2 (TLS)"]
    assert legend_of(made["crowd_servers_icons-5-mbit-s-http-2-tls"].figure) == ["apache-2013", "caddy"]
    assert "icons, 5 Mbit/s, HTTP/2 (TLS)" in made["cost_servers_icons-5-mbit-s-http-2-tls"].caption


def test_rates_of_servers_stand_beside_each_other(tmp_path: Path) -> None:
    made = drawings(tmp_path, replace(RATE, servers=("nginx", "caddy"), made_by={"h2load": ("http1", "h2")}))
    assert {name for name in made if name.startswith("rates_servers")} == {
        "rates_servers_one-file-no-link-http-1.1",
        "rates_servers_one-file-no-link-http-2-tls",
    }
    assert legend_of(made["rates_servers_one-file-no-link-http-2-tls"].figure) == [
        *("caddy", "caddy, 8 streams"),
        *("nginx", "nginx, 8 streams"),
    ]


def test_what_is_too_much_to_draw_is_said_with_where_its_numbers_are(tmp_path: Path) -> None:
    pages = tuple(f"page-{number}" for number in range(crowdcharts.MOST_GROUPS + 2))
    crowd = replace(CROWD, pages=pages, trials=1, seconds=60.0, users=50, aa=False)
    results = evaluate([load(crowd.write(tmp_path / "crowd"))])
    with plots.look():
        captions = [each.caption for each in crowdcharts.behaviour(results)]
    assert len(captions) == crowdcharts.MOST_GROUPS
    said = "2 further figures like these are left out: the table “What the server gave a growing crowd” has"
    assert [said in caption for caption in captions] == [False] * 7 + [True]
    table = crowds(results)
    assert table is not None
    assert table.title in captions[-1]
    pages = tuple(f"page-{number}" for number in range(ratecharts.MOST_GROUPS + 1))
    results = evaluate([load(replace(RATE, pages=pages, trials=1, aa=False).write(tmp_path / "rate"))])
    with plots.look():
        for draw in (ratecharts.matrix, ratecharts.against_connections, ratecharts.latencies):
            *_, last = draw(results)
            assert tells(last.caption, "1 further figure", "left out", "“Requests a second”")
    table = rates(results)
    assert table is not None
    assert table.title in last.caption


def test_compressing_is_cpu_against_bytes_with_a_line_per_coding(tmp_path: Path) -> None:
    made = drawings(
        tmp_path,
        SyntheticCrowd(
            pages=("text-10", "text-100"),
            protocols=("http1",),
            compressions=("none", "gzip-6"),
            steps=(50, 100),
            seconds=120.0,
            bucket_s=10.0,
            trials=2,
        ),
    )
    assert estimates(made) == {
        "head",
        *(f"{what}_text-{size}-5-mbit-s" for what in ("crowd", "cost") for size in (10, 100)),
        "codings_5-mbit-s",
    }
    (axes,) = made["codings_5-mbit-s"].figure.axes
    assert axis_labels(made["codings_5-mbit-s"].figure) == {
        "Bytes a page (kB, logarithmic)",
        "Server's CPU a page (ms, logarithmic)",
    }
    joined = [line for line in axes.lines if line.get_linestyle() != "None"]
    none, gzip = (np.asarray(line.get_xydata()) for line in joined)
    assert none.shape == gzip.shape == (2, 2)
    assert (gzip[:, 0] < 0.5 * none[:, 0]).all()
    assert (gzip[:, 1] > 4 * none[:, 1]).all()
    assert gzip[1, 1] / none[1, 1] > gzip[0, 1] / none[0, 1]


def test_rates_are_drawn_by_connections_latency_and_side_by_side(rate: dict[str, Drawing]) -> None:
    place = "one-file-no-link"
    assert estimates(rate) == {"head", *(f"{what}_{place}" for what in ("matrix", "rates", "latency"))}
    rows = [label.get_text() for label in rate[f"matrix_{place}"].figure.axes[0].get_yticklabels()]
    assert rows == ["HTTP/1.1", "HTTP/1.1, 8 deep", "HTTP/2 (TLS)", "HTTP/2 (TLS), 8 streams"]
    against = rate[f"rates_{place}"].figure
    assert axis_labels(against) == {"Connections (logarithmic)", "1,000 requests/s"}
    assert [axes.get_title(loc="left") for axes in against.axes] == ["wrk", "h2load"]
    assert tells(rate[f"latency_{place}"].caption, "Not every generator", "latency")
    assert all(
        tells(rate[f"{what}_{place}"].caption, "comparisons", "within one") for what in ("matrix", "rates")
    )


def test_the_matrix_holds_every_value_inside_its_axes(rate: dict[str, Drawing]) -> None:
    for axes in rate["matrix_one-file-no-link"].figure.axes:
        low, high = axes.get_xlim()
        assert low == 0
        assert high > axes.dataLim.x1


def test_figures_of_rates_say_which_coding_they_draw(tmp_path: Path) -> None:
    made = drawings(tmp_path, replace(RATE, compressions=("none", "gzip-6", "brotli-5"), trials=1))
    for what in ("matrix", "rates", "latency"):
        caption = made[f"{what}_one-file-no-link"].caption
        assert tells(caption, "compression none", "“Requests a second”", "brotli-5", "gzip-6")


def test_latencies_that_wrk_cannot_tell_have_no_mark(tmp_path: Path) -> None:
    run = replace(RATE, made_by={"wrk": ("http1",)}, connections=(16,), depths=(1,), aa=False).write(
        tmp_path / "run"
    )
    first, *others = (json.loads(line) for line in (run / "records.jsonl").read_text().splitlines())
    write_lines(run / "records.jsonl", [first | dict.fromkeys(ratecharts.PERCENTILES), *others])
    with plots.look():
        (drawing,) = ratecharts.latencies(evaluate([load(run)]))
    median = next(line for line in drawing.figure.axes[0].lines if line.get_linewidth() > 1)
    assert np.isnan(np.asarray(median.get_ydata(), dtype=float)).all()
    assert tells(drawing.caption, "No mark", "over 2 s", "wrk")


def test_figures_of_page_loads_are_not_asked_of_other_kinds(
    crowd: dict[str, Drawing], rate: dict[str, Drawing]
) -> None:
    for made in (crowd, rate):
        assert not [name for name in made if name.startswith(("plt_", "overview", "variants", "trials_"))]
        assert not [each.caption for each in made.values() if "page-load time" in each.caption.lower()]


def test_a_generator_names_its_server_where_servers_differ(tmp_path: Path) -> None:
    made = drawings(tmp_path, replace(RATE, made_by={"h2load": ("h2",), "spdy-client": ("spdy",)}, trials=1))
    titles = [axes.get_title(loc="left") for axes in made["rates_one-file-no-link"].figure.axes]
    assert titles == ["h2load on nginx", "SPDY client on spdy-gateway"]


def test_what_compressing_costs_is_told_of_each_protocol_and_generator(tmp_path: Path) -> None:
    codings = ("none", "gzip-6")
    crowd = SyntheticCrowd(
        pages=("text-10",),
        compressions=codings,
        protocols=("http1", "h2"),
        users=50,
        seconds=60.0,
        trials=2,
        aa=False,
    )
    rate = replace(
        RATE,
        compressions=codings,
        made_by={"wrk": ("http1",), "h2load": ("http1",)},
        connections=(16,),
        depths=(1,),
    )
    for folder, made, there in (
        ("crowd", crowd, {"text-10-5-mbit-s-http-1.1", "text-10-5-mbit-s-http-2-tls"}),
        ("rate", rate, {"one-file-no-link-wrk", "one-file-no-link-h2load"}),
    ):
        drawn = {
            name: each
            for name, each in drawings(tmp_path / folder, made).items()
            if name.startswith("codings_")
        }
        assert set(drawn) == {f"codings_{name}" for name in there}
        for drawing in drawn.values():
            dots = [line for line in drawing.figure.axes[0].lines if line.get_linestyle() == "None"]
            assert [np.asarray(line.get_xdata()).size for line in dots] == [
                2,
                2,
            ]  # trials of one condition for each coding


def test_generators_that_speak_the_same_have_lines_of_their_own() -> None:
    cells = pd.DataFrame(
        {
            "cell": range(4),
            "n": 1,
            "protocol": ["http1", "h2"] * 2,
            "engine": ["k6"] * 2 + ["spdy-client"] * 2,
        }
    )
    shown = lines.entries(lines.SharedFigure("", cells), "protocol")
    assert len({(line.style.colour, line.style.dash) for line in shown}) == 4
    assert [line.style.colour for line in shown] == [
        STYLES[name].colour for name in ("http1", "http1", "h2", "h2")
    ]
    assert shown[0].style == STYLES["http1"]


def test_many_codings_and_depths_have_looks_of_their_own() -> None:
    codings = pd.DataFrame({"compression": [f"gzip-{level}" for level in range(20)]})
    styles = list(lines.styles_of(codings, "compression").values())
    for what in ("marker", "dash"):
        assert len({(style.colour, getattr(style, what)) for style in styles}) == 20
    depths = list(range(1, 13))
    assert len({lines.deep(STYLES["h2"], depths, depth).dash for depth in depths}) == 12
    assert lines.deep(STYLES["http1"], depths, 1).dash == "-"
