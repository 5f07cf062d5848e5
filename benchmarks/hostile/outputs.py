"""Outputs that lead to no file, or to a disk that takes no more: written into or refused, and never replaced.

And standard streams that are closed, full, left by their reader or never read.
"""

from __future__ import annotations

import itertools
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.hostile.cases import HUNG, LEFT, Case, one_line
from benchmarks.hostile.commands import Workdir, badly_ended
from benchmarks.hostile.recordingfiles import har_file, wacz_file, warc_file
from benchmarks.hostile.runners import ENDS_WITHIN_S, INTERRUPTED, SLACK_S
from benchmarks.hostile.stage import AGAIN, PAGE, RUN, STUDY, measured

LIMIT_S = 120.0
ROW, LIMITED = "outputs that are no files", "outputs without room"
CODES = (0, 2, 3, 4)

FILES: Mapping[str, tuple[str, ...]] = {
    "records": ("records", RUN, "--out"),
    "parquet": ("records", RUN, "--parquet", "--out"),
    "pack": ("pack", RUN, "--no-report", "--out"),
    "report-junit": ("report", RUN, "--junit"),
    "compare-junit": ("compare", RUN, AGAIN, "--fail-on", "0", "--junit"),
}
FOLDERS: Mapping[str, tuple[str, ...]] = {
    "report": ("report", RUN, "--out"),
    "paper": ("report", RUN, "--paper"),
    "run": ("run", STUDY, "--out"),
    "load": ("load", PAGE, "--keep"),
    "certificates": ("cluster", "certificates"),
}
DEVICES = {"null": os.makedev(1, 3), "full": os.makedev(1, 7)}  # copies of the machine's own
NODES = (
    *DEVICES,
    "link-null",
    "link-full",
    "pipe",
    "socket",
    "folder",
    "link",
    "dangling",
    "loop",
    "below-file",
)
ROOM = (
    "import",
    "import-wacz",
    "import-har",
    "records",
    "parquet",
    "pack",
    "report",
    "paper",
    "optimize",
    "run",
)
ROOM_BYTES = (0, 4096, 200_000)


def names(only: Callable[[str], bool]) -> list[str]:
    nodes = [kind for kind in NODES if os.geteuid() == 0 or kind.removeprefix("link-") not in DEVICES]
    cases = [f"output/{command}/{node}" for command, node in itertools.product((*FILES, *FOLDERS), nodes)]
    cases += [f"room/{command}/{size}" for command, size in itertools.product(ROOM, ROOM_BYTES)]
    return [name for name in cases if only(name)]


def write_all(wanted: Sequence[str], folder: Path) -> Iterator[Case]:
    if not wanted:
        return
    workdir = measured(folder)
    for kind, data in (("warc", warc_file()), ("wacz", wacz_file(warc_file())), ("har", har_file())):
        (workdir.folder / f"sound.{kind}").write_bytes(data)
    for name in wanted:
        yield (_into if name.startswith("output/") else _without_room)(name, workdir)


def _into(name: str, workdir: Workdir) -> Case:
    """A command whose output is such a node."""
    _, command, kind = name.split("/")
    folder = workdir.folder / "nodes"
    folder.mkdir()
    node = folder / "node"
    began = time.monotonic()
    with ExitStack() as around:
        _make(kind, node, around)
        before, names_before = _described(node), {path.name for path in folder.iterdir()}
        with workdir.started(
            *(FILES.get(command) or FOLDERS[command]),
            "nodes/node/x" if kind == "below-file" else "nodes/node",
        ) as running:
            running.ends_within(LIMIT_S)
            code = running.popen.poll()
        faults = badly_ended(code, running.written(), CODES)
        may_come = {"target"} if kind == "dangling" else set()
        left = [path.name for path in folder.iterdir() if path.name not in names_before | may_come]
        left += workdir.left_behind()
        if left:
            faults[LEFT] = ", ".join(left)
        if (after := _described(node)) != before:
            faults[LEFT] = f"{before} was replaced by {after}"
    if kind == "folder" and (node / "precious").read_text() != "x":
        faults[LEFT] = "a file in the folder was overwritten"
    shutil.rmtree(folder)
    return Case(
        ROW, name, f"exit code {code}: {one_line(running.written())}", time.monotonic() - began, faults
    )


def _make(kind: str, node: Path, around: ExitStack) -> None:
    """The node, and who reads from it."""
    target = node.with_name("target")
    device = DEVICES.get(kind.removeprefix("link-"))
    if device is not None:
        path = target if kind.startswith("link-") else node
        os.mknod(path, stat.S_IFCHR | 0o666, device)
    if kind == "below-file":
        node.write_text("x")
    if kind == "link":
        target.write_text("old")
    if kind.startswith("link") or kind == "dangling":
        node.symlink_to(target.name)
    elif kind == "loop":
        node.symlink_to(node.name)
    elif kind == "folder":
        node.mkdir()
        (node / "precious").write_text("x")
    elif kind == "socket":
        listening = around.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(str(node))
    elif kind == "pipe":
        os.mkfifo(node)
        reader = around.enter_context(subprocess.Popen(["/bin/cat", node], stdout=subprocess.DEVNULL))
        around.callback(reader.kill)


def _described(node: Path) -> str:
    """What it is, and what it leads to."""
    told = node.lstat()
    link = f" to {node.readlink()}" if node.is_symlink() else ""
    behind = node.stat() if node.is_symlink() and node.exists() else told
    kinds = f"{stat.filemode(told.st_mode)[0]}{link}"
    return f"{kinds}, device {behind.st_rdev}" if stat.S_ISCHR(behind.st_mode) else kinds


def _without_room(name: str, workdir: Workdir) -> Case:
    """A command whose files may not become longer than so much."""
    _, command, size = name.split("/")
    words = {
        "import": ("import", "sound.warc", "--name", "limited"),
        "import-wacz": ("import", "sound.wacz", "--name", "limited"),
        "import-har": ("import", "sound.har", "--name", "limited"),
        "optimize": ("optimize", PAGE, "--variant", "inline"),
        **{each: (*given, "limited.out") for each, given in {**FILES, **FOLDERS}.items()},
    }[command]
    began = time.monotonic()
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (int(size), int(size)))
    with workdir.started(
        *words, preexec_fn=limit, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as running:
        try:
            said = running.popen.communicate(timeout=LIMIT_S)[1].decode(errors="replace")
        except subprocess.TimeoutExpired:
            said = ""
        code = running.popen.poll()
    faults = badly_ended(code, said, (0, 3))
    left = [path.name for path in workdir.folder.rglob("*.new")] + workdir.left_behind()
    if left:
        faults[LEFT] = ", ".join(left)
    for made in (workdir.archives / "limited", workdir.folder / "limited.out"):
        shutil.rmtree(made) if made.is_dir() else made.unlink(missing_ok=True)
    return Case(LIMITED, name, f"exit code {code}: {one_line(said)}", time.monotonic() - began, faults)


STREAM_LIMIT_S = 60.0
BLOCKED_S = 4.0  # by then a command that is not read has written all that a pipe holds
STREAMS = "standard streams that are none"

STREAMED: Mapping[str, tuple[str, ...]] = {
    "nothing": (),
    "help": ("--help",),
    "version": ("--version",),
    "command-help": ("run", "--help"),
    "mistake": ("plan", "no-such-study"),
    "doctor": ("doctor",),
    "pages": ("pages",),
    "pages-one": ("pages", PAGE),
    "plan": ("plan", STUDY),
    "records": ("records", RUN),
    "parquet": ("records", RUN, "--parquet"),
    "report": ("report", RUN),
    "compare": ("compare", RUN, AGAIN),
    "compare-json": ("compare", RUN, AGAIN, "--json"),
    "pack": ("pack", RUN, "--no-report", "--out", "streamed.zip"),
    "optimize": ("optimize", PAGE, "--variant", "minify"),
    "load": ("load", PAGE),
    "shell": ("shell", "--", "seq", "100000"),
}
# How each command ends with all streams as they should be; what is said in vain changes nothing of that.
ENDS = {
    "shell": {0, 1, 128 + signal.SIGPIPE},  # what runs in it could not write
    "nothing": {2},
    "mistake": {2},
    "compare": {0, 2},
    "compare-json": {0, 2},
}  # 2: all trials were disturbed


def names_of_streams(only: Callable[[str], bool]) -> list[str]:
    cases = (f"stream/{command}/{how}" for command, how in itertools.product(STREAMED, HOW))
    return [name for name in cases if only(name)]


def write_to_all(wanted: Sequence[str], folder: Path) -> Iterator[Case]:
    for name in wanted:
        yield _tried(name, measured(folder))


def _closed(descriptors: Sequence[int], _around: ExitStack) -> dict[str, Any]:
    def close() -> None:
        for descriptor in descriptors:
            os.close(descriptor)

    return {"preexec_fn": close}


def _full(stream: str, around: ExitStack) -> dict[str, Any]:
    return {stream: around.enter_context(Path("/dev/full").open("wb"))}


def _left(stream: str, around: ExitStack) -> dict[str, Any]:
    """A pipe whose reader has gone."""
    reading, writing = os.pipe()
    os.close(reading)
    around.callback(os.close, writing)
    return {stream: writing}


def _unread(stream: str, around: ExitStack) -> dict[str, Any]:
    """A pipe that is full already and that nobody reads."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writing, True)
    for descriptor in (reading, writing):
        around.callback(os.close, descriptor)
    return {stream: writing}


HOW: Mapping[str, Callable[[ExitStack], dict[str, Any]]] = {
    "no-stdin": partial(_closed, (0,)),
    "no-stdout": partial(_closed, (1,)),
    "no-stderr": partial(_closed, (2,)),
    "none": partial(_closed, (0, 1, 2)),
    "full-stdout": partial(_full, "stdout"),
    "full-stderr": partial(_full, "stderr"),
    "left-stdout": partial(_left, "stdout"),
    "left-stderr": partial(_left, "stderr"),
    "unread-stdout": partial(_unread, "stdout"),
    "unread-stderr": partial(_unread, "stderr"),
}


def _tried(name: str, workdir: Workdir) -> Case:
    _, command, how = name.split("/")
    began, faults = time.monotonic(), {}
    blocked = how.startswith("unread")
    with ExitStack() as around:
        options = HOW[how](around)
        with workdir.started(*STREAMED[command], **options) as running:
            ended = running.ends_within(BLOCKED_S if blocked else STREAM_LIMIT_S)
            if blocked and not ended:
                running.popen.send_signal(signal.SIGTERM)
                if not running.ends_within(ENDS_WITHIN_S + SLACK_S):
                    faults[HUNG] = "it writes to a full pipe and does not hear the signal"
            code, said = running.popen.poll(), running.written()
    usual = ENDS.get(command, {0})
    codes = usual | ({INTERRUPTED} if blocked else {3} if how == "full-stdout" else set())
    if not faults:
        silent = how in ("no-stderr", "none") or how.endswith("-stderr") or command == "shell"
        faults |= badly_ended(code, "\n" if silent and code else said, codes) if command != "nothing" else {}
    if left := workdir.left_behind():
        faults[LEFT] = "; ".join(left)
    (workdir.folder / "streamed.zip").unlink(missing_ok=True)
    return Case(STREAMS, name, f"exit code {code}: {one_line(said)}", time.monotonic() - began, faults)
