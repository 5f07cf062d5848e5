"""How often a 95 % interval holds the truth: of a ratio, of the median of one condition, over runs and over pages.

The same is asked of statistics that were not chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from scipy import special

from analysis.claims.claims import over_pages
from analysis.claims.stopping import LOOKED, half_width, is_narrow
from analysis.statistics import CONFIDENCE
from analysis.statistics.compare import Certainty, Verdict, described, judged, over_runs
from analysis.statistics.contrast import Statistic
from analysis.statistics.estimate import interval
from benchmarks.simulation import arrays
from benchmarks.simulation.arrays import SHAPES, Array, lognormal, unequal
from benchmarks.simulation.families import CVS, LEASTS, MOST, UNTILS, ranked_from_six, until_narrow
from benchmarks.simulation.shares import Share, Table
from harness.model.trials import Trials

NUMBERS = (5, 6, 7, 8, 10, 12, 14, 15, 16, 20, 30, 40)
AIM = (0.94, 0.97)
HELD_TO = ("lognormal", "drifting", "bursty")
CONDITIONS = 4  # of a block
TRUTH = math.log(1.05)
CV = 0.02


def covers(statistic: Statistic, truth: float) -> bool:
    low, high = statistic.interval(CONFIDENCE)
    return low <= truth <= high


def of_ratios(random: np.random.Generator, times: int) -> Table:
    """The first condition of a block against the second, 5 % faster one."""
    table = Table("Coverage of the 95 % interval of a ratio, CV 2 %", ["n", *map(str, NUMBERS)])
    for name, shape in SHAPES.items():
        aim = AIM if name in HELD_TO else (0.0, 1.0)
        cells = []
        for n in NUMBERS:
            logs = shape(random, (times, n, CONDITIONS), CV)
            differences = logs[..., 0] + TRUTH - logs[..., 1]
            low, high = arrays.intervals(differences, CONFIDENCE)
            cells.append(Share.of((low <= TRUTH) & (high >= TRUTH), *aim))
        table.add(name, cells)
    return table


def of_medians(random: np.random.Generator, times: int) -> Table:
    """The median of one condition. Bursts that last several trials make neighbours alike, which widens no interval."""
    table = Table("Coverage of the 95 % interval of a median, CV 2 %", ["n", *map(str, NUMBERS)])
    for name, shape in SHAPES.items():
        aim = (0.9375 if n == 5 else 0.94 for n in NUMBERS)
        cells = []
        for n, low in zip(NUMBERS, aim, strict=True):
            load_times = np.exp(shape(random, (times, n, CONDITIONS), CV)[..., 1:])
            truth = float(np.median(load_times))  # of all simulations: its error is far below that of one
            limits = (low, 1.0) if name == "lognormal" else (0.0, 1.0)
            cells.append(Share.of((_holds(sample, truth) for sample in load_times[..., 0]), *limits))
        table.add(name, cells)
    return table


def of_medians_at_looks(random: np.random.Generator, times: int) -> Table:
    """The median of a condition whose trials ended when its ratio was known well enough: its interval stays plain."""
    columns = [f"{100 * until:g} %, CV {100 * cv:g} %" for until in UNTILS for cv in CVS]
    table = Table(
        f"Coverage of the 95 % interval of a median with looks, at most {MOST} trials", ["until", *columns]
    )
    cells: list[Share | str] = []
    for until in UNTILS:
        for cv in CVS:
            logs = lognormal(random, (times, MOST, 2), cv)
            ended = until_narrow(logs[..., 0] - logs[..., 1], Trials(LEASTS[-1], MOST, until)).trials
            held = (_holds(each[:n], 0.0) for each, n in zip(logs[..., 0], ended, strict=True))
            cells.append(Share.of(held, 0.94))
    table.add(f"at least {LEASTS[-1]}", cells)
    return table


def _holds(sample: Array, truth: float) -> bool:
    bounds = interval(sample)
    return bounds.low <= truth <= bounds.high


BETWEEN_RUNS = 0.01  # of each condition by itself
BETWEEN_PAGES = 0.03  # of the true ratio
LONGER = math.log(1.03)


def pairs(random: np.random.Generator, shape: tuple[int, ...], cv: float) -> Array:
    """Log ratios of two conditions, of which the first takes 3 % longer."""
    ratios: Array = random.normal(LONGER, cv * math.sqrt(2), shape)
    return ratios


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
            ratios = pairs(random, (times, runs, n), 0.01) + apart
            least = 0.93 if runs >= 3 else 0.0
            cells.append(Share.of((covers(over_runs(list(study)), LONGER) for study in ratios), least))
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
            ratios = pairs(random, (times, pages, n), 0.03) + apart
            cells.append(Share.of((covers(statistic, LONGER) for statistic in _over_pages(ratios)), *AIM))
        table.add(f"{pages} pages", cells)
    for pages in (3, 6, 20):
        table.add(f"{pages} pages, unlike", [_unlike(random, times, pages, n) for n in numbers])
    return table


BETWEEN = {"pages": (1, 0), "runs": (0, 1), "pages and runs": (1, 1), "neither": (0, 0)}


def of_pages_in_runs(random: np.random.Generator, times: int) -> Table:
    """Each page in each run: the true ratio differs between pages, between runs, or both, which then err alike. The
    truth is that of all such pages in all such runs. Where neither differs the interval is told too wide, never narrow.
    """
    sizes = [(pages, runs) for pages in (3, 6, 20) for runs in (3, 5)]
    table = Table(
        "Coverage over pages in several runs, CV 1 %, n = 5",
        ["what differs", *(f"{pages} pages, {runs} runs" for pages, runs in sizes)],
    )
    for name, (page_share, run_share) in BETWEEN.items():
        cells = []
        for pages, runs in sizes:
            apart = random.normal(0, BETWEEN_PAGES * page_share, (times, pages, 1, 1))
            later = random.normal(0, BETWEEN_PAGES * run_share * math.sqrt(runs / pages), (times, 1, runs, 1))
            ratios = pairs(random, (times, pages, runs, 5), 0.01) + apart + later
            held = (covers(_in_runs(study), LONGER) for study in ratios)
            cells.append(Share.of(held, AIM[0]))
        table.add(name, cells)
    return table


def _in_runs(study: Array) -> Statistic:
    statistic = over_pages([{str(run): page[run] for run in range(len(page))} for page in study])
    assert statistic is not None
    return statistic


def _unlike(random: np.random.Generator, times: int, pages: int, n: int) -> Share:
    """Pages of 3 to n blocks, with a CV of 1 to 6 % each: whether an exact t for equal pages does for these."""
    held = []
    for _ in range(times):
        sizes, cvs = random.integers(3, n + 1, pages), random.uniform(0.01, 0.06, pages)
        apart = random.normal(0, BETWEEN_PAGES, pages)
        study = [
            pairs(random, (int(size),), float(cv)) + off
            for size, cv, off in zip(sizes, cvs, apart, strict=True)
        ]
        held += [covers(statistic, LONGER) for statistic in _over_pages([study])]
    return Share.of(held, *AIM)


def many_pages(random: np.random.Generator, times: int) -> Table:
    """20 pages that all take 3 % longer."""
    table = Table("20 pages, each truly 3 % slower, CV 3 %, n = 5", ["told slower", "share"])
    ratios = pairs(random, (times, 20, 5), 0.03)
    together = [described(statistic, 100, 1, Certainty()) for statistic in _over_pages(ratios)]
    table.add(
        "by the geometric mean",
        [Share.of((judged([comparison])[0].verdict is Verdict.SLOWER for comparison in together), 0.99)],
    )
    votes = [
        judgement.verdict is Verdict.SLOWER
        for pages in ratios
        for judgement in judged([described(over_runs([page]), 5, 1, Certainty()) for page in pages])
    ]
    table.add("of its pages, each by itself", [Share.of(votes)])
    return table


def _over_pages(found: Iterable[Sequence[Array]] | Array) -> Iterator[Statistic]:
    for pages in found:
        by_run: list[Mapping[str, Array]] = [{"run": page} for page in pages]
        statistic = over_pages(by_run)
        assert statistic is not None
        yield statistic


LEVELS = {
    "3 equal pages": (3, 1),
    "4 equal pages": (4, 1),
    "6 equal pages": (6, 1),
    "1 page, 3 lanes": (1, 3),
}


def over_levels_at_looks(random: np.random.Generator, times: int) -> tuple[Table, Table]:
    """Studies of several pages, or in several lanes, that stop at a look: how often the report's interval holds the
    truth, and after how many trials they stop. Levels that are equal are alike by chance most often.
    """
    columns = [f"{100 * until:g} %, CV {100 * cv:g} %" for until in UNTILS for cv in CVS]
    table = Table(f"Coverage with looks over pages or lanes, at most {MOST} trials", ["until", *columns])
    means = Table(
        f"Trials of a condition with looks over pages or lanes, at most {MOST}: mean", ["until", *columns]
    )
    for name, (pages, lanes) in LEVELS.items():
        shares: list[Share | str] = []
        taken: list[Share | str] = []
        for until in UNTILS:
            for cv in CVS:
                studies = random.normal(0, cv * math.sqrt(2), (times, pages, MOST))
                ended = [_until_narrow(study, lanes, Trials(LEASTS[-1], MOST, until)) for study in studies]
                shares.append(Share.of((held for _, held in ended), CONFIDENCE))
                taken.append(f"{np.mean([look for look, _ in ended]):.1f}")
        table.add(name, shares)
        means.add(name, taken)
    return table, means


def _until_narrow(study: Array, lanes: int, trials: Trials) -> tuple[int, bool]:
    """When a study ends whose blocks are spread over lanes (a row per page), and whether its interval holds 0."""
    end, pages = trials.most, list[Mapping[str, Array]]()
    for look in trials.looks:
        pages = [{f"lane {lane}": page[lane:look:lanes] for lane in range(lanes)} for page in study]
        within = over_pages(pages, random=False)
        assert within is not None
        if is_narrow(half_width(described(within, look, lanes, LOOKED)), look, trials.until or 0):
            end = look
            break
    whole = over_pages(pages)
    assert whole is not None
    low, high = whole.interval(LOOKED.confidence)
    return end, low <= 0 <= high


OTHER_NUMBERS = (5, 6, 7, 8, 12, 20)
RESAMPLES = 1000


def others(random: np.random.Generator, times: int) -> tuple[Table, Table]:
    table = Table("Coverage of intervals that were not chosen, CV 2 %", ["n", *map(str, OTHER_NUMBERS)])
    for name, subject, reference in (
        ("variance pooled over 4 conditions, two calm ones beside one with three times the CV", 1, 2),
        ("the same, the one with three times the CV against a calm one", 0, 1),
    ):
        table.add(name, [_pooled(random, times, n, subject, reference) for n in OTHER_NUMBERS])
    table.add(
        "bootstrap of the median ratio",
        [_bootstrapped(random, max(times // 8, 10), n) for n in OTHER_NUMBERS],
    )
    ranked = Table(
        "Power at a true 5 % that was not chosen: signed rank at n = 6", ["of 24 comparisons", "told"]
    )
    ranked.add("a quarter of them", [ranked_from_six(random, times)])
    return table, ranked


def _pooled(random: np.random.Generator, times: int, n: int, subject: int, reference: int) -> Share:
    """Condition and block as effects, one residual variance."""
    logs = unequal(random, (times, n, 4), CV)
    residuals = logs - logs.mean(axis=1, keepdims=True) - logs.mean(axis=2, keepdims=True)
    residuals += logs.mean(axis=(1, 2), keepdims=True)
    freedom = 3 * (n - 1)
    spread = np.sqrt((residuals**2).sum(axis=(1, 2)) / freedom)
    reach = float(special.stdtrit(freedom, 0.975)) * spread * math.sqrt(2 / n)
    centre = (logs[..., subject] - logs[..., reference]).mean(axis=1)
    return Share.of(np.abs(centre) <= reach)


def _bootstrapped(random: np.random.Generator, times: int, n: int) -> Share:
    logs = lognormal(random, (times, n, 2), CV)
    return Share.of(_holds_zero(random, study[:, 0] - study[:, 1]) for study in logs)


def _holds_zero(random: np.random.Generator, ratios: Array) -> bool:
    medians = np.median(random.choice(ratios, (RESAMPLES, ratios.size)), axis=1)
    low, high = np.quantile(medians, (0.025, 0.975))
    return bool(low <= 0 <= high)
