"""The runner itself struck: killed, or told to end, at any instant of a run, also while Python still starts."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.hostile.cases import HUNG, LEFT, MISBLAMED, TRACEBACK, Case, one_line, traceback_in
from benchmarks.hostile.commands import Place, Running, listens, send
from benchmarks.hostile.stage import PLAYWRIGHT, study, write_page
from harness.system.processtree import family

TRIALS = 2
ENDS_WITHIN_S, SLACK_S = 2.0, 1.0
LONGEST_S = 9.0  # of such a run, roughly
STARTING_S = 0.8  # Python imports
INTERRUPTED = 130

# What is struck: the depth in the tree of processes (the command, its supervisor, the enclosure's first, the work).
KILLED = {"command": 0, "supervisor": 1, "first": 2, "work": 3}
TOLD = {"term": signal.SIGTERM, "interrupt": signal.SIGINT, "hangup": signal.SIGHUP, "quit": signal.SIGQUIT}
KILLS = {
    "command": 8,
    "supervisor": 4,
    "first": 4,
    "work": 4,
    "term": 5,
    "interrupt": 5,
    "hangup": 2,
    "quit": 3,
}


def names(only: Callable[[str], bool], share: float, chance: random.Random) -> list[str]:
    found = [f"runner/{what}/{number}" for what, count in KILLS.items() for number in range(1, count + 1)]
    wanted = [name for name in found if only(name)]
    return wanted if share >= 1 else sorted(chance.sample(wanted, max(1, int(len(wanted) * share))))


def strike_all(wanted: Sequence[str], folder: Path, seed: int) -> Iterator[Case]:
    """Strikes at the same run, which is continued each time, and at last comes to its end."""
    if not wanted:
        return
    place = Place(folder / "runner")
    write_page(place.archives)
    (place.folder / "study.toml").write_text(study(PLAYWRIGHT, TRIALS))
    for number, name in enumerate(wanted):
        out = f"run-{number // 6}"
        chance = random.Random(f"{seed} {name}")  # noqa: S311
        case = None
        while case is None:
            case = _strike(name, place, out, chance)
            out += "-again"  # the run before had come to its end
        yield case
    yield _completed(place)


def _strike(name: str, place: Place, out: str, chance: random.Random) -> Case | None:
    """One strike; None when the run had ended before."""
    what = name.split("/")[1]
    early = chance.random() < 0.4 and what not in ("first", "work")
    wait_s = chance.uniform(0, STARTING_S if early else LONGEST_S)
    with place.started("run", "study.toml", "--out", out) as running:
        ended = running.ends_within(wait_s)
        nobody_there = not listens(running.popen.pid)
        if ended or not struck_by(running, what):
            return None
        struck = time.monotonic()
        faults: dict[str, str] = {}
        if not running.ends_within(ENDS_WITHIN_S + SLACK_S):
            faults[HUNG] = f"still there {ENDS_WITHIN_S + SLACK_S:g} s after the signal"
        seconds = time.monotonic() - struck
        code, written = running.popen.poll(), running.written()
    if (trace := traceback_in(written)) and not nobody_there:
        faults[TRACEBACK] = trace
    if what in TOLD and not nobody_there and code not in (INTERRUPTED, None):
        faults[MISBLAMED] = f"exit code {code}, not {INTERRUPTED}: {one_line(written)}"
    if (
        what in TOLD
        and code == INTERRUPTED
        and not nobody_there
        and sum("interrupted" in line for line in written.splitlines()) != 1
    ):
        faults[MISBLAMED] = f"it ends without the one line that says why: {one_line(written)!r}"
    if what in KILLED and code == 0:
        faults[MISBLAMED] = "exit code 0, though it was killed"
    if left := place.left_behind():
        faults[LEFT] = "; ".join(left)
    said = f"{wait_s:.2f} s after the start; exit code {code} after {seconds:.2f} s: {one_line(written, 120)}"
    return Case(
        f"{'kills' if what in KILLED else 'signals'} of the runner", name, said, wait_s + seconds, faults
    )


def struck_by(running: Running, what: str) -> bool:
    """Whether there was somebody to strike."""
    if what == "interrupt":  # as a terminal does: to all of the foreground
        try:
            os.killpg(running.popen.pid, signal.SIGINT)
        except ProcessLookupError:
            return False
        return True
    if what in TOLD:
        return send(running.popen.pid, TOLD[what])
    tree = family(running.popen.pid)
    return len(tree) > KILLED[what] and send(tree[KILLED[what]], signal.SIGKILL)


def _completed(place: Place) -> Case:
    """The run that was struck last, given the same command once more."""
    began, faults = time.monotonic(), {}
    out = max(place.folder.glob("run-*"), key=lambda path: path.stat().st_mtime)
    with place.started("run", "study.toml", "--out", out.name) as running:
        if not running.ends_within(60):
            faults[HUNG] = "the continued run does not end"
        code, written = running.popen.poll(), running.written()
    count = (out / "records.jsonl").read_bytes().count(b"\n") if (out / "records.jsonl").exists() else 0
    if code != 0 or count != TRIALS:
        faults[TRACEBACK] = (
            f"the continued run: exit code {code}, {count} records of {TRIALS}: {one_line(written)}"
        )
    if left := place.left_behind():
        faults[LEFT] = "; ".join(left)
    return Case(
        "runs with struck parts", "runner/completed/1", f"exit code {code}", time.monotonic() - began, faults
    )
