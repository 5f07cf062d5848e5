"""The figures of a report: one function each, from results to `Drawing`s. A further one joins those of its kind in
`FIGURES`, one of single trials `PICTURES`.

Engines never share axes: the engine is one of the columns that split panels.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.charts import claimcharts, crowdcharts, effectcharts, openbars, plots, ratecharts
from analysis.charts.claimcharts import sensitivity
from analysis.charts.filmstrip import filmstrips
from analysis.charts.headchart import head
from analysis.charts.orderchart import order_of_trials
from analysis.charts.pairchart import paired_differences
from analysis.charts.plots import Drawing
from analysis.charts.studyfigures import study_figures
from analysis.charts.trialchart import every_trial
from analysis.charts.waitchart import what_variants_change, where_the_time_goes
from analysis.charts.waterfall import waterfalls
from analysis.evaluation import explored
from analysis.evaluation.explored import JUDGED, SAYS
from analysis.evaluation.results import PAGE_AND_RATE, Results
from analysis.labels import conditions, words
from analysis.labels.conditions import (
    DASHES,
    NOT_COMPARED,
    engine_label,
    engines_are_told,
    engines_in_order,
    protocol_label,
    protocol_styles,
)
from analysis.statistics.contrast import Sample
from analysis.statistics.estimate import IntervalKind, quantile
from harness.model.kind import Kind

CLAIMS = "claims"
MOST_FIGURES = 24
MOST_VARIANT_FIGURES = 8
SERVER = "server"
VARIANTS_APART = ("variant", "engine", "driver", SERVER)
PAGES_PER_FIGURE = 6
LINK = ("down_mbps", "up_mbps", "rtt_ms")
MOST_ROWS = 500  # of a figure; of all figures of claims
MOST_LETTERS = 160  # of a figure's name: that of a file may have 255, with a number and a suffix
OVER_PAGES = (
    "Every page counts once: the median of the pages' medians, and bars that hold the middle half of the pages. "
    "median-times.csv has every page."
)
LATE_PAGES = " No point where loads of half of the pages or more timed out."


def draw(results: Results) -> Iterator[Drawing]:
    """What the study asks for, at most `MOST_FIGURES` of estimates, then the pictures of the data; names are unique.

    Use each inside `plots.look()`.
    """
    seen: dict[str, int] = {}
    estimates = (drawing for function in FIGURES[results.kind] for drawing in function(results))
    pictures = (drawing for function in PICTURES[results.kind] for drawing in function(results))
    for drawing in itertools.chain(
        study_figures(results), itertools.islice(estimates, MOST_FIGURES), pictures
    ):
        name = _clipped(drawing.name)
        seen[name] = number = seen.get(name, 0) + 1
        yield replace(drawing, name=name if number == 1 else f"{name}_{number}")


def _clipped(name: str) -> str:
    """The name; of one that is too long for a file its beginning, and a digest of the whole."""
    if len(name) <= MOST_LETTERS:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: MOST_LETTERS - len(digest) - 1]}-{digest}"


def claims(results: Results) -> Iterator[Drawing]:
    """The claims on one axis."""
    most = MOST_ROWS // claimcharts.MOST_ROWS
    charts, left = claimcharts.charts(results.claims, results.wording, results.margin, most)
    which = "The first claims, each" if left else "Every claim"
    more = f" {words.count(left, 'further setting')} of the claims not drawn." if left else ""
    for figure in charts:
        yield Drawing(CLAIMS, f"{which} against its reference. {claimcharts.reading(results)}{more}", figure)


def panels(results: Results) -> Iterator[Drawing]:
    """A panel that no figure of several holds: median page-load time against RTT, or a row per protocol at one RTT."""
    if _compressions_at_one_rtt(results):
        return
    for _, cells in _alone(results).groupby("panel", sort=False):
        if cells["median"].isna().all():
            continue
        place = cells.iloc[0].to_dict()
        title = conditions.title(place, results.split_columns)
        name = "plt_" + conditions.file_name(place, results.split_columns)
        if cells["rtt_ms"].nunique() > 1:
            what, figure = f"{plots.MEDIAN} against RTT", _against_rtt(cells, title)
        else:
            at = f"{title}, {words.plain(place['rtt_ms'])} ms RTT"
            what, figure = (
                f"{plots.MEDIAN} at {words.plain(place['rtt_ms'])} ms RTT",
                _at_one_rtt(cells, at),
            )
        yield Drawing(name, f"{what}: {title}. {plots.reading_of_trials(cells)}", figure)


def _against_rtt(cells: pd.DataFrame, title: str) -> Figure:
    styles = protocol_styles(cells["protocol"])
    rows = math.ceil(len(styles) / 2)
    figure = plots.new(plots.COLUMN_INCHES, 2.35 + 0.16 * rows)
    axes = figure.subplots()
    unit = plots.unit_of(cells["median"].max())
    plots.lines(axes, cells, styles, unit, list(cells["rtt_ms"].unique()))
    axes.set_title(textwrap.fill(title, plots.TITLE_CHARACTERS))
    axes.set_xlabel(plots.RTT_AXIS)
    axes.set_ylabel(unit.axis)
    plots.legend_above(figure, styles, columns=2)
    return figure


def _at_one_rtt(cells: pd.DataFrame, title: str) -> Figure:
    styles = protocol_styles(cells["protocol"])
    figure = plots.new(plots.COLUMN_INCHES, 0.8 + 0.24 * len(styles))
    axes = figure.subplots()
    unit = plots.unit_of(cells["median"].max())
    plots.dots(axes, cells, styles, unit, rows=[str(cells["page"].iloc[0])])
    axes.set_yticks(
        [(n + 1) / (len(styles) + 1) for n in range(len(styles))], [protocol_label(s) for s in styles]
    )
    plots.rows_alone(axes)
    plots.title(figure, title)
    axes.set_xlabel(unit.axis)
    return figure


def overviews(results: Results) -> Iterator[Drawing]:
    """All pages and rates that are alike in everything else, as small multiples."""
    if _compressions_at_one_rtt(results):
        return
    groups = [group for group in _overviewed(results) if group["median"].notna().any()]
    many = sum(len(_parts(group)) for group in groups) > MOST_FIGURES
    for group in groups:
        place = group.iloc[0].to_dict()
        rest = [conditions.value_text(column, place[column]) for column in results.split_columns]
        name = "_".join(["overview", *(words.slug(text) for text in rest)])
        chart = _dots_by_page if _has_one_rtt(group) else _grid
        if many or _rows_of(group) > MOST_ROWS:
            medians = over_pages(_with_time_outs(group))
            if not medians["pages"].any():
                continue
            told = f"{OVER_PAGES}{_pages_told(group, medians)}"
            caption = f"{plots.MEDIAN} over the pages at every rate{_about(rest)}. {told}"
            yield Drawing(name, caption, chart(medians))
            continue
        parts = _parts(group)
        for part, cells in enumerate(parts, start=1):
            said = [*rest, f"figure {part} of {len(parts)}"] if len(parts) > 1 else rest
            caption = f"{plots.MEDIAN} of every page and rate{_about(said)}. {plots.reading_of_trials(cells)}"
            yield Drawing(f"{name}_{part}" if part > 1 else name, caption, chart(cells))


def over_pages(cells: pd.DataFrame) -> pd.DataFrame:
    """One row per rate, RTT and protocol, with the median over the pages; the quartiles stand for the interval.

    The pages are those of which every protocol has a median there (`pages`: how many), so that all are of the same
    ones. A median that is a time-out is infinite, and longer than all others; so may be what is made of it, but for the
    median, which is then NaN. There is no row where no page has a median.
    """
    rows: list[dict[str, Any]] = [
        {
            **dict(zip(LINK, where, strict=True)),
            "protocol": protocol,
            "pages": pages.size,
            **_middle_half(pages),
        }
        for where, here in cells.dropna(subset=["median"]).groupby(list(LINK), dropna=False, sort=False)
        for protocol, pages in _of_the_same_pages(here)
    ]
    counts = [row["pages"] for row in rows] or [0]
    first = cells.iloc[0]
    return pd.DataFrame(rows, columns=[*LINK, "protocol", "pages", "low", "median", "high"]).assign(
        page=f"{words.between(min(counts), max(counts))} page{'s' * (max(counts) != 1)}",
        interval=IntervalKind.EXACT,
        engine=first["engine"],
        panel=0,
    )


def _of_the_same_pages(here: pd.DataFrame) -> Iterator[tuple[str, Sample]]:
    """Each protocol with its medians of the pages that all protocols have; none of these: without any."""
    medians = here.pivot_table(index="page", columns="protocol", values="median", sort=False).dropna()
    for protocol in here["protocol"].unique():
        yield str(protocol), medians[protocol].to_numpy(dtype=float)


def _middle_half(medians: Sample) -> dict[str, float]:
    if not medians.size:
        return dict.fromkeys(("low", "median", "high"), math.nan)
    low, median, high = (quantile(medians, share) for share in (0.25, 0.5, 0.75))
    return {"low": low, "median": median if math.isfinite(median) else math.nan, "high": high}


def _with_time_outs(cells: pd.DataFrame) -> pd.DataFrame:
    """With infinite medians of conditions of which half of the trials or more timed out."""
    return cells.assign(median=cells["median"].mask(cells["median"].isna() & (cells["n"] > 0), np.inf))


def _pages_told(cells: pd.DataFrame, found: pd.DataFrame) -> str:
    """Of the pages that an overview over them leaves out, and of what time-outs leave open."""
    fewer = found["pages"].min() < cells["page"].nunique()
    apart = " At each rate and RTT only pages of which every protocol has a median count." if fewer else ""
    late = LATE_PAGES if (found["median"].isna() & (found["pages"] > 0)).any() else ""
    return f"{apart}{openbars.reading(found)}{late}"


def _about(said: list[str]) -> str:
    return f" ({', '.join(said)})" if said else ""


def _has_one_rtt(cells: pd.DataFrame) -> bool:
    """Whether no panel has more than one RTT."""
    return bool(cells.groupby("panel")["rtt_ms"].nunique().max() == 1)


def _parts(group: pd.DataFrame) -> list[pd.DataFrame]:
    """The cells of each figure of an overview."""
    if _has_one_rtt(group):
        return [group]
    pages = list(group["page"].unique())
    starts = range(0, len(pages), PAGES_PER_FIGURE)
    return [group[group["page"].isin(pages[start : start + PAGES_PER_FIGURE])] for start in starts]


def _rows_of(group: pd.DataFrame) -> int:
    """How many rows the one figure of an overview at one RTT has."""
    return group["page"].nunique() * group["protocol"].nunique() if _has_one_rtt(group) else 0


def _overviewed(results: Results) -> list[pd.DataFrame]:
    """The cells of each overview: panels that no figure of variants has, alike in all but page and rate."""
    alike = [column for column in results.panel_columns if column not in PAGE_AND_RATE]
    rest = results.main_cells
    in_variants = [panel for cells in _with_variants(results) for panel in cells["panel"].unique()]
    rest = rest[~rest["panel"].isin(in_variants)]
    groups = rest.groupby(alike, dropna=False, sort=False)
    return [group for _, group in groups if group["panel"].nunique() > 1]


def _alone(results: Results) -> pd.DataFrame:
    """The cells that neither a figure of variants nor an overview holds."""
    shown = [
        panel
        for cells in (*_with_variants(results), *_overviewed(results))
        for panel in cells["panel"].unique()
    ]
    return results.main_cells[~results.main_cells["panel"].isin(shown)]


def _grid(cells: pd.DataFrame) -> Figure:
    """Pages down, rates across; each panel has its own y axis, since rates differ by orders of magnitude."""
    cells, pages, rates = _with_rates(cells)
    styles = protocol_styles(cells["protocol"])
    width = plots.PAGE_INCHES if len(rates) > 1 else plots.COLUMN_INCHES
    columns = max(2, min(4, len(styles))) if len(rates) > 1 else 2
    legend_rows = math.ceil(len(styles) / columns)
    figure = plots.new(width, 0.4 + 1.75 * len(pages) + 0.16 * legend_rows)
    grid = figure.subplots(len(pages), len(rates), squeeze=False, sharex=True)
    rtts = list(cells["rtt_ms"].unique())
    unit = plots.unit_of(cells["median"].max())
    for row, page in zip(grid, pages, strict=True):
        for axes, rate in zip(row, rates, strict=True):
            here = cells[(cells["page"] == page) & (cells["rate"] == rate)]
            if here["median"].notna().any():
                plots.lines(axes, here, styles, unit, rtts)
            axes.set_title(f"{page}, {rate}{_engine_of(cells)}")
    figure.supxlabel(plots.RTT_AXIS, fontsize="medium")
    figure.supylabel(unit.axis, fontsize="medium")
    plots.legend_above(figure, styles, columns=columns)
    return figure


def _engine_of(cells: pd.DataFrame) -> str:
    """The engine, for a title, where a reader must know it."""
    names = set(cells["engine"].astype(str))
    return f", {', '.join(map(engine_label, engines_in_order(names)))}" if engines_are_told(names) else ""


def _dots_by_page(cells: pd.DataFrame) -> Figure:
    """One RTT: rates across, and in each a row per page."""
    cells, pages, rates = _with_rates(cells)
    styles = protocol_styles(cells["protocol"])
    columns = max(2, min(4, len(styles)))
    figure = plots.new(
        plots.PAGE_INCHES,
        0.8 + len(pages) * (0.12 * len(styles) + 0.14) + 0.16 * math.ceil(len(styles) / columns),
    )
    row = figure.subplots(1, len(rates), squeeze=False, sharey=True)[0]
    unit = plots.unit_of(cells["median"].max())
    for axes, rate in zip(row, rates, strict=True):
        here = cells[cells["rate"] == rate]
        plots.dots(axes, here, styles, unit, rows=pages)
        axes.set_title(f"{rate}, {words.plain(here['rtt_ms'].iloc[0])} ms RTT{_engine_of(cells)}")
        axes.tick_params(axis="y", length=0)
    row[0].set_yticks([n + 0.5 for n in range(len(pages))], pages)
    figure.supxlabel(unit.axis, fontsize="medium")
    plots.legend_above(figure, styles, columns=columns)
    return figure


def filter_effects(results: Results) -> Iterator[Drawing]:
    """What each filter of a factorial study does, one figure per page and link."""
    place = [column for column in results.effects if column not in (*SAYS[1], *JUDGED, "protocol")]
    named = [column for column in results.split_columns if column != "variant"]
    drawable = openbars.of_ratios(results.effects, "ratio")
    drawable = drawable[drawable["ratio"].notna() | results.effects["ratio"].isna()]
    for _, effects in drawable.groupby([*place, "whole"], dropna=False, sort=False):
        if (effects["way"] == explored.TOGETHER).all():
            continue
        where = effects.iloc[0].to_dict()
        title = f"{conditions.title(where, named)}, {words.plain(where['rtt_ms'])} ms RTT"
        caption = (
            f"What the filters of {where['whole']} do to the page-load time: {title}. Left of 0 a filter makes "
            "the page faster. Grey signs: it changes nothing of this page, so they show the noise. "
            f"Band: {results.margin * 100:g} % either way. "
            f"{plots.reading_of_pairs(effects, results.certainty, chosen=True)}"
            f"{openbars.reading(effects, 'ratio')}"
        )
        yield Drawing(
            f"effects_{words.slug(title)}", caption, effectcharts.filter_chart(effects, title, results.margin)
        )


def variants(results: Results) -> Iterator[Drawing]:
    """Protocols in all variants of a page, one figure per page and rate; the engines side by side."""
    for cells in _with_variants(results):
        known = cells[cells["median"].notna()]
        where = cells.iloc[0].to_dict()
        place = [column for column in results.panel_columns if column not in VARIANTS_APART]
        place += [SERVER] * (SERVER in cells and cells[SERVER].nunique() == 1)
        title = conditions.title(where, [column for column in results.split_columns if column in place])
        names = engines_in_order(known["engine"].astype(str))
        apart_text = f" From left to right: {', '.join(map(engine_label, names))}. {NOT_COMPARED}"
        caption = (
            f"{plots.MEDIAN} against RTT with the page as it is and optimised: {title}. Colour and marker: "
            f"protocol; dash: variant.{apart_text if len(names) > 1 else ''} {plots.reading_of_trials(cells)}"
        )
        yield Drawing(f"variants_{words.slug(title)}", caption, effectcharts.variant_chart(known, title))


def _with_variants(results: Results) -> list[pd.DataFrame]:
    """The cells of each page and rate that a figure of variants holds, each of one server where several serve the same
    protocol to an engine; none when these figures would be many.
    """
    place = [column for column in results.panel_columns if column not in VARIANTS_APART]
    parts = (
        part
        for _, cells in results.main_cells.groupby(place, dropna=False, sort=False)
        for part in _by_server(cells)
    )
    groups = []
    for cells in parts:
        known = cells[cells["median"].notna()]
        if (
            1 < known["variant"].nunique() <= len(DASHES)
            and known["rtt_ms"].nunique() > 1
            and known.groupby("engine")["driver"].nunique().max() == 1
        ):
            groups.append(cells)
    return groups if len(groups) <= MOST_VARIANT_FIGURES else []


def _by_server(cells: pd.DataFrame) -> list[pd.DataFrame]:
    """The cells of each server where one line of a figure would hold several of them; else all."""
    if SERVER not in cells or cells.groupby(["engine", "protocol"])[SERVER].nunique().max() <= 1:
        return [cells]
    return [part for _, part in cells.groupby(SERVER, dropna=False, sort=False)]


def compressions(results: Results) -> Iterator[Drawing]:
    """Protocols with each compression of the text at one RTT, one figure per page and link."""
    if not _compressions_at_one_rtt(results):
        return
    place = [column for column in results.panel_columns if column != "compression"]
    for _, cells in results.main_cells.groupby(place, dropna=False, sort=False):
        known = cells[cells["median"].notna()]
        if known.empty:
            continue
        where = cells.iloc[0].to_dict()
        named = [column for column in results.split_columns if column != "compression"]
        title = f"{conditions.title(where, named)}, {words.plain(where['rtt_ms'])} ms RTT"
        names = [str(name) for name in known["compression"].unique()]
        styles = protocol_styles(known["protocol"])
        figure = plots.new(plots.COLUMN_INCHES, 1.1 + len(names) * (0.1 * len(styles) + 0.1))
        axes = figure.subplots()
        unit = plots.unit_of(known["median"].max())
        plots.dots(axes, known, styles, unit, rows=names, column="compression")
        axes.set_yticks([n + 0.5 for n in range(len(names))], names)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(unit.axis)
        axes.set_title(textwrap.fill(title, plots.TITLE_CHARACTERS))
        plots.legend_above(figure, styles, columns=2)
        caption = f"{plots.MEDIAN} by compression of the text: {title}. {plots.reading_of_trials(cells)}"
        yield Drawing(f"compressions_{words.slug(title)}", caption, figure)


def _compressions_at_one_rtt(results: Results) -> bool:
    """Whether figures by compression show everything: several of them, and no RTT to draw them against."""
    return "compression" in results.split_columns and results.main_cells["rtt_ms"].nunique() == 1


def _with_rates(cells: pd.DataFrame) -> tuple[pd.DataFrame, list[str], list[str]]:
    """The cells with a column `rate`, their pages and their rates, slow ones first."""
    cells = cells.sort_values(["down_mbps", "up_mbps"], kind="stable")
    named = cells.assign(rate=list(map(words.rate_with_unit, cells["down_mbps"], cells["up_mbps"])))
    pages = sorted(str(page) for page in named["page"].unique())
    return named, pages, [str(rate) for rate in named["rate"].unique()]


FigureDrawers = tuple[Callable[[Results], Iterator[Drawing]], ...]
FIGURES: Mapping[Kind, FigureDrawers] = {
    Kind.LOAD: (
        head,
        claims,
        sensitivity,
        where_the_time_goes,
        what_variants_change,
        overviews,
        variants,
        filter_effects,
        compressions,
        panels,
    ),
    Kind.USERS: (head, claims, effectcharts.cost_of_codings, crowdcharts.behaviour, crowdcharts.cost),
    Kind.REQUESTS: (
        head,
        claims,
        ratecharts.matrix,
        ratecharts.against_connections,
        ratecharts.latencies,
        effectcharts.cost_of_codings,
    ),
}
# Of the trials behind the estimates; each bounds its number by itself.
PICTURES: Mapping[Kind, FigureDrawers] = {
    Kind.LOAD: (paired_differences, every_trial, order_of_trials, filmstrips, waterfalls),
    Kind.USERS: (paired_differences, order_of_trials),
    Kind.REQUESTS: (paired_differences, order_of_trials),
}
