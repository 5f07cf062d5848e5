"""A budget: limits that a page must keep, in a file of its own beside a site, whatever study measures it.

    [[budget]]
    plt_ms = 3000
    bytes_down = 1_500_000

    [[budget]]
    where = {link = "4g"}
    lcp_ms = 4000

Each limit is a claim with `at_most` (`harness.study.claim`), held against the conditions of a study or a run. All of
them hold: where two say something of a metric, the lower one decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.errors import StudyError
from harness.input import keys, textfile
from harness.input.shown import shown
from harness.model.kind import Kind
from harness.study.claim import Claim
from harness.study.claimfile import LEAST, MOST, ClaimReader
from harness.study.enginefile import refuse_unobserved
from harness.study.metrics import metrics_of
from harness.study.study import Study

WHERE = "where"
NAME = "budget"
NO_LIMIT = "no limit in {}; name a metric and the most it may be, as in plt_ms = 3000"


@dataclass(frozen=True)
class Limits:
    """A table of the file: the most that each metric may be, and where, one value or several for a dimension."""

    at_most: Mapping[str, float]
    where: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PageBudget:
    """The tables of a file. `source` is its path; `subject`: what alone it is about, as of a claim."""

    source: Path
    tables: tuple[Limits, ...]
    subject: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> PageBudget:
        """StudyError, in one line, for a file that is not there or no budget."""
        data = textfile.read_toml(path, "the budget")
        try:
            keys.refuse_unknown(data, (NAME,), "the budget")
            value = data.get(NAME)
            tables = value if isinstance(value, list) and value else [value]
            return cls(path, tuple(_limits(table) for table in tables))
        except StudyError as error:
            raise StudyError(f"{path}: {error}") from error

    def of(self, subject: Mapping[str, Any]) -> PageBudget:
        """The same of some conditions alone."""
        return replace(self, subject=subject)

    def refuse_unless_of(self, study: Study) -> None:
        """StudyError for a limit that a study would have nothing to hold against."""
        claims = self.claims(study.dimensions, study.kind)
        if study.kind is Kind.LOAD:
            told = (claim.metric for claim in claims)
            refuse_unobserved(f"{self.source} limits", told, vitals=study.vitals, kept=study.keep)

    def claims(self, conditions: Sequence[Mapping[str, Any]], kind: Kind) -> tuple[Claim, ...]:
        """Its limits as claims about these conditions (`dimensions_of`).

        StudyError for a metric that the kind or its engines do not have, and for a place that is none of theirs.
        """
        reader = ClaimReader(conditions, kind)
        try:
            return tuple(self._claims(reader))
        except StudyError as error:
            raise StudyError(f"{self.source}: {error}") from error

    def _claims(self, reader: ClaimReader) -> Iterator[Claim]:
        for table in self.tables:
            for metric, at_most in table.at_most.items():
                told = {"metric": metric, "at_most": at_most}
                told |= {"subject": dict(self.subject)} if self.subject else {}
                claim = reader.claim(told | ({WHERE: table.where} if table.where else {}))
                yield replace(claim, name=f"{NAME}, {claim.title}")


def _limits(table: Any) -> Limits:
    """A `[[budget]]` table. That a metric is one, any kind says; which places and metrics there are, a study."""
    if not isinstance(table, dict):
        raise StudyError(NO_LIMIT.format(shown(table)))
    names = (name for kind in Kind for name, each in metrics_of(kind).items() if each.unit.is_number)
    keys.refuse_unknown(table, (WHERE, *dict.fromkeys(names)), f"[{NAME}]")
    limits = {name: _limit(name, each) for name, each in table.items() if name != WHERE}
    if not limits:
        raise StudyError(NO_LIMIT.format(shown(table)))
    where = table.get(WHERE, {})
    if not isinstance(where, dict):
        raise StudyError(f'{WHERE} must be a table, found {shown(where)}; as in {WHERE} = {{link = "4g"}}')
    return Limits(limits, where)


def _limit(name: str, value: Any) -> float:
    if value == 0 and not isinstance(value, bool):
        raise StudyError(f"{name} is 0; it must be above 0: where none is allowed, say 0.5")
    return keys.positive(name, value, LEAST, MOST)
