"""The calls of one study, until it is whole: a fault comes some twenty records after the other, at any instant."""

from __future__ import annotations

import hashlib
import random
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

from benchmarks.hostile.commands import Running, Workdir
from benchmarks.hostile.leftovers import Surroundings, left_behind
from benchmarks.soak.audit import JOURNAL, Call, Journal, Strike
from benchmarks.soak.stints import Stint
from benchmarks.soak.striking import (
    CLOCK,
    CLOCK_LIBRARY,
    ENDING,
    GROUNDED,
    POLL_S,
    Fault,
    Seen,
    drawn,
    ground,
    ill_ended,
    runner_of,
    strike,
)
from benchmarks.waitinglab import whole_lines
from harness.system.files import append_line

INSTANT_S = 2.5  # after a record: most of a trial
STILL_S = 20 * 60.0  # without a record: a busy machine is waited for, and so is a link that is off
ENDS_WITHIN_S = 60.0  # a full disk is met by the next record
MOST_CALLS = 60  # of a study
REPORT = "report.html"
OURS = {
    "archives",
    "asked.json",
    CLOCK,
    CLOCK_LIBRARY,
    "disk",
    JOURNAL,
    "soak.json",
    "stderr",
    "stdout",
    "tmp",
}
STUDY_FOLDER = re.compile(r"\d{3,}-[\w-]+")


def is_over(run: Path, study: str, journal: Journal) -> bool:
    """Whether a study has come to its end, or was called so often that it should have."""
    return (run / REPORT).exists() or sum(call.study == study for call in journal.calls) >= MOST_CALLS


@dataclass
class Course:
    """One study under way. Must run inside an enclosure, of which `before` is what stood there before all calls.

    `every`: records from one fault to the next, on average. `ends_s`: when the time is up, by the monotonic clock.
    """

    workdir: Workdir
    stint: Stint
    before: Surroundings
    every: int
    ends_s: float
    chance: random.Random = field(default_factory=random.Random)

    def carry_out(self) -> None:
        """Call until the study is whole, or the time is up."""
        folder = self.stint.write(self.workdir)
        while not self._is_time_up:
            journal = Journal.read(self._journal)
            if is_over(folder / "run", self.stint.name, journal):
                return
            self.chance.seed(f"{self.stint.seed} {self.stint.name} {len(journal.calls)}")
            self._call(folder)

    @property
    def _journal(self) -> Path:
        return self.workdir.folder / JOURNAL

    @property
    def _is_time_up(self) -> bool:
        return time.monotonic() > self.ends_s

    @property
    def _next(self) -> Fault:
        """The fault that is due."""
        before = Journal.read(self._journal).strikes_at(self.stint.name)
        number = sum(past_strike.drawn for past_strike in before)
        return drawn(f"{self.stint.seed} {self.stint.name}", number, outlived=self.stint.is_outlived)

    def _call(self, folder: Path) -> None:
        began, fault, memory_mb = time.monotonic(), self._next, list[float]()
        struck = len(Journal.read(self._journal).strikes)
        with ground(fault, folder / "run", self.workdir) as (run, variables):
            words = ("run", str(folder / "study.toml"), "--out", str(run))
            with self.workdir.started(*words, variables=variables) as running:
                ended_by = self._strikes(running, Seen(run), fault, memory_mb)
                running.ends_within(ENDS_WITHIN_S)
                code, written = running.popen.poll(), running.written()
        was_struck = len(Journal.read(self._journal).strikes) > struck
        stored = whole_lines(folder / "run")
        call = Call(
            self.stint.name,
            round(time.monotonic() - began, 1),
            ill_ended(ended_by, code, written, was_struck=was_struck),
            tuple(self._left(over=(folder / "run" / REPORT).exists())),
            tuple(memory_mb),
            len(stored),
            hashlib.sha256(stored).hexdigest(),
        )
        append_line(self._journal, {"call": asdict(call)})

    def _left(self, *, over: bool) -> Iterator[str]:
        """What is there of a call that has ended. What one leaves in an archive that it made, the next one removes."""
        yield from left_behind(self.before)
        yield from self.workdir.left_behind()
        here = (path.name for path in self.workdir.folder.iterdir())
        yield from (f"file {name}" for name in here if name not in OURS and not STUDY_FOLDER.fullmatch(name))
        if over:
            yield from (f"archive part {path}" for path in self.workdir.archives.rglob("*.new"))

    def _strikes(
        self, running: Running, seen: Seen, begun_for: Fault, memory_mb: list[float]
    ) -> Fault | None:
        """Let one fault come after the other until the call ends; the one that ends it, None when it does so itself."""
        while self._reaches(running, seen, seen.count() + self._apart(), memory_mb):
            if running.ends_within(self.chance.uniform(0, INSTANT_S)):
                break
            fault = self._next
            if self._is_time_up or (fault in GROUNDED and fault is not begun_for):
                return self._strike(Fault.INTERRUPT, running, seen, is_drawn=False)
            if self._strike(fault, running, seen) in ENDING:
                return fault
        return None

    def _apart(self) -> int:
        return self.chance.randint((self.every + 1) // 2, self.every * 3 // 2)

    def _reaches(self, running: Running, seen: Seen, due: int, memory_mb: list[float]) -> bool:
        """Wait for so many records, or until the time is up; False when the call ends before, or stands still."""
        since_s, before = time.monotonic(), seen.count()
        while running.alive and time.monotonic() - since_s < STILL_S:
            count = seen.count()
            if count != before:
                since_s, before = time.monotonic(), count
                memory_mb += _memory_mb(running)
            if count >= due or self._is_time_up:
                return True
            time.sleep(POLL_S)
        return False

    def _strike(self, fault: Fault, running: Running, seen: Seen, *, is_drawn: bool = True) -> Fault | None:
        """The fault, None when it hit nobody."""
        hit = strike(fault, running, seen, self.workdir, self.chance)
        if hit is None:
            return None
        made = Strike(self.stint.name, fault, hit.what, hit.at_s, hit.until_s, is_drawn)
        append_line(self._journal, {"strike": asdict(made)})
        return fault


def _memory_mb(running: Running) -> list[float]:
    """What the runner has in memory (RSS), alone in a list; none when it has gone."""
    pid = runner_of(running)
    try:
        return [] if pid is None else [round(psutil.Process(pid).memory_info().rss / 1e6, 1)]
    except psutil.NoSuchProcess:
        return []
