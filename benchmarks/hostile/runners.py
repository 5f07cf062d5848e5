"""Commands struck at any instant: `run` killed, or told to end, also while Python still starts; others told to end.

Also `coldload shell` whose link emulator is killed.
"""

from __future__ import annotations

import io
import itertools
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.hostile.cases import HUNG, LEFT, MISBLAMED, TRACEBACK, Case, one_line, traceback_in
from benchmarks.hostile.commands import Running, Workdir, badly_ended, listens, send
from benchmarks.hostile.site import START, html, text
from benchmarks.hostile.stage import PAGE, PARTS, PLAYWRIGHT, RUN, measured, study, write_page
from benchmarks.waitinglab import records
from harness.system.processtree import family
from sites import warc
from sites.response import Response

TRIALS = 2
ENDS_WITHIN_S, SLACK_S = 2.0, 1.0
LONGEST_S = 9.0  # of such a run, roughly
ANEW_S = 120.0  # likewise, report included, on a busy machine
STARTING_S = 0.8  # Python imports
INTERRUPTED = 130

# What is struck: the depth in the tree of processes (the command, its supervisor, the enclosure's first, the work).
KILLED = {"command": 0, "supervisor": 1, "first": 2, "work": 3}
TOLD = {"quit": signal.SIGQUIT, "term": signal.SIGTERM, "interrupt": signal.SIGINT, "hangup": signal.SIGHUP}
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
    strikes = [f"runner/{what}/{number}" for what, count in KILLS.items() for number in range(1, count + 1)]
    wanted = [name for name in strikes if only(name)]
    return wanted if share >= 1 else sorted(chance.sample(wanted, max(1, int(len(wanted) * share))))


def strike_all(wanted: Sequence[str], folder: Path, seed: int) -> Iterator[Case]:
    """Strikes at the same run, which is continued each time, and at last comes to its end."""
    if not wanted:
        return
    workdir = Workdir(folder / "runner")
    write_page(workdir.archives)
    (workdir.folder / "study.toml").write_text(study(PLAYWRIGHT, TRIALS))
    for number, name in enumerate(wanted):
        out = f"run-{number // 6}"
        chance = random.Random(f"{seed} {name}")  # noqa: S311
        while (case := _strike(name, workdir, out, chance)) is None:
            out += "-again"  # the run before had come to its end
        yield case
    yield _completed(workdir, workdir.folder / out)


def _strike(name: str, workdir: Workdir, out: str, chance: random.Random) -> Case | None:
    """One strike; None when the run had ended before."""
    what = name.split("/")[1]
    early = chance.random() < 0.4 and what not in ("first", "work")
    wait_s = chance.uniform(0, STARTING_S if early else LONGEST_S)
    with workdir.started("run", "study.toml", "--out", out) as running:
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
    if left := workdir.left_behind():
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


def _completed(workdir: Workdir, out: Path) -> Case:
    """The run that was struck last, given the same command once more. A strike may have come before it had a folder."""
    began, faults = time.monotonic(), {}
    with workdir.started("run", "study.toml", "--out", out.name) as running:
        if not running.ends_within(ANEW_S):
            faults[HUNG] = "the continued run does not end"
        code, written = running.popen.poll(), running.written()
    count = len(records(out))
    if code != 0 or count != TRIALS:
        faults[TRACEBACK] = (
            f"the continued run: exit code {code}, {count} records of {TRIALS}: {one_line(written)}"
        )
    if left := workdir.left_behind():
        faults[LEFT] = "; ".join(left)
    return Case(
        "runs with struck parts", "runner/completed/1", f"exit code {code}", time.monotonic() - began, faults
    )


LOOK_S = 0.01
LAST_S = 0.3  # in which a command that has done all hears no signal
ROW, SHELL = "signals of other commands", "kills below a shell"
LIMIT_S = 60.0
OBJECTS, OBJECT_BYTES = 400, 200_000  # of the recording that is imported, which takes seconds

# Words, and how long the command takes at the least.
COMMANDS: Mapping[str, tuple[tuple[str, ...], float]] = {
    "import": (("import", "large.warc.gz", "--name", "large"), 4),
    "optimize": (("optimize", PAGE, "--variant", "core"), 1.5),
    "pack": (("pack", RUN, "--out", "ended.zip"), 5),
    "report": (("report", RUN, "--out", "ended"), 5),
    "records": (("records", RUN, "--out", "ended.csv"), 1.5),
    "verify": (("verify", PAGE), 10),
    "load": (("load", PAGE), 5),
    "shell": (("shell", "--", "sleep", "9"), 6),
    "show": (("show", RUN), 4),
}
STRUCK = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}


def names_of_ends(only: Callable[[str], bool]) -> list[str]:
    cases = [f"end/{command}/{how}" for command, how in itertools.product(COMMANDS, TOLD)]
    cases += [f"shell/linkem/{how}" for how in STRUCK]
    return [name for name in cases if only(name)]


def end_all(wanted: Sequence[str], folder: Path, seed: int) -> Iterator[Case]:
    if not wanted:
        return
    workdir = measured(folder)
    (workdir.folder / "large.warc.gz").write_bytes(_large())
    for name in wanted:
        yield _struck_shell(name, workdir) if name.startswith("shell/") else _told(name, workdir, seed)


def _large() -> bytes:
    """A recording of 80 MB that cannot be compressed."""
    file, chance = io.BytesIO(), random.Random(3)  # noqa: S311
    writer = warc.Writer(file, warc.About(START, "", "", ()))
    body = "".join(f'<img src="/{number}.png">' for number in range(OBJECTS))
    writer.add(text(START, html(body=body, picture=False)))
    for number in range(OBJECTS):
        headers = (("Content-Type", "image/png"),)
        writer.add(Response(f"{START}{number}.png", 200, headers, chance.randbytes(OBJECT_BYTES)))
    return file.getvalue()


def _told(name: str, workdir: Workdir, seed: int) -> Case:
    """One signal to one command, at an instant that the seed draws."""
    _, command, how = name.split("/")
    words, least_s = COMMANDS[command]
    wait_s = random.Random(f"{seed} {name}").uniform(0, least_s)  # noqa: S311
    began = time.monotonic()
    with workdir.started(*words) as running:
        while not listens(running.popen.pid) and not running.ends_within(LOOK_S):
            pass
        over = running.ends_within(wait_s)
        deaf = not listens(running.popen.pid)
        send(running.popen.pid, TOLD[how])
        over = over or (running.ends_within(LAST_S) and deaf)
        running.ends_within(ENDS_WITHIN_S + SLACK_S)
        code, written = running.popen.poll(), running.written()
    codes = (0, INTERRUPTED) if over or command == "show" else (INTERRUPTED,)
    faults = badly_ended(code, written, codes)
    left = workdir.left_behind()
    left += [
        path.name
        for path in (*workdir.archives.iterdir(), *workdir.folder.iterdir())
        if path.name.endswith(".new")
    ]
    if left:
        faults[LEFT] = "; ".join(left)
    for made in (workdir.archives / "large", workdir.folder / "ended"):
        shutil.rmtree(made, ignore_errors=True)
    said = f"{wait_s:.2f} s after the start; exit code {code}: {one_line(written, 120)}"
    return Case(ROW, name, said, time.monotonic() - began, faults)


def _struck_shell(name: str, workdir: Workdir) -> Case:
    """What ran on a link that is none has to be told so."""
    strike, began, faults = STRUCK[name.rpartition("/")[2]], time.monotonic(), {}
    with workdir.started("shell", "--", "sh", "-c", "echo up; sleep 4") as running:
        while running.alive and not running.out.read_text():
            time.sleep(0.05)
        struck = [send(pid, strike) for pid, words in running.parts().items() if PARTS["linkem"].found(words)]
        if not running.ends_within(LIMIT_S):
            faults[HUNG] = f"no end within {LIMIT_S:g} s"
        code, written = running.popen.poll(), running.written()
    faults |= badly_ended(code, written, (3,))
    if not struck or "linkem" not in written:
        faults[MISBLAMED] = f"{len(struck)} emulators were struck; it says {one_line(written)!r}"
    if left := workdir.left_behind():
        faults[LEFT] = "; ".join(left)
    return Case(SHELL, name, f"exit code {code}: {one_line(written)}", time.monotonic() - began, faults)
