"""Which trials enter an estimate: named mechanical rules, and a count of what each of them took away.

A trial is never left out because its time looks odd. It is left out when it did not do what its condition
says, when nothing was observed, or when the machine was too busy to keep the link's times, by the first rule of
the list that applies. Another rule is one more line of RULES.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from harness.model.engine import Engine
from harness.outcome import Outcome

MEANINGS = {
    Outcome.PAGE_TIMEOUT: "the page did not finish loading in time",
    Outcome.PAGE_ERROR: "the browser could not load the page",
    Outcome.WRONG_PROTOCOL: "a request did not use the protocol of its condition",
    Outcome.MISSING_OBJECTS: "objects of the page were not served",
    Outcome.TESTBED_FAILED: "a part of the testbed failed",
}


@dataclass(frozen=True)
class ExclusionRule:
    """A reason to leave a trial out. `applies` maps records to one boolean per trial."""

    name: str
    meaning: str
    applies: Callable[[pd.DataFrame], pd.Series[bool]]


def outcome_is(outcome: str, meaning: str) -> ExclusionRule:
    return ExclusionRule(outcome, meaning, lambda records: records["outcome"] == outcome)


def above(name: str, meaning: str, column: str, limit: float) -> ExclusionRule:
    """Trials whose `column` is above `limit`; where it was not observed, the rule does not apply."""

    def applies(records: pd.DataFrame) -> pd.Series[bool]:
        if column not in records:
            return pd.Series(False, index=records.index)
        return pd.to_numeric(records[column], errors="coerce") > limit

    return ExclusionRule(name, meaning, applies)


# The emulator's own lateness. With real-time scheduling the 99th percentile is some 0.05 ms and the worst packet of a
# load some 1 ms late, also on a busy machine; beyond these limits the link was not the one of the condition.
LATE_P99_LIMIT_US = 1000
LATE_MAX_LIMIT_US = 20_000

# Browser and servers want the cores too: docs/results.md has what other programs' use of them did to load times.
FOREIGN_CPU_LIMIT = 0.25

# What is no page any more: of the median of the page's loads, in that variant, in all engines and by all protocols.
LEAST_OF_THE_PAGE = 0.5


def late(way: str) -> ExclusionRule:
    """Trials over a link that a starved machine made late."""
    often = above("", "", f"link_reading_{way}_lateness_p99_us", LATE_P99_LIMIT_US)
    badly = above("", "", f"link_reading_{way}_lateness_max_us", LATE_MAX_LIMIT_US)
    return ExclusionRule(
        f"late-packets-{way}",
        f"the machine was starved: over 1 % of the packets {way} were delivered more than 1 ms late, or one over 20 ms",
        lambda records: often.applies(records) | badly.applies(records),
    )


def _column(records: pd.DataFrame, name: str) -> pd.Series[Any]:
    """A column, without a value where the records do not have it."""
    return records[name] if name in records else pd.Series(None, index=records.index, dtype="object")


def _by_page(records: pd.DataFrame) -> list[pd.Series[Any]]:
    return [_column(records, name) for name in ("page", "variant")]


def _usual_requests(records: pd.DataFrame) -> pd.Series[Any]:
    """Of each trial's page and variant: the median of what its loads that ended well asked for."""
    requests = pd.to_numeric(_column(records, "requests"), errors="coerce")
    counted = requests.where(records["outcome"] == Outcome.OK)
    return counted.groupby(_by_page(records), dropna=False).transform("median")


def little_of_the_page(records: pd.DataFrame) -> pd.Series[bool]:
    """Loads that asked for less than half of what their page usually asks for."""
    requests = pd.to_numeric(_column(records, "requests"), errors="coerce")
    return requests < LEAST_OF_THE_PAGE * _usual_requests(records)


def painted_nothing(records: pd.DataFrame) -> pd.Series[bool]:
    """Loads that showed nothing, of a page that other loads showed.

    Chromium tells of a first paint, or of none: then it must also have asked for less than usual, since a small page
    may have its load event before its first paint. QtWebKit tells whether its viewport is of one colour.
    """
    blank, painted = _column(records, "blank"), _column(records, "fcp_ms").notna()
    shown = (painted | blank.eq(False)).groupby(_by_page(records), dropna=False).transform("any")
    telling = [engine.value for engine in Engine if engine.traits.tells_of_paints]
    unpainted = ~painted & _column(records, "engine").isin(telling)
    fewer = pd.to_numeric(_column(records, "requests"), errors="coerce") < _usual_requests(records)
    return shown & (blank.eq(True) | (unpainted & fewer))


RULES: tuple[ExclusionRule, ...] = (
    *(outcome_is(outcome, meaning) for outcome, meaning in MEANINGS.items()),
    ExclusionRule(
        "unknown-outcome",
        "the record's outcome is not one this version knows",
        lambda records: ~records["outcome"].isin([outcome.value for outcome in Outcome]),
    ),
    ExclusionRule(
        "no-load-time",
        "the load ended, but its page-load time was not observed",
        lambda records: ~(records["plt_ms"] > 0),
    ),
    ExclusionRule(
        "little-of-the-page",
        f"the load asked for less than {LEAST_OF_THE_PAGE:.0%} of what the page usually asks for",
        little_of_the_page,
    ),
    ExclusionRule(
        "painted-nothing", "the load showed nothing of a page that other loads showed", painted_nothing
    ),
    late("down"),
    late("up"),
    above(
        "busy-machine",
        f"other programs had more than {FOREIGN_CPU_LIMIT:.0%} of the machine's cores while the page loaded",
        "foreign_cpu_share",
        FOREIGN_CPU_LIMIT,
    ),
)


@dataclass(frozen=True)
class Sifted:
    """All trials, split. `excluded` has the column `excluded_by`; `rules` are those that were asked."""

    kept: pd.DataFrame
    excluded: pd.DataFrame
    rules: tuple[ExclusionRule, ...]

    def by_rule(self) -> dict[str, int]:
        """Every rule with its count, also when it is 0."""
        counts = self.excluded["excluded_by"].value_counts()
        return {rule.name: int(counts.get(rule.name, 0)) for rule in self.rules}

    def by_condition(self, columns: Sequence[str]) -> pd.DataFrame:
        """One row per condition and rule that took something: columns, excluded_by, excluded, recorded."""
        everything = pd.concat([self.kept, self.excluded])
        everything["recorded"] = everything.groupby(list(columns), dropna=False)["trial"].transform("size")
        excluded = everything[everything["excluded_by"].notna()]
        reasons = excluded.groupby([*columns, "excluded_by"], dropna=False)["recorded"]
        return reasons.agg(excluded="size", recorded="first").reset_index()


def sift(records: pd.DataFrame, rules: Sequence[ExclusionRule] = RULES) -> Sifted:
    """Split records into kept and excluded; the first rule that applies names the reason."""
    reason = pd.Series("", index=records.index, dtype="str")
    for rule in rules:
        reason = reason.mask((reason == "") & rule.applies(records), rule.name)
    kept = reason == ""
    return Sifted(
        kept=records[kept],
        excluded=records[~kept].assign(excluded_by=reason[~kept]),
        rules=tuple(rules),
    )
