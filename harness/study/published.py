"""What others published of a study that is measured again: claims with their values, to be held against ours. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import shown
from harness.model.kind import Kind
from harness.study.claim import Claim

MOST_USERS = 100_000
MOST_TOLERATED = 1.0
USERS = ("at_users", "since_users", "against_users")
MOST = {
    "low": 1e15,
    "high": 1e15,
    "tolerance": MOST_TOLERATED,
    **dict.fromkeys(USERS, MOST_USERS),
}  # of what is a number


@dataclass(frozen=True, kw_only=True)
class PublishedClaim(Claim):
    """A claim of a publication, in our own words (`text`), with the value that stands there, and where (`stands`).

    It has no sides and no budget where nothing here can be compared with it, and `not_comparable` then says why; with
    both, our value is told without a verdict. Of a claim without a reference `at_most` is the value itself. The
    published value is `low` to `high`; one of them is None where only a bound was published. `tolerance` is how far a
    value may be off, as a share, because what it was measured on is known so far only. `at_users`: the metric is that
    of a crowd of so many users, between two buckets; with `since_users` what it grew by since there were so many, with
    `against_users` in units of what it was with so many. `figure` is that of the study which shows it. `differs`: what
    of the set-up is another one here.
    """

    text: str
    stands: str
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
        if self.compares:
            super().__post_init__()
        elif not self.not_comparable:
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

    @classmethod
    def of(cls, claim: Claim, **said: Any) -> PublishedClaim:
        """A claim with what was published of it, and with the name that it has there if that is `said`."""
        return cls(**{**vars(claim), **said})

    @property
    def compares(self) -> bool:
        """Whether it names conditions of the study."""
        return bool(self.subject or self.reference) or self.is_budget

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
        compared = super().to_json() if self.compares else {"name": self.name}
        said = {
            each.name: getattr(self, each.name) for each in SAID if getattr(self, each.name) != each.default
        }
        return {**compared, **said}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], kind: Kind = Kind.LOAD) -> Self:
        """Inverse of `to_json`; StudyError when it is damaged."""
        claim = super().from_json(data, kind)
        keys.refuse_unknown(data, tuple(each.name for each in fields(cls)), "a published claim")
        for key in MOST.keys() & data.keys():
            keys.checked_number(key, data[key], 0, MOST[key])
        return claim


SAID = tuple(
    each for each in fields(PublishedClaim) if each.name not in {each.name for each in fields(Claim)}
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

    @property
    def compared(self) -> tuple[PublishedClaim, ...]:
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
            return cls(
                title=keys.text(data, "title"),
                source=keys.text(data, "source"),
                differs=tuple(keys.text({"differs": each}, "differs") for each in data["differs"]),
                claims=tuple(PublishedClaim.from_json(each, kind) for each in data["claims"]),
            )
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise StudyError(f"not published claims ({error}): {shown(data)}") from error
