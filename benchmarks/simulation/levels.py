"""Runs and pages as levels: coverage for those that were not measured, and what is found over many pages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from analysis.claims.claims import over_pages
from analysis.statistics.compare import Certainty, Verdict, described, judged, over_runs
from analysis.statistics.contrast import Statistic
from benchmarks.simulation.coverage import AIM, covers
from benchmarks.simulation.shares import Share, Table
from benchmarks.simulation.times import Array

BETWEEN_RUNS = 0.01  # of each condition by itself
BETWEEN_PAGES = 0.03  # of the true ratio
TRUTH = math.log(1.03)


def pairs(random: np.random.Generator, shape: tuple[int, ...], cv: float) -> Array:
    """Log ratios of two conditions, of which the first takes 3 % longer."""
    found: Array = random.normal(TRUTH, cv * math.sqrt(2), shape)
    return found


def of_runs(random: np.random.Generator, times: int) -> Table:
    """Runs that differ by 1 % per condition; the truth is that of all runs one could make."""
    numbers = (5, 10, 30)
    table = Table(
        "Coverage over runs that differ by 1 % in each condition, CV 1 %", ["n of a run", *map(str, numbers)]
    )
    for runs in (2, 3, 4, 5):
        cells = []
        for n in numbers:
            apart = random.normal(0, BETWEEN_RUNS * math.sqrt(2), (times, runs, 1))
            found = pairs(random, (times, runs, n), 0.01) + apart
            least = 0.93 if runs >= 3 else 0.0
            cells.append(Share.of((covers(over_runs(list(each)), TRUTH) for each in found), least))
        table.add(f"{runs} runs{' (of these two alone, as the report says)' * (runs == 2)}", cells)
    return table


def of_pages(random: np.random.Generator, times: int) -> Table:
    """Pages whose true ratios differ by 3 %; the truth is that of all such pages."""
    numbers = (5, 10)
    table = Table("Coverage of the geometric mean over pages, CV 3 %", ["n", *map(str, numbers)])
    for pages in (3, 6, 20):
        cells = []
        for n in numbers:
            apart = random.normal(0, BETWEEN_PAGES, (times, pages, 1))
            found = pairs(random, (times, pages, n), 0.03) + apart
            cells.append(Share.of((covers(each, TRUTH) for each in _over_pages(found)), *AIM))
        table.add(f"{pages} pages", cells)
    for pages in (3, 6, 20):
        table.add(f"{pages} pages, unlike", [_unlike(random, times, pages, n) for n in numbers])
    return table


def _unlike(random: np.random.Generator, times: int, pages: int, n: int) -> Share:
    """Pages of 3 to n blocks, with a CV of 1 to 6 % each: whether an exact t for equal pages does for these."""
    found = []
    for _ in range(times):
        sizes, cvs = random.integers(3, n + 1, pages), random.uniform(0.01, 0.06, pages)
        apart = random.normal(0, BETWEEN_PAGES, pages)
        study = [
            pairs(random, (int(size),), float(cv)) + off
            for size, cv, off in zip(sizes, cvs, apart, strict=True)
        ]
        found += [covers(each, TRUTH) for each in _over_pages([study])]
    return Share.of(found, *AIM)


def many_pages(random: np.random.Generator, times: int) -> Table:
    """20 pages that all take 3 % longer."""
    table = Table("20 pages, each truly 3 % slower, CV 3 %, n = 5", ["told slower", "share"])
    found = pairs(random, (times, 20, 5), 0.03)
    together = [described(each, 100, 1, Certainty()) for each in _over_pages(found)]
    table.add(
        "by the geometric mean",
        [Share.of((judged([each])[0].verdict is Verdict.SLOWER for each in together), 0.99)],
    )
    votes = [
        each.verdict is Verdict.SLOWER
        for pages in found
        for each in judged([described(over_runs([page]), 5, 1, Certainty()) for page in pages])
    ]
    table.add("of its pages, each by itself", [Share.of(votes)])
    return table


def _over_pages(found: Iterable[Sequence[Array]] | Array) -> Iterator[Statistic]:
    for pages in found:
        by_run: list[Mapping[str, Array]] = [{"run": page} for page in pages]
        statistic = over_pages(by_run)
        assert statistic is not None
        yield statistic
