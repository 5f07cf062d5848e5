"""What is left in an enclosure of what ran there: processes, namespaces, mounts, control groups and files."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from harness.system.accounts import PREFIX
from harness.system.enclosure import WORKSPACE

SETTLE_S = 1.5  # a process that is being ended may take so long to go
HOME = WORKSPACE / "home"  # a link that every browser of Chromium's drivers starts by, made by the first one
FOLDERS = (WORKSPACE, WORKSPACE / "tmp", Path("/run/netns"), Path("/dev/shm"))  # noqa: S108
GROUPS = Path("/sys/fs/cgroup")

Surroundings = Mapping[str, set[str]]


def surroundings(*folders: Path) -> Surroundings:
    """What stands in this enclosure, by kind; of files what lies in these folders and in the usual ones."""
    living = [pid for pid in Path("/proc").iterdir() if pid.name.isdigit() and _lives(pid)]
    return {
        "process": {pid.name for pid in living},
        "namespace": {namespace for pid in living for namespace in _namespaces(pid)},
        "mount": set(Path("/proc/self/mounts").read_text().splitlines()),
        "control group": {str(path) for path in GROUPS.glob(f"**/{PREFIX}*")},
        "file": {
            str(path)
            for folder in (*folders, *FOLDERS)
            if folder.is_dir()
            for path in folder.iterdir()
            if path != HOME
        },
    }


def left_behind(before: Surroundings, *folders: Path) -> list[str]:
    """What is there that was not before, after a moment for what is on its way out."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        now = surroundings(*folders)
        left = [
            f"{kind} {_described(kind, name)}" for kind in now for name in sorted(now[kind] - before[kind])
        ]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.05)


def _lives(process: Path) -> bool:
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _namespaces(process: Path) -> Iterator[str]:
    with contextlib.suppress(OSError):  # it has just ended
        for kind in (process / "ns").iterdir():
            yield str(kind.readlink())


def _described(kind: str, name: str) -> str:
    if kind != "process":
        return name
    with contextlib.suppress(OSError):
        return Path(f"/proc/{name}/cmdline").read_text(errors="replace").replace("\0", " ")[:100]
    return name
