"""What a report tells after it has chosen what to tell: whether the sizes hold, and what equal conditions can show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.statistics import CONFIDENCE
from analysis.statistics.compare import ALPHA, Certainty, Verdict, described, told
from analysis.statistics.contrast import contrast
from analysis.statistics.floor import floors
from benchmarks.simulation import arrays
from benchmarks.simulation.arrays import WILD, Array, Differs, Shape, bursty, drifting, lognormal
from benchmarks.simulation.families import AGAINST, directions, rows, settings
from benchmarks.simulation.shares import Share, Table

NUMBERS = (5, 10, 20)
EFFECTS = (0.01, 0.03, 0.10)
COMPARISONS = 40
TRUE = range(0, 4 * AGAINST, AGAINST)  # a tenth of them, each in a setting of its own
CV = 0.02
ASKED = 5  # families that the report's own function is asked for
SETTINGS = (1, 4, 12)
CHANGES = (5, 10, 20)
SAVED = 0.03
NO_MARGIN = Certainty(1e-9)
Flags = NDArray[np.bool_]


def sizes(random: np.random.Generator, times: int) -> Table:
    """Of a report the share of told sizes that hold the truth, all where none is told: 1 - false coverage rate."""
    columns = [f"{100 * effect:g} %, n = {n}" for effect in EFFECTS for n in NUMBERS]
    table = Table(
        f"Told sizes that hold the truth: {COMPARISONS} comparisons, a tenth of them true, CV {100 * CV:g} %",
        ["true effect", *columns],
    )
    cells: dict[str, list[Share | str]] = {"as told, by report": [], "plain 95 %, by report": []}
    pooled: dict[str, list[Share | str]] = {"as told, all together": [], "plain 95 %, all together": []}
    for effect in EFFECTS:
        for n in NUMBERS:
            holds, plain, chosen = _told(random, times, n, effect)
            for name, flags, limits in zip(cells, (holds, plain), ((0.94, 0.97), (0.0, 1.0)), strict=True):
                count = chosen.sum(axis=1)
                by_report = np.where(count > 0, (flags & chosen).sum(axis=1) / np.maximum(count, 1), 1.0)
                cells[name].append(Share(float(by_report.sum()), times, *limits))
            for name, flags in zip(pooled, (holds, plain), strict=True):
                pooled[name].append(Share.of(flags[chosen]) if chosen.any() else "")
    for name, shares in {**cells, **pooled}.items():
        table.add(name, shares)
    return table


def _told(random: np.random.Generator, times: int, n: int, effect: float) -> tuple[Flags, Flags, Flags]:
    """By family and comparison: whether the told interval, and the plain one, holds the truth; and which are told."""
    truth = np.zeros(COMPARISONS)
    truth[list(TRUE)] = math.log1p(effect)
    families = settings(lognormal, random, (times, n, COMPARISONS), CV) + truth
    chosen = directions(families) != 0
    count = chosen.sum(axis=1)
    holds, plain = np.ones(chosen.shape, dtype=bool), np.ones(chosen.shape, dtype=bool)
    every = rows(families).reshape(times, COMPARISONS, n)
    for number in np.unique(count[count > 0]):
        where = chosen & (count == number)[:, None]
        level = 1 - ALPHA * number / COMPARISONS
        wanted = np.broadcast_to(truth, chosen.shape)[where]
        for flags, confidence in ((holds, level), (plain, CONFIDENCE)):
            low, high = arrays.intervals(every[where], float(confidence))
            flags[where] = (low <= wanted) & (wanted <= high)
    _check(families[:ASKED], truth, chosen, holds)
    return holds, plain, chosen


def _check(families: Array, truth: Array, chosen: Flags, holds: Flags) -> None:
    """The report's own function tells the same of some families."""
    for family, its, held in zip(families, chosen, holds, strict=False):
        said = told(
            [described(contrast(sample), len(sample), 1, NO_MARGIN) for sample in family.T], NO_MARGIN.margin
        )
        directed = [judgement.verdict in (Verdict.SLOWER, Verdict.FASTER) for _, judgement in said]
        inside = [
            seen.low <= math.exp(value) <= seen.high for (seen, _), value in zip(said, truth, strict=True)
        ]
        if (
            directed != its.tolist()
            or [each for each, one in zip(inside, directed, strict=True) if one] != held[its].tolist()
        ):
            raise Differs(f"the report tells {directed}, not {its}")


def largest(random: np.random.Generator, times: int) -> Table:
    """Of changes that are each set against one page: whether what the largest saving is said to be holds the truth."""
    columns = [f"{count}, n = {n}" for n in NUMBERS for count in CHANGES]
    table = Table(f"The largest saving of several holds the truth, CV {100 * CV:g} %", ["changes", *columns])
    for name, least in ((f"all save {100 * SAVED:g} %", SAVED), (f"they save 0 to {100 * SAVED:g} %", 0.0)):
        pairs = [
            _largest(random, times, n, np.linspace(least, SAVED, count)) for n in NUMBERS for count in CHANGES
        ]
        table.add(f"{name}: as told", [Share.of(holds, 0.95) for holds, _ in pairs])
        table.add(f"{name}: plain 95 %", [Share.of(plain) for _, plain in pairs])
    return table


def _largest(random: np.random.Generator, times: int, n: int, saved: Array) -> tuple[Flags, Flags]:
    """Whether the interval of one that was chosen holds what the largest truly saves, and whether a plain one does."""
    truth, count = np.log1p(-saved), len(saved)
    logs = lognormal(random, (times, n, count + 1), CV)
    ratios = (logs[..., 1:] - logs[..., :1] + truth).swapaxes(1, 2)
    picked = ratios.mean(axis=2).argmin(axis=1)
    every, wanted = ratios[np.arange(times), picked], truth[picked]
    flags = []
    for confidence in (1 - ALPHA / count, CONFIDENCE):
        low, high = arrays.intervals(every, confidence)
        flags.append((low <= wanted) & (wanted <= high))
    told = [described(contrast(row), n, 1, Certainty()).chosen(1, count) for row in every[:ASKED]]
    held = [each.low <= math.exp(one) <= each.high for each, one in zip(told, wanted, strict=False)]
    if held != flags[0][:ASKED].tolist():
        raise Differs(f"the report tells {told}")
    return flags[0], flags[1]


def equal_conditions(random: np.random.Generator, times: int) -> Table:
    """How often a condition that equals the baseline lies beyond the floor of its setting."""
    columns = [f"{count}, n = {n}" for n in NUMBERS for count in SETTINGS]
    table = Table(
        f"Equal conditions beyond the floor, by settings measured twice, CV {100 * CV:g} %",
        ["settings", *columns],
    )
    for name, shape, spreads in (
        ("lognormal", lognormal, (1.0,)),
        ("drifting", drifting, (1.0,)),
        ("bursty", bursty, (1.0,)),
        ("every second setting with three times the CV", lognormal, (1.0, WILD)),
    ):
        studies = [_studies(random, (times, n, count), shape, spreads) for n in NUMBERS for count in SETTINGS]
        table.add(name, [Share.of(_beyond(found), 0.0, 0.05) for found in studies])
    return table


def _studies(
    random: np.random.Generator, size: tuple[int, int, int], shape: Shape, spreads: Sequence[float]
) -> Array:
    """Log times by study, setting and block of a baseline, of the same again, and of a condition that equals it."""
    times, n, count = size
    logs = shape(random, (times * count, n, 3), CV).reshape(times, count, n, 3)
    log_times: Array = logs * np.resize(spreads, count)[None, :, None, None]
    return log_times


def _floor(twins: Sequence[Array]) -> Sequence[float]:
    floor = floors({number: [each] for number, each in enumerate(twins)})
    return [math.log(floor.of([number]) or math.nan) for number in range(len(twins))]


def _beyond(studies: Array) -> Iterator[bool]:
    """Of every setting whether the equal condition lies beyond what the two baselines allow."""
    for study in studies:
        limits = _floor([setting[:, 1] - setting[:, 0] for setting in study])
        for setting, limit in zip(study, limits, strict=True):
            yield abs(contrast(setting[:, 2] - setting[:, 0]).centre) > limit
