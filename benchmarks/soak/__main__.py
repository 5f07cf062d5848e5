"""Thousands of trials with a fault about every twenty of them, and whether anything was lost, wrong or left.

    .venv/bin/python -m benchmarks.soak [--trials 10000] [--seed 1] [--for MINUTES] [--busy] [--out DIR] [--into DIR]

It writes short studies, one after the other (`stints.py`), and has `coldload run` measure each, by the same command
again until it is whole. The same call of this benchmark goes on with what is in the folder; Ctrl-C, or the end of its
time, ends it in order. Everything runs in an enclosure of its own, so that nothing outlives it. Faults come one after
the other in an order that the seed draws, at any instant of a trial:

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
is any of these. `--into docs/results` writes data/soak.json and the page soak.md of a soak that is over.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
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
    wrongly_spared,
)
from benchmarks.soak.course import Course, is_over
from benchmarks.soak.stints import PAGES, Stint, stints
from benchmarks.soak.striking import build_clock
from benchmarks.soak.tallies import figures, is_whole, text, write
from harness.errors import RecordsError
from harness.study.plan import PLAN
from harness.system import enclosure, interruption
from harness.system.files import replace_text
from harness.system.folders import RUNS, kept_folder
from sites.archive import archives_root

ASKED, FIGURES = "asked.json", "soak.json"


def prepare(out: Path, asked_for: Mapping[str, Any]) -> None:
    """The folder with its archives; SystemExit when it holds another soak, or a page is missing."""
    out.mkdir(parents=True, exist_ok=True)
    build_clock(out)
    asked, told = out / ASKED, json.dumps(asked_for)
    if asked.exists() and asked.read_text() != told:
        raise SystemExit(f"{out} holds a soak of {asked.read_text()}; choose another --out")
    for page in PAGES:
        if (out / "archives" / page).exists():
            continue
        if not (archives_root() / page).exists():
            raise SystemExit(f"{archives_root()} has no {page}: coldload archive --shipped makes it")
        shutil.copytree(archives_root() / page, out / "archives" / page)
    replace_text(asked, told)


def go_on(out: Path, todo: Sequence[Stint], every: int, ends_s: float) -> int:
    """Carry out the studies that are not over; 0. Must run inside an enclosure, as commands make theirs within it."""
    os.environ.pop(enclosure.MARK)
    workdir, before = Workdir(out), surroundings()
    for stint in todo:
        if time.monotonic() > ends_s:
            break
        Course(workdir, stint, before, every, ends_s).carry_out()
        print(f"{datetime.now(UTC):%H:%M} {stint.name}", flush=True)
    return 0


def audit(out: Path, every: Sequence[Stint]) -> Audit:
    """What came of the studies that were begun."""
    result, journal = Audit(), Journal.read(out / JOURNAL)
    result.add_calls(journal)
    attempts: list[tuple[str, Attempt]] = []
    for stint in every:
        run = out / stint.name / "run"
        if not (run / PLAN).exists():
            continue
        over = is_over(run, stint.name, journal)
        try:
            made = result.add_run(stint.name, run, journal, hostile=stint.hostile, over=over)
        except RecordsError as error:
            result.findings.append(Finding(WRONG, stint.name, str(error)))
        else:
            attempts += [(stint.name, attempt) for attempt in made]
    studies = {id(attempt): study for study, attempt in attempts}
    for attempt, why in wrongly_spared(attempt for _, attempt in attempts):
        result.findings.append(Finding(WRONG, studies[id(attempt)], f"{attempt.name}: {why}"))
    left = Workdir(out).temporary.iterdir()
    result.findings += [Finding(LEFT, "the end", f"temporary file {path.name}") for path in left]
    return result


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
    parser.add_argument("--out", type=Path, default=kept_folder(RUNS) / "soak")
    parser.add_argument(
        "--into", type=Path, help="once it is over, write data/soak.json and soak.md there (docs/results)"
    )
    asked = parser.parse_args()
    out, todo = asked.out.resolve(), stints(asked.trials, asked.seed, repeated=not asked.busy)
    what = {"trials": asked.trials, "seed": asked.seed, "busy": asked.busy}
    prepare(out, what)
    code = 0
    try:
        code = enclosure.enclosed(
            partial(go_on, out, todo, asked.every, time.monotonic() + asked.minutes * 60)
        )
    except KeyboardInterrupt:  # the end of this piece
        interruption.calm()
        code = interruption.EXIT_CODE
    told = figures(audit(out, todo), what, len(todo))
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
