"""Claims: `[[claims]]` tables of a study or of a file of what others published, held against the study's conditions.

One with a published value says nothing of what is expected: that follows from the value. If it names a figure of the
study it keeps to the conditions of that figure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import shortened, shown
from harness.model.condition import SET, SET_MARK, Compression, dimensions_by, follows
from harness.model.engine import Engine
from harness.model.kind import Kind, main_metric
from harness.model.variant import parse_variant
from harness.study.claim import (
    MAX_RATIO,
    MOST_TOLERATED,
    MOST_USERS,
    Claim,
    Published,
    pairs,
    selects,
)
from harness.study.metrics import numeric_metric, unobserved

SHOWN_VALUES = 12
Wheres = Mapping[str, tuple[Any, ...]]  # the values that are kept to, by dimension


class NotInStudy(StudyError):
    """The study has nothing that a claim is about. `lacking` says what: `measures no rtt_ms 70`."""

    def __init__(self, message: str, lacking: str) -> None:
        super().__init__(message)
        self.lacking = lacking


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

    def where(self, table: Any, *, short: bool = False) -> dict[str, tuple[Any, ...]]:
        """One value or a list for some dimensions; in a `short` form of a study, those that it has."""
        where = keys.table("where", table, tuple(self.values))
        return {
            dimension: self._several(
                dimension, keys.entries(where, dimension) if isinstance(each, list) else [each], short
            )
            for dimension, each in where.items()
        }

    def _several(self, dimension: str, wanted: Sequence[Any], short: bool) -> tuple[Any, ...]:
        known, lacking = [], []
        for value in wanted:
            try:
                known.append(self.known("where", dimension, value))
            except NotInStudy as error:
                if not short:
                    raise
                lacking.append(error)
        if lacking and not known:
            raise NotInStudy(
                str(lacking[0]), f"measures no {dimension} {' or '.join(map(number_text, wanted))}"
            )
        return tuple(known)

    def known(self, key: str, dimension: str, found: Any) -> Any:
        """The study's own value of a dimension; NotInStudy with those it has when this is none of them."""
        if isinstance(found, bool) or not isinstance(found, str | int | float):
            raise StudyError(f"{key}: {dimension} is {shown(found)}; it must be one value of the study")
        wanted = _written_out(dimension, found)
        for value in self.values[dimension]:
            if value == wanted:
                return value
        there = [value for value in self.values[dimension] if value is not None]
        lacking = f"measures no {dimension} {number_text(found)}"
        if not there and dimension == SET:
            why = 'names no set; name one in pages, as in pages = ["@mobile"]'
            raise NotInStudy(f"{key}: the study {why}", lacking)
        known = list(map(number_text, there)) or ["none"]
        near = keys.nearest(found, known) if isinstance(found, str) else ""
        has = f"it has: {shortened(known, SHOWN_VALUES)}"
        raise NotInStudy(f"{key}: the study has no {dimension} {shown(found)}{near}; {has}", lacking)


def number_text(value: Any) -> str:
    """A value of a dimension, numbers without needless digits."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def values_of(conditions: Sequence[Mapping[str, Any]], dimension: str) -> list[Any]:
    """Each value that conditions have of a dimension, once; None of one that the study does not have."""
    return list(dict.fromkeys(condition.get(dimension) for condition in conditions))


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


EXPECTED = ("ratio_below", "ratio_within", "at_most")
OF_USERS = ("at_users", "since_users", "against_users")
PUBLISHED = ("published", "text", "stands", "figure", "tolerance", *OF_USERS, "differs", "not_comparable")
COMPARED = ("subject", "reference", "where", "metric")
CLAIM_KEYS = ("name", *COMPARED, *EXPECTED, *PUBLISHED)
MAX_CLAIMS = 100
LEAST, MOST = 1e-6, 1e12  # of a budget, and of what is published
# What each bucket of a crowd has; `server_cpu_s` is that of a second there.
AT_USERS = (
    *("page_ms", "pages_per_s", "cpu_idle_share", "workers_busy"),
    *("server_cpu_s", "server_memory_bytes"),
)
PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,6})?) ?%")
BOUND = re.compile(r"(below|above) (\d{1,15}(?:\.\d{1,9})?)")


def claims_in(
    data: Mapping[str, Any],
    conditions: Sequence[Mapping[str, Any]],
    kind: Kind = Kind.LOAD,
    figures: Mapping[str, Wheres] | None = None,
) -> tuple[Claim, ...]:
    """The claims of a study of a kind with these conditions (`dimensions_of`), in the order of the file.

    `figures`: the conditions that each figure of the study keeps to, by its name.
    """
    read = ClaimReader(conditions, kind, figures or {}).claim
    return keys.each_named("claim", MAX_CLAIMS, keys.entries(data, "claims", []), read)


def narrowed(claim: Claim, conditions: Sequence[Mapping[str, Any]]) -> Claim | None:
    """What is left of a claim when only some conditions of its study are measured; None when that is nothing."""
    where = {
        dimension: tuple(value for value in values if value in values_of(conditions, dimension))
        for dimension, values in claim.where.items()
    }
    left = replace(claim, where=where)
    return left if pairs(left, conditions) else None


@dataclass(frozen=True)
class ClaimReader:
    """Reads claims of a study with these conditions; `figures`: the conditions that its figures keep to, by name.

    Of a `short` form of the study that the claims were written for, what it does not have is not comparable.
    """

    conditions: Sequence[Mapping[str, Any]]
    kind: Kind
    figures: Mapping[str, Wheres] = field(default_factory=dict)
    short: bool = False

    @cached_property
    def selectors(self) -> Selectors:
        return Selectors.of(self.conditions, self.kind)

    def claim(self, table: Any) -> Claim:
        """A `[[claims]]` table as a claim; StudyError when it is none, or is about nothing of the study."""
        table = keys.table("claims", table, CLAIM_KEYS)
        if not any(key in table for key in PUBLISHED):
            return self._compared(table)
        return self.published(table)

    def published(self, table: Any) -> Claim:
        """A table that must tell what others published."""
        table = keys.table("claims", table, CLAIM_KEYS)
        said = self._said(table)
        name = keys.text(table, "name")
        if not any(key in table for key in (*COMPARED, *EXPECTED)):
            return Claim(name=name, published=said)
        if said.low is None and said.high is None:
            raise StudyError(
                'published is missing: a number, two as in [0.9, 1.1], or a bound as in "below 1"'
            )
        if any(key in table for key in EXPECTED):
            raise StudyError(f"{' and '.join(EXPECTED)} go with no published value; leave one of them out")
        try:
            expected = _expected(said, "reference" in table)
            made = self._compared({**table, **expected}, self._within(table, said))
        except NotInStudy as error:
            if not self.short:
                raise
            why = said.not_comparable or f"this form of the study {error.lacking}"
            return Claim(name=name, published=replace(said, not_comparable=why))
        return replace(made, published=said)

    def _compared(self, table: Mapping[str, Any], within: Wheres | None = None) -> Claim:
        """What a claim compares, and expects. `within`: conditions that it keeps to beside its own."""
        budget = "at_most" in table
        claim = Claim(
            name="",
            where={**(within or {}), **self._where(table)},
            subject=self._side(table, "subject", needed=not budget),
            reference=self._side(table, "reference", needed=not budget),
            metric=self._metric(table),
            ratio_below=_ratio("ratio_below", table["ratio_below"]) if "ratio_below" in table else None,
            ratio_within=_ratio_within(table["ratio_within"]) if "ratio_within" in table else None,
            at_most=keys.positive("at_most", table["at_most"], LEAST, MOST) if budget else None,
        )
        claim = replace(claim, name=keys.text(table, "name", claim.title))
        self._check(claim)
        return claim

    def _where(self, table: Mapping[str, Any]) -> Wheres:
        return self.selectors.where(table["where"], short=self.short) if "where" in table else {}

    def _metric(self, table: Mapping[str, Any]) -> str:
        return numeric_metric(keys.text(table, "metric", main_metric(self.kind)), self.kind)

    def _said(self, table: Mapping[str, Any]) -> Published:
        """What others published of a claim."""
        low, high = _value(table)
        tolerance = _tolerance(table)
        if tolerance and (low is None or high is None):
            raise StudyError("tolerance goes with a published value or range, not with a bound; leave it out")
        return Published(
            text=keys.text(table, "text"),
            stands=keys.text(table, "stands"),
            low=low,
            high=high,
            tolerance=tolerance,
            at_users=self._users(table, "at_users"),
            since_users=self._users(table, "since_users"),
            against_users=self._users(table, "against_users"),
            figure=self._figure(table),
            differs=_text_if_any(table, "differs"),
            not_comparable=_text_if_any(table, "not_comparable"),
        )

    def _users(self, table: Mapping[str, Any], key: str) -> int | None:
        if key not in table:
            return None
        if self.kind is not Kind.USERS or self._metric(table) not in AT_USERS:
            raise StudyError(f"{key} goes with studies of users and the metrics {', '.join(AT_USERS)}")
        return int(keys.number(table, key, None, 1, MOST_USERS, whole=True))

    def _figure(self, table: Mapping[str, Any]) -> str:
        """The figure that shows a claim, if it names one; of a short form, if that makes it."""
        name = _text_if_any(table, "figure")
        if not name or name in self.figures:
            return name
        if self.short:
            return ""
        has = f"it makes: {', '.join(self.figures)}" if self.figures else "it has no [[figures]]"
        raise StudyError(f"figure: the study makes no figure {shown(name)}; {has}")

    def _within(self, table: Mapping[str, Any], said: Published) -> Wheres:
        """The conditions of the figure that a claim names; NotInStudy when a short form does not make it."""
        if "figure" in table and not said.figure:
            raise NotInStudy("figure", f"makes no figure {table['figure']}")
        return self.figures.get(said.figure, {})

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
        compared_pairs = pairs(claim, self.conditions)
        if not compared_pairs:
            raise NotInStudy(self._why_nothing(claim), "measures nothing of it")
        engines = dict.fromkeys(str(side["engine"]) for pair in compared_pairs for side in pair if side)
        for engine in map(Engine, engines):
            if claim.metric in unobserved(engine):
                raise StudyError(
                    f"metric: {engine} does not tell {claim.metric}; name another one, or leave {engine} out by where"
                )

    def _why_nothing(self, claim: Claim) -> str:
        there = [condition for condition in self.conditions if selects(claim.where, condition)]
        if not there:
            return "where: no condition of the study has all of this"
        sides = []
        for key, selector in (("subject", claim.subject), ("reference", claim.reference)):
            sides.append([condition for condition in there if selects(selector, condition)])
            if not sides[-1]:
                return f"{key}: no condition of the study has all of this{' and where' * bool(claim.where)}"
        free = [dimension for dimension in self.selectors.values if dimension not in claim.named]
        apart = [
            dimension
            for dimension in free
            if not set(values_of(sides[0], dimension)) & set(values_of(sides[1], dimension))
        ]
        apart = [dimension for dimension in apart if not any(follows(dimension, other) for other in apart)]
        if not apart:
            return "no condition of the subject has a reference that is like it in all that is not named"
        return f"subject and reference have no {' and no '.join(apart)} in common; name it on both sides"


def _ratio(key: str, found: Any) -> float:
    return keys.checked_number(key, found, 1 / MAX_RATIO, MAX_RATIO)


def two_numbers(key: str, found: Any, least: float, most: float) -> tuple[float, float]:
    """Of a list of two, as in [0.97, 1.03]."""
    if not isinstance(found, list) or len(found) != 2:
        raise StudyError(f"{key} must be two numbers, as in [0.97, 1.03], found {shown(found)}")
    low, high = (keys.checked_number(key, number, least, most) for number in found)
    return low, high


def share_of(text: str) -> float | None:
    """0.03 of `3 %`; None of what is no such text."""
    match = PERCENT.fullmatch(text.strip())
    return float(match[1]) / 100 if match else None


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


def _text_if_any(table: Mapping[str, Any], key: str) -> str:
    return keys.text(table, key) if key in table else ""


def _value(table: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Both ends of what was published, or one of them; neither where the claim has no number."""
    published = table.get("published")
    if published is None:
        return None, None
    if isinstance(published, str):
        bound = BOUND.fullmatch(published.strip())
        if bound is None:
            raise StudyError(
                f'published is {shown(published)}; a bound is written as in "below 1" or "above 2.5"'
            )
        number = keys.checked_number("published", float(bound[2]), LEAST, MOST)
        return (None, number) if bound[1] == "below" else (number, None)
    if isinstance(published, list):
        return two_numbers("published", published, LEAST, MOST)
    number = keys.checked_number("published", published, LEAST, MOST)
    return number, number


def _expected(said: Published, of_ratio: bool) -> dict[str, Any]:
    """What a published value expects: a bound of a ratio; without a reference the value is a budget."""
    if not of_ratio:
        return {"at_most": said.low if said.high is None else said.high}
    if said.low is None:
        return {"ratio_below": said.high}
    return {"ratio_within": [said.low, MAX_RATIO]} if said.high is None else {}


def _tolerance(table: Mapping[str, Any]) -> float:
    if "tolerance" not in table:
        return 0.0
    tolerance = table["tolerance"]
    share = share_of(tolerance) if isinstance(tolerance, str) else None
    if not share or share > MOST_TOLERATED:
        raise StudyError(f'tolerance must be a text such as "5 %", at most 100 %, found {shown(tolerance)}')
    return share
