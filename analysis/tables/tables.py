"""The tables of a report: one function each, from results to a `Table`; None when there is nothing to show.

A further table is one more function, named in `TABLES` for its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from analysis.charts import plots, studyfigures
from analysis.claims.claimresult import TWICE
from analysis.evaluation.explored import TOGETHER
from analysis.evaluation.results import IDS, Results
from analysis.evaluation.studyfigures import FigurePoints
from analysis.labels import metrics, words
from analysis.labels.conditions import protocol_label, value_text
from analysis.statistics.compare import WIDER
from analysis.statistics.estimate import IntervalKind
from analysis.statistics.plainly import verdict_text
from analysis.tables.capacitytables import crowds, rates
from analysis.tables.cellcolumns import (
    OF_RATIOS,
    cell_heads,
    cell_of,
    place_heads,
    place_of,
    ratio_of,
    ratio_table,
    reading_of_open,
    told,
)
from analysis.tables.claimtables import claims, claims_by_run, claims_of_all, equal_baselines, factors
from analysis.tables.machinetables import calibration, machines
from analysis.tables.publishedtable import published, published_by_page, published_by_run
from analysis.tables.table import (
    MOST_SHOWN,
    NOT_KNOWN,
    FoldedColumn,
    Shown,
    Table,
    folded,
    ratio_with_interval,
    spread,
    with_interval,
)
from analysis.tables.trialtables import (
    attempts,
    exclusion_shares,
    exclusions,
    loads_that_differ,
    waiting_changes,
    waiting_times,
)
from harness.model.kind import Kind
from harness.model.metric import MetricTable, Unit
from harness.study.figure import FigureKind
from harness.study.metrics import metric_named

ShownRows = tuple[tuple[Shown, ...], ...]
WIDEST = 5  # protocols that fit side by side on a page
IN_MS = {name: f"{name}_ms" for name in ("median", "low", "high", "q1", "q3")}
PREFIX = "figure-"  # of the tables of a study's own figures


def median_times(results: Results) -> Table:
    """Median page-load time of every condition: protocols side by side as long as they fit a page."""
    few = "; below five trials the brackets hold the range" if results.few else ""
    late = results.timed_out
    few += f"; {words.INFINITE}: time-outs, the longest times, of which there are {late}" if late else ""
    side_by_side = len(results.protocols) <= WIDEST
    head, rows = (_side_by_side if side_by_side else _below_each_other)(results)
    made = Table(
        name="median-times",
        title=f"{plots.MEDIAN} in ms [95 % interval]",
        note=f"{results.n} trials per condition{few}.",
        data=results.cells.drop(columns=list(IDS)).rename(columns=lambda name: IN_MS.get(name, name)),
        head=head,
        rows=rows,
        keys=len(place_heads(results)) + (not side_by_side),
    )
    if len(rows) <= MOST_SHOWN:
        return made
    head, rows = _below_each_other(results)
    longer = replace(made, head=head, rows=rows, data=results.cells)
    columns = [FoldedColumn(f"{plots.MEDIAN} (ms)", "median", spread(words.milliseconds))]
    return replace(made, summary=folded(longer, columns, len(cell_heads(results))).summary)


def _side_by_side(results: Results) -> tuple[tuple[str, ...], ShownRows]:
    least, most = results.trials
    rows = []
    for _, cells in results.cells.groupby("place", sort=False):
        by_protocol = {str(cell["protocol"]): cell for cell in cells.to_dict("records")}
        row = place_of(results, cells.iloc[0].to_dict())
        for protocol in results.protocols:
            cell = by_protocol.get(protocol)
            row += (_median(cell, with_n=least != most) if cell else NOT_KNOWN,)
        rows.append(row)
    return (*place_heads(results), *(protocol_label(name) for name in results.protocols)), tuple(rows)


def _below_each_other(results: Results) -> tuple[tuple[str, ...], ShownRows]:
    rows = [
        (*cell_of(results, cell), _median(cell), Shown(words.number(cell["n"])))
        for cell in results.cells.to_dict("records")
    ]
    return (*cell_heads(results), "Median (ms)", "n"), tuple(rows)


def _median(cell: Mapping[Any, Any], *, with_n: bool = False) -> Shown:
    bounds = words.span(cell["low"], cell["high"], words.decimals(cell["median"]))
    aside = f"{bounds} n={cell['n']}" if with_n else bounds
    return Shown(words.milliseconds(cell["median"]), aside.strip())


def against_baseline(results: Results) -> Table | None:
    """Each protocol against the baseline, wherever both were measured."""
    comparisons = results.comparisons[results.comparisons["reference"] == results.baseline]
    if comparisons.empty:
        return None
    where = list(results.panel_columns)
    places = results.cells.drop_duplicates("place")[["place", *where]]
    data = places.merge(comparisons, on="place", how="inner").drop(columns=["panel", "place"])
    data = data[
        [*where, "rtt_ms", *(column for column in comparisons if column in data and column != "rtt_ms")]
    ]
    name = protocol_label(str(results.baseline))
    return ratio_table(
        results,
        data,
        name="comparisons",
        title=f"{results.metric_label} relative to {name} [{results.certainty.interval}, {WIDER}]",
        note=f"Below 1: {_below(results)} than {name}. n: blocks that hold both. q: p-value of the "
        "direction, corrected for all explored comparisons of this report (Benjamini-Hochberg).",
    )


def variant_effects(results: Results) -> Table | None:
    """What each variant does to the page-load time, and in a factorial study each filter."""
    effects = results.effects
    if effects.empty:
        return None
    where = cell_heads(results)
    factorial = bool((effects["way"] != TOGETHER).any())
    data = effects.sort_values(["page", "rtt_ms", "protocol", "whole", "ratio"], kind="stable")
    rows = [
        (
            *cell_of(results, {**row, "variant": row["whole"]}),
            *((Shown(row["filter"]), Shown(row["way"])) if factorial else ()),
            *ratio_of(row),
            Shown(effect_text(row, results.margin, results.metric)),
        )
        for row in data.to_dict("records")
    ]
    reading = (
        " Alone: the filter against plain; among the others: the whole variant against the whole without it; "
        "together: the whole variant against plain."
    )
    made = Table(
        name="effects",
        title=f"{results.metric_label} of a variant relative to the page as it is "
        f"[{results.certainty.interval}, {WIDER}]",
        note=f"Below 1: {_below(results)} than plain.{reading if factorial else ''} n: blocks that hold both. "
        f"q: as above.{reading_of_open(data[['ratio', 'low', 'high']].to_numpy(dtype=float).flat)}",
        data=told(data, results.metric),
        head=(*where, *(("Filter", "Way") if factorial else ()), "Ratio", "n", "q", "Verdict"),
        rows=tuple(rows),
        keys=len(where),
    )
    return folded(made, OF_RATIOS, len(where) + 2 * factorial)


def compression_effects(results: Results) -> Table | None:
    """What each compression of the text does to the page-load time."""
    compressions = results.compressions
    if compressions.empty:
        return None
    data = compressions.sort_values(["page", "rtt_ms", "protocol", "ratio"], kind="stable")
    reference = compressions["reference"].iloc[0]
    return ratio_table(
        results,
        data,
        name="compressions",
        title=f"{results.metric_label} relative to compression {reference} [{results.certainty.interval}, {WIDER}]",
        note=f"Below 1: {_below(results)} than {reference}. n: blocks that hold both. q: as above.",
    )


def _below(results: Results) -> str:
    return metrics.direction(results.metric).below


def effect_text(row: Mapping[Any, Any], margin: float, metric: str) -> str:
    """The verdict on an effect. The very same archive served on both sides shows the noise and no effect."""
    return TWICE if row["idle"] else verdict_text(row, margin, metric)


def traffic(results: Results) -> Table | None:
    """Median bytes, requests and connections of every condition."""
    note = (
        "Down and up: packets on the link with their headers. Bodies: as the browser counts (QtWebKit: the server). "
        "Pipelined: most requests of a connection at the server at once. 1 kB = 1,000 bytes."
    )
    return _medians(results, MetricTable.TRAFFIC, "Traffic of one load (medians)", note)


def server_view(results: Results) -> Table | None:
    """Medians of what one load of every condition is for its server."""
    note = (
        "Requests and connections as the server's log has them. Sent and received: packets on the link with their "
        "headers, until the load event. CPU: of all the server's processes, in steps of 10 ms."
    )
    return _medians(results, MetricTable.SERVER, "One load as the server sees it (medians)", note)


def other_times(results: Results) -> Table | None:
    """Medians of the other times that were observed."""
    note = "Since navigation start, as the browser reports them; navigate() is the driver's own call."
    return _medians(results, MetricTable.OTHER_TIMES, "Other times (medians)", note)


def _medians(results: Results, name: MetricTable, title: str, note: str) -> Table | None:
    """Medians per condition of those metrics of the table that were observed at all."""
    kept = results.sifted.timed
    note += metrics.ended_text(results.timed_out)
    columns = [
        column for column in metrics.columns(name) if column.name in kept and kept[column.name].notna().any()
    ]
    if not columns:
        return None
    data = results.conditions.join(
        kept.groupby("cell")[[column.name for column in columns]].median(), on="cell"
    ).drop(columns="cell")
    rows = [
        (*cell_of(results, row), *(Shown(column.text(row[column.name])) for column in columns))
        for row in data.to_dict("records")
    ]
    made = Table(
        name=name,
        title=title,
        note=note,
        data=data,
        head=(*cell_heads(results), *(column.head for column in columns)),
        rows=tuple(rows),
        keys=len(cell_heads(results)),
    )
    return folded(
        made, [FoldedColumn(column.head, column.name, spread(column.text)) for column in columns], made.keys
    )


Tables = tuple[Callable[[Results], Table | None], ...]
ABOUT_CLAIMS: Tables = (
    published,
    claims,
    factors,
    equal_baselines,
    published_by_page,
    published_by_run,
    claims_by_run,
    claims_of_all,
)
EXPLORED: Tables = (against_baseline, variant_effects, compression_effects)
ABOUT_TRIALS: Tables = (attempts, exclusions, exclusion_shares, machines, calibration)
TABLES: Mapping[Kind, Tables] = {
    Kind.LOAD: (
        *ABOUT_CLAIMS,
        median_times,
        *EXPLORED,
        waiting_times,
        waiting_changes,
        traffic,
        server_view,
        other_times,
        loads_that_differ,
        *ABOUT_TRIALS,
    ),
    Kind.USERS: (*ABOUT_CLAIMS, crowds, *EXPLORED, *ABOUT_TRIALS),
    Kind.REQUESTS: (*ABOUT_CLAIMS, rates, *EXPLORED, *ABOUT_TRIALS),
}


def tables_of(results: Results) -> list[Table]:
    """Those of the kind that have something to show, in their order, and those of the study's own figures."""
    made = [table for function in TABLES[results.kind] if (table := function(results))]
    return [*made, *figure_tables(results)]


def figure_tables(results: Results) -> Iterator[Table]:
    """The data of each figure that a study asks for: a row per point, in the order of the axis and the series."""
    for points in results.figures:
        ordered = _points_in_order(points)
        if not ordered:
            continue
        figure = points.figure
        ratio = figure.reference is not None
        yield Table(
            name=f"{PREFIX}{figure.name}",
            title=figure.title,
            note=_figure_note(points),
            data=pd.DataFrame(_figure_data(points, row) for row in ordered),
            head=(
                studyfigures.AXES.get(figure.x, figure.x.capitalize()),
                "Series",
                _figure_head(points),
                "n",
            ),
            rows=tuple(
                (
                    Shown(
                        words.plain(row["x"])
                        if figure.x in studyfigures.AXES
                        else value_text(figure.x, row["x"])
                    ),
                    Shown(points.label(row)),
                    _figure_value(row, figure.metric, of_ratio=ratio),
                    Shown(words.number(row["n"])),
                )
                for row in ordered
            ),
            keys=2,
        )


def _figure_note(points: FigurePoints) -> str:
    """The caption; of a figure that is not drawn as it was asked for, why it is this table."""
    instead = ""
    if points.figure.kind is not FigureKind.TABLE and points.differing:
        names = words.listed([name.replace("_", " ") for name in points.differing])
        instead = (
            f" A table, as one point of a drawing would hold several conditions: they differ in {names}."
        )
    elif points.figure.kind is not FigureKind.TABLE and studyfigures.is_crowded(points):
        groups = words.number(len(points.xs))
        instead = f" A table, as {groups} groups are more than a drawing has room for."
    return f"{studyfigures.caption(points)}{instead}"


def _points_in_order(points: FigurePoints) -> list[dict[Any, Any]]:
    place = {x: number for number, x in enumerate(points.xs)}
    rows = points.points.to_dict("records")
    return sorted(rows, key=lambda row: (place[row["x"]], row["series"]))


def _figure_head(points: FigurePoints) -> str:
    if points.figure.reference is None:
        return points.figure.metric
    return f"{points.figure.metric} / {studyfigures.reference_label(points)}"


def _figure_value(row: dict[Any, Any], metric: str, *, of_ratio: bool) -> Shown:
    value, low, high = row["value"], row["low"], row["high"]
    known = metric_named(metric)
    digits = metrics.digits(value, known.unit if known else Unit.COUNT)
    return ratio_with_interval(value, low, high) if of_ratio else with_interval(value, low, high, digits)


def _figure_data(points: FigurePoints, row: dict[Any, Any]) -> dict[str, Any]:
    of_ratio = points.figure.reference is not None and row["interval"] == IntervalKind.EXACT
    return {
        points.figure.x: row["x"],
        "series": points.label(row),
        "metric": points.figure.metric,
        "relative_to": studyfigures.reference_label(points),
        **{name: row[name] for name in ("n", "value", "low", "high")},
        "interval": points.certainty.level if of_ratio else str(row["interval"]),
    }
