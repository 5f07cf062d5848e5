"""What each filter of a factorial study does, drawn: a row per filter, protocols side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.charts import plots
from analysis.evaluation.effects import ALONE, AMONG, TOGETHER
from analysis.labels import protocols

ROW_INCHES = 0.2
IDLE = "#8A8A8A"


@dataclass(frozen=True)
class SeriesStyle:
    """How one way of looking at a filter is drawn: `shift` rows below the middle of its row."""

    label: str
    colour: str
    marker: str
    shift: float


WAYS: Mapping[str, SeriesStyle] = {
    TOGETHER: SeriesStyle("all together, against plain", "#000000", "s", 0.0),
    ALONE: SeriesStyle("the filter alone, against plain", "#0072B2", "o", -0.19),
    AMONG: SeriesStyle("all together, against all without it", "#D55E00", "D", 0.19),
}


def chart(effects: pd.DataFrame, title: str, margin: float) -> Figure:
    """Effects of one whole variant on one page over one link, in per cent of the page-load time."""
    names = rows(effects)
    shown = protocols.ordered(effects["protocol"])
    width = plots.PAGE_INCHES if len(shown) > 1 else plots.COLUMN_INCHES * 1.4
    figure = plots.new(width, 1.1 + ROW_INCHES * len(names))
    panels = figure.subplots(1, len(shown), squeeze=False, sharey=True, sharex=True)[0]
    for axes, protocol in zip(panels, shown, strict=True):
        _panel(axes, effects[effects["protocol"] == protocol], names, margin)
        axes.set_title(protocols.label(protocol))
        axes.set_xlabel("Change of page-load time (%)")
    whole = str(effects["whole"].iloc[0])
    panels[0].set_yticks(
        range(len(names)), [f"{whole}, all of it" if name == whole else name for name in names]
    )
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    figure.suptitle(title, x=0.01, ha="left", fontsize="medium", weight="bold")
    handles = [
        Line2D([], [], color=way.colour, marker=way.marker, markersize=4, linewidth=0.8, label=way.label)
        for way in WAYS.values()
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=len(handles) if len(shown) > 1 else 1)
    return figure


def rows(effects: pd.DataFrame) -> list[str]:
    """The whole variant, then its filters: what saves most first, those that change nothing last."""
    filters = effects[effects["way"] != TOGETHER]
    change = filters.assign(change=np.log(filters["ratio"])).groupby("filter")
    ranked = pd.DataFrame({"idle": change["idle"].all(), "change": change["change"].mean()})
    order = ranked.sort_values(["idle", "change"], kind="stable").index
    return [*effects.loc[effects["way"] == TOGETHER, "filter"].unique(), *map(str, order)]


def _panel(axes: Axes, effects: pd.DataFrame, names: Sequence[str], margin: float) -> None:
    axes.axvspan(100 * (1 / (1 + margin) - 1), 100 * margin, color="#EEEEEE", linewidth=0)
    axes.axvline(0, color="#555555", linewidth=0.8)
    for row in range(1, len(names), 2):
        axes.axhspan(row - 0.5, row + 0.5, facecolor="none", edgecolor=plots.GUIDE, linewidth=0.4)
    for effect in effects.to_dict("records"):
        way = WAYS[effect["way"]]
        centre, low, high = (100 * (effect[each] - 1) for each in ("ratio", "low", "high"))
        colour = IDLE if effect["idle"] else way.colour
        bounds = None if np.isnan(low) else [[centre - low], [high - centre]]
        axes.errorbar(
            [centre],
            [names.index(effect["filter"]) + way.shift],
            xerr=bounds,
            fmt=way.marker,
            color=colour,
            markersize=3.2,
            markerfacecolor=colour if bounds is not None else "white",
            markeredgewidth=0.8,
            elinewidth=0.8,
            capsize=1.4,
            capthick=0.8,
        )
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
