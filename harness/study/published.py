"""What others published of a study that is measured again: claims with their values, to be held against ours. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import shown
from harness.model.kind import Kind
from harness.study.claim import Claim

MOST_USERS = 100_000
MOST_TOLERATED = 1.0


@dataclass(frozen=True, kw_only=True)
class PublishedClaim:
    """One statement of a publication, in our own words (`text`), and where it stands there (`stands`).

    `claim` is what it compares: a ratio where it has a reference, else the metric itself. It is None where nothing here
    can be compared with it, and `not_comparable` then says why; with both, our value is told without a verdict. The
    published value is `low` to `high`; one of them is None where only a bound was published. `tolerance` is how far a
    value may be off, as a share, because what it was measured on is known so far only. `at_users`: the metric is that
    of a crowd of so many users, between two buckets; with `since_users` what it grew by since there were so many, with
    `against_users` in units of what it was with so many. `figure` is that of the study which shows it. `differs`: what
    of the set-up is another one here.
    """

    name: str
    text: str
    stands: str
    claim: Claim | None = None
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
        if self.claim is None and not self.not_comparable:
            raise StudyError("it has neither conditions to compare nor a reason why there are none")
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

    def to_json(self) -> dict[str, Any]:
        """As in the header of a plan; what it does not say is left out."""
        said = {
            "name": self.name,
            "text": self.text,
            "stands": self.stands,
            "claim": None if self.claim is None else self.claim.to_json(),
            "low": self.low,
            "high": self.high,
            "tolerance": self.tolerance or None,
            "at_users": self.at_users,
            "since_users": self.since_users,
            "against_users": self.against_users,
            "figure": self.figure or None,
            "differs": self.differs or None,
            "not_comparable": self.not_comparable or None,
        }
        return {key: each for key, each in said.items() if each is not None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], kind: Kind = Kind.LOAD) -> PublishedClaim:
        """Inverse of `to_json`; StudyError when it is damaged."""

        def text(key: str) -> str:
            return keys.text(data, key) if key in data else ""

        def value(key: str, most: float) -> float | None:
            return keys.checked_number(key, data[key], 0, most) if key in data else None

        def users(key: str) -> int | None:
            found = value(key, MOST_USERS)
            return None if found is None else int(found)

        return cls(
            name=keys.text(data, "name"),
            text=keys.text(data, "text"),
            stands=keys.text(data, "stands"),
            claim=Claim.from_json(data["claim"], kind) if "claim" in data else None,
            low=value("low", 1e15),
            high=value("high", 1e15),
            tolerance=value("tolerance", MOST_TOLERATED) or 0.0,
            at_users=users("at_users"),
            since_users=users("since_users"),
            against_users=users("against_users"),
            figure=text("figure"),
            differs=text("differs"),
            not_comparable=text("not_comparable"),
        )


@dataclass(frozen=True, kw_only=True)
class Publication:
    """What a study repeats: its title, where it was published, what differs here in all of it, and its claims.

    `text` is that of a file of the user's. It is empty for claims that ship, and in what was read from a plan.
    """

    title: str
    source: str
    differs: tuple[str, ...] = ()
    claims: tuple[PublishedClaim, ...] = ()
    text: str = field(default="", repr=False, compare=False)

    def with_claims(self, claims: Sequence[PublishedClaim]) -> Publication:
        return replace(self, claims=tuple(claims))

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
            return cls(
                title=keys.text(data, "title"),
                source=keys.text(data, "source"),
                differs=tuple(keys.text({"differs": each}, "differs") for each in data["differs"]),
                claims=tuple(PublishedClaim.from_json(each, kind) for each in data["claims"]),
            )
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise StudyError(f"not published claims ({error}): {shown(data)}") from error
