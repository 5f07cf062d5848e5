"""Measured advice on a page: the changes that a study has tried one at a time, the most worthwhile first.

Every figure is one of the study's own claims (`analysis.evaluation.results`), as its report tells it, but for one: the
headline picks out what saved most, because it did, so that its bounds are those of one that was chosen among all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.claims.claimresult import ClaimRow
from analysis.evaluation.results import Results
from analysis.labels import words
from analysis.labels.markup import templates
from analysis.report.facts import progress
from analysis.statistics.compare import NOTHING, UNTOLD
from analysis.statistics.estimate import is_open
from analysis.statistics.plainly import AnswerKind, ToldEffect, value_text
from harness.study.advising import Alternative, Choices

SCHEMA = 1
JSON, HTML, TEMPLATE = "advice.json", "advice.html", "advice.html.j2"
COSTS = ("bytes_down", "requests")  # metrics of which advice tells how much less there is
FILES_SHOWN = 40


class AdviceKind(StrEnum):
    """What became of an alternative over all links; the values are headings, in this order."""

    HELPS = "saves time"
    NOTHING = "measured to change nothing that is noticed"
    HARMS = "makes the page slower"
    OPEN = "not known yet"


@dataclass(frozen=True)
class Saving:
    """What an alternative does on one link. `costs`: by metric, how much less there is of it (medians).

    What time-outs leave open is NaN.
    """

    link: str
    effect: ToldEffect
    costs: Mapping[str, float]

    @property
    def saved_ms(self) -> float:
        return self._saved(self.effect.comparison.ratio)

    @property
    def least_ms(self) -> float:
        """What is saved; where time-outs leave that open, the end of the interval that is known: of the reference at
        least so much, of the subject at most. Minus infinity where the subject leaves that end open, too.
        """
        seen = self.effect.comparison
        if seen.ratio == 0:
            return self._saved(seen.high)
        if math.isinf(seen.ratio):
            return self._saved(seen.low) if math.isfinite(seen.low) else -math.inf
        return self.saved_ms

    @property
    def helps(self) -> bool:
        return self.effect.kind is AnswerKind.LESS

    @property
    def share(self) -> float:
        """How much of the time is saved, 0 to 1, at least; 0 where nothing is found to be saved."""
        seen = self.effect.comparison
        least = next((ratio for ratio in (seen.ratio, seen.high) if not is_open(ratio)), 1.0)
        return 1 - least if self.helps else 0.0

    def picked(self, among: int) -> str:
        """As the one that saved most among so many: `1.17 s of 3.78 s on cable (between 1.05 s and 1.29 s)`."""
        seen = self.effect.comparison.chosen(1, among)
        least, most = self._saved(seen.high), self._saved(seen.low)
        if math.isfinite(least) and math.isfinite(most):
            between = f"between {self._amount(least)} and {self._amount(most)}"
            bounds = between if least > 0 else f"at most {self._amount(most)}, perhaps nothing"
        else:
            bounds = f"at least {self._amount(least)}" if least > 0 else "how much is not known"
        of = f"of {self.effect.base} on {self.link}"
        if math.isfinite(self.saved_ms):
            return f"{self._amount(self.saved_ms)} {of} ({bounds})"
        return f"{bounds} {of}" if least > 0 else f"an unknown amount {of}"

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
        known |= {name: None for name in ("ratio", "ratio_low", "ratio_high") if is_open(figures[name])}
        return {"link": self.link, "answer": self.effect.kind, **known, "blocks": seen.n, "text": self.text}

    def _saved(self, ratio: float) -> float:
        saved = self.effect.reference * (1 - ratio)
        return math.nan if is_open(ratio) or math.isinf(saved) else saved

    def _amount(self, ms: float) -> str:
        return value_text(ms, self.effect.metric)


@dataclass(frozen=True)
class Advised:
    """An alternative with what it does on every link."""

    alternative: Alternative
    savings: tuple[Saving, ...]

    @property
    def kind(self) -> AdviceKind:
        """What helps on one link helps; what is open on one is open unless another one decides."""
        kinds = {saving.effect.kind for saving in self.savings}
        if AnswerKind.LESS in kinds:
            return AdviceKind.HELPS
        if AnswerKind.MORE in kinds:
            return AdviceKind.HARMS
        if not kinds or {AnswerKind.OPEN, AnswerKind.NOTHING, AnswerKind.CHANCE} & kinds:
            return AdviceKind.OPEN
        return AdviceKind.NOTHING

    @property
    def is_compared(self) -> bool:
        """Whether any block holds it and the page as archived."""
        return any(saving.effect.kind is not AnswerKind.NOTHING for saving in self.savings)

    @property
    def saved_ms(self) -> float:
        """A mean over the links on which anything was measured, of what is open the end that is known; NaN without any.
        Minus infinity where it timed out on one of them, and no such end is known.
        """
        known = [saving.least_ms for saving in self.savings if not math.isnan(saving.least_ms)]
        return math.fsum(known) / len(known) if known else math.nan

    @property
    def costs(self) -> str:
        """`482 kB and 4 requests less`, by the first link: they hardly depend on it."""
        amounts = self.savings[0].costs if self.savings else {}
        bytes_less, requests = (amounts.get(name, math.nan) for name in COSTS)
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
        seen = [saving.text for saving in self.savings] or ["was not loaded in the time there was"]
        parts = [*seen, self.costs, self.alternative.takes]
        return f"{self.alternative.name}: {'; '.join(filter(None, parts))}"

    @property
    def count(self) -> str:
        """`15 files`; of what is fetched from another place, `6 hosts`."""
        files = self.alternative.files
        return words.count(len(files), "file" if files and "://" in files[0] else "host")

    @property
    def files(self) -> list[str]:
        """The files that differ, the first ones, and how many more."""
        shown = [*self.alternative.files[:FILES_SHOWN]]
        more = len(self.alternative.files) - FILES_SHOWN
        return [*shown, f"and {more} more"] if more > 0 else shown

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
            "links": [saving.to_json() for saving in self.savings],
        }


@dataclass(frozen=True)
class Advice:
    """`advised` in the order of what they save, of `choices`. `provisional`: what is missing of the run, else empty."""

    page: str
    run: str
    choices: Choices
    advised: tuple[Advised, ...]
    provisional: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was compared with anything."""
        return not any(alternative.is_compared for alternative in self.advised)

    def of(self, kind: AdviceKind) -> list[Advised]:
        return [alternative for alternative in self.advised if alternative.kind is kind]

    @property
    def untried(self) -> dict[str, list[str]]:
        """What had no time, by the reason."""
        reasons: dict[str, list[str]] = {}
        for name, why in self.choices.untried.items():
            reasons.setdefault(why, []).append(name)
        return reasons

    @property
    def answer(self) -> str:
        """The first sentence: what saves most, on which link how much.

        The interval of a size that was picked out as the largest of m is of the level 1 - 5 %/m, of a run with looks
        1 - 2.5 %/m: as wide as it has to be to hold the truth in 95 % whichever is picked.
        """
        helps, measured = self.of(AdviceKind.HELPS), [change for change in self.advised if change.is_compared]
        if not measured:
            return f"None of {words.count(len(self.advised), 'change')} could be measured yet."
        of = f"Of {words.count(len(measured), 'change')} measured"
        left = len(self.advised) - len(measured)
        rest = f" {left} more {'is' if left == 1 else 'are'} not measured yet." if left else ""
        if helps:
            best, verb = helps[0], "saves" if len(helps) == 1 else "save"
            most = words.listed([saving.picked(len(measured)) for saving in best.savings if saving.helps])
            when = " in repeat views" * best.alternative.repeat_view
            wider = (
                f"; it was picked out as the largest of {len(measured)}, so these bounds are wider than those below"
                if len(measured) > 1
                else ""
            )
            best_saved = f"{best.alternative.name} saved most here{when}: {most}{wider}."
            return f"{of}, {len(helps)} {verb} time. {best_saved}{rest}"
        unknown = sum(change.kind is AdviceKind.OPEN for change in measured)
        if unknown:
            return f"{of}, none is known to save time yet; {unknown} may.{rest}"
        return f"{of}, none saves time that anybody would notice.{rest}"

    def lines(self) -> Iterator[str]:
        """For the terminal: a line for each alternative."""
        yield self.answer
        for kind in AdviceKind:
            mine = self.of(kind)
            if mine:
                yield f"{kind}:"
            for number, each in enumerate(mine, 1):
                yield f"  {number}. {each.text}" if kind is AdviceKind.HELPS else f"  {each.text}"
        if self.choices.idle:
            yield f"nothing to do on this page: {', '.join(self.choices.idle)}"
        for why, names in self.untried.items():
            yield f"not tried ({why}): {', '.join(names)}"

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "page": self.page,
            "protocol": self.choices.protocol,
            "run": self.run,
            "provisional": self.provisional or None,
            "answer": self.answer,
            "alternatives": [alternative.to_json() for alternative in self.advised],
            "nothing_to_do": dict(self.choices.idle),
            "not_tried": dict(self.choices.untried),
        }

    def html(self) -> str:
        """A page of its own beside report.html."""
        groups = [(kind, self.of(kind)) for kind in AdviceKind]
        return (
            templates("analysis.report")
            .get_template(TEMPLATE)
            .render(advice=self, groups=groups, ranked=AdviceKind.HELPS)
        )

    def write(self, directory: Path) -> Path:
        """Write advice.json and advice.html into a directory; the path of the latter."""
        text = json.dumps(self.to_json(), indent=1, allow_nan=False)
        (directory / JSON).write_text(text + "\n", encoding="utf-8")
        path = directory / HTML
        path.write_text(self.html(), encoding="utf-8")
        return path


def advice(results: Results) -> Advice | None:
    """What a run of `coldload advise` says, ranked by the claims that bear the names of its alternatives.

    None of several runs, and of one that is no advice.
    """
    choices = Choices.read(results.runs[0].directory) if len(results.runs) == 1 else None
    if choices is None:
        return None
    advised = [
        Advised(
            alternative,
            tuple(_savings(results, [row for row in results.claims if row.claim.name == alternative.name])),
        )
        for alternative in choices.tried
    ]
    ranked = sorted(advised, key=lambda each: -each.saved_ms if math.isfinite(each.saved_ms) else math.inf)
    page = str(results.records["page"].iloc[0])
    run = results.runs[0].directory.resolve().name
    return Advice(page, run, choices, tuple(ranked), progress(results) or "")


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
