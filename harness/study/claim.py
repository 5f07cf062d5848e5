"""A claim: a comparison or a budget that is named before the run, with what is expected or was published of it. Pure.

Claims work on plain mappings of dimension to value (`harness.model.condition`), so that the conditions of a study and
those of records are asked alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import msgspec

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import shown
from harness.model.condition import (
    AGAIN,
    AMOUNTS,
    NAMING_VARIANTS,
    OF_VARIANTS,
    dimensions_by,
    follows,
    is_again,
    value,
)
from harness.model.kind import MAIN_METRIC, Kind
from harness.study.metrics import metric_named, numeric_metric

MAX_RATIO = 1000  # the largest that a study can expect: a range up to it has no upper end
MOST_PUBLISHED, MOST_TOLERATED, MOST_USERS = 1e15, 1.0, 100_000

Dimensions = Mapping[str, Any]
DimensionsPair = tuple[Dimensions, Dimensions | None]  # subject and reference; of a budget the subject alone


@dataclass(frozen=True, kw_only=True)
class Published:
    """What others published of a claim: the value, in our own words (`text`), and where it stands (`stands`).

    The value is `low` to `high`; one of them is None where only a bound was published. `tolerance` is how far a value
    may be off, as a share, because what it was measured on is known so far only. `at_users`: the metric is that of a
    crowd of so many users, between two buckets; with `since_users` what it grew by since there were so many, with
    `against_users` in units of what it was with so many. `figure` is that of the study which shows it. `differs`: what
    of the set-up is another one here. `not_comparable`: why there is no verdict.
    """

    text: str = ""
    stands: str = ""
    low: float | None = None
    high: float | None = None
    tolerance: float = 0.0
    at_users: int | None = None
    since_users: int | None = None
    against_users: int | None = None
    figure: str = ""
    differs: str = ""
    not_comparable: str = ""

    def __post_init__(self) -> None:
        others = [users for users in (self.since_users, self.against_users) if users is not None]
        if len(others) > 1:
            raise StudyError("since_users and against_users exclude each other; leave one of them out")
        if others and self.at_users is None:
            raise StudyError(
                "since_users and against_users go with at_users; say of how many users the claim is"
            )
        if self.low is not None and self.high is not None and self.low > self.high:
            raise StudyError(
                f"published is {self.low:g} to {self.high:g}; the first must not be above the second"
            )

    @property
    def is_bound(self) -> bool:
        """Whether only one end of it was published: `below 1`."""
        return (self.low is None) is not (self.high is None)

    @property
    def bounds(self) -> tuple[float, float]:
        """What our interval has to meet, with what is tolerated on either side."""
        low = 0.0 if self.low is None else self.low * (1 - self.tolerance)
        high = float("inf") if self.high is None else self.high * (1 + self.tolerance)
        return low, high

    def check(self) -> None:
        """StudyError for a number that no file could say."""
        most = {"low": MOST_PUBLISHED, "high": MOST_PUBLISHED, "tolerance": MOST_TOLERATED}
        for key, said in vars(self).items():
            if isinstance(said, int | float):
                keys.checked_number(key, said, 0, most.get(key, MOST_USERS))


OF_PUBLISHED = {attribute.name: attribute.default for attribute in fields(Published)}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """`subject` against `reference` in a metric, wherever `where` holds; or a budget, `at_most`, of the subject alone.

    `subject` and `reference` hold one value for some dimensions, `where` several. A ratio is subject / reference:
    `ratio_below` and `ratio_within` are what is expected of it. StudyError when these contradict each other.

    With a `published` value it is held against that. A bound is then what is expected of the ratio; of a claim without
    a reference `at_most` is the value itself. It has no sides and no budget where nothing here can be compared with it;
    `not_comparable` then says why. With both, our value is told without a verdict.
    """

    name: str
    subject: Mapping[str, Any] = field(default_factory=dict)
    reference: Mapping[str, Any] = field(default_factory=dict)
    where: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    metric: str = MAIN_METRIC
    ratio_below: float | None = None
    ratio_within: tuple[float, float] | None = None
    at_most: float | None = None
    published: Published = Published()

    def __post_init__(self) -> None:
        if self.is_published and not self.compares:
            if not self.published.not_comparable:
                raise StudyError("it has neither conditions to compare nor a reason why there are none")
        elif self.is_budget:
            self._check_budget()
        else:
            self._check_ratios()

    @property
    def is_budget(self) -> bool:
        """Whether it is about the metric's own value, with nothing to compare with."""
        return self.at_most is not None

    @property
    def is_published(self) -> bool:
        """Whether others published something of it."""
        return bool(self.published.text)

    @property
    def compares(self) -> bool:
        """Whether it names conditions of the study."""
        return bool(self.subject or self.reference) or self.is_budget

    @property
    def of_a_crowd(self) -> bool:
        """Whether it is about a crowd of so many users, and compares."""
        return self.published.at_users is not None and self.compares

    @property
    def column(self) -> str:
        """The column of trials that holds its metric: of a crowd, at its number of users."""
        said = self.published
        if not self.of_a_crowd:
            return self.metric
        since = "" if said.since_users is None else f" since {said.since_users}"
        against = "" if said.against_users is None else f" against {said.against_users}"
        return f"{self.metric} at {said.at_users} users{since}{against}"

    @property
    def expects(self) -> bool:
        """Whether it can fail."""
        return (self.at_most, self.ratio_below, self.ratio_within) != (None, None, None)

    @property
    def is_open_above(self) -> bool:
        """Whether `ratio_within` has no upper end."""
        return self.ratio_within is not None and self.ratio_within[1] >= MAX_RATIO

    @property
    def named(self) -> tuple[str, ...]:
        """The dimensions that the subject or the reference names."""
        return tuple(dict.fromkeys((*self.subject, *self.reference)))

    @property
    def title(self) -> str:
        """What is compared: `http1-close against http1 where page is dummy-2012: plt_ms`."""
        subject = _side(self.subject, self.reference) or "every condition"
        against = "" if self.is_budget else f" against {_side(self.reference, self.subject)}"
        places = " and ".join(
            f"{dimension} is {' or '.join(map(_text, values))}" for dimension, values in self.where.items()
        )
        return f"{subject}{against}{' where ' * bool(places)}{places}: {self.metric}"

    @property
    def sentence(self) -> str:
        """The title, and what is expected."""
        expected = []
        if self.at_most is not None:
            metric = metric_named(self.metric)
            expected.append(f"at most {self.at_most:g} {metric.unit if metric else ''}".rstrip())
        if self.ratio_below is not None:
            expected.append(f"ratio below {self.ratio_below:g}")
        if self.ratio_within is not None:
            low, high = self.ratio_within
            within = f"within {low:.4g} and {high:.4g}"
            expected.append(f"ratio at least {low:.4g}" if self.is_open_above else f"ratio {within}")
        return f"{self.title}, expected {' and '.join(expected)}" if expected else self.title

    def to_json(self) -> dict[str, Any]:
        """As in the header of a plan; what the claim does not say is left out."""
        own = (
            [attribute.name for attribute in fields(self) if attribute.name != "published"]
            if self.compares
            else ["name"]
        )
        said = msgspec.to_builtins({name: getattr(self, name) for name in own})
        published = {key: each for key, each in vars(self.published).items() if each != OF_PUBLISHED[key]}
        return {**{key: each for key, each in said.items() if each is not None}, **published}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], kind: Kind = Kind.LOAD) -> Self:
        """Inverse of `to_json`; StudyError when this is not a claim about the metrics and dimensions of the kind."""
        try:
            published = {key: each for key, each in data.items() if key in OF_PUBLISHED}
            claim = msgspec.convert({**data, "published": published}, cls)
        except (ValueError, AttributeError) as error:
            raise StudyError(f"not a claim ({error}): {shown(data)}") from error
        for key in (key for key, each in data.items() if isinstance(each, str)):
            keys.text(data, key)
        for selector in (claim.subject, claim.reference, claim.where):
            keys.refuse_unknown(selector, dimensions_by(kind), "a claim")
        if "metric" in data:
            numeric_metric(claim.metric, kind)
        claim.published.check()
        return claim

    def _check_budget(self) -> None:
        if self.reference:
            raise StudyError("at_most is a budget of the subject alone; leave it out, or the reference")
        if self.ratio_below is not None or self.ratio_within is not None:
            raise StudyError("at_most goes with no ratio: a budget has no reference; leave one of them out")
        if self.at_most is not None and not 0 < self.at_most < float("inf"):
            raise StudyError(f"at_most is {shown(self.at_most)}; it must be above 0")

    def _check_ratios(self) -> None:
        if not self.reference:
            raise StudyError("it has no reference; name one, or a budget (at_most)")
        if self.subject == self.reference:
            raise StudyError(f"both sides are {_side(self.subject, {})}; change subject or reference")
        if self.ratio_below is not None and not self.ratio_below > 0:
            raise StudyError(f"ratio_below is {shown(self.ratio_below)}; it must be above 0")
        if self.ratio_within is None:
            return
        low, high = self.ratio_within
        if not 0 < low < high:
            raise StudyError(
                f"ratio_within is {low:g} to {high:g}; the first must be above 0 and below the second"
            )
        if self.ratio_below is not None and self.ratio_below <= low:
            raise StudyError(
                f"ratio_below {self.ratio_below:g} and ratio_within {low:g} to {high:g} cannot both be; "
                "leave one of them out"
            )


@dataclass(frozen=True, kw_only=True)
class Publication:
    """What a study repeats: its title, where it was published, what differs here in all of it, and its claims.

    `text` is that of a file of the user's. It is empty for claims that ship, and in what was read from a plan.
    """

    title: str
    source: str
    differs: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    text: str = field(default="", repr=False, compare=False)

    def with_claims(self, claims: Iterable[Claim]) -> Publication:
        return replace(self, claims=tuple(claims))

    @property
    def compared(self) -> tuple[Claim, ...]:
        """The claims that conditions of the study are compared for."""
        return tuple(claim for claim in self.claims if claim.compares)

    def to_json(self) -> dict[str, Any]:
        """As in the header of a plan."""
        return {
            "title": self.title,
            "source": self.source,
            "differs": list(self.differs),
            "claims": [claim.to_json() for claim in self.claims],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], kind: Kind = Kind.LOAD) -> Publication:
        """Inverse of `to_json`; StudyError when it is damaged."""
        try:
            made = cls(
                title=keys.text(data, "title"),
                source=keys.text(data, "source"),
                differs=tuple(
                    keys.text({"differs": difference}, "differs") for difference in data["differs"]
                ),
                claims=tuple(Claim.from_json(claim_data, kind) for claim_data in data["claims"]),
            )
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise StudyError(f"not a publication ({error}): {shown(data)}") from error
        if not all(claim.is_published for claim in made.claims):
            raise StudyError(f"not a publication (a claim has nothing of it): {shown(data)}")
        return made


@dataclass(frozen=True)
class Setting:
    """What one sentence of a report is about: the pairs that are alike in `dimensions`, over all their pages.

    Of a budget, a page is a setting of its own: an average of pages can hide one that is over it.
    """

    dimensions: Mapping[str, Any]
    pairs: tuple[DimensionsPair, ...]


def selects(selector: Mapping[str, Any], dimensions: Dimensions) -> bool:
    """Whether a condition has the selector's value, or one of its values, in every dimension that it names."""
    return all(
        value(dimensions, dimension) in (wanted if isinstance(wanted, tuple | list) else (wanted,))
        for dimension, wanted in selector.items()
    )


def pairs(claim: Claim, conditions: Sequence[Dimensions]) -> list[DimensionsPair]:
    """The conditions that a claim sets against each other, in the order of the subjects.

    Both agree in every dimension that neither side names, but for those that follow one that is named.
    """
    if not claim.compares:
        return []
    there = [
        condition for condition in conditions if not is_again(condition) and selects(claim.where, condition)
    ]
    subjects = [condition for condition in there if selects(claim.subject, condition)]
    if claim.is_budget:
        return [(subject, None) for subject in subjects]
    shared = _shared(claim, there)
    references = defaultdict(list)
    for condition in there:
        if selects(claim.reference, condition):
            references[_key(condition, shared)].append(condition)
    return [
        (subject, reference)
        for subject in subjects
        for reference in references[_key(subject, shared)]
        if reference is not subject
    ]


def settings(claim: Claim, conditions: Sequence[Dimensions]) -> list[Setting]:
    """The pairs of a claim in groups that a report states one sentence for."""
    told_by_name = [
        dimension for dimension in OF_VARIANTS if _determined(dimension, NAMING_VARIANTS, conditions)
    ]
    groups: dict[tuple[Any, ...], list[DimensionsPair]] = defaultdict(list)
    for pair in pairs(claim, conditions):
        groups[
            tuple(agreement for agreement in _common(claim, pair) if agreement[0] not in told_by_name)
        ].append(pair)
    return [Setting(dict(common), tuple(members)) for common, members in groups.items()]


def _common(claim: Claim, pair: DimensionsPair) -> Iterator[tuple[str, Any]]:
    """What both sides of a pair are, beside what the claim says; with the page for a budget alone."""
    subject, reference = pair
    for dimension in subject:
        if dimension in claim.named or dimension == AGAIN or (dimension == "page" and reference is not None):
            continue
        mine = value(subject, dimension)
        if reference is None or mine == value(reference, dimension):
            yield dimension, mine


def _shared(claim: Claim, conditions: Sequence[Dimensions]) -> list[str]:
    """The dimensions in which both sides must agree, of those that differ at all.

    One that may follow does not belong to them as long as the others determine it: with two servers for each protocol,
    the server follows nothing.
    """
    every = dict.fromkeys(
        dimension for names in {tuple(condition) for condition in conditions} for dimension in names
    )
    free = [name for name in every if name not in (*claim.named, AGAIN) and _differs(name, conditions)]
    may_follow = [name for name in free if any(follows(name, named) for named in claim.named)]
    shared = [name for name in free if name not in may_follow]
    for dimension in sorted(
        may_follow, key=lambda each: each == "link"
    ):  # the name of a link follows all else of it
        if not _determined(dimension, (*shared, *claim.named), conditions):
            shared.append(dimension)
    return shared


def _differs(dimension: str, conditions: Sequence[Dimensions]) -> bool:
    raw, first = conditions[0].get(dimension), value(conditions[0], dimension)
    return any(
        condition.get(dimension) != raw and value(condition, dimension) != first for condition in conditions
    )


def _determined(dimension: str, by: Sequence[str], conditions: Sequence[Dimensions]) -> bool:
    """Whether conditions that agree in some dimensions also agree in another one."""
    values: dict[tuple[Any, ...], Any] = {}
    return all(
        values.setdefault(_key(condition, by), value(condition, dimension)) == value(condition, dimension)
        for condition in conditions
    )


def _key(dimensions: Dimensions, names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(value(dimensions, name) for name in names)


def _side(side: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The values of a side that tell it from the other: `http1-close`, `rtt_ms 20`."""
    telling = {dimension: each for dimension, each in side.items() if other.get(dimension) != each} or side
    return ", ".join(
        f"{dimension} {_text(each)}" if dimension in AMOUNTS else _text(each)
        for dimension, each in telling.items()
    )


def _text(each: Any) -> str:
    return f"{each:g}" if isinstance(each, int | float) else str(each)
