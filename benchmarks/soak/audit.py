"""Whether what a soak left is what it should be: its records against their plan, each by what it says of itself, by
what is known of its page and by the faults that hit it; how calls ended, what they left, and the runner's memory.

Reads files alone: `coldload`'s run directories, and the journal of the calls and their faults.
"""

from __future__ import annotations

import hashlib
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.hostile.truth import HONEST, against, catalogue
from harness.errors import Outcome
from harness.input import jsontext
from harness.model.condition import Condition
from harness.model.link import Link
from harness.records import RECORDS, RecordReader, StoredRecord
from harness.run.attempts import ENGINE_MISSING, Attempts
from harness.study.metrics import machine_reasons
from harness.study.plan import LOOKS, PLAN, Looks, Plan, read_looks

LOST, TWICE, WRONG, LEFT, ENDED, GREW = "lost", "twice", "wrong", "left", "ended badly", "grew"
KINDS = (LOST, TWICE, WRONG, LEFT, ENDED, GREW)
JOURNAL = "journal.jsonl"
AROUND_S = 0.2  # a fault is of an attempt that ended so near it
LONGEST_S = 120.0  # an attempt whose length nobody knows
BEFORE_S = 10.0  # the clock of a run may have been set back by so much between a reading and a trial
SLACK_MS = 100.0  # from the load event until the link's counters are read
FEWER = 0.9  # of the requests of others of the condition
LONGER_SHARE, LONGER_MS = 1.2, 200.0  # than the longest of them
LONG = 100  # records of a call: then its memory tells something
MOST_GROWTH = 0.1  # of the runner's memory, from the second quarter of such a call to the last


@dataclass(frozen=True)
class Finding:
    """Something that should not be; `what` is one of KINDS, `study` where."""

    what: str
    study: str
    said: str


@dataclass(frozen=True)
class Strike:
    """A fault, and what it hit; from and until when, in s since 1970. `drawn` by the seed, or to begin a call anew."""

    study: str
    fault: str
    what: str
    at_s: float
    until_s: float
    drawn: bool = True


@dataclass(frozen=True)
class Call:
    """One call of the command. `ill`: how it ended, where it should not have. `left`: what it left behind.

    `memory_mb` is the runner's after each record. `stored` bytes of records.jsonl were whole lines at its end, with
    this SHA-256.
    """

    study: str
    seconds: float
    ill: str | None
    left: tuple[str, ...]
    memory_mb: tuple[float, ...]
    stored: int
    digest: str


@dataclass(frozen=True)
class Journal:
    """What was done to the studies, in its order."""

    strikes: tuple[Strike, ...] = ()
    calls: tuple[Call, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Journal:
        """That of a file; empty where there is none. A last line that was cut off is none."""
        strikes, calls = [], []
        for _, line in jsontext.each(path, jsontext.parse):
            if "strike" in line:
                strikes.append(msgspec.convert(line["strike"], Strike))
            else:
                calls.append(msgspec.convert(line["call"], Call))
        return cls(tuple(strikes), tuple(calls))

    def strikes_at(self, study: str) -> list[Strike]:
        return [strike for strike in self.strikes if strike.study == study]


@dataclass(frozen=True)
class Attempt:
    """A record with all its keys, its condition and the faults that came while it was made.

    `longest_ms`: what it may have taken at most, by the record after it where it does not tell itself.
    """

    facts: Mapping[str, Any]
    record: StoredRecord
    condition: Condition
    strikes: tuple[Strike, ...] = ()
    longest_ms: float = math.inf

    @property
    def name(self) -> str:
        return f"trial {self.record.trial}, attempt {self.record.attempt} ({self.condition})"

    @property
    def counts(self) -> bool:
        return self.record.left_out is None

    @property
    def is_timed(self) -> bool:
        """Whether it counts with a time of its own."""
        return self.counts and self.record.outcome == Outcome.OK

    @property
    def timed_out(self) -> bool:
        """Whether it counts as the longest time of its condition."""
        return self.counts and self.record.outcome == Outcome.PAGE_TIMEOUT

    @property
    def wall_ms(self) -> float | None:
        """What the whole attempt took."""
        load, rest = self.facts["plt_ms"], self.record.overhead_ms
        return None if load is None or rest is None else load + rest


def against_plan(plan: Plan, looks: Looks, records: Sequence[StoredRecord]) -> Iterator[tuple[str, str]]:
    """What of a run that is over is lost or there twice."""
    attempts, made = Attempts(plan), defaultdict[str, set[int]](set)
    for record in records:
        made[record.trial].add(record.attempt)
        try:
            attempts.note(record.trial, record.attempt, record.left_out, executor=record.executor)
        except ValueError as error:
            yield TWICE, str(error)
    for planned in plan.trials:
        there = made[planned.trial]
        if missing := set(range(1, max(there, default=0))) - there:
            yield (
                LOST,
                f"of trial {planned.trial} attempt {min(missing)} is not recorded, and {max(there)} is",
            )
        if looks.needs(planned) and (attempt := attempts.next_of(planned)) is not None:
            yield LOST, f"attempt {attempt} at trial {planned.trial} ({planned.condition}) is not recorded"


def kept(call: Call, records: bytes) -> bool:
    """Whether what was stored at the end of a call is there still."""
    return hashlib.sha256(records[: call.stored]).hexdigest() == call.digest


def unproved(attempt: Attempt, readings: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Why an attempt counts that should not, or the other way round, by its own record and the readings of the link."""
    facts, record, condition = attempt.facts, attempt.record, attempt.condition
    if record.left_out == ENGINE_MISSING:
        yield f"an engine that is there is told missing: {record.reason}"
    elif record.left_out != record.unsound:
        yield f"left_out is {record.left_out}, and by its own keys it is {record.unsound}"
    if not (attempt.is_timed or attempt.timed_out):
        if attempt.counts:
            yield f"it counts, and its outcome is {record.outcome}"
        return
    if not _measured(condition.link, record, readings):
        yield f"it counts, and its link {condition.link.name} was not measured before, or was off"
    spoken = set(facts["protocols"] or {})
    if attempt.timed_out:  # perhaps before its first request
        if not spoken <= {condition.protocol.wire}:
            yield f"it counts as a time-out, and its requests went by {facts['protocols']}"
        return
    if spoken != {condition.protocol.wire}:
        yield f"it counts, and its requests went by {facts['protocols']}"
    if facts["tls_resumed"] or facts["service_requests"] or not facts["server_connections"]:
        cold = {key: facts[key] for key in ("tls_resumed", "service_requests", "server_connections")}
        yield f"it counts, and was not cold or alone: {cold}"
    took_ms = max(facts["plt_ms"], facts["navigate_ms"] or 0.0)
    carried_ms = (facts["bytes_down"] or 0) * 8 / (condition.link.down.rate.mean_mbps * 1000)
    if carried_ms > took_ms + SLACK_MS:
        yield f"{facts['bytes_down']} bytes take {carried_ms:.0f} ms on its link, and the load took {took_ms:.0f} ms"
    if facts["plt_ms"] < condition.link.rtt_ms:
        yield f"plt_ms is {facts['plt_ms']:.1f}, less than a round trip"


def _measured(link: Link, record: StoredRecord, readings: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the last reading of the link before a record had no complaints."""
    latest = seconds(record.started_utc) + BEFORE_S
    before = [
        reading
        for reading in readings
        if reading["link"] == link.to_json() and seconds(reading["taken_utc"]) <= latest
    ]
    return bool(before) and bool(before[-1]["ok"])


def seconds(moment: str | None) -> float:
    """Since 1970, of a time as a run writes it."""
    return datetime.fromisoformat(moment or "").timestamp()


def untrue(attempts: Sequence[Attempt]) -> Iterator[tuple[Attempt, str]]:
    """Attempts at hostile pages that nobody disturbed, and whose records are not true by what is known of the page."""
    honest = {driver: statistics.median(times) for driver, times in _times(attempts, HONEST).items() if times}
    for attempt in attempts:
        if attempt.strikes or attempt.record.left_out in machine_reasons():
            continue
        page, driver = catalogue()[attempt.condition.page], attempt.condition.driver
        for fault, said in against(page, attempt.record, attempt.longest_ms, honest.get(driver)).items():
            yield attempt, f"{fault}: {said}"


def _times(attempts: Iterable[Attempt], page: str) -> Mapping[str, list[float]]:
    times: defaultdict[str, list[float]] = defaultdict(list)
    for attempt in attempts:
        if attempt.condition.page == page and attempt.is_timed and not attempt.strikes:
            times[attempt.condition.driver].append(attempt.facts["plt_ms"])
    return times


def with_strikes(
    records: Sequence[tuple[StoredRecord, Condition]], strikes: Sequence[Strike]
) -> list[Attempt]:
    """The records of a run in their order, each with the faults that came while it was made, or since the one before:
    a server that dies between two trials spoils the next one. It may be one that is needed much later: of a failure of
    the testbed it can have been any fault before.
    """
    attempts: list[Attempt] = []
    since = 0.0
    for number, (record, condition) in enumerate(records):
        attempt = Attempt(record.facts, record, condition)
        began = seconds(record.started_utc)
        ended = began + LONGEST_S
        if attempt.wall_ms is not None:
            ended = began + attempt.wall_ms / 1000
        elif number + 1 < len(records):
            ended = min(seconds(records[number + 1][0].started_utc), ended)
        first = 0.0 if record.outcome == Outcome.TESTBED_FAILED else since - AROUND_S
        hit = [strike for strike in strikes if first <= strike.until_s and strike.at_s <= ended + AROUND_S]
        attempts.append(replace(attempt, strikes=tuple(hit), longest_ms=1000 * (ended - began)))
        since = ended
    return attempts


def with_others(attempts: Iterable[Attempt]) -> Iterator[tuple[Attempt, list[Attempt]]]:
    """Attempts that a fault hit, each with those of its condition that none hit and that have times; those without any
    are left out.
    """
    every = list(attempts)
    usual: defaultdict[Condition, list[Attempt]] = defaultdict(list)
    for attempt in every:
        if attempt.is_timed and not attempt.strikes:
            usual[attempt.condition].append(attempt)
    for attempt in every:
        if attempt.strikes and usual[attempt.condition]:
            yield attempt, usual[attempt.condition]


def wrongly_spared(attempts: Iterable[Attempt]) -> Iterator[tuple[Attempt, str]]:
    """Attempts that a fault hit and that count, though they took longer or fetched less than others of their condition,
    or timed out as none of these.

    A fault may come before the load begins, or after its end: then the attempt counts by right, and is as all others.
    """
    every = list(attempts)
    slow = {
        each.condition for each in every if each.timed_out and not each.strikes
    }  # that time out by themselves
    for attempt, others in with_others(every):
        hit = ", ".join(f"{strike.fault} of {strike.what}" for strike in attempt.strikes)
        if attempt.timed_out and attempt.condition not in slow:
            most = max(other.facts["plt_ms"] for other in others)
            yield attempt, f"it timed out and counts, plt_ms of others is {most:.0f} at most ({hit})"
        if not attempt.is_timed:
            continue
        for key in ("plt_ms", "navigate_ms"):
            value, told = attempt.facts[key], [other.facts[key] for other in others if other.facts[key]]
            if value and told and value > LONGER_SHARE * max(told) + LONGER_MS:
                yield attempt, f"{key} is {value:.0f}, of others {max(told):.0f} at most ({hit})"
        least = FEWER * statistics.median(other.facts["requests"] for other in others)
        if attempt.facts["requests"] < least:
            yield attempt, f"requests are {attempt.facts['requests']}, of others over {least:.0f} ({hit})"


def growth(memory_mb: Sequence[float]) -> float | None:
    """By which share the runner's memory grew from the second quarter of a call to the last; None of a short one.

    In the first quarter every engine and driver comes for the first time, and what steers it is loaded.
    """
    if len(memory_mb) < LONG:
        return None
    quarter = len(memory_mb) // 4
    return statistics.median(memory_mb[-quarter:]) / statistics.median(memory_mb[quarter : 2 * quarter]) - 1


@dataclass
class Audit:
    """What a soak came to."""

    studies: int = 0
    planned: int = 0
    recorded: int = 0
    counted: int = 0
    struck: int = 0
    struck_counted: int = 0
    held_against_others: int = 0  # of those that were struck and count
    attempts: int = 0
    hours: float = 0.0
    left_out: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    # Attempts, by the faults that may have hit them: that came while they were made, or in a call that then failed.
    hit: Counter[str] = field(default_factory=Counter)
    hit_counted: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    grown: list[float] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def add_calls(self, journal: Journal) -> None:
        """Those of a share."""
        self.calls += len(journal.calls)
        self.hours += sum(call.seconds for call in journal.calls) / 3600
        self.faults.update(strike.fault for strike in journal.strikes if strike.drawn)
        for call in journal.calls:
            self.memory_mb += call.memory_mb
            if call.ill is not None:
                self.findings.append(Finding(ENDED, call.study, call.ill))
            self.findings += [Finding(LEFT, call.study, said) for said in call.left]
            grown = growth(call.memory_mb)
            if grown is not None:
                self.grown.append(grown)
                if grown > MOST_GROWTH:
                    self.findings.append(
                        Finding(GREW, call.study, f"the runner's memory grew by {grown:.0%}")
                    )

    def add_run(self, study: str, run: Path, journal: Journal, *, hostile: bool, over: bool) -> list[Attempt]:
        """What became of a study. `over`: it should be whole. Returns its attempts."""
        plan = Plan.read(run / PLAN)
        path = run / RECORDS
        read = [(record, condition) for _, record, condition in RecordReader(plan.distinct).of(path)]
        attempts = with_strikes(read, journal.strikes_at(study))
        self.studies += over
        self.planned += len(plan.trials)
        self.recorded += len({record.trial for record, _ in read})
        self.attempts += len(attempts)
        self.counted += sum(attempt.counts for attempt in attempts)
        self.left_out.update(attempt.record.left_out for attempt in attempts if attempt.record.left_out)
        self.struck += sum(bool(attempt.strikes) for attempt in attempts)
        self.struck_counted += sum(attempt.counts and bool(attempt.strikes) for attempt in attempts)
        for attempt in attempts:
            faults = {strike.fault for strike in attempt.strikes}
            self.hit.update(faults)
            self.hit_counted.update(faults if attempt.counts else ())
        findings: list[tuple[str, str]] = []
        if over:
            looks = read_looks(run / LOOKS, plan)
            findings += against_plan(plan, looks, [record for record, _ in read])
        stored = path.read_bytes() if path.exists() else b""
        for call in journal.calls:
            if call.study == study and not kept(call, stored):
                findings.append((LOST, "records that were stored at the end of a call are there no more"))
        readings = [data for _, data in jsontext.each(run / "calibration.jsonl", jsontext.parse)]
        for attempt in attempts:
            findings += [(WRONG, f"{attempt.name}: {why}") for why in unproved(attempt, readings)]
        if hostile:
            findings += [(WRONG, f"{attempt.name}: {why}") for attempt, why in untrue(attempts)]
        self.findings += [Finding(what, study, said) for what, said in findings]
        return attempts

    def count(self, what: str) -> int:
        return sum(finding.what == what for finding in self.findings)
