"""The few Linux calls Python 3.11 lacks (unshare, setns, mount, pivot_root, prctl, renameat2, fallocate), each raising
OSError on failure.
"""

from __future__ import annotations

import ctypes
import errno
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MNT_DETACH = 0x2

PR_SET_PDEATHSIG = 1
AT_FDCWD = -100
RENAME_EXCHANGE = 0x2
FALLOC_FL_KEEP_SIZE = 0x1
FALLOC_FL_PUNCH_HOLE = 0x2

PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41}  # the C library has no function for it

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """unshare(2): new namespaces for the calling thread."""
    _checked(_libc.unshare(flags), "unshare")


def setns(descriptor: int, kind: int) -> None:
    """setns(2): move the calling thread into the namespace behind an open file."""
    _checked(_libc.setns(descriptor, kind), "setns")


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """mount(2)."""
    arguments = (source.encode(), target.encode(), kind.encode() or None, flags, data.encode() or None)
    _checked(_libc.mount(*arguments[:3], ctypes.c_ulong(flags), arguments[4]), f"mount {target}")


def unmount(target: str) -> None:
    """umount2(2) with MNT_DETACH."""
    _checked(_libc.umount2(target.encode(), MNT_DETACH), f"umount {target}")


def pivot_root() -> None:
    """pivot_root(2): the current folder, a mount point, becomes the root; the former root is below it no more."""
    machine = os.uname().machine
    number = PIVOT_ROOT.get(machine)
    if number is None:
        raise OSError(errno.ENOSYS, f"pivot_root: no number of it is known for {machine}")
    _checked(_libc.syscall(ctypes.c_long(number), b".", b"."), "pivot_root")
    unmount(".")  # pivot_root(2): the former root lies on top of the new one


def die_with_parent(signal_number: int) -> None:
    """prctl(PR_SET_PDEATHSIG): the kernel sends the signal when the parent thread ends."""
    _checked(_libc.prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0), "prctl")


def exchange(first: str, second: str) -> None:
    """renameat2(2): the two paths change places, at once; not every file system can."""
    paths = (AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second))
    _checked(_libc.renameat2(*paths, RENAME_EXCHANGE), f"renameat2 {second}")


def punch_hole(descriptor: int, length: int) -> None:
    """fallocate(2): the first bytes of a file take no room any more; those behind them stay where they are."""
    mode = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE
    _checked(_libc.fallocate(descriptor, mode, ctypes.c_long(0), ctypes.c_long(length)), "fallocate")
