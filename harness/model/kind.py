"""What a study measures: kinds with their metrics and workloads, what a load waits for, what is kept. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import count_of, shown


class Kind(StrEnum):
    """The kinds of measurement; which lab measures each: `harness.run.openlab`."""

    LOAD = "load"  # one cold page load
    USERS = "users"  # a crowd that loads pages from one server
    REQUESTS = "requests"  # as many requests as a server answers


MAIN_METRIC, CROWD_METRIC, RATE_METRIC = "plt_ms", "pages_per_s", "requests_per_s"
MAIN_METRICS: Mapping[Kind, str] = {
    Kind.LOAD: MAIN_METRIC,
    Kind.USERS: CROWD_METRIC,
    Kind.REQUESTS: RATE_METRIC,
}

# What a visitor feels of a load, in its order: when something shows, when the page is there, what it costs.
FELT = ("fcp_ms", "lcp_ms", "plt_ms", "tbt_ms", "bytes_down", "requests")


def main_metric(kind: Kind) -> str:
    """What a report of a kind is about, unless it says otherwise."""
    return MAIN_METRICS[kind]


# What can be kept of a trial, by the words that a study has for it (`keep`).
HAR, BODIES, NETLOG, PCAP, SCREENSHOT = "har", "bodies", "netlog", "pcap", "screenshot"
TRACE, FILM = "trace", "filmstrip"
VITALS = "vitals"  # these are no file, and have a key of their own
# With these a page is observed until it rests, as for its vitals: a film shows all of it, and a trace is had sooner
# from a page at rest than from one that is left.
AT_REST = frozenset({TRACE, FILM})
OUTPUT = "output"  # of the tool of a closed loop
PORTRAYED = (HAR, SCREENSHOT, FILM)  # of a load that is looked at and not measured
# By kind; the series of a crowd are kept anyway.
KEPT_FILES: Mapping[Kind, tuple[str, ...]] = {
    Kind.LOAD: (HAR, BODIES, NETLOG, PCAP, SCREENSHOT, TRACE, FILM),
    Kind.USERS: (),
    Kind.REQUESTS: (OUTPUT,),
}


class Waiting(StrEnum):
    """What a load waits for at an instant; of what goes on at once, the first counts.

    docs/methodology.md, "Where the time goes", says what it takes for each.
    """

    DOWN = "down"
    UP = "up"
    HANDSHAKES = "handshakes"
    SERVER = "server"
    ROUND_TRIPS = "round_trips"
    MAIN_THREAD = "main_thread"
    UNKNOWN = "unknown"

    @property
    def key(self) -> str:
        """Of a record: how many ms of the load were of this class."""
        return f"waited_{self.value}_ms"


MAX_USERS = 100_000
MAX_TRIAL_S = 24 * 3600.0
MAX_THINK_S = 3600.0
MAX_STEPS = 100
MAX_CONNECTIONS = 20_000
MAX_DEPTH = 1000


@dataclass(frozen=True, kw_only=True)
class Users:
    """A crowd: a ramp of users `start` to `to` in `over_s`, or `steps` of so many users for `step_s` each.

    A user loads the page, thinks for `think_s`, and loads it again. What is not there after `page_timeout_s` has
    failed. Figures are summed up over `bucket_s`. `slower_than_s` is the bound of `users_over_bound`.
    """

    start: int | None = None
    to: int | None = None
    over_s: float | None = None
    steps: tuple[int, ...] = ()
    step_s: float | None = None
    think_s: float = 5.0
    page_timeout_s: float = 60.0
    bucket_s: float = 10.0
    slower_than_s: float = 3.0

    def __post_init__(self) -> None:
        if self.steps:
            self._check_steps()
        else:
            self._check_ramp()
        keys.checked_number("think_s", self.think_s, 0, MAX_THINK_S)
        keys.checked_number("page_timeout_s", self.page_timeout_s, 1, MAX_THINK_S)
        keys.checked_number("bucket_s", self.bucket_s, 1, MAX_THINK_S)
        keys.checked_number("slower_than_s", self.slower_than_s, 0.01, self.page_timeout_s)
        if self.bucket_s > self.seconds:
            raise StudyError(
                f"users: a bucket has {self.bucket_s:g} s and the trial {self.seconds:g} s; lower bucket_s"
            )

    @property
    def kind(self) -> Kind:
        return Kind.USERS

    @property
    def most(self) -> int:
        """The most users at a time."""
        return max(self.steps) if self.steps else self.to or 0

    @property
    def seconds(self) -> float:
        """How long the crowd asks for pages."""
        return (self.step_s or 0.0) * len(self.steps) if self.steps else self.over_s or 0.0

    def to_json(self) -> dict[str, Any]:
        """By the names of the study file; what it does not say, and the usual bound, is left out."""
        said = {
            "from": self.start,
            "to": self.to,
            "over_s": self.over_s,
            "steps": list(self.steps) or None,
            "step_s": self.step_s,
            "think_s": self.think_s,
            "page_timeout_s": self.page_timeout_s,
            "bucket_s": self.bucket_s,
            "slower_than_s": None if self.slower_than_s == Users.slower_than_s else self.slower_than_s,
        }
        return {key: value for key, value in said.items() if value is not None}

    def _check_ramp(self) -> None:
        ramp = {"from": self.start, "to": self.to, "over_s": self.over_s}
        missing = [key for key, value in ramp.items() if value is None]
        if missing:
            raise StudyError(
                f"users: {' and '.join(missing)} missing; a crowd is a ramp (from, to, over_s) or steps (steps, step_s)"
            )
        if self.step_s is not None:
            raise StudyError("users: step_s goes with steps, not with a ramp; leave one of them out")
        start = keys.checked_number("from", self.start, 1, MAX_USERS, whole=True)
        to = keys.checked_number("to", self.to, 1, MAX_USERS, whole=True)
        keys.checked_number("over_s", self.over_s, 1, MAX_TRIAL_S)
        if to < start:
            raise StudyError(f"users: the ramp goes down from {start:g} to {to:g}; raise to, or lower from")

    def _check_steps(self) -> None:
        for key, value in (("from", self.start), ("to", self.to), ("over_s", self.over_s)):
            if value is not None:
                raise StudyError(f"users: {key} is of a ramp and goes with no steps; leave one of them out")
        if self.step_s is None:
            raise StudyError("users: step_s is missing; say how long a step takes")
        if len(self.steps) > MAX_STEPS:
            raise StudyError(f"users: steps holds {len(self.steps)} entries; it may hold {MAX_STEPS}")
        for step in self.steps:
            keys.checked_number("steps", step, 1, MAX_USERS, whole=True)
        keys.checked_number("step_s", self.step_s, 1, MAX_TRIAL_S / len(self.steps))
        if list(self.steps) != sorted(set(self.steps)):
            raise StudyError(
                f"users: steps {', '.join(map(str, self.steps))} do not rise; put the fewest users first"
            )

    def __str__(self) -> str:
        """`1 to 1000 in 1200 s`, `50, 100 for 60 s each`."""
        if self.steps:
            each = " each" if len(self.steps) > 1 else ""
            return f"{', '.join(map(str, self.steps))} for {self.step_s:g} s{each}"
        ramp = f"{self.start} to {self.to}" if self.start != self.to else f"{self.to}"
        return f"{ramp} in {self.over_s:g} s"


@dataclass(frozen=True, kw_only=True)
class Requests:
    """A closed loop: so many `connections`, each with `depth` requests under way, for `seconds` after `warm_s`."""

    connections: int
    depth: int = 1
    seconds: float = 30.0
    warm_s: float = 3.0

    def __post_init__(self) -> None:
        keys.checked_number("connections", self.connections, 1, MAX_CONNECTIONS, whole=True)
        keys.checked_number("depth", self.depth, 1, MAX_DEPTH, whole=True)
        keys.checked_number("seconds", self.seconds, 1, MAX_TRIAL_S)
        keys.checked_number("warm_s", self.warm_s, 0, MAX_THINK_S)

    @property
    def kind(self) -> Kind:
        return Kind.REQUESTS

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        """`64 connections`, `64 connections x 8`."""
        return f"{count_of(self.connections, 'connection')}{f' x {self.depth}' if self.depth > 1 else ''}"


Workload = Users | Requests


def workload_of(data: Mapping[str, Any]) -> Workload:
    """Inverse of `to_json` of both; StudyError when this is neither."""
    values = dict(data)
    try:
        if "connections" in values:
            return Requests(**values)
        start, steps = values.pop("from", None), tuple(values.pop("steps", ()))
        return Users(start=start, steps=steps, **values)
    except TypeError as error:
        raise StudyError(f"not a workload ({error}): {shown(data)}") from error
