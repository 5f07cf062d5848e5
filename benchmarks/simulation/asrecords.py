"""Made-up records, read as the report reads them.

They have to give the very numbers that the other simulations use. By the report's own verdicts: whether noise makes
"reproduced" more frequent, of a published range and of a bound; what leaving attempts out does to a ratio; and what
time-outs do to verdicts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.claims.claimresult import ClaimVerdict
from analysis.claims.claims import evaluated, over_pages
from analysis.claims.measured import Measured
from analysis.claims.stopping import LOOKED, half_width, is_narrow
from analysis.runs.exclude import sift
from analysis.statistics.compare import (
    Blocks,
    Certainty,
    Comparison,
    Verdict,
    compare,
    described,
    judged,
    over_runs,
)
from analysis.statistics.contrast import contrast
from benchmarks.simulation.arrays import Array, bursty, lognormal
from benchmarks.simulation.families import directions, settings, until_narrow
from benchmarks.simulation.shares import ERRORS, Share, Table
from harness.model.trials import Trials
from harness.study.claim import Claim, Published

CERTAINTY = Certainty()
ALIKE: dict[str, Any] = {
    "variant": "plain", "compression": "recorded", "engine": "chromium", "driver": "playwright", "server": "apache",
    "device": "desktop", "link": "usual", "rtt_ms": 50.0, "down_mbps": 10.0, "up_mbps": 10.0, "origins": "single",
}  # fmt: skip
SIGNS = {Verdict.SLOWER: 1, Verdict.FASTER: -1}


def frame(logs: Array, random: np.random.Generator) -> pd.DataFrame:
    """Records of log times by run, block and cell, in any order."""
    runs, blocks, cells = logs.shape
    rows = [
        {
            "run": f"run {run}",
            "block": block + 1,
            "cell": cell,
            "plt_ms": 1000 * np.exp(logs[run, block, cell]),
        }
        for run in range(runs)
        for block in range(blocks)
        for cell in range(cells)
    ]
    return pd.DataFrame(rows).sample(frac=1, random_state=int(random.integers(1 << 31)))


def disagreements(random: np.random.Generator) -> list[str]:
    """One line per figure that records, or the report's functions, give differently from arrays."""
    return [*_of_records(random), *_of_arrays(random)]


def _of_arrays(random: np.random.Generator) -> list[str]:
    failures = []
    for n in (3, 5, 10, 14, 15, 20, 40, 60):
        families = settings(bursty, random, (5, n, 12), 0.02)
        families[..., ::4] += 0.02
        for family, told in zip(families, directions(families), strict=True):
            judgements = judged([described(contrast(sample), n, 1, CERTAINTY) for sample in family.T])
            if [SIGNS.get(judgement.verdict, 0) for judgement in judgements] != told.tolist():
                failures.append(f"FAILED verdicts on arrays of {n} blocks: {told}")
    trials = Trials(5, 60, 0.02)
    ratios = random.normal(0, 0.03, (20, 60))
    for row, look in zip(ratios, until_narrow(ratios, trials).trials, strict=True):
        widths = [half_width(described(contrast(row[:count]), count, 1, LOOKED)) for count in trials.looks]
        first = next(
            (each for each, width in zip(trials.looks, widths, strict=True) if is_narrow(width, each, 0.02)),
            60,
        )
        if first != look:
            failures.append(f"FAILED a look at {look} blocks that should be at {first}")
    return failures


def _of_records(random: np.random.Generator) -> list[str]:
    failures = []
    for runs, n in ((1, 3), (1, 5), (1, 14), (1, 15), (1, 40), (2, 10), (3, 8), (5, 20)):
        logs = bursty(random, (runs, n, 4), 0.02)
        differences = list(logs[..., 0] - logs[..., 1])
        statistic = contrast(differences[0]) if runs == 1 else over_runs(differences)
        told = compare(Blocks(frame(logs, random), "plt_ms"), 0, 1, CERTAINTY)
        if not _same(told, described(statistic, runs * n, runs, CERTAINTY)):
            failures.append(f"FAILED records of {runs} runs with {n} blocks give {told}")
    for pages in (3, 20):
        logs = bursty(random, (1, 6, 2 * pages), 0.02)
        expected = over_pages([{"run": ratios} for ratios in (logs[0, :, ::2] - logs[0, :, 1::2]).T])
        assert expected is not None
        cells: list[dict[str, Any]] = [
            ALIKE | {"page": f"page {number // 2}", "protocol": ("h2", "http1")[number % 2], "cell": number}
            for number in range(2 * pages)
        ]
        claim = Claim(name="it", subject={"protocol": "h2"}, reference={"protocol": "http1"})
        (row,) = evaluated([claim], Measured(pd.DataFrame(cells), frame(logs, random), CERTAINTY))
        if row.comparison is None or not _same(
            row.comparison, described(expected, 6 * pages, 1, CERTAINTY, pages)
        ):
            failures.append(f"FAILED records of {pages} pages give {row.comparison}")
    return failures


def _same(one: Comparison, other: Comparison) -> bool:
    mine, its = one.figures, other.figures
    return all(
        mine[key] == its[key]
        if isinstance(mine[key], str | int)
        else np.isclose(mine[key], its[key], rtol=1e-9)
        for key in mine
    )


# Published claims.
SPREADS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)  # standard deviation of the logarithm of a load
N = 10
CLAIM = Claim(name="ratio", subject={"protocol": "spdy"}, reference={"protocol": "http1"})
RANGE = replace(CLAIM, published=Published(text="15 to 25 % longer", low=1.15, high=1.25))
BOUND = replace(CLAIM, ratio_within=(1.0, 1000.0), published=Published(text="longer", low=1.0))
INSIDE = 1.2


def published_range(random: np.random.Generator, times: int) -> Table:
    """Verdicts on one claim, by the true ratio and the spread of loads."""
    columns = [f"{100 * spread:g} %" for spread in SPREADS]
    table = Table(f"Published: 1.15 to 1.25, n = {N}, by the spread of a load", ["verdict", *columns])
    for truth, limits in ((INSIDE, (0.0, 1.0)), (1.25, (0.0, 0.05)), (1.35, (0.0, 0.05))):
        by_spread = [_asked(RANGE, random, times, truth, spread) for spread in SPREADS]
        reproduced = [_share(verdicts, ClaimVerdict.REPRODUCED, *limits) for verdicts in by_spread]
        table.add(f"true {truth:g}: reproduced", reproduced)
        table.add(
            f"true {truth:g}: compatible",
            [_share(verdicts, ClaimVerdict.COMPATIBLE) for verdicts in by_spread],
        )
        if truth == INSIDE:
            table.never_falls(f"true {truth:g}: reproduced, with less noise", reproduced[::-1])
    return table


def published_bound(random: np.random.Generator, times: int) -> Table:
    """The same of a bound."""
    columns = [f"{100 * spread:g} %" for spread in SPREADS]
    table = Table(f"Published: above 1, n = {N}, by the spread of a load", ["verdict", *columns])
    for truth, limits in ((1.05, (0.0, 1.0)), (1.0, (0.0, 0.05)), (0.95, (0.0, 0.05))):
        by_spread = [_asked(BOUND, random, times, truth, spread) for spread in SPREADS]
        reproduced = [_share(verdicts, ClaimVerdict.REPRODUCED, *limits) for verdicts in by_spread]
        table.add(f"true {truth:g}: reproduced", reproduced)
        if truth > 1:
            table.never_falls(f"true {truth:g}: reproduced, with less noise", reproduced[::-1])
    return table


def _share(found: Sequence[ClaimVerdict], wanted: ClaimVerdict, low: float = 0.0, high: float = 1.0) -> Share:
    return Share(Counter(found)[wanted], len(found), low, high)


def _asked(
    claim: Claim, random: np.random.Generator, times: int, truth: float, spread: float
) -> list[ClaimVerdict]:
    """What the report says of so many studies of one claim."""
    return [
        row.verdict for study in _studies(random, times, truth, spread) for row in evaluated([claim], study)
    ]


def _studies(random: np.random.Generator, times: int, truth: float, spread: float) -> Iterator[Measured]:
    logs: Array = lognormal(random, (times, N, 2), spread)
    conditions = pd.DataFrame(
        {"page": "p", "engine": "qtwebkit", "protocol": ["http1", "spdy"], "cell": [0, 1]}
    )
    for study in logs:
        times_ms = np.exp(study + np.log([1.0, truth]))
        kept = pd.DataFrame(
            {
                "run": "r",
                "block": np.repeat(np.arange(N), 2),
                "cell": np.tile([0, 1], N),
                "plt_ms": 1000 * times_ms.ravel(),
            }
        )
        yield Measured(conditions, kept, Certainty())


# Attempts that are left out, and time-outs.
CVS = (0.02, 0.05, 0.08)
# The shares that two conditions lost: in a run of spdy-2012, and in one of factors-2012 (13 of 80, 13 of 231).
LOST = ((0.153, 0.065), (13 / 80, 13 / 231))
SECONDS = (4.2, 1.5)
MOST_BIAS = 0.002
ATTEMPTS = 3
STALLED = 0.05  # share of a hit load: above the limit of the rule
LONGER = 0.03  # the most that a hit adds
TRUTH = math.log(SECONDS[0] / SECONDS[1])


def bias(random: np.random.Generator, times: int) -> Table:
    """One very long study: the longer a load, the more likely it is hit, left out by its rule, and made anew."""
    table = Table(
        "What leaving out moves a ratio, in per cent: one condition lost a larger share of its attempts than the other",
        ["CV", *(f"{100 * cv:g} %" for cv in CVS)],
    )
    for lost in LOST:
        shares = " against ".join(f"{100 * share:.1f} %" for share in lost)
        by_cv = [_ratios(random, times, cv, lost) for cv in CVS]
        for name, which in (("what counts, attempts made anew", 0), ("nothing left out", 1)):
            cells = [f"{100 * (math.exp(ratios[which][0]) - 1):+.2f}" for ratios in by_cv]
            table.add(f"{name}, {shares} lost", cells)
        for cv, each in zip(CVS, by_cv, strict=True):
            centre, error = each[0]
            if abs(centre) > math.log1p(MOST_BIAS) + ERRORS * error:
                told = f"{100 * centre:.3f} %, more than {100 * MOST_BIAS:g} %"
                table.fail(f"{shares} lost, CV {100 * cv:g} %: {told}")
    return table


def _ratios(
    random: np.random.Generator, times: int, cv: float, lost: Sequence[float]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Off the truth by how much, with its error: by what counts, and by the first attempts."""
    attempts = [_attempts(random, times, cv, cell, share) for cell, share in enumerate(lost)]
    records = pd.concat(attempts, ignore_index=True)
    kept = sift(records).by_metric
    estimates = []
    for selection in (kept, records[records["attempt"] == 1]):
        ratios = Blocks(selection, "plt_ms").ratios(0, 1) - TRUTH
        estimates.append((float(ratios.mean()), float(ratios.std() / math.sqrt(ratios.size))))
    return estimates[0], estimates[1]


def _attempts(random: np.random.Generator, times: int, cv: float, cell: int, lost: float) -> pd.DataFrame:
    """Of every block the attempts of a condition until one is not hit, three at most."""
    noise = random.normal(0, cv, (times, ATTEMPTS))
    rate = -math.log1p(-lost)
    hit = random.random((times, ATTEMPTS)) < -np.expm1(-rate * np.exp(noise))  # Poisson in time
    longer = np.log1p(hit * random.uniform(0, LONGER, (times, ATTEMPTS)))
    ms = 1000 * SECONDS[cell] * np.exp(noise + longer)
    made = np.cumprod(np.column_stack([np.ones(times, dtype=bool), hit[:, :-1]]), axis=1).astype(bool)
    block, attempt = np.nonzero(made)
    values: dict[str, Any] = {
        "run": "run",
        "block": block,
        "cell": cell,
        "trial": block * 2 + cell,
        "attempt": attempt + 1,
        "page": "page",
        "variant": "plain",
        "engine": "chromium",
        "outcome": "ok",
        "requests": 20,
        "fcp_ms": 100.0,
        "plt_ms": ms[made],
        "link_reading_down_stalled_us": (hit * STALLED * ms * 1000)[made],
    }
    return pd.DataFrame(values)


def time_outs(random: np.random.Generator, times: int) -> Table:
    """Two equal conditions of which a tenth of the loads time out, and one that is 10 % slower."""
    numbers = (10, 20)
    table = Table(
        "A direction is told where a tenth of all loads time out, CV 2 %", ["n", *map(str, numbers)]
    )
    for name, effect, limits in (
        ("equal conditions", 0.0, (0.0, 0.05)),
        ("one 10 % slower", 0.10, (0.0, 1.0)),
    ):
        table.add(
            name, [Share.of((_told(random, n, effect) for _ in range(times)), *limits) for n in numbers]
        )
    return table


def _told(random: np.random.Generator, n: int, effect: float) -> bool:
    logs = random.normal(0, 0.02, (n, 2)) + np.array([math.log1p(effect), 0.0])
    logs[random.random((n, 2)) < 0.1] = math.inf
    frame = pd.DataFrame(
        {
            "run": "run",
            "block": np.repeat(np.arange(n), 2),
            "cell": np.tile([0, 1], n),
            "plt_ms": np.exp(logs).ravel(),
        }
    )
    comparison = compare(Blocks(frame, "plt_ms"), 0, 1, CERTAINTY)
    return judged([comparison])[0].verdict in (Verdict.SLOWER, Verdict.FASTER)
