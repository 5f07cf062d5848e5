"""Progress of a run for a person: a bar with condition, count, last figure and remaining time; plain lines else."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from harness.input.shown import printable
from harness.outcome import Outcome
from harness.records import Record
from harness.study.plan import PlannedTrial
from harness.testbed.calibration import Calibration


def figure_of(record: Record) -> str:
    """The page-load time of a record, or how the trial ended instead."""
    plt = record.observation.plt_ms
    if record.outcome is Outcome.OK and plt is not None:
        return f"{plt:,.0f} ms"
    return printable(f"{record.outcome}: {record.reason}")


class PlainProgress:
    """A line per trial, for logs and pipes."""

    def __init__(self, console: Console, total: int, done: int) -> None:
        self._console = console
        self._total = total
        self._done = done

    def preparing(self, what: str) -> None:
        self._console.print(what)

    def warned(self, what: str) -> None:
        self._console.print(f"warning: {what}", markup=False)

    def calibrated(self, reading: Calibration) -> None:
        said = ", ".join(f"{each.what} {each.measured:.4g} {each.unit}" for each in reading.figures.values())
        verdict = f"off, {'; '.join(reading.complaints)}" if reading.complaints else "ok"
        self._console.print(f"  {said}: {verdict}")

    def trial_started(self, planned: PlannedTrial) -> None:
        pass

    def trial_ended(self, record: Record) -> None:
        self._done += 1
        self._console.print(f"{self._done}/{self._total} {record.planned.condition}: {figure_of(record)}")

    def trial_left_out(self) -> None:
        self._done += 1


class BarProgress:
    """One bar for the whole run; a trial that does not count also leaves a line."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def preparing(self, what: str) -> None:
        self._progress.update(self._task, condition=what)

    def warned(self, what: str) -> None:
        self._progress.console.print(f"warning: {what}", markup=False)

    def calibrated(self, reading: Calibration) -> None:
        if reading.complaints:
            self._progress.console.print(f"link {reading.link.name}: {'; '.join(reading.complaints)}")

    def trial_started(self, planned: PlannedTrial) -> None:
        self._progress.update(self._task, condition=str(planned.condition))

    def trial_ended(self, record: Record) -> None:
        if record.outcome is not Outcome.OK:
            self._progress.console.print(
                f"trial {record.planned.trial} {record.planned.condition}: {figure_of(record)}", markup=False
            )
        self._progress.update(self._task, advance=1, last=figure_of(record)[:40])

    def trial_left_out(self) -> None:
        self._progress.update(self._task, advance=1)


@contextlib.contextmanager
def progress(console: Console, total: int, done: int) -> Iterator[PlainProgress | BarProgress]:
    """A listener for the runner: a bar on a terminal, lines elsewhere. `done` trials were recorded before."""
    if not console.is_terminal:
        yield PlainProgress(console, total, done)
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
        yield BarProgress(bar, task)
