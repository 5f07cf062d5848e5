"""What stands in an enclosure around a trial, and what of it was not there before."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from pathlib import Path

from harness.system.enclosure import WORKSPACE

SETTLE_S = 1.5  # a process that is being ended may take so long to go
HOME = WORKSPACE / "home"  # a link that every browser of Chromium's drivers starts by, made by the first one


def surroundings() -> dict[str, set[str]]:
    """What stands around a trial: processes, folders, networks and mounts of this enclosure, and
    what stands where the command was started.
    """
    folders = (Path.cwd(), WORKSPACE, WORKSPACE / "tmp", Path("/run/netns"), Path("/dev/shm"))  # noqa: S108
    return {
        "process": {pid.name for pid in Path("/proc").iterdir() if pid.name.isdigit() and _lives(pid)},
        "mount": set(Path("/proc/self/mounts").read_text().splitlines()),
        "file": {
            str(path) for folder in folders if folder.is_dir() for path in folder.iterdir() if path != HOME
        },
    }


def _lives(process: Path) -> bool:
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def left_behind(before: Mapping[str, set[str]]) -> list[str]:
    """What is there that was not before, after a moment for what is on its way out."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        now = surroundings()
        left = [
            f"{kind} {_described(kind, each)}" for kind in now for each in sorted(now[kind] - before[kind])
        ]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.05)


def _described(kind: str, name: str) -> str:
    if kind != "process":
        return name
    with contextlib.suppress(OSError):
        return Path(f"/proc/{name}/cmdline").read_text(errors="replace").replace("\0", " ")[:100]
    return name
