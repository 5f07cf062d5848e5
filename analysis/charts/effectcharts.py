"""What optimising buys, and what it costs: protocols and variants of a page, filters of a variant, codings of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from analysis.charts import lines, openbars, plots
from analysis.charts.openbars import BarEnds
from analysis.charts.plots import Drawing
from analysis.evaluation.explored import ALONE, AMONG, TOGETHER
from analysis.evaluation.results import Results
from analysis.labels import words
from analysis.labels.conditions import (
    DASHES,
    Dash,
    Style,
    engine_label,
    engines_in_order,
    protocol_label,
    protocol_styles,
)
from harness.model.kind import Kind
from harness.model.protocol import in_order

ROW_INCHES = 0.2
ONE_LINE = 1000  # characters of a title
IDLE = "#8A8A8A"
ROOM_FOR_NAMES = 0.4  # of the least value: the axis goes on so far below it


def variant_chart(cells: pd.DataFrame, title: str) -> Figure:
    """The cells of one page at one rate, in at most as many variants as there are dashes."""
    names = engines_in_order(cells["engine"].astype(str))
    variants = sorted(cells["variant"].unique(), key=lambda name: (name != "plain", name))
    dashes = dict(zip(variants, DASHES, strict=False))
    most = cells.groupby("engine")["protocol"].nunique().max()
    width = plots.PAGE_INCHES if len(names) > 1 else plots.COLUMN_INCHES
    figure = plots.new(width, 2.5 + 0.15 * most * len(variants))
    row = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
    unit, rtts = plots.unit_of(cells["median"].max()), list(cells["rtt_ms"].unique())
    top = plots.end_of_axis(cells, unit)
    for axes, name in zip(row, names, strict=True):
        mine = cells[cells["engine"] == name]
        series = mine.assign(protocol=list(map(_curve, mine["protocol"], mine["variant"])))
        styles = _curve_styles(mine, dashes)
        plots.lines(axes, series, styles, unit, rtts, top)
        axes.set_title(engine_label(name))
        axes.set_xlabel(plots.RTT_AXIS)
        axes.legend(
            handles=plots.handles(styles),
            title=f"{engine_label(name)}:",
            alignment="left",
            loc="upper left",
            bbox_to_anchor=(0, -0.22),
        )
    row[0].set_ylabel(unit.axis)
    plots.title(figure, title, ONE_LINE)
    return figure


def _curve_styles(cells: pd.DataFrame, dashes: dict[str, Dash]) -> dict[str, Style]:
    """The look of each curve."""
    present = set(zip(cells["protocol"], cells["variant"], strict=True))
    return {
        _curve(protocol, variant): replace(style, dash=dash)
        for protocol, style in protocol_styles(cells["protocol"]).items()
        for variant, dash in dashes.items()
        if (protocol, variant) in present
    }


def _curve(protocol: str, variant: str) -> str:
    return f"{protocol_label(protocol)}, {variant}"


@dataclass(frozen=True)
class SeriesStyle:
    """How one contrast of a filter is drawn: `shift` rows below the middle of its row."""

    label: str
    colour: str
    marker: str
    shift: float


SERIES: Mapping[str, SeriesStyle] = {
    TOGETHER: SeriesStyle("all together, against plain", "#000000", "s", 0.0),
    ALONE: SeriesStyle("the filter alone, against plain", "#0072B2", "o", -0.19),
    AMONG: SeriesStyle("all together, against all without it", "#D55E00", "D", 0.19),
}


def filter_chart(effects: pd.DataFrame, title: str, margin: float) -> Figure:
    """Effects of one whole variant on one page over one link, in per cent of the page-load time."""
    names = filter_rows(effects)
    shown = in_order(effects["protocol"])
    width = plots.PAGE_INCHES if len(shown) > 1 else plots.COLUMN_INCHES * 1.4
    figure = plots.new(width, 1.1 + ROW_INCHES * len(names))
    panels = figure.subplots(1, len(shown), squeeze=False, sharey=True, sharex=True)[0]
    ends = _ends(effects, margin)
    for axes, protocol in zip(panels, shown, strict=True):
        _filter_panel(axes, effects[effects["protocol"] == protocol], names, margin, ends)
        axes.set_title(protocol_label(protocol))
        axes.set_xlabel("Change of page-load time (%)")
    whole = str(effects["whole"].iloc[0])
    panels[0].set_yticks(
        range(len(names)), [f"{whole}, all of it" if name == whole else name for name in names]
    )
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    if openbars.reading(effects, "ratio"):
        panels[0].set_xlim(*ends)
    plots.title(figure, title, ONE_LINE)
    handles = [
        plots.handle(look.label, Style(look.colour, look.marker, "-"), width=0.8) for look in SERIES.values()
    ]
    plots.fitted_legend(figure, handles, len(handles) if len(shown) > 1 else 1)
    return figure


def filter_rows(effects: pd.DataFrame) -> list[str]:
    """The whole variant, then its filters: what saves most first, those that change nothing last."""
    filters = effects[effects["way"] != TOGETHER]
    change = filters.assign(change=np.log(filters["ratio"])).groupby("filter")
    ranked = pd.DataFrame({"idle": change["idle"].all(), "change": change["change"].mean()})
    order = ranked.sort_values(["idle", "change"], kind="stable").index
    return [*effects.loc[effects["way"] == TOGETHER, "filter"].unique(), *map(str, order)]


def _ends(effects: pd.DataFrame, margin: float) -> tuple[float, float]:
    """Of the axis of changes where a bar is open: beyond all that is known."""
    ends = 100 * (effects[["ratio", "low", "high"]].to_numpy(dtype=float) - 1)
    known = np.append(ends[np.isfinite(ends)], [-100 * margin, 100 * margin])
    room = openbars.ROOM * (known.max() - known.min())
    return float(known.min() - room), float(known.max() + room)


def _filter_panel(
    axes: Axes, effects: pd.DataFrame, names: Sequence[str], margin: float, ends: tuple[float, float]
) -> None:
    axes.axvspan(100 * (1 / (1 + margin) - 1), 100 * margin, color="#EEEEEE", linewidth=0)
    axes.axvline(0, color="#555555", linewidth=0.8)
    for row in range(1, len(names), 2):
        axes.axhspan(row - 0.5, row + 0.5, facecolor="none", edgecolor=plots.GUIDE, linewidth=0.4)
    for effect in effects.to_dict("records"):
        look = SERIES[effect["way"]]
        centre, low, high = (100 * (effect[column] - 1) for column in ("ratio", "low", "high"))
        bars = BarEnds.one(centre, low, high, ends)
        colour = IDLE if effect["idle"] else look.colour
        unknown = bool(np.isnan(low))
        along = np.array([names.index(effect["filter"]) + look.shift])
        drawn = axes.errorbar(
            bars.centre,
            along,
            xerr=None if unknown else bars.reach,
            **plots.whiskers(Style(colour, look.marker, "-"), hollow=unknown, size=3.2, cap=1.4),
        )
        if not unknown:
            bars.arrows(axes, along, drawn, colour, vertical=False)
    plots.rows_alone(axes)


@dataclass(frozen=True)
class AnswerCost:
    """What one answer is: the columns of its CPU, of the bytes of all, and of how many there were, failed ones too."""

    name: str
    cpu: str
    cpu_unit: str
    bytes_all: str
    counts: tuple[str, ...]


UNITS: Mapping[Kind, AnswerCost] = {
    Kind.USERS: AnswerCost("page", "server_cpu_ms_per_page", "ms", "bytes_down", ("pages", "pages_failed")),
    Kind.REQUESTS: AnswerCost("request", "server_cpu_us_per_request", "µs", "bytes_body", ("requests",)),
}


def cost_of_codings(results: Results) -> Iterator[Drawing]:
    """A figure per protocol and generator with several codings; files of several sizes join to a line per coding."""
    unit = UNITS[results.kind]
    trials = _trials(results, unit)
    for group in lines.groups(results, "page", column="compression", generators=False):
        if group.cells["compression"].nunique(dropna=False) < 2:
            continue
        mine = trials[trials["cell"].isin(group.cells["cell"])]
        if mine.empty:
            continue
        styles = lines.styles_of(group.cells, "compression")
        figure = plots.new(plots.COLUMN_INCHES, 2.75 + lines.legend_inches(styles, 3))
        axes = figure.subplots()
        _codings(axes, mine, styles)
        axes.set_xlabel(f"Bytes a {unit.name} (kB, logarithmic)")
        axes.set_ylabel(f"Server's CPU a {unit.name} ({unit.cpu_unit}, logarithmic)")
        lines.legend(figure, list(styles.items()), 3, markers=True)
        what = (
            "on the link, headers included" if results.kind is Kind.USERS else "of bodies as they travelled"
        )
        several = mine["page"].nunique() > 1
        caption = (
            f"What compressing costs: {_title(group, several)}. To the left fewer bytes ({what}), upwards more CPU. "
            f"Marks: medians{', the pages of one coding joined' if several else ''}; faint dots: the trials."
        )
        yield Drawing(f"codings_{words.slug(_title(group, several))}", caption, figure)


def _title(group: lines.SharedFigure, several: bool) -> str:
    page = str(group.cells["page"].iloc[0])
    rest = group.title.removeprefix(page).removeprefix(", ")
    return rest if several else group.title


def _trials(results: Results, unit: AnswerCost) -> pd.DataFrame:
    """Of each trial that counts the CPU and the kilobytes of an answer."""
    kept = results.sifted.kept
    count = kept[list(unit.counts)].sum(axis=1)
    trials = kept[["cell", "page", "compression"]].assign(
        cpu=kept[unit.cpu], kilobytes=kept[unit.bytes_all] / count.where(count > 0) / 1e3
    )
    return trials[(trials["cpu"] > 0) & (trials["kilobytes"] > 0)]


def _codings(axes: Axes, trials: pd.DataFrame, styles: Mapping[str, Style]) -> None:
    for number, (name, style) in enumerate(styles.items()):
        mine = trials[trials["compression"].astype(str) == name]
        plots.scatter(axes, mine["kilobytes"].to_numpy(), mine["cpu"].to_numpy(), style.colour)
        medians = mine.groupby("page")[["kilobytes", "cpu"]].median().sort_values("kilobytes")
        axes.plot(
            medians["kilobytes"],
            medians["cpu"],
            color=style.colour,
            linestyle=style.dash,
            linewidth=1.1,
            marker=style.marker,
            markersize=style.size(),
        )
        if number == 0 and len(medians) > 1:
            _name(axes, medians.reset_index().to_dict("records"), style)
    for axis in (axes.xaxis, axes.yaxis):
        axis.grid(visible=True, color=plots.GUIDE, linewidth=0.5)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: lines.round_number(value)))
        axis.set_minor_locator(NullLocator())
    axes.margins(x=0.08, y=0.1)
    low, high = axes.get_ylim()
    axes.set_ylim(low * ROOM_FOR_NAMES, high)


def _name(axes: Axes, medians: Sequence[Mapping[Any, Any]], style: Style) -> None:
    """The files, at the marks of the first coding."""
    for row in medians:
        axes.annotate(
            str(row["page"]),
            (float(np.asarray(row["kilobytes"])), row["cpu"]),
            xytext=(0, -4),
            textcoords="offset points",
            ha="center",
            va="top",
            rotation=90,
            fontsize="x-small",
            color=style.colour,
        )
