"""Thousands of trials with a fault about every twenty of them, and whether anything was lost, wrong or left.

    .venv/bin/python -m benchmarks.soak [--trials 10000] [--seed 1] [--for MINUTES] [--beside N] [--busy] [--out DIR]
                                        [--into DIR]

It writes short studies, one after the other (`stints.py`), and has `coldload run` measure each, by the same command
again until it is whole. The same call of this benchmark goes on with what is in the folder; Ctrl-C, or the end of its
time, ends it in order. Everything runs in an enclosure of its own, so that nothing outlives it; with `--beside 3` there
are three, each with its share of the studies, and it takes a third of the hours. Faults come one after the other in an
order that the seed draws, at any instant of a trial:

    kill       SIGKILL to the command, its supervisor, the enclosure's first process or the runner
    stop       SIGSTOP to the runner, and SIGCONT after 0.3 to 5 s
    disk       the run's disk (a tmpfs of this call) becomes full; the next call has room
    clock      the clock that the runner reads is put forward or back by 0.5 to 30 s within a trial, and right again
               within the next (`clock.c`; servers and browsers keep the machine's clock, which nobody touches)
    interrupt  SIGINT to the command and all of its group, as Ctrl-C does
    term       SIGTERM to the command
    server     SIGKILL to a process of a replay server: Caddy, nginx or the gateway
    dnsmasq    the same to a name server
    emulator   the same to the emulator of the link
    browser    the same to a browser, or to the process of a page
    driver     the same to chromedriver, Playwright's process, a hop or a display

After each piece it prints what came of all. Lost and twice: the records are not those of the plan, by the project's own
reading. Wrong: an attempt counts that should not (its protocol, its link, a cold start, its time on the link; a hostile
page of which the truth is known; a fault that hit it and made it longer), or does not count though nothing says so.
Left: processes, namespaces, mounts, control groups, files or parts of archives after a call. It ends with 1 when there
is any of these. `--into docs/results` adds a soak that is over to data/soak.json and to the page soak.md, which is of
all of them: machines and days may share the hours, each with a --seed of its own.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.hostile.commands import Workdir
from benchmarks.hostile.leftovers import surroundings
from benchmarks.soak.audit import (
    JOURNAL,
    LEFT,
    WRONG,
    Attempt,
    Audit,
    Finding,
    Journal,
    with_others,
    wrongly_spared,
)
from benchmarks.soak.course import Course, is_over
from benchmarks.soak.stints import PAGES, Stint, stints
from benchmarks.soak.striking import build_clock
from benchmarks.soak.tallies import figures, is_whole, text, write
from harness.errors import RecordsError
from harness.study.plan import PLAN
from harness.system import enclosure, interruption, syscalls
from harness.system.files import replace_text
from harness.system.folders import RUNS, kept_folder
from sites.archive import archives_root

ASKED, FIGURES = "asked.json", "soak.json"


@dataclass(frozen=True)
class Share:
    """Studies that are measured one after the other, and the folder that holds them with all that they need."""

    out: Path
    stints: tuple[Stint, ...]

    def prepare(self) -> None:
        """The folder with its archives; SystemExit when a page is missing."""
        self.out.mkdir(parents=True, exist_ok=True)
        build_clock(self.out)
        for page in PAGES:
            if (self.out / "archives" / page).exists():
                continue
            if not (archives_root() / page).exists():
                raise SystemExit(f"{archives_root()} has no {page}: coldload archive --shipped makes it")
            shutil.copytree(archives_root() / page, self.out / "archives" / page)

    def go_on(self, every: int, ends_s: float) -> int:
        """Carry out the studies that are not over; 0. Must run inside an enclosure: commands make theirs within it."""
        os.environ.pop(enclosure.MARK)
        workdir, before = Workdir(self.out), surroundings()
        for stint in self.stints:
            if time.monotonic() > ends_s:
                break
            Course(workdir, stint, before, every, ends_s).carry_out()
            print(f"{datetime.now(UTC):%H:%M} {stint.name}", flush=True)
        return 0


def shares(out: Path, studies: Sequence[Stint], beside: int) -> tuple[Share, ...]:
    """So many, each with every so manieth pair of studies (a page that ships, and hostile pages)."""
    if beside == 1:
        return (Share(out, tuple(studies)),)
    return tuple(
        Share(
            out / f"share-{n + 1}", tuple(stint for stint in studies if (stint.number - 1) // 2 % beside == n)
        )
        for n in range(beside)
    )


def remember(out: Path, asked_for: Mapping[str, Any]) -> None:
    """What this folder's soak is; SystemExit when it holds another one."""
    out.mkdir(parents=True, exist_ok=True)
    asked, told = out / ASKED, json.dumps(asked_for)
    if asked.exists() and asked.read_text() != told:
        raise SystemExit(f"{out} holds a soak of {asked.read_text()}; choose another --out")
    replace_text(asked, told)


def measure(parts: Sequence[Share], every: int, minutes: float) -> int:
    """Let each share go on in an enclosure of its own; the worst exit code."""
    if len(parts) == 1:
        return enclosure.enclosed(partial(parts[0].go_on, every, time.monotonic() + minutes * 60))
    words = [sys.executable, "-m", "benchmarks.soak", *sys.argv[1:], "--share"]
    running = [subprocess.Popen([*words, str(number)]) for number, _ in enumerate(parts, start=1)]
    try:
        return max(process.wait() for process in running)
    except KeyboardInterrupt:  # which all of them have got, too
        for process in running:
            process.wait()
        raise


def _until_interrupted(parts: Sequence[Share], every: int, minutes: float) -> int:
    try:
        return measure(parts, every, minutes)
    except KeyboardInterrupt:  # the end of this piece
        interruption.calm()
        return interruption.EXIT_CODE


def audit(parts: Sequence[Share]) -> Audit:
    """What came of the studies that were begun."""
    result, attempts = Audit(), list[tuple[str, Attempt]]()
    for part in parts:
        journal = Journal.read(part.out / JOURNAL)
        result.add_calls(journal)
        attempts += _runs(part, journal, result)
        left = Workdir(part.out).temporary.iterdir()
        result.findings += [Finding(LEFT, "the end", f"temporary file {path.name}") for path in left]
    studies = {id(attempt): study for study, attempt in attempts}
    made = [attempt for _, attempt in attempts]
    result.held_against_others = sum(attempt.counts for attempt, _ in with_others(made))
    for attempt, why in wrongly_spared(made):
        result.findings.append(Finding(WRONG, studies[id(attempt)], f"{attempt.name}: {why}"))
    return result


def _runs(part: Share, journal: Journal, result: Audit) -> Iterator[tuple[str, Attempt]]:
    """Add each run that was begun; its attempts, with the study."""
    for stint in part.stints:
        run = part.out / stint.name / "run"
        if not (run / PLAN).exists():
            continue
        over = is_over(run, stint.name, journal)
        try:
            made = result.add_run(stint.name, run, journal, hostile=stint.hostile, over=over)
        except RecordsError as error:
            result.findings.append(Finding(WRONG, stint.name, str(error)))
        else:
            yield from ((stint.name, attempt) for attempt in made)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=10_000, help="at least so many")
    parser.add_argument("--every", type=int, default=20, help="records from a fault to the next, on average")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--for", type=float, default=math.inf, dest="minutes", metavar="MINUTES")
    parser.add_argument(
        "--busy",
        action="store_true",
        help="beside other work: no attempt is repeated, so no run waits for calm",
    )
    parser.add_argument(
        "--beside", type=int, default=1, metavar="N", help="so many at a time; more than one is --busy"
    )
    parser.add_argument("--share", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=kept_folder(RUNS) / "soak")
    parser.add_argument(
        "--into", type=Path, help="once it is over, add it to data/soak.json and soak.md there (docs/results)"
    )
    asked = parser.parse_args()
    if asked.beside < 1:
        parser.error(f"--beside is {asked.beside}; at least 1")
    busy = asked.busy or asked.beside > 1
    out, todo = asked.out.resolve(), stints(asked.trials, asked.seed, repeated=not busy)
    parts = shares(out, todo, asked.beside)
    if asked.share:
        syscalls.die_with_parent(signal.SIGKILL)
        return _until_interrupted(parts[asked.share - 1 : asked.share], asked.every, asked.minutes)
    what = {"trials": asked.trials, "seed": asked.seed, "busy": busy, "beside": asked.beside}
    remember(out, what)
    for part in parts:
        part.prepare()
    code = _until_interrupted(parts, asked.every, asked.minutes)
    told = figures(audit(parts), what, len(todo))
    replace_text(out / FIGURES, json.dumps(told, indent=1, allow_nan=False) + "\n")
    print(text(told))
    if asked.into and not is_whole(told):
        print(
            f"nothing is written into {asked.into}: the soak is not over; the same call goes on",
            file=sys.stderr,
        )
        return 1
    if asked.into:
        write(told, asked.into)
    return 1 if told["findings"] else code


if __name__ == "__main__":
    sys.exit(main())
