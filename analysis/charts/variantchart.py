"""What optimising a page buys against what a protocol buys: every protocol and variant of a page in one figure.

An axis per engine, side by side, each with its own legend: engines are never compared. Colour and marker are the
protocol's, the dash is the variant's.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure

from analysis.charts import plots
from analysis.labels import engines, protocols
from analysis.labels.protocols import Dash, Style

# The first variant, plain where it is there, is dotted: optimised ones stand out.
DASHES: tuple[Dash, ...] = ((0, (1.2, 1.2)), "-", (0, (5, 1.6)), (0, (4, 1.2, 1.2, 1.2)))


def chart(cells: pd.DataFrame, title: str) -> Figure:
    """The cells of one page at one rate, in at most as many variants as there are dashes."""
    names = engines.ordered(cells["engine"].astype(str))
    variants = sorted(cells["variant"].unique(), key=lambda name: (name != "plain", name))
    dashes = dict(zip(variants, DASHES, strict=False))
    most = cells.groupby("engine")["protocol"].nunique().max()
    width = plots.PAGE_INCHES if len(names) > 1 else plots.COLUMN_INCHES
    figure = plots.new(width, 2.5 + 0.15 * most * len(variants))
    row = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
    unit, rtts, tops = plots.unit_of(cells["median"]), list(cells["rtt_ms"].unique()), []
    for axes, name in zip(row, names, strict=True):
        mine = cells[cells["engine"] == name]
        series = mine.assign(protocol=list(map(_curve, mine["protocol"], mine["variant"])))
        styles = _styles(mine, dashes)
        plots.lines(axes, series, styles, unit, rtts)
        tops.append(axes.get_ylim()[1])
        axes.set_title(engines.label(name))
        axes.set_xlabel(plots.RTT_AXIS)
        axes.legend(
            handles=plots.handles(styles),
            title=f"{engines.label(name)}:",
            alignment="left",
            loc="upper left",
            bbox_to_anchor=(0, -0.22),
        )
    row[0].set_ylim(0, max(tops))
    row[0].set_ylabel(unit.axis)
    figure.suptitle(title, x=0.01, ha="left", fontsize="medium", weight="bold")
    return figure


def _styles(cells: pd.DataFrame, dashes: dict[str, Dash]) -> dict[str, Style]:
    """The look of each curve."""
    present = set(zip(cells["protocol"], cells["variant"], strict=True))
    return {
        _curve(protocol, variant): replace(style, dash=dash)
        for protocol, style in protocols.styles(cells["protocol"]).items()
        for variant, dash in dashes.items()
        if (protocol, variant) in present
    }


def _curve(protocol: str, variant: str) -> str:
    return f"{protocols.label(protocol)}, {variant}"
