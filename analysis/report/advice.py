"""Measured advice on a page: the changes that a study has tried one at a time, the most worthwhile first.

Every figure is one of the study's own claims (`analysis.evaluation.results`), as its report tells it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.claims.claimresult import ClaimRow
from analysis.claims.claims import UNTOLD
from analysis.evaluation.results import Results
from analysis.labels import words
from analysis.labels.pages import templates
from analysis.report.facts import progress
from analysis.statistics.compare import NOTHING
from analysis.statistics.plainly import AnswerKind, ToldEffect, value_text
from harness.study.advising import Alternative

SCHEMA = 1
JSON, HTML, TEMPLATE = "advice.json", "advice.html", "advice.html.j2"
COSTS = ("bytes_down", "requests")  # metrics of which advice tells how much less there is
FILES_SHOWN = 5


class AdviceKind(StrEnum):
    """What became of an alternative over all links; the values are headings, in this order."""

    HELPS = "saves time"
    NOTHING = "measured to change nothing that is noticed"
    HARMS = "makes the page slower"
    OPEN = "not known yet"


@dataclass(frozen=True)
class Saving:
    """What an alternative does on one link. `costs`: by metric, how much less there is of it (medians)."""

    link: str
    effect: ToldEffect
    costs: Mapping[str, float]

    @property
    def saved_ms(self) -> float:
        return self._saved(self.effect.comparison.ratio)

    @property
    def text(self) -> str:
        """`cable: saves 1.17 s of 3.78 s (31 %, between 29 and 33)`."""
        return f"{self.link}: {self.effect.predicate}"

    def to_json(self) -> dict[str, Any]:
        seen = self.effect.comparison
        figures = {
            "as_archived_ms": self.effect.reference,
            "saved_ms": self.saved_ms,
            "saved_low_ms": self._saved(seen.high),
            "saved_high_ms": self._saved(seen.low),
            "ratio": seen.ratio,
            "ratio_low": seen.low,
            "ratio_high": seen.high,
            **{f"fewer_{name}": value for name, value in self.costs.items()},
        }
        known = {name: value if math.isfinite(value) else None for name, value in figures.items()}
        return {"link": self.link, "answer": self.effect.kind, **known, "blocks": seen.n, "text": self.text}

    def _saved(self, ratio: float) -> float:
        return self.effect.reference * (1 - ratio)


@dataclass(frozen=True)
class Advised:
    """An alternative with what it does on every link."""

    alternative: Alternative
    savings: tuple[Saving, ...]

    @property
    def kind(self) -> AdviceKind:
        """What helps on one link helps; what is open on one is open unless another one decides."""
        kinds = {each.effect.kind for each in self.savings}
        if AnswerKind.LESS in kinds:
            return AdviceKind.HELPS
        if AnswerKind.MORE in kinds:
            return AdviceKind.HARMS
        if not kinds or {AnswerKind.OPEN, AnswerKind.NOTHING} & kinds:
            return AdviceKind.OPEN
        return AdviceKind.NOTHING

    @property
    def is_compared(self) -> bool:
        """Whether any block holds it and the page as archived."""
        return any(each.effect.kind is not AnswerKind.NOTHING for each in self.savings)

    @property
    def saved_ms(self) -> float:
        """A mean over the links on which anything was measured; NaN without any."""
        known = [each.saved_ms for each in self.savings if math.isfinite(each.saved_ms)]
        return math.fsum(known) / len(known) if known else math.nan

    @property
    def costs(self) -> str:
        """`482 kB and 4 requests less`, by the first link: they hardly depend on it."""
        found = self.savings[0].costs if self.savings else {}
        bytes_less, requests = (found.get(name, math.nan) for name in COSTS)
        said = (
            [f"{value_text(abs(bytes_less), COSTS[0])} {_less(bytes_less)}"] if abs(bytes_less) >= 500 else []
        )
        said += (
            [f"{words.count(round(abs(requests)), 'request')} {_less(requests)}"]
            if abs(requests) >= 1
            else []
        )
        return " and ".join(said)

    @property
    def text(self) -> str:
        """One line for the terminal."""
        seen = [each.text for each in self.savings] or ["was not loaded in the time there was"]
        parts = [*seen, self.costs, self.alternative.takes]
        return f"{self.alternative.name}: {'; '.join(filter(None, parts))}"

    @property
    def files(self) -> str:
        """The first files that differ, and how many more."""
        shown = ", ".join(self.alternative.files[:FILES_SHOWN])
        more = len(self.alternative.files) - FILES_SHOWN
        return f"{shown} and {more} more" if more > 0 else shown

    def to_json(self) -> dict[str, Any]:
        known = self.alternative
        return {
            "name": known.name,
            "kind": self.kind,
            "does": known.does,
            "takes": known.takes,
            "changes": dict(known.changes),
            "repeat_view": known.repeat_view,
            "files": list(known.files),
            "links": [each.to_json() for each in self.savings],
        }


@dataclass(frozen=True)
class Advice:
    """`advised` in the order of what they save. `idle` change nothing of this page, and `untried` had no time: each by
    its name with the reason. `provisional`: what is missing of the run, else empty.
    """

    page: str
    protocol: str
    run: Path
    advised: tuple[Advised, ...]
    idle: Mapping[str, str] = field(default_factory=dict)
    untried: Mapping[str, str] = field(default_factory=dict)
    provisional: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was compared with anything."""
        return not any(each.is_compared for each in self.advised)

    def of(self, kind: AdviceKind) -> list[Advised]:
        return [each for each in self.advised if each.kind is kind]

    def lines(self) -> Iterator[str]:
        """For the terminal: a line for each alternative."""
        if self.provisional:
            yield f"provisional: {self.provisional}"
        for kind in AdviceKind:
            mine = self.of(kind)
            if mine:
                yield f"{kind}:"
            for number, each in enumerate(mine, 1):
                yield f"  {number}. {each.text}" if kind is AdviceKind.HELPS else f"  {each.text}"
        if self.idle:
            yield f"nothing to do on this page: {', '.join(self.idle)}"
        for why in dict.fromkeys(self.untried.values()):
            yield f"not tried ({why}): {', '.join(name for name in self.untried if self.untried[name] == why)}"

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "page": self.page,
            "protocol": self.protocol,
            "run": self.run.name,
            "provisional": self.provisional or None,
            "alternatives": [each.to_json() for each in self.advised],
            "nothing_to_do": dict(self.idle),
            "not_tried": dict(self.untried),
        }

    def html(self) -> str:
        """A page of its own beside report.html."""
        return (
            templates("analysis.report")
            .get_template(TEMPLATE)
            .render(advice=self, groups=[(kind, self.of(kind)) for kind in AdviceKind])
        )

    def write(self) -> Path:
        """Write advice.json and advice.html into the run; the path of the latter."""
        text = json.dumps(self.to_json(), indent=1, allow_nan=False)
        (self.run / JSON).write_text(text + "\n", encoding="utf-8")
        path = self.run / HTML
        path.write_text(self.html(), encoding="utf-8")
        return path


def advice(
    results: Results,
    alternatives: Sequence[Alternative],
    protocol: str,
    *,
    idle: Mapping[str, str],
    untried: Mapping[str, str],
) -> Advice:
    """The alternatives of a study of one page, ranked by the claims that bear their names."""
    advised = [
        Advised(
            each, tuple(_savings(results, [row for row in results.claims if row.claim.name == each.name]))
        )
        for each in alternatives
    ]
    ranked = sorted(advised, key=lambda each: -each.saved_ms if math.isfinite(each.saved_ms) else math.inf)
    run = results.runs[0]
    page = str(results.cells["page"].iloc[0])
    return Advice(page, protocol, run.directory, tuple(ranked), idle, untried, progress(results) or "")


def _savings(results: Results, rows: Sequence[ClaimRow]) -> Iterator[Saving]:
    medians = results.cells.set_index("cell")["median"]
    kept = results.sifted.kept
    costs = kept.groupby("cell")[[name for name in COSTS if name in kept]].median()
    for row in rows:
        subject, reference = row.pairs[0]
        if reference is None:
            raise AssertionError(f"claim {row.claim.name} compares nothing")
        effect = ToldEffect(
            "",
            row.comparison or NOTHING,
            row.judgement or UNTOLD,
            reference=float(medians[reference]),
            metric=row.claim.metric,
            margin=results.margin,
            floor=row.floor,
            same=row.idle,
        )
        yield Saving(str(row.setting.get("link", "")), effect, _less_of(costs, subject, reference))


def _less_of(costs: pd.DataFrame, subject: int, reference: int) -> dict[str, float]:
    if subject not in costs.index or reference not in costs.index:
        return {}
    return {name: float(costs[name][reference] - costs[name][subject]) for name in map(str, costs)}


def _less(value: float) -> str:
    return "less" if value > 0 else "more"
