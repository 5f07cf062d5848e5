"""Progress of a run for a person: a bar with condition, count, last figure and remaining time; plain lines else."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from harness.errors import Outcome
from harness.input.shown import printable
from harness.lab.calibration import Calibration
from harness.model.kind import Kind
from harness.model.trials import PlannedTrial
from harness.records import RecordLine, lane_name

FIGURES = {Kind.LOAD: "{:,.0f} ms", Kind.USERS: "{:,.1f} pages/s", Kind.REQUESTS: "{:,.0f} requests/s"}
WAITING_EVERY_S = 10  # a line of a log
PACE_EVERY_S = 60.0  # likewise, of a run that goes well
OFFER = (
    "to go on sooner, end what else runs on this machine; Ctrl-C ends the run here: what is recorded stays, "
    "`coldload report` tells what it is worth, and the same command goes on"
)
LINES_PER_S = 20


def figure_of(planned: PlannedTrial, record: RecordLine) -> str:
    """The main metric of a record and why it does not count, or how the attempt ended instead."""
    if record.outcome is not Outcome.OK or record.figure is None:
        return printable(f"{record.outcome}: {record.reason}")
    figure = FIGURES[planned.condition.kind].format(record.figure)
    is_left_out = record.left_out and not planned.portrait  # which is in no estimate anyway
    return f"{figure}, left out: {record.left_out}" if is_left_out else figure


def named(planned: PlannedTrial, record: RecordLine) -> str:
    """`trial 00012 attempt 2: dummy-2012 plain ...: 1,234 ms`."""
    on = "" if record.executor is None else f", {record.executor}"
    return f"trial {record.trial} attempt {record.attempt}{on}: {planned.condition}: {figure_of(planned, record)}"


class LineLimit:
    """Lines of attempts that a person can read: many machines end more of them."""

    def __init__(self) -> None:
        self._second = 0
        self._lines = 0

    def allows_one(self) -> bool:
        """Whether there is room for another line in this second."""
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._lines = second, 0
        self._lines += 1
        return self._lines <= LINES_PER_S


class Pace:
    """How far a run has come, of all its lanes together, and how long the rest takes at the pace so far.

    What to do about a busy machine is offered once.
    """

    def __init__(self, total: int, done: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.total = total
        self.done = done
        self._clock = clock
        self._began_s: float | None = None
        self._ended = self._counted = 0
        self._told_s = -math.inf
        self._has_offered = False

    def begin(self) -> None:
        """An attempt has started; what came before the first one is not counted in."""
        if self._began_s is None:
            self._began_s = self._told_s = self._clock()

    def end(self, record: RecordLine) -> None:
        """A trial has ended with this attempt, maybe one that nobody saw start."""
        self.begin()
        self.done += 1
        self._ended += 1
        self._counted += record.left_out is None

    def tells_now(self) -> bool:
        """Whether nobody was told for a minute; somebody is now, then."""
        now_s = self._clock()
        if self._began_s is None or now_s - self._told_s < PACE_EVERY_S or self.done >= self.total:
            return False
        self._told_s = now_s
        return True

    def offers_now(self) -> bool:
        """Whether it is still to be said what to do; it is now, then."""
        had, self._has_offered = self._has_offered, True
        return not had

    def __str__(self) -> str:
        """`3 of 8 trials count, 50 min to go at this pace`."""
        if not self._ended or self._began_s is None:
            return "no trial has ended yet"
        left_s = (self._clock() - self._began_s) / self._ended * (self.total - self.done)
        count = f"{self._counted} of {self._ended} trials count"
        return f"{count}, {roughly(left_s)} to go at this pace" if left_s else count


def roughly(seconds: float) -> str:
    """`40 s`, `50 min` or `3.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


class PlainProgress:
    """A line per attempt, for logs and pipes, but not more than can be read.

    `of` stands before what is told of a lane.
    """

    def __init__(self, console: Console, pace: Pace, of: str = "") -> None:
        self._console = console
        self._pace = pace
        self._of = of
        self._limit = LineLimit()

    def of_lane(self, lane: int) -> PlainProgress:
        """The watcher of a lane."""
        return PlainProgress(self._console, self._pace, f"{lane_name(lane)}: ")

    def preparing(self, what: str) -> None:
        self._console.print(f"{self._of}{what}")

    def warned(self, what: str) -> None:
        self._console.print(f"warning: {self._of}{what}", markup=False)

    def waiting(self, seconds: float) -> None:
        if int(seconds) % WAITING_EVERY_S == 0:
            self._console.print(f"{self._of}{_waiting(seconds, self._pace)}")
            if self._pace.offers_now():
                self._console.print(OFFER, markup=False)

    def calibrated(self, reading: Calibration) -> None:
        said = ", ".join(
            f"{figure.what} {figure.measured:.4g} {figure.unit}" for figure in reading.figures.values()
        )
        verdict = f"off, {'; '.join(reading.complaints)}" if reading.complaints else "ok"
        self._console.print(f"  {self._of}{said}: {verdict}")

    def attempt_started(self, planned: PlannedTrial, attempt: int) -> None:
        del planned, attempt
        self._pace.begin()

    def attempt_repeated(self, planned: PlannedTrial, record: RecordLine) -> None:
        if self._limit.allows_one():
            self._console.print(f"{named(planned, record)}; once more", markup=False)

    def trial_ended(self, planned: PlannedTrial, record: RecordLine) -> None:
        pace = self._pace
        pace.end(record)
        if pace.tells_now():
            self._console.print(str(pace))
        if not self._limit.allows_one() and pace.done != pace.total:
            return
        on = "" if record.executor is None else f"{record.executor}: "
        again = f"attempt {record.attempt}: " if record.attempt > 1 else ""
        figure = figure_of(planned, record)
        self._console.print(f"{pace.done}/{pace.total} {on}{planned.condition}: {again}{figure}")

    def portrait_taken(self, planned: PlannedTrial, record: RecordLine) -> None:
        if self._limit.allows_one():
            self._console.print(f"portrait of {planned.condition}: {figure_of(planned, record)}")

    def trials_not_run(self, count: int) -> None:
        self._pace.done += count


class BarProgress:
    """One bar for the whole run; an attempt that does not count, or was not the first, also leaves a line.

    What lanes do stands beside the bar, a line each.
    """

    def __init__(self, progress: Progress, task: TaskID, pace: Pace) -> None:
        self._progress = progress
        self._task = task
        self._pace = pace
        self._lanes: dict[int, str] = {}
        self._limit = LineLimit()

    def of_lane(self, lane: int) -> LaneOfBar:
        """The watcher of a lane."""
        return LaneOfBar(self, lane)

    def doing(self, lane: int, what: str) -> None:
        """What a lane is doing now."""
        self._lanes[lane] = what
        lines = [f"{lane_name(number)}: {self._lanes[number]}" for number in sorted(self._lanes)]
        self.preparing("\n".join(lines))

    def preparing(self, what: str) -> None:
        self._progress.update(self._task, condition=what)

    def warned(self, what: str) -> None:
        self._progress.console.print(f"warning: {what}", markup=False)

    def waiting(self, seconds: float) -> None:
        self.preparing(self.waits(seconds))

    def waits(self, seconds: float) -> str:
        """What is told of a busy machine; the first time also what to do."""
        if self._pace.offers_now():
            self._progress.console.print(f"the machine is busy: {OFFER}", markup=False)
        return _waiting(seconds, self._pace)

    def calibrated(self, reading: Calibration) -> None:
        if reading.complaints:
            self._progress.console.print(f"link {reading.link.name}: {'; '.join(reading.complaints)}")

    def attempt_started(self, planned: PlannedTrial, attempt: int) -> None:
        self.begin()
        self.preparing(_attempt(planned, attempt))

    def begin(self) -> None:
        """An attempt has started, here or in a lane."""
        self._pace.begin()

    def attempt_repeated(self, planned: PlannedTrial, record: RecordLine) -> None:
        if self._limit.allows_one():
            self._progress.console.print(f"{named(planned, record)}; once more", markup=False)

    def trial_ended(self, planned: PlannedTrial, record: RecordLine) -> None:
        if (record.left_out is not None or record.attempt > 1) and self._limit.allows_one():
            self._progress.console.print(named(planned, record), markup=False)
        self._pace.end(record)
        self._progress.update(self._task, advance=1, last=figure_of(planned, record)[:40])

    def portrait_taken(self, planned: PlannedTrial, record: RecordLine) -> None:
        if record.outcome is not Outcome.OK and self._limit.allows_one():
            self._progress.console.print(named(planned, record), markup=False)

    def trials_not_run(self, count: int) -> None:
        self._pace.done += count
        self._progress.update(self._task, advance=count)


class LaneOfBar:
    """What a lane tells, for its line beside the bar."""

    def __init__(self, bar: BarProgress, lane: int) -> None:
        self._bar = bar
        self._lane = lane

    def preparing(self, what: str) -> None:
        self._bar.doing(self._lane, what)

    def warned(self, what: str) -> None:
        self._bar.warned(f"{lane_name(self._lane)}: {what}")

    def waiting(self, seconds: float) -> None:
        self.preparing(self._bar.waits(seconds))

    def calibrated(self, reading: Calibration) -> None:
        self._bar.calibrated(reading)

    def attempt_started(self, planned: PlannedTrial, attempt: int) -> None:
        self._bar.begin()
        self.preparing(_attempt(planned, attempt))


def _attempt(planned: PlannedTrial, attempt: int) -> str:
    if planned.portrait:
        return f"portrait of {planned.condition}"
    return f"{planned.condition}, attempt {attempt}" if attempt > 1 else str(planned.condition)


def _waiting(seconds: float, pace: Pace) -> str:
    return f"the machine is busy: waiting for a quiet moment, {seconds:.0f} s; {pace}"


@contextlib.contextmanager
def progress(console: Console, total: int, done: int) -> Iterator[PlainProgress | BarProgress]:
    """A listener for the runner: a bar on a terminal, lines elsewhere. `done` trials were recorded before."""
    if not console.is_terminal:
        yield PlainProgress(console, Pace(total, done))
        return
    bar = Progress(
        TextColumn("{task.fields[condition]}", markup=False),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("last {task.fields[last]}", markup=False),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        console=console,
        refresh_per_second=2,  # drawing must not compete with the browser
        speed_estimate_period=600,
    )
    with bar:
        task = bar.add_task("trials", total=total, completed=done, condition="starting", last="-")
        yield BarProgress(bar, task, Pace(total, done))
