"""Which share of a condition's trials took at most how long: a step line per condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.charts import plots
from analysis.charts.plots import TimeUnit
from analysis.charts.samples import DrawnTrials
from analysis.charts.variantchart import DASHES
from analysis.labels.protocols import Dash, Style

LEAST_TRIALS = 2  # of a line
AGAIN_ALPHA = 0.45


def distributions(
    axes: Axes, conditions: Sequence[DrawnTrials], styles: Mapping[str, Style], unit: TimeUnit
) -> None:
    """The trials that count, in the colours of their protocols; what was measured again is pale."""
    dashes = _dashes(conditions)
    for each in conditions:
        if each.kept_ms.size < LEAST_TRIALS:
            continue
        style = styles[each.protocol]
        axes.ecdf(
            each.kept_ms / unit.ms,
            color=style.colour,
            linestyle=dashes.get(each.form, style.dash),
            linewidth=1.1,
            alpha=AGAIN_ALPHA if each.again else 1,
        )
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "½", "", "1"])
    axes.grid(axis="y", color=plots.GUIDE, linewidth=0.5)
    axes.set_ylabel("Share of trials")


def handles(conditions: Sequence[DrawnTrials]) -> list[Line2D]:
    """What tells the forms of a page apart; empty when there is one."""
    return [
        Line2D([], [], color="#000000", linestyle=dash, linewidth=1.1, label=form)
        for form, dash in _dashes(conditions).items()
    ]


def _dashes(conditions: Sequence[DrawnTrials]) -> dict[str, Dash]:
    forms = list(dict.fromkeys(each.form for each in conditions))
    return {form: DASHES[number % len(DASHES)] for number, form in enumerate(forms)} if len(forms) > 1 else {}
