"""The claims of a study: `[[claims]]` tables, each held against the conditions that the study has."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import shortened, shown
from harness.model.condition import SET, SET_MARK, Compression, dimensions_by, follows
from harness.model.engine import Engine
from harness.model.kind import Kind, main_metric
from harness.model.variant import parse_variant
from harness.study.claim import MAX_RATIO, Claim, pairs, selects
from harness.study.metrics import numeric_metric, unobserved

SHOWN_VALUES = 12
AnyClaim = TypeVar("AnyClaim", bound=Claim)  # the study's own, or one that others published


class ValueLacking(StudyError):
    """The study has no such value of a dimension."""


@dataclass(frozen=True)
class Selectors:
    """Reads selectors for a study; `values` holds what its conditions have of every dimension."""

    values: Mapping[str, Sequence[Any]]

    @classmethod
    def of(cls, conditions: Sequence[Mapping[str, Any]], kind: Kind) -> Selectors:
        return cls({dimension: values_of(conditions, dimension) for dimension in dimensions_by(kind)})

    def one_each(self, key: str, table: Any) -> dict[str, Any]:
        """One value for some dimensions: a side of a claim, a series of a figure."""
        side = keys.table(key, table, tuple(self.values))
        return {dimension: self.known(key, dimension, each) for dimension, each in side.items()}

    def where(self, table: Any) -> dict[str, tuple[Any, ...]]:
        """One value or a list for some dimensions."""
        where = keys.table("where", table, tuple(self.values))
        return {
            dimension: tuple(
                self.known("where", dimension, value)
                for value in (keys.entries(where, dimension) if isinstance(each, list) else [each])
            )
            for dimension, each in where.items()
        }

    def known(self, key: str, dimension: str, found: Any) -> Any:
        """The study's own value of a dimension; ValueLacking with those it has when this is none of them."""
        if isinstance(found, bool) or not isinstance(found, str | int | float):
            raise StudyError(f"{key}: {dimension} is {shown(found)}; it must be one value of the study")
        wanted = _written_out(dimension, found)
        for each in self.values[dimension]:
            if each == wanted:
                return each
        there = [each for each in self.values[dimension] if each is not None]
        if not there and dimension == SET:
            raise ValueLacking(f'{key}: the study names no set; name one in pages, as in pages = ["@mobile"]')
        known = [f"{each:g}" if isinstance(each, float) else str(each) for each in there] or ["none"]
        near = keys.nearest(found, known) if isinstance(found, str) else ""
        raise ValueLacking(
            f"{key}: the study has no {dimension} {shown(found)}{near}; it has: {shortened(known, SHOWN_VALUES)}"
        )


def values_of(conditions: Sequence[Mapping[str, Any]], dimension: str) -> list[Any]:
    """Each value that conditions have of a dimension, once; None of one that the study does not have."""
    return list(dict.fromkeys(each.get(dimension) for each in conditions))


def _written_out(dimension: str, found: Any) -> Any:
    """A value as conditions have it: `gzip` is `gzip-6` there. What cannot be read stays as it is."""
    try:
        if isinstance(found, str) and dimension == "variant":
            return parse_variant(found).name
        if isinstance(found, str) and dimension == "compression":
            return str(Compression.parse(found))
        if isinstance(found, str) and dimension == SET:
            return found.removeprefix(SET_MARK)
    except StudyError:
        pass  # what the study has is told then, not what it could have
    return found


CLAIM_KEYS = tuple(each.name for each in fields(Claim))
MAX_CLAIMS = 100
LEAST, MOST = 1e-6, 1e12  # of a budget
PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,6})?) ?%")


def claims_of(
    data: Mapping[str, Any], conditions: Sequence[Mapping[str, Any]], kind: Kind = Kind.LOAD
) -> tuple[Claim, ...]:
    """The claims of a study of a kind with these conditions (`dimensions_of`), in the order of the file."""
    read = ClaimReader.of(conditions, kind).claim
    return keys.each_named("claim", MAX_CLAIMS, keys.entries(data, "claims", []), read)


def narrowed(claim: AnyClaim, conditions: Sequence[Mapping[str, Any]]) -> AnyClaim | None:
    """What is left of a claim when only some conditions of its study are measured; None when that is nothing."""
    where = {
        dimension: tuple(each for each in values if each in values_of(conditions, dimension))
        for dimension, values in claim.where.items()
    }
    left = replace(claim, where=where)
    return left if pairs(left, conditions) else None


class NothingMeasured(StudyError):
    """No condition of the study is what a claim is about."""


@dataclass(frozen=True)
class ClaimReader:
    """Reads claims of a study with these conditions."""

    conditions: Sequence[Mapping[str, Any]]
    selectors: Selectors
    kind: Kind

    @classmethod
    def of(cls, conditions: Sequence[Mapping[str, Any]], kind: Kind) -> ClaimReader:
        return cls(conditions, Selectors.of(conditions, kind), kind)

    def claim(self, table: Any) -> Claim:
        """A `[[claims]]` table as a claim; StudyError when it is none, or is about nothing of the study."""
        table = keys.table("claims", table, CLAIM_KEYS)
        budget = "at_most" in table
        claim = Claim(
            name="",
            subject=self._side(table, "subject", needed=not budget),
            reference=self._side(table, "reference", needed=not budget),
            where=self.selectors.where(table["where"]) if "where" in table else {},
            metric=numeric_metric(keys.text(table, "metric", main_metric(self.kind)), self.kind),
            ratio_below=_ratio("ratio_below", table["ratio_below"]) if "ratio_below" in table else None,
            ratio_within=_ratio_within(table["ratio_within"]) if "ratio_within" in table else None,
            at_most=keys.positive("at_most", table["at_most"], LEAST, MOST) if budget else None,
        )
        claim = replace(claim, name=keys.text(table, "name", claim.title))
        self._check(claim)
        return claim

    def _side(self, table: Mapping[str, Any], key: str, *, needed: bool) -> dict[str, Any]:
        if key not in table and not needed:
            return {}
        if key not in table:
            raise StudyError(f'{key} is missing; name one, as in {key} = {{protocol = "h2"}}')
        side = self.selectors.one_each(key, table[key])
        if SET in side:
            raise StudyError(f"{key}: {SET} goes into where; pages are compared with themselves")
        return side

    def _check(self, claim: Claim) -> None:
        """StudyError when the claim is about no condition, or about a metric that an engine does not tell."""
        if not claim.is_budget and set(claim.subject) != set(claim.reference):
            raise StudyError(
                f"subject names {', '.join(claim.subject)}, reference {', '.join(claim.reference)}; both must name "
                "the same, and what they have in common goes into where"
            )
        found = pairs(claim, self.conditions)
        if not found:
            raise NothingMeasured(self._why_nothing(claim))
        engines = dict.fromkeys(str(side["engine"]) for pair in found for side in pair if side)
        for engine in map(Engine, engines):
            if claim.metric in unobserved(engine):
                raise StudyError(
                    f"metric: {engine} does not tell {claim.metric}; name another one, or leave {engine} out by where"
                )

    def _why_nothing(self, claim: Claim) -> str:
        there = [each for each in self.conditions if selects(claim.where, each)]
        if not there:
            return "where: no condition of the study has all of this"
        sides = []
        for key, selector in (("subject", claim.subject), ("reference", claim.reference)):
            sides.append([each for each in there if selects(selector, each)])
            if not sides[-1]:
                return f"{key}: no condition of the study has all of this{' and where' * bool(claim.where)}"
        free = [each for each in self.selectors.values if each not in claim.named]
        apart = [each for each in free if not set(values_of(sides[0], each)) & set(values_of(sides[1], each))]
        apart = [each for each in apart if not any(follows(each, other) for other in apart)]
        if not apart:
            return "no condition of the subject has a reference that is like it in all that is not named"
        return f"subject and reference have no {' and no '.join(apart)} in common; name it on both sides"


def _ratio(key: str, found: Any) -> float:
    return keys.checked_number(key, found, 1 / MAX_RATIO, MAX_RATIO)


def two_numbers(key: str, found: Any, least: float, most: float) -> tuple[float, float]:
    """Of a list of two, as in [0.97, 1.03]."""
    if not isinstance(found, list) or len(found) != 2:
        raise StudyError(f"{key} must be two numbers, as in [0.97, 1.03], found {shown(found)}")
    low, high = (keys.checked_number(key, each, least, most) for each in found)
    return low, high


def share_of(text: str) -> float | None:
    """0.03 of `3 %`; None of what is no such text."""
    found = PERCENT.fullmatch(text.strip())
    return float(found[1]) / 100 if found else None


def _ratio_within(found: Any) -> tuple[float, float]:
    """Two bounds, or as a margin: `3 %` is 1/1.03 to 1.03."""
    if not isinstance(found, str):
        low, high = two_numbers("ratio_within", found, 1 / MAX_RATIO, MAX_RATIO)
        if low >= high:
            raise StudyError(f"ratio_within is {low:g} to {high:g}; the first must be below the second")
        return low, high
    margin = share_of(found)
    if not margin:
        raise StudyError(f'ratio_within is {shown(found)}; it must be a margin as in "3 %", or two numbers')
    return 1 / (1 + margin), 1 + margin
