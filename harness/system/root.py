"""A Debian tree of our own as the root of a process: what this machine lacks is in it.

    python -m harness.system.root TREE PLACE... -- PROGRAM...     starts the program there

The root is put together on a file system in memory that vanishes with the process: the folders of the tree, read as
they are, and beside them places of the machine. Nothing is written for it, so any number of processes use one tree.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.system import syscalls

KERNEL = tuple(Path("/", name) for name in ("dev", "proc", "run", "sys"))
# Of these folders what is in them is taken one by one, so that places of the machine can lie beside it.
OPENED = ("coldload", "etc", "usr", "var")
NOT_OF_THE_TREE = ("dev", "proc", "run", "sys", "tmp", "mnt")


def enter(tree: Path, places: Mapping[Path, Path], *, read_only: bool = False) -> None:
    """Make the tree the root of this process, in a mount namespace of its own; OSError when that cannot be.

    With `read_only` nothing of the tree can be changed there, not even by who has its files.

    `places` are paths there, each with what of the machine is to be seen under it. An ordinary user needs a user
    namespace for it, and gets one in which he is the same user; he has no rights in it once he has started a program.
    """
    here = Path.cwd()
    if os.geteuid() != 0:
        _user_namespace()
    syscalls.unshare(syscalls.CLONE_NEWNS)
    syscalls.mount("none", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
    root = tree / "mnt"  # an empty folder to stand on, of a tree that nobody sees after this
    syscalls.mount("tmpfs", str(root), "tmpfs", syscalls.MS_NOSUID, "mode=755")
    for there, place in _of_tree(tree):
        _show(place, root / there.relative_to("/"), read_only=read_only)
    for there, place in places.items():
        _show(place, root / there.relative_to("/"))
    _sticky(root / "tmp")
    os.chdir(root)
    syscalls.pivot_root()
    os.chdir(here if here.is_dir() else "/")


def _user_namespace() -> None:
    uid, gid = os.geteuid(), os.getegid()
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def _of_tree(tree: Path) -> Iterable[tuple[Path, Path]]:
    """What is seen of the tree, with where it is seen."""
    for entry in sorted(tree.iterdir()):
        if entry.name in NOT_OF_THE_TREE:
            continue
        inner = sorted(entry.iterdir()) if entry.name in OPENED and not entry.is_symlink() else [entry]
        yield from ((Path("/", each.relative_to(tree)), each) for each in inner)


def _show(place: Path, there: Path, *, read_only: bool = False) -> None:
    """Bind a place of the machine, with all that is mounted in it, or make the same symbolic link."""
    there.parent.mkdir(parents=True, exist_ok=True)
    if place.is_symlink() and not there.exists():
        there.symlink_to(place.readlink())
        return
    if place.is_dir():
        there.mkdir(exist_ok=True)
    elif not there.exists():
        there.touch()
    syscalls.mount(str(place), str(there), "", syscalls.MS_BIND | syscalls.MS_REC)
    if read_only:
        kept = os.statvfs(there).f_flag & (
            os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC
        )  # numbered as mount's own
        syscalls.mount(
            "none", str(there), "", syscalls.MS_BIND | syscalls.MS_REMOUNT | syscalls.MS_RDONLY | kept
        )


def _sticky(folder: Path) -> None:
    if not folder.exists():
        folder.mkdir()
        folder.chmod(0o777 | stat.S_ISVTX)


def main(words: list[str]) -> None:
    """Enter a tree with the kernel's own places and those named, and become the program."""
    at = words.index("--")
    tree, *shared = words[:at]
    program = words[at + 1 :]
    try:
        enter(Path(tree), {place: place for place in (*KERNEL, *map(Path, shared))}, read_only=True)
        os.execvp(program[0], program)  # noqa: S606  # as every program that puts another one in its place
    except OSError as error:
        sys.exit(f"cannot start {program[0]} in {tree}: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
