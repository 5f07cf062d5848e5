"""Two made-up runs of one study, asked of the very functions of `coldload compare`: what it tells of them, and how well
the told sizes hold.

A run has ten settings of four protocols, of which the first is measured twice. In run B a tenth of the conditions is
slower. Times vary independently of each other, as blocks of two runs have nothing in common.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.comparing.between import Change, changes
from analysis.comparing.matching import ConditionRow, Side, matched
from analysis.comparing.pair import claim_changes
from analysis.runs.exclude import Sifted
from analysis.statistics import CONFIDENCE
from analysis.statistics.compare import Certainty, Comparison, Verdict, log_of
from benchmarks.simulation.arrays import Array, Shape, bursty, drifting, lognormal
from benchmarks.simulation.asrecords import ALIKE
from benchmarks.simulation.shares import Share, Table
from benchmarks.simulation.telling import CV, EFFECTS
from harness.model.kind import MAIN_METRIC
from harness.study.claim import Claim

NUMBERS = (5, 10, 20, 40)
SETTINGS = 10
PROTOCOLS = ("http1", "http1-close", "https1", "h2")  # the first is the baseline
DIRECTED = (Verdict.FASTER, Verdict.SLOWER)
NAMES = (*ALIKE, "page", "protocol")
CONDITIONS: tuple[ConditionRow, ...] = tuple(
    ALIKE
    | {"page": "page", "link": f"link {setting}", "rtt_ms": 10.0 * (setting + 1), "protocol": protocol}
    | {"cell": setting * len(PROTOCOLS) + number}
    for setting in range(SETTINGS)
    for number, protocol in enumerate(PROTOCOLS)
)
TWINS: tuple[ConditionRow, ...] = tuple(
    {**each, "cell": len(CONDITIONS) + number} for number, each in enumerate(CONDITIONS[:: len(PROTOCOLS)])
)
CELLS = len(CONDITIONS) + len(TWINS)
SLOWER = tuple(setting * len(PROTOCOLS) + 1 for setting in range(len(CONDITIONS) // 10))  # no baselines
CLAIMS = tuple(
    Claim(name=protocol, subject={"protocol": protocol}, reference={"protocol": PROTOCOLS[0]})
    for protocol in PROTOCOLS[1:]
)
LIMITS = (0.94, 0.97)
SHAPES: Mapping[str, Shape] = {"lognormal": lognormal, "drifting": drifting, "bursty": bursty}


def side(name: str, logs: Array) -> Side:
    """A run of which every trial counts, from its log times by block and cell."""
    blocks = len(logs)
    kept = pd.DataFrame(
        {
            "run": name,
            "block": np.repeat(np.arange(1, blocks + 1), CELLS),
            "cell": np.tile(np.arange(CELLS), blocks),
            MAIN_METRIC: 1000 * np.exp(logs).ravel(),
        }
    )
    nothing = kept.head(0)
    return Side(name, NAMES, CONDITIONS, TWINS, Sifted(kept, nothing.assign(excluded_by=""), (), nothing))


def truths(effect: float) -> Array:
    """The true log ratio of each cell of B to that of A."""
    ratios = np.zeros(CELLS)
    ratios[list(SLOWER)] = math.log1p(effect)
    return ratios


def pairs_of_runs(
    random: np.random.Generator, times: int, n: int, shape: Shape = lognormal
) -> Iterator[tuple[Array, Array]]:
    """Log times of A and of B, which do not differ."""
    for _ in range(times):
        yield shape(random, (1, n, CELLS), CV)[0], shape(random, (1, n, CELLS), CV)[0]


def compared(a: Array, b: Array) -> tuple[Change, ...]:
    """What `coldload compare` finds in the main metric."""
    sides = side("A", a), side("B", b)
    return changes(*sides, matched(*sides), MAIN_METRIC, Certainty())


def sizes(random: np.random.Generator, times: int) -> Table:
    """Of a comparison the share of told sizes that hold the truth, all where none is told: 1 - false coverage rate."""
    columns = [f"{100 * effect:g} %, n = {n}" for effect in EFFECTS for n in NUMBERS]
    table = Table(
        f"Sizes that `compare` tells of two runs and that hold the truth: {len(CONDITIONS)} conditions, a tenth of "
        f"them slower in B, CV {100 * CV:g} %",
        ["true effect", *columns],
    )
    reports = [_sizes(random, times, n, effect) for effect in EFFECTS for n in NUMBERS]
    for number, (name, low, high) in enumerate(
        (
            ("B/A as told, by report", *LIMITS),
            ("B/A plain 95 %, by report", 0.0, 1.0),
            ("against the baseline as told, by report", LIMITS[0], 1.0),
            ("against the baseline plain 95 %, by report", 0.0, 1.0),
        )
    ):
        table.add(name, [Share(sum(shares[number]), times, low, high) for shares in reports])
    return table


def _sizes(random: np.random.Generator, times: int, n: int, effect: float) -> list[list[float]]:
    """By report the share of told sizes that hold: of B/A as told and plain, and of the same against the baseline."""
    shares: list[list[float]] = [[], [], [], []]
    truth = truths(effect)
    for a, b in pairs_of_runs(random, times, n):
        made = compared(a, b + truth)
        direct = [
            (change.comparison, float(truth[change.condition["cell"]]))
            for change in made
            if change.judgement.verdict in DIRECTED
        ]
        relative = [
            (change.relative.comparison, float(truth[change.condition["cell"]]))
            for change in made
            if change.relative and change.relative.judgement.verdict in DIRECTED
        ]
        for number, told in enumerate((direct, relative)):
            shares[2 * number].append(_holding(told))
            shares[2 * number + 1].append(_holding([(seen.at(CONFIDENCE), true) for seen, true in told]))
    return shares


def _holding(told: Sequence[tuple[Comparison, float]]) -> float:
    """The share of the intervals that hold the truth; 1 where there is none."""
    held = [log_of(seen.low) <= true <= log_of(seen.high) for seen, true in told]
    return sum(held) / len(held) if held else 1.0


QUESTIONS = (
    "any direction told of B/A",
    "any direction told against the baseline",
    "conditions beyond the floor",
)


def unchanged(random: np.random.Generator, times: int) -> Table:
    """Two runs that do not differ: whether any direction is told, and which conditions lie beyond the floor."""
    table = Table(f"Two runs of an unchanged study, CV {100 * CV:g} %", ["n", *map(str, NUMBERS)])
    for name, shape in SHAPES.items():
        studies = [_answers(random, times, n, shape) for n in NUMBERS]
        for number, question in enumerate(QUESTIONS):
            table.add(f"{question}, {name}", [Share.of(answers[number], 0.0, 0.05) for answers in studies])
    return table


def _answers(random: np.random.Generator, times: int, n: int, shape: Shape) -> tuple[list[bool], ...]:
    """To each of the questions: by comparison, and of the floor by condition."""
    direct, relative, beyond = list[bool](), list[bool](), list[bool]()
    for a, b in pairs_of_runs(random, times, n, shape):
        made = compared(a, b)
        direct.append(any(change.judgement.verdict in DIRECTED for change in made))
        relative.append(
            any(change.relative.judgement.verdict in DIRECTED for change in made if change.relative)
        )
        beyond += [not change.below_floor for change in made]
    return direct, relative, beyond


CLAIM_NUMBERS, CLAIM_EFFECTS = (5, 20), (0.03, 0.10)


def claims(random: np.random.Generator, times: int) -> Table:
    """Claims that are as true in A as in B, of which some have another verdict there: whether their intervals hold."""
    columns = [f"{100 * effect:g} %, n = {n}" for effect in CLAIM_EFFECTS for n in CLAIM_NUMBERS]
    table = Table(
        f"Claims with another verdict in B, by chance alone: {len(CLAIMS) * SETTINGS} of them, CV {100 * CV:g} %",
        ["true effect", *columns],
    )
    held: list[Share | str] = []
    shown: list[Share | str] = []
    for effect in CLAIM_EFFECTS:
        for n in CLAIM_NUMBERS:
            studies = [_claims(random, n, effect) for _ in range(times)]
            held.append(Share(sum(_holding(intervals) for intervals in studies), times, LIMITS[0]))
            shown.append(Share.of(bool(intervals) for intervals in studies))
    table.add("intervals that hold the truth, by report", held)
    table.add("reports that name any such claim", shown)
    return table


def _claims(random: np.random.Generator, n: int, effect: float) -> list[tuple[Comparison, float]]:
    """The intervals that are shown of claims with another verdict, each with the truth."""
    truth = truths(effect)
    ((a, b),) = pairs_of_runs(random, 1, n)
    made = claim_changes(CLAIMS, side("A", a + truth), side("B", b + truth), Certainty())
    return [
        (row.comparison, float(truth[row.pairs[0][0]]))
        for change in made.changed
        for row in (change.a, change.b)
        if row.comparison is not None
    ]
