"""Parts killed or stopped while a run goes on, from outside, and what the records say of it.

They should blame the part that was struck, and have a true time.
"""

from __future__ import annotations

import contextlib
import math
import random
import signal
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.hostile.cases import FORGED, HUNG, LEFT, MISBLAMED, TRACEBACK, Case, one_line, traceback_in
from benchmarks.hostile.commands import Running, Workdir, send
from benchmarks.hostile.stage import PARTS, TIMEOUT_S, Part, shortest_ms, study, write_page
from harness.errors import Outcome
from harness.records import RECORDS, RecordReader, StoredRecord
from harness.trial.trial import START_S

SLACK_S = (
    START_S + 30.0
)  # the longest start of a browser, then a testbed made anew and its link measured again
POLL_S = 0.005


class RunOverError(Exception):
    """The run has ended, or says nothing any more; the fault and what was seen."""

    def __init__(self, fault: str, seen: str) -> None:
        super().__init__(seen)
        self.fault = fault
        self.seen = seen


@dataclass
class Watched:
    """A run under way: its records as they come."""

    running: Running
    path: Path
    seen: list[StoredRecord] = field(default_factory=list)
    _read_line: RecordReader = field(default_factory=RecordReader)

    def records(self, count: int) -> list[StoredRecord]:
        """So many records, waited for; raises RunOverError when they do not come."""
        deadline = time.monotonic() + TIMEOUT_S + SLACK_S
        while len(self.seen) < count:
            alive = self.running.alive
            if self._read():
                deadline = time.monotonic() + TIMEOUT_S + SLACK_S
                continue
            if not alive:
                code = self.running.popen.returncode
                raise RunOverError(TRACEBACK, f"the run ended ({code}): {one_line(self.running.written())}")
            if time.monotonic() > deadline:
                raise RunOverError(HUNG, f"no record for {TIMEOUT_S} s and {SLACK_S:g} s of slack")
            time.sleep(POLL_S)
        return self.seen[:count]

    def count(self) -> int:
        """How many there are by now."""
        self._read()
        return len(self.seen)

    def _read(self) -> bool:
        if not self.path.exists():
            return False
        whole = self.path.read_bytes().rpartition(b"\n")[0].splitlines()
        new = [self._read_line(line) for line in whole[len(self.seen) :]]
        self.seen += new
        return bool(new)

    def processes(self, part: Part) -> list[int]:
        return [pid for pid, words in self.running.parts().items() if part.found(words)]

    def honest_ms(self) -> float:
        """The median load time of the trials that nobody disturbed, as far as the report would take them."""
        times = [record.facts["plt_ms"] for record in self.seen if plain(record)]
        return statistics.median(times[:2]) if times else float("nan")


LONGER_MS, LONGER_SHARE = 200.0, 1.1  # what a pause of 300 ms adds at the least, if it adds anything
KILLS_PER_PART = 5
STOPPED_TWICE = ("caddy", "gateway", "dnsmasq", "linkem", "chromedriver", "playwright", "qtwebkit")
PAUSED = (
    "caddy",
    "gateway",
    "dnsmasq",
    "linkem",
    "chromium",
    "chromium-selenium",
    "renderer",
    "hop",
    *("qtwebkit", "firefox", "firefox-page", "webkit", "webkit-page", "weston"),
)
PAUSE_S = 0.3
BESIDE_OTHER_WORK = (
    "counts, so nothing was measured",
    "busy-machine",
)  # the only way to end with another code than 0
TYPICAL_TRIAL_S = 4.0


def plain(record: StoredRecord) -> bool:
    return record.outcome == Outcome.OK


def said_by(record: StoredRecord) -> str:
    if plain(record):
        return f"ok, {record.facts['plt_ms']:.0f} ms"
    return f"{record.outcome}: {record.reason}"


def misblamed(record: StoredRecord, rule: Mapping[Outcome, tuple[str, ...]]) -> str | None:
    """What the record says, when that blames another one than the struck part."""
    outcome = Outcome(record.outcome)
    if outcome is Outcome.OK or any(word in (record.reason or "") for word in rule.get(outcome, ())):
        return None
    return said_by(record)


def untrue(record: StoredRecord, usual_ms: float | None) -> str | None:
    """Why the time of a trial that enters an estimate is not that of the page on the link.

    `usual_ms` is what the page takes; None where nothing has held it up.
    """
    if not plain(record) or record.unsound is not None:
        return None
    plt = record.facts["plt_ms"]
    if plt < 0.98 * shortest_ms():
        return f"plt_ms {plt:.0f}, but the pictures take {shortest_ms():.0f} ms on the link"
    if usual_ms is not None and plt > max(usual_ms + LONGER_MS, LONGER_SHARE * usual_ms):
        return f"ok with plt_ms {plt:.0f}, undisturbed it is {usual_ms:.0f} ms"
    return None


def names(only: Callable[[str], bool], share: float, chance: random.Random) -> list[str]:
    """`HOW/PART/NUMBER` of every strike, those of a part together."""
    strikes = []
    for part in PARTS:
        stops = 2 if part in STOPPED_TWICE else 1
        for how, count in (("kill", KILLS_PER_PART), ("stop", stops), ("pause", int(part in PAUSED))):
            strikes += [f"{how}/{part}/{number}" for number in range(1, count + 1)]
    wanted = [name for name in strikes if only(name)]
    return wanted if share >= 1 else chance.sample(wanted, math.ceil(len(wanted) * share))


def strike_all(wanted: Sequence[str], folder: Path, seed: int) -> Iterator[Case]:
    """Every strike, those in a part one after the other in the same run as long as all goes well."""
    for part in PARTS.values():
        left = [name for name in wanted if name.split("/")[1] == part.name]
        while left:
            workdir = Workdir(folder / f"{part.name}-{len(left)}")
            write_page(workdir.archives)
            for case in _struck(part, tuple(left), workdir, seed):
                if case.name in left:
                    left.remove(case.name)
                yield case


def _struck(part: Part, wanted: Sequence[str], workdir: Workdir, seed: int) -> Iterator[Case]:
    """Strikes in one run, up to the first that shows a fault."""
    trials = 3 * len(wanted) + 2
    (workdir.folder / "study.toml").write_text(study(part.study, trials))
    with workdir.started("run", "study.toml", "--out", "run") as running:
        watched = Watched(running, workdir.folder / "run" / RECORDS)
        for name in wanted:
            began = time.monotonic()
            faults: dict[str, str] = {}
            chance = random.Random(f"{seed} {name}")  # noqa: S311
            said = ""
            try:
                said = _strike(part, name, watched, chance, faults)
            except RunOverError as over:
                faults[over.fault] = f"{said} {over.seen}".strip()
            if trace := traceback_in(running.written()):
                faults[TRACEBACK] = trace
            if faults:
                running.popen.kill()
                if left := workdir.left_behind():
                    faults[LEFT] = "; ".join(left)
            yield Case(
                _row(name), name, one_line(said or faults.get(HUNG, "")), time.monotonic() - began, faults
            )
            if faults:
                return
        yield _completed(part, watched, workdir, trials)


def _row(name: str) -> str:
    return {"kill": "kills of parts", "stop": "stops of parts", "pause": "pauses of parts, 300 ms"}[
        name.split("/", maxsplit=1)[0]
    ]


def _completed(part: Part, watched: Watched, workdir: Workdir, trials: int) -> Case:
    """The rest of a run whose parts were struck: it must come to its end with every record."""
    began = time.monotonic()
    faults: dict[str, str] = {}
    with contextlib.suppress(RunOverError):
        watched.records(trials)
    if not watched.running.ends_within(SLACK_S):
        faults[HUNG] = f"the run has {len(watched.seen)} records of {trials} and does not end"
    said = f"exit code {watched.running.popen.returncode}, {len(watched.seen)} records of {trials}"
    written = watched.running.written()
    busy = all(words in written for words in BESIDE_OTHER_WORK)
    ended_well = watched.running.popen.returncode == 0 or busy
    if HUNG not in faults and (not ended_well or len(watched.seen) != trials):
        faults[TRACEBACK] = f"{said}: {one_line(written)}"
    if HUNG not in faults and (left := workdir.left_behind()):
        faults[LEFT] = "; ".join(left)
    return Case("runs with struck parts", f"run/{part.name}", said, time.monotonic() - began, faults)


def _strike(part: Part, name: str, watched: Watched, chance: random.Random, faults: dict[str, str]) -> str:
    """Strike once at a drawn instant and judge the records that follow; what they say."""
    how = name.split("/", maxsplit=1)[0]
    watched.records(max(2, len(watched.seen)))  # the first two trials show what is usual
    pid, after_s, done = _hit(part, how, watched, chance)
    first, second = watched.records(done + 2)[done:]
    rule = part.killed if how == "kill" else part.stopped
    struck = [first]
    if plain(first) and not plain(second):  # the strike came too late for the trial under way
        struck.append(second)
        second = watched.records(done + 3)[-1]
    wrong = [wrongly for record in struck if (wrongly := misblamed(record, rule))]
    if how != "pause" and wrong:
        faults[MISBLAMED] = "; ".join(wrong)
    if how != "pause" and not plain(second):
        faults[MISBLAMED] = f"{said_by(struck[-1])}; and then, nobody disturbed it, {said_by(second)}"
    usual_ms = None if how == "kill" else watched.honest_ms()
    untruths = [why for record in struck if (why := untrue(record, usual_ms))]
    if untruths:
        faults[FORGED] = "; ".join(untruths)
    return f"{after_s:.1f} s, pid {pid}: {', then '.join(map(said_by, (*struck, second)))}"


def _hit(part: Part, how: str, watched: Watched, chance: random.Random) -> tuple[int, float, int]:
    """Strike one of the part's processes at an instant of a trial, drawn anew when it is not there.

    Which process that was, after how long, and how many records there were.
    """
    began = time.monotonic()
    while time.monotonic() < began + TIMEOUT_S + SLACK_S:
        if not watched.running.alive:
            raise RunOverError(TRACEBACK, f"the run ended: {one_line(watched.running.written())}")
        if part.comes and not watched.processes(part):
            time.sleep(POLL_S)
            continue
        time.sleep(chance.uniform(0, 2.5 if part.comes else TYPICAL_TRIAL_S))
        pids = watched.processes(part)
        if not pids:
            continue
        pid, done = chance.choice(pids), watched.count()
        if not send(pid, signal.SIGKILL if how == "kill" else signal.SIGSTOP):
            continue
        after_s = time.monotonic() - began
        if how == "pause":
            time.sleep(PAUSE_S)
            send(pid, signal.SIGCONT)
        return pid, after_s, done
    raise RunOverError(HUNG, f"no {part.name} was seen")
