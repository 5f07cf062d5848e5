"""Outputs that lead to no file, or to a disk that takes no more: written into or refused, and never replaced."""

from __future__ import annotations

import itertools
import os
import resource
import shutil
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks.hostile.cases import LEFT, Case, one_line
from benchmarks.hostile.commands import Place, badly_ended
from benchmarks.hostile.measured import AGAIN, PAGE, RUN, STUDY, measured
from benchmarks.hostile.recordingfiles import har_file, wacz_file, warc_file

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
    nodes = [each for each in NODES if os.geteuid() == 0 or each.removeprefix("link-") not in DEVICES]
    found = [f"output/{command}/{node}" for command, node in itertools.product((*FILES, *FOLDERS), nodes)]
    found += [f"room/{command}/{size}" for command, size in itertools.product(ROOM, ROOM_BYTES)]
    return [name for name in found if only(name)]


def write_all(wanted: Sequence[str], folder: Path) -> Iterator[Case]:
    if not wanted:
        return
    place = measured(folder)
    for kind, data in (("warc", warc_file()), ("wacz", wacz_file(warc_file())), ("har", har_file())):
        (place.folder / f"sound.{kind}").write_bytes(data)
    for name in wanted:
        yield (_into if name.startswith("output/") else _without_room)(name, place)


def _into(name: str, place: Place) -> Case:
    """A command whose output is such a node."""
    _, command, kind = name.split("/")
    folder = place.folder / "nodes"
    folder.mkdir()
    node = folder / "node"
    began = time.monotonic()
    with ExitStack() as around:
        _make(kind, node, around)
        before, names_before = _described(node), {each.name for each in folder.iterdir()}
        with place.started(
            *(FILES.get(command) or FOLDERS[command]),
            "nodes/node/x" if kind == "below-file" else "nodes/node",
        ) as running:
            running.ends_within(LIMIT_S)
            code = running.popen.poll()
        faults = badly_ended(code, running.written(), CODES)
        may_come = {"target"} if kind == "dangling" else set()
        left = [each.name for each in folder.iterdir() if each.name not in names_before | may_come]
        left += place.left_behind()
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
        place = target if kind.startswith("link-") else node
        os.mknod(place, stat.S_IFCHR | 0o666, device)
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


def _without_room(name: str, place: Place) -> Case:
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
    with place.started(
        *words, preexec_fn=limit, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as running:
        try:
            said = running.popen.communicate(timeout=LIMIT_S)[1].decode(errors="replace")
        except subprocess.TimeoutExpired:
            said = ""
        code = running.popen.poll()
    faults = badly_ended(code, said, (0, 3))
    left = [each.name for each in place.folder.rglob("*.new")] + place.left_behind()
    if left:
        faults[LEFT] = ", ".join(left)
    for made in (place.archives / "limited", place.folder / "limited.out"):
        shutil.rmtree(made) if made.is_dir() else made.unlink(missing_ok=True)
    return Case(LIMITED, name, f"exit code {code}: {one_line(said)}", time.monotonic() - began, faults)
