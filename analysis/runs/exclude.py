"""Which trials enter an estimate: named mechanical rules, and a count of what each of them took away.

A trial is never left out because its time looks odd, and not because it timed out: then its time is the longest of its
condition, which medians and ranks hold as infinite, and nothing else is known of it (`with_time_outs`). It is left out
when it did not do what its condition says, when nothing was observed, or when the machine disturbed it, by the first
rule of the list that applies.
Reasons that the record of one attempt tells stand in harness/study/metrics.py; rules here compare it with others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from analysis.labels import words
from analysis.labels.conditions import cell_text, varying
from harness.errors import Outcome
from harness.model.condition import CACHE, OF_VARIANTS
from harness.model.engine import BROWSERS, Capability
from harness.model.kind import Kind
from harness.model.link import Way
from harness.model.metric import Unit
from harness.model.soundness import UNMEASURABLE, Reason
from harness.study.metrics import metrics_of, reasons_of


@dataclass(frozen=True)
class ExclusionRule:
    """A reason to leave a trial out. `applies` maps records to one boolean per trial, `spares` names the metrics that
    it does not touch; `machine`: the machine was at fault, not the page.
    """

    name: str
    meaning: str
    applies: Callable[[pd.DataFrame], pd.Series[bool]]
    spares: frozenset[str] = frozenset()
    machine: bool = False


TIMED = ("plt_ms", "navigate_ms")  # what a load that timed out took longer over than any other
# Of a link, by direction: what is drawn at random.
OF_CHANCE = tuple(f"link_{what}" for way in Way for what in (f"loss_{way}_percent", f"jitter_{way}_ms"))
METRICS = frozenset(name for kind in Kind for name in metrics_of(kind))
# Of metrics that hold several numbers, each in a column of its own.
PARTED = tuple(
    f"{name}_" for kind in Kind for name, each in metrics_of(kind).items() if each.unit is Unit.READING
)
# Share of the median request count below which a load has lost its page. The median is that of the page's loads in
# the same form of a variant and on the same device, over all engines and protocols. A page may ask for much less on a
# phone.
LEAST_OF_THE_PAGE = 0.5
# Share of the median request count of the engine's own loads below which a load lacks requests. The count at the load
# event varies by a few requests from load to load.
LEAST_OF_ITS_ENGINE = 0.75


def of_the_attempt(reason: Reason) -> ExclusionRule:
    """A mechanical reason as a rule: asked of each record as it is asked right after an attempt."""
    columns = ["_".join(keys) for keys in reason.reads]

    def applies(records: pd.DataFrame) -> pd.Series[bool]:
        values = zip(*(_column(records, column).tolist() for column in columns), strict=True)
        return pd.Series([reason.applies(*row) for row in values], index=records.index, dtype=bool)

    def applies_to_one(records: pd.DataFrame) -> pd.Series[bool]:
        """The same of a single value, asked of each that there is: as of the outcomes, which are few."""
        numbers, values = pd.factorize(_column(records, columns[0]), use_na_sentinel=False)
        told = np.array([reason.applies(value) for value in values.tolist()], dtype=bool)
        return pd.Series(told[numbers], index=records.index, dtype=bool)

    if len(columns) == 1:
        return ExclusionRule(reason.name, reason.meaning, applies_to_one, reason.spares, reason.machine)
    return ExclusionRule(reason.name, reason.meaning, applies, reason.spares, reason.machine)


def _column(records: pd.DataFrame, name: str) -> pd.Series[Any]:
    """A column, without a value where the records do not have it."""
    return records[name] if name in records else pd.Series(None, index=records.index, dtype="object")


# No page is to blame for it, and a wait does not mend it.
OF_THE_TESTBED = frozenset({Outcome.TESTBED_FAILED.value})
PAGE = ("page", "variant", *OF_VARIANTS, CACHE)
PAGE_ON_A_DEVICE = (*PAGE, "device")
PAGE_IN_AN_ENGINE = (*PAGE_ON_A_DEVICE, "engine")


def _groups(records: pd.DataFrame, names: Sequence[str]) -> list[pd.Series[Any]]:
    return [_column(records, name) for name in names]


def _asks_less(records: pd.DataFrame, share: float, of: Sequence[str]) -> pd.Series[bool]:
    """Loads that asked for less than a share of the median of those that ended well and agree in these columns."""
    requests = pd.to_numeric(_column(records, "requests"), errors="coerce")
    counted = requests.where(records["outcome"] == Outcome.OK)
    usual = counted.groupby(_groups(records, of), dropna=False).transform("median")
    return requests < share * usual


def little_of_the_page(records: pd.DataFrame) -> pd.Series[bool]:
    """Loads that ended and asked for less than half of what their page usually asks for on their device, whichever
    engine asks.
    """
    return _asks_less(records, LEAST_OF_THE_PAGE, PAGE_ON_A_DEVICE) & ~_timed_out(records)


def _painted(records: pd.DataFrame) -> pd.Series[bool]:
    """Whether anything was painted: with the load or, of a page that was observed for longer, at any time."""
    return _column(records, "painted").eq(True) | _column(records, "fcp_ms").notna()


def painted_nothing(records: pd.DataFrame) -> pd.Series[bool]:
    """Loads that ended and showed nothing, of a page that other loads showed, in whichever engine.

    An engine that does not tell of a first paint tells whether its viewport is of one colour. Others tell of one, or
    of none two frames after the load event. The load event of a sound load may come before its first paint, and does
    so where it comes early. So the load must also have asked for much less than the page's other loads in its engine.
    """
    blank, painted = _column(records, "blank"), _painted(records)
    shown = (painted | blank.eq(False)).groupby(_groups(records, PAGE), dropna=False).transform("any")
    telling = [engine.value for engine in BROWSERS if engine.can(Capability.FIRST_PAINT)]
    unpainted = ~painted & _column(records, "engine").isin(telling)
    little = _asks_less(records, LEAST_OF_ITS_ENGINE, PAGE_IN_AN_ENGINE)
    return shown & (blank.eq(True) | (unpainted & little)) & ~_timed_out(records)


OF_PAGES = (
    ExclusionRule(
        "little-of-the-page",
        f"the load asked for less than {LEAST_OF_THE_PAGE:.0%} of what the page usually asks for",
        little_of_the_page,
    ),
    ExclusionRule(
        "painted-nothing", "the load showed nothing of a page that other loads showed", painted_nothing
    ),
)


def rules_of(kind: Kind) -> tuple[ExclusionRule, ...]:
    """The rules for runs of a kind, in the order in which they are asked."""
    attempts = tuple(map(of_the_attempt, reasons_of(kind)))
    return (*attempts, *OF_PAGES) if kind is Kind.LOAD else attempts


RULES = rules_of(Kind.LOAD)


@dataclass(frozen=True)
class Sifted:
    """All trials, split. `excluded` has the column `excluded_by`; `rules` are those that were asked.

    `kept` tells nothing of a load that timed out but that it did; its times are in `by_metric` and `timed`.
    `spared` has the last attempt of each trial of which none is kept and no rule touches all metrics: its other metrics
    are blank.
    """

    kept: pd.DataFrame
    excluded: pd.DataFrame
    rules: tuple[ExclusionRule, ...]
    spared: pd.DataFrame

    @cached_property
    def by_metric(self) -> pd.DataFrame:
        """What enters the estimate of a metric: the trials that have a value in its column, time-outs as infinite."""
        trials = pd.concat([self.kept, self.spared]).sort_index() if len(self.spared) else self.kept
        return with_time_outs(trials)

    @cached_property
    def timed(self) -> pd.DataFrame:
        """The trials that are kept, time-outs with infinite times: what enters the median of a condition."""
        return with_time_outs(self.kept)

    @property
    def timed_out(self) -> pd.Series[int]:
        """By cell how many of its trials that count timed out, where some did."""
        return self.kept[_timed_out(self.kept)].groupby("cell").size()

    def by_rule(self) -> dict[str, int]:
        """Every rule with its count, also when it is 0."""
        counts = self.excluded["excluded_by"].value_counts()
        return {rule.name: int(counts.get(rule.name, 0)) for rule in self.rules}

    @property
    def _of_the_machine(self) -> frozenset[str]:
        """The rules that blame the machine or the testbed. An engine that is not there is a testbed that failed."""
        return OF_THE_TESTBED.union(rule.name for rule in self.rules if rule.machine)

    @property
    def lost_to_the_machine(self) -> bool:
        """Whether nothing counts, and nothing but the machine or the testbed was at fault."""
        return self.by_metric.empty and self._of_the_machine.issuperset(self.excluded["excluded_by"])

    def unmeasured(self, cell: int) -> str:
        """Why nothing is known of a condition, where nothing but the machine or the testbed was at fault: `6 of 6
        attempts left out: busy-machine`. Else empty.
        """
        by_rule = self.excluded.loc[self.excluded["cell"] == cell, "excluded_by"].value_counts()
        blamed = UNMEASURABLE | self._of_the_machine
        if by_rule.empty or (self.kept["cell"] == cell).any() or not blamed.issuperset(by_rule.index):
            return ""
        return left_out_text(by_rule.to_dict(), int(by_rule.sum()))

    def by_condition(self, columns: Sequence[str]) -> pd.DataFrame:
        """One row per condition and rule that took something: columns, excluded_by, excluded, recorded."""
        everything = pd.concat([self.kept, self.excluded])
        everything["recorded"] = everything.groupby(list(columns), dropna=False)["trial"].transform("size")
        excluded = everything[everything["excluded_by"].notna()]
        reasons = excluded.groupby([*columns, "excluded_by"], dropna=False)["recorded"]
        return reasons.agg(excluded="size", recorded="first").reset_index()


def drawn_again(kept: pd.DataFrame) -> pd.Index[Any]:
    """Of trials that count, those whose link lost packets or jittered by the very numbers of an earlier one.

    Runs of before 2026-11-30 have the same draws in the same block. They are no observations of their own.
    """
    chances = [pd.to_numeric(_column(kept, name), errors="coerce").fillna(0.0) for name in OF_CHANCE]
    at_random = pd.concat(chances, axis=1).gt(0).any(axis=1)
    first = kept["run"].groupby([kept["cell"], _column(kept, "link_reading_seed")]).transform("first")
    return kept.index[at_random & first.notna() & kept["run"].ne(first)]


def left_out_text(by_rule: Mapping[Any, int], attempts: int) -> str:
    """`24 of 24 attempts left out: busy-machine`; the count of each rule where there are several."""
    counts = {str(rule): count for rule, count in by_rule.items() if count}
    why = [rule if len(counts) == 1 else f"{rule} {count}" for rule, count in counts.items()]
    return f"{sum(counts.values())} of {words.count(attempts, 'attempt')} left out: {', '.join(why)}"


@dataclass(frozen=True)
class Uncounted:
    """A condition without a trial that counts; `by_rule`: how many of its attempts each rule left out."""

    cell: int
    name: str
    by_rule: Mapping[str, int]

    @property
    def unmeasurable(self) -> bool:
        """Whether this machine cannot measure it at all."""
        return UNMEASURABLE.issuperset(self.by_rule)

    def __str__(self) -> str:
        if self.unmeasurable:
            return f"{self.name}: not measurable on this machine: {', '.join(self.by_rule)}"
        return f"{self.name}: {left_out_text(self.by_rule, sum(self.by_rule.values()))}"


def uncounted(cells: pd.DataFrame, sifted: Sifted, columns: Sequence[str]) -> tuple[Uncounted, ...]:
    """Those of the conditions without a trial that counts; their names say what varies in these columns."""
    told = varying(cells, columns)
    without = cells[~cells["cell"].isin(sifted.kept["cell"])]
    rules = sifted.excluded.groupby("cell")["excluded_by"]
    return tuple(
        Uncounted(
            int(cell["cell"]),
            cell_text(cell, told),
            {str(rule): int(n) for rule, n in rules.get_group(cell["cell"]).value_counts().items()},
        )
        for cell in without.to_dict("records")
    )


def all_late(cells: pd.DataFrame, sifted: Sifted, columns: Sequence[str]) -> dict[int, str]:
    """Of the conditions whose trials all timed out, by their cell: `HTTP/2 (TLS): 6 of 6 trials timed out`."""
    told, late = varying(cells, columns), sifted.timed_out
    trials = sifted.kept.groupby("cell").size()
    return {
        int(cell["cell"]): f"{cell_text(cell, told)}: {n} of {words.count(n, 'trial')} timed out"
        for cell in cells.to_dict("records")
        if (n := int(late.get(cell["cell"], 0))) and n == trials[cell["cell"]]
    }


def with_time_outs(records: pd.DataFrame) -> pd.DataFrame:
    """The records with infinite times where the load timed out, and nothing in its other metrics."""
    late = _timed_out(records)
    if not late.any():
        return records
    times = {name: records[name].mask(late, np.inf).astype(float) for name in TIMED if name in records}
    return _broken_off(records).assign(**times)


def _broken_off(records: pd.DataFrame) -> pd.DataFrame:
    """The records without any metric where the load timed out: what it had done until then is no figure of the page."""
    late = _timed_out(records)
    if not late.any():
        return records
    observed = [name for name in records if name in METRICS or str(name).startswith(PARTED)]
    return records.assign(**{str(name): records[name].mask(late) for name in observed})


def time_outs(records: pd.DataFrame) -> int:
    """How many of the trials timed out."""
    return int(_timed_out(records).sum())


def _timed_out(records: pd.DataFrame) -> pd.Series[bool]:
    return _column(records, "outcome").eq(Outcome.PAGE_TIMEOUT.value)


def sift(records: pd.DataFrame, rules: Sequence[ExclusionRule] = RULES) -> Sifted:
    """Split records into kept and excluded; the first rule that applies names the reason."""
    reason = pd.Series("", index=records.index, dtype="str")
    touched = {
        name: pd.Series(False, index=records.index) for name in sorted(_spared_by(rules) & {*records.columns})
    }
    for rule in rules:
        applies = rule.applies(records)
        reason = reason.mask((reason == "") & applies, rule.name)
        for name in touched.keys() - rule.spares:
            touched[name] |= applies
    kept = reason == ""
    return Sifted(
        kept=_broken_off(records[kept]),
        excluded=records[~kept].assign(excluded_by=reason[~kept]),
        rules=tuple(rules),
        spared=_spared(records, kept, touched),
    )


def _spared_by(rules: Sequence[ExclusionRule]) -> frozenset[str]:
    return frozenset[str]().union(*(rule.spares for rule in rules))


def _spared(
    records: pd.DataFrame, kept: pd.Series[bool], touched: Mapping[str, pd.Series[bool]]
) -> pd.DataFrame:
    """The last attempt of every trial without one that is kept, with nothing in the metrics that a rule touches."""
    left = pd.Series(False, index=records.index)
    for column in touched.values():
        left |= ~kept & ~column
    if not left.any():
        return records[left]
    trials = [records[name] for name in ("run", "trial")]
    without = ~kept.groupby(trials).transform("any")
    attempts = records[left & without].sort_values("attempt", kind="stable")
    attempts = attempts[~attempts.duplicated(["run", "trial"], keep="last")].sort_index()
    blank = {
        name: attempts[name].where(~touched[name][attempts.index]) if name in touched else float("nan")
        for name in METRICS.intersection(attempts.columns)
    }
    return attempts.assign(**blank)
