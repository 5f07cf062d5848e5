"""Other commands than `run` told to end at any instant, and `coldload shell` whose link emulator is killed."""

from __future__ import annotations

import io
import itertools
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.hostile.cases import HUNG, LEFT, MISBLAMED, Case, one_line
from benchmarks.hostile.commands import Place, badly_ended, listens, send
from benchmarks.hostile.measured import PAGE, RUN, measured
from benchmarks.hostile.runners import ENDS_WITHIN_S, INTERRUPTED, SLACK_S
from benchmarks.hostile.site import START, html, text
from benchmarks.hostile.stage import PARTS
from sites import warc
from sites.response import Response

LOOK_S = 0.01
ROW, SHELL = "signals of other commands", "kills below a shell"
LIMIT_S = 60.0
TOLD = {
    "quit": signal.SIGQUIT,
    "term": signal.SIGTERM,
    "interrupt": signal.SIGINT,
    "hangup": signal.SIGHUP,
}
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


def names(only: Callable[[str], bool]) -> list[str]:
    found = [f"end/{command}/{how}" for command, how in itertools.product(COMMANDS, TOLD)]
    found += [f"shell/linkem/{how}" for how in STRUCK]
    return [name for name in found if only(name)]


def end_all(wanted: Sequence[str], folder: Path, seed: int) -> Iterator[Case]:
    if not wanted:
        return
    place = measured(folder)
    (place.folder / "large.warc.gz").write_bytes(_large())
    for name in wanted:
        yield _struck_shell(name, place) if name.startswith("shell/") else _told(name, place, seed)


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


def _told(name: str, place: Place, seed: int) -> Case:
    """One signal to one command, at an instant that the seed draws."""
    _, command, how = name.split("/")
    words, least_s = COMMANDS[command]
    wait_s = random.Random(f"{seed} {name}").uniform(0, least_s)  # noqa: S311
    began = time.monotonic()
    with place.started(*words) as running:
        while not listens(running.popen.pid) and not running.ends_within(LOOK_S):
            pass
        early = running.ends_within(wait_s)
        send(running.popen.pid, TOLD[how])
        running.ends_within(ENDS_WITHIN_S + SLACK_S)
        code, written = running.popen.poll(), running.written()
    codes = (0, INTERRUPTED) if early or command == "show" else (INTERRUPTED,)
    faults = badly_ended(code, written, codes)
    left = place.left_behind()
    left += [
        each.name
        for each in (*place.archives.iterdir(), *place.folder.iterdir())
        if each.name.endswith(".new")
    ]
    if left:
        faults[LEFT] = "; ".join(left)
    for made in (place.archives / "large", place.folder / "ended"):
        shutil.rmtree(made, ignore_errors=True)
    said = f"{wait_s:.2f} s after the start; exit code {code}: {one_line(written, 120)}"
    return Case(ROW, name, said, time.monotonic() - began, faults)


def _struck_shell(name: str, place: Place) -> Case:
    """What ran on a link that is none has to be told so."""
    strike, began, faults = STRUCK[name.rpartition("/")[2]], time.monotonic(), {}
    with place.started("shell", "--", "sh", "-c", "echo up; sleep 4") as running:
        while running.alive and not running.out.read_text():
            time.sleep(0.05)
        struck = [send(pid, strike) for pid, words in running.parts().items() if PARTS["linkem"].found(words)]
        if not running.ends_within(LIMIT_S):
            faults[HUNG] = f"no end within {LIMIT_S:g} s"
        code, written = running.popen.poll(), running.written()
    faults |= badly_ended(code, written, (3,))
    if not struck or "linkem" not in written:
        faults[MISBLAMED] = f"{len(struck)} emulators were struck; it says {one_line(written)!r}"
    if left := place.left_behind():
        faults[LEFT] = "; ".join(left)
    return Case(SHELL, name, f"exit code {code}: {one_line(written)}", time.monotonic() - began, faults)
