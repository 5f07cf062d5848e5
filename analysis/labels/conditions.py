"""Conditions as a reader meets them: their panels and points, what their values are called, how protocols look.

A panel is what one figure shows: everything of a condition but the protocol (its lines) and the RTT (its
axis). Which columns that means is read off the records, so that a field a later version adds to a condition
(a loss rate, an initial window) keeps unlike trials apart without a change here.

Protocols look and stand the same in every figure and table. Their colours are told apart by people with
colour-vision deficiencies (Okabe and Ito 2008; Paul Tol's muted scheme for the rest); markers and dashes carry the same
difference on a grey printer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from analysis.labels.metrics import WORKLOADS
from analysis.labels.words import DASH, plain, rate, rate_with_unit, slug
from harness.model.condition import CACHE, CPU_SLOWDOWN, FULL_SPEED, OF_VARIANTS, SET, USUAL_FACTOR
from harness.model.engine import BROWSERS, DEFAULT_ENGINE, Engine
from harness.model.protocol import Protocol, in_order

POINT = ("protocol", "rtt_ms")
OF_BROWSERS = (CPU_SLOWDOWN, CACHE)
FOLLOWERS = ("server", "queue_down_bytes", "queue_up_bytes", "link", SET, *OF_VARIANTS)
FIRST = {"variant": "plain", "compression": "none", "factor": USUAL_FACTOR}  # goes before the others
LONGEST_NUMBER = 12  # digits of a number in a name that counts as one
LINKED = "link_emulated"
BESIDE_VARIANTS = {"without": "without {}".format, "filter_settings": "with {}".format}
AS_NAMED = {"without": "with all filters", "filter_settings": "with the usual limits"}
NO_LINK = "no link"
NAMED = ("page", "variant", "down_mbps", "up_mbps", "driver")
ENGINES = {engine.value: engine.traits.label for engine in Engine}
_BROWSERS = (
    "The engines are browsers that load a page in different ways, "
    "so a difference between them is not the protocol's"
)
NOT_COMPARED = f"{_BROWSERS}: comparisons are within an engine."
COMPARED = f"{_BROWSERS}. The study asks for one all the same, which compares browsers"
GENERATORS = (
    "The generators ask in different ways and cost different CPU, so a difference between them is not the protocol's: "
    "comparisons are within a generator."
)
Dash = Literal["-", "none"] | tuple[float, tuple[float, ...]]
# Of what else tells lines apart. The first variant, plain where it is there, is dotted: optimised ones stand out.
DASHES: tuple[Dash, ...] = ((0, (1.2, 1.2)), "-", (0, (5, 1.6)), (0, (4, 1.2, 1.2, 1.2)))


@dataclass(frozen=True)
class Style:
    """`dash` is a matplotlib line style; `marker` one of its markers."""

    colour: str
    marker: str
    dash: Dash

    def size(self, usual: float = 4) -> float:
        """Of its marker: a star is larger than others that look as large."""
        return 1.5 * usual if self.marker == "*" else usual


STYLES: dict[str, Style] = {
    "http1-close": Style("#D55E00", "s", (0, (1.2, 1.2))),
    "http1": Style("#E69F00", "o", (0, (5, 1.6))),
    "http1-pipelined": Style("#999933", "^", (0, (7, 1.5, 1.2, 1.5))),
    "https1-close": Style("#882255", "P", (0, (1.2, 2.4))),
    "https1": Style("#CC79A7", "v", (0, (3, 1.2, 1.2, 1.2))),
    "https1-pipelined": Style("#661100", "<", (0, (8, 2))),
    "spdy": Style("#009E73", "X", (0, (6, 1.2, 1.2, 1.2, 1.2, 1.2))),
    "spdy-plain": Style("#56B4E9", ">", (0, (2.4, 1.2))),
    "h2": Style("#0072B2", "D", "-"),
    "h3": Style("#000000", "*", "-"),
}
FURTHER = (
    Style("#332288", "h", (0, (4, 1, 1, 1))),
    Style("#44AA99", "p", (0, (2, 2))),
    Style("#AA4499", "d", (0, (6, 3))),
    Style("#888888", "8", (0, (1, 1, 4, 1))),
)
MARKERS = tuple(style.marker for style in (*FURTHER, *STYLES.values()))
# Of what is told apart by dashes in one colour, a solid line first; all differ.
LINE_DASHES: tuple[Dash, ...] = tuple(
    dict.fromkeys((*DASHES[1:], DASHES[0], *(style.dash for style in (*STYLES.values(), *FURTHER))))
)
MOST_LOOKS = 4 * len(MARKERS)
PALER = 0.55


def told_apart(styles: Iterable[Style], by: Sequence[str] = ("marker", "dash")) -> list[Style]:
    """The looks of one figure: the styles, and for one that was there before another marker and dash, and a paler
    colour where these are used up. No two have the same colour and one of `by`.
    """
    looks: list[Style] = []
    for style in styles:
        further = (_further(style, number) for number in range(MOST_LOOKS))
        looks.append(
            next((look for look in further if not any(_alike(look, one, by) for one in looks)), style)
        )
    return looks


def _alike(look: Style, other: Style, by: Sequence[str]) -> bool:
    return look.colour == other.colour and any(getattr(look, name) == getattr(other, name) for name in by)


def _further(style: Style, number: int) -> Style:
    """The look of what would have this style, too; number 0 is the style itself."""
    if number == 0:
        return style
    markers = [marker for marker in MARKERS if marker != style.marker]
    times, place = divmod(number - 1, len(markers))
    dash = LINE_DASHES[(number - 1) % len(LINE_DASHES)]
    return Style(_paler(style.colour, times), markers[place], dash)


def _paler(colour: str, times: int) -> str:
    parts = (255 - round((255 - int(colour[at : at + 2], 16)) * PALER**times) for at in (1, 3, 5))
    return "#" + "".join(f"{part:02X}" for part in parts)


def panel_columns(records: pd.DataFrame, condition_columns: Sequence[str]) -> tuple[str, ...]:
    """The columns that split conditions into panels.

    Server, queue and link name usually follow from protocol, rate and RTT, the set from the page, what a variant is
    beside its name from page and variant; each of them splits panels only where one point of a figure would otherwise
    hold several of its values.
    """
    panel = [column for column in condition_columns if column not in POINT + FOLLOWERS]
    for column in FOLLOWERS:
        if column in condition_columns:
            values = records.groupby([*panel, *POINT], dropna=False)[column].nunique(dropna=False)
            if values.max() > 1:
                panel.append(column)
    front = [column for column in NAMED if column in panel]
    return (*front, *(column for column in panel if column not in front))


def varying(records: pd.DataFrame, columns: Sequence[str]) -> tuple[str, ...]:
    """Those columns that take more than one value: what a label has to say."""
    return tuple(column for column in columns if records[column].nunique(dropna=False) > 1)


def in_reading_order(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Sorted as people read: plain before other variants, numbers by size, protocols in their fixed order."""
    ranks = {name: rank for rank, name in enumerate(in_order(frame["protocol"]))}

    def key(column: str) -> pd.Series[Any]:
        values = frame[column]
        if column == "protocol":
            return values.map(ranks)
        if pd.api.types.is_numeric_dtype(values):
            return values
        texts = values.astype(str)
        if column in FIRST:
            texts = texts.where(values != FIRST[column], "")
        return texts.map(_by_number, na_action="ignore")

    keys = pd.DataFrame({column: key(column) for column in columns})
    return frame.loc[keys.sort_values(list(columns), kind="stable").index].reset_index(drop=True)


def is_linked(place: Mapping[Any, Any]) -> bool:
    """Whether there was a link; without one its numbers say nothing. Records tell of none alone."""
    return not bool(place.get(LINKED) == False)  # noqa: E712 - numpy's False, too; NaN is none


def _by_number(text: str) -> str:
    """A text that sorts by the numbers in it: `text-25` before `text-100`."""
    return re.sub(r"\d+", lambda found: found[0].zfill(LONGEST_NUMBER), text)


def title(place: Mapping[Any, Any], columns: Sequence[str]) -> str:
    """`dummy-2012, minify, 10 Mbit/s, selenium`: the page and rate, and what else varies in `columns`."""
    parts = [str(place["page"])] if "page" in place else []
    if "variant" in columns:
        parts.append(value_text("variant", place["variant"]))
    if "down_mbps" in place:
        linked = is_linked(place)
        parts.append(rate_with_unit(place["down_mbps"], place.get("up_mbps")) if linked else NO_LINK)
    rest = [column for column in columns if column not in NAMED or column == "driver"]
    return ", ".join([*parts, *(value_text(column, place[column]) for column in rest)])


def file_name(place: Mapping[Any, Any], columns: Sequence[str]) -> str:
    """`dummy-2012_plain_10mbps_playwright`, and what else varies in `columns`."""
    speed = rate(place["down_mbps"], place.get("up_mbps")).replace("/", "-")
    parts = [place["page"], place["variant"], f"{speed}mbps", place["driver"]]
    return "_".join(slug(str(part)) for part in [*parts, *(place[c] for c in columns if c not in NAMED)])


def cell_text(cell: Mapping[Any, Any], columns: Sequence[str]) -> str:
    """A condition by what varies in `columns`: `news-mobile, core, HTTP/2 (TLS), 50 ms RTT`."""
    parts = [str(cell["page"])] if "page" in columns else []
    if "down_mbps" in columns or "up_mbps" in columns:
        parts.append(rate_with_unit(cell["down_mbps"], cell.get("up_mbps")) if is_linked(cell) else NO_LINK)
    told = [column for column in columns if column not in ("page", "down_mbps", "up_mbps")]
    parts += [
        f"{plain(cell['rtt_ms'])} ms RTT" if column == "rtt_ms" else value_text(column, cell[column])
        for column in told
    ]
    return ", ".join(parts) or str(cell["page"])


def browser_setting(dimension: str, value: Any) -> str:
    """`CPU slowed 4 times`, `full CPU speed`, `warm cache`."""
    if dimension == CACHE:
        return f"{value} cache"
    return "full CPU speed" if value == FULL_SPEED else f"CPU slowed {plain(value)} times"


def protocol_label(protocol: str) -> str:
    """The name of a protocol for figures; one that nobody knows keeps its own."""
    try:
        return Protocol(protocol).label
    except ValueError:
        return protocol


def protocol_styles(protocols: Iterable[str]) -> dict[str, Style]:
    """The look of each protocol, in order."""
    names = in_order(protocols)
    unknown = [name for name in names if name not in STYLES]
    return {name: STYLES.get(name) or FURTHER[unknown.index(name) % len(FURTHER)] for name in names}


def engine_label(engine: str) -> str:
    """The name of an engine for readers; one that nobody knows keeps its own."""
    return ENGINES.get(engine, engine)


def engines_in_order(engines: Iterable[str]) -> tuple[str, ...]:
    """Each engine once: browsers, the oldest first, then generators."""
    present = set(engines)
    browsers = [engine.value for engine in reversed(BROWSERS)]
    order = [*browsers, *(name for name in ENGINES if name not in browsers)]
    known = [name for name in order if name in present]
    return (*known, *sorted(present - ENGINES.keys()))


def engines_are_told(engines: Iterable[str]) -> bool:
    """Whether a reader has to be told the engine: unless it is today's browser alone, or one generator."""
    names = set(engines)
    usual = {DEFAULT_ENGINE.value, *(engine.value for engine in Engine if engine not in BROWSERS)}
    return len(names) > 1 or not names <= usual


LABELS = {"protocol": protocol_label, "engine": engine_label, **BESIDE_VARIANTS}


def value_text(column: str, value: Any) -> str:
    """A condition's value where no heading says which column it is."""
    if pd.isna(value):
        return AS_NAMED.get(column, f"{column} {DASH}")
    if column in LABELS:
        return LABELS[column](str(value))
    if column in ("page", "variant", "driver", "server", "device", "factor"):
        return str(value)
    if column in OF_BROWSERS:
        return browser_setting(column, value)
    if column in WORKLOADS:
        return WORKLOADS[column].format(value if isinstance(value, str) else plain(value))
    return f"{column.replace('_', ' ')} {value if isinstance(value, str) else plain(value)}"
