"""The enclosure: private user, process, mount and network namespaces around everything a command does.

    coldload (outside) ── waits, passes signals on
      └── first process of the enclosure ── only reaps; when it goes, the kernel kills all that is inside
            └── the command itself ── servers, link, drivers, browsers are its children

Whatever ends any of the three, also kill -9, ends all of it: processes by the process namespace, network
namespaces and mounts with their last user, temporary files because they lie on a private tmpfs. Root and an
ordinary user differ only in the user namespace the latter needs.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.errors import EnvironmentLacks, TestbedFailed
from harness.system import interruption, refusals, syscalls
from harness.system.files import temporary_folder
from harness.system.interruption import CommandKilled

PRIVATE_RUN = Path("/run")
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  # Chromium's
WORKSPACE = PRIVATE_RUN / "coldload"
RESOLV_CONF = Path("/etc/resolv.conf")
MARK = "COLDLOAD_ENCLOSED"
SIOCSIFFLAGS = 0x8914
IFF_UP = 0x1
IFF_RUNNING = 0x40
KILLED = "killed: "  # begins what is told of a process that was; a refusal begins with a number


def inside() -> bool:
    """Whether this process runs in an enclosure."""
    return os.environ.get(MARK) == "1"


def is_machines_root() -> bool:
    """Whether uid 0 here is the machine's root and not an ordinary user's own namespace."""
    return os.geteuid() == 0 and Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]


def hidden_by(path: Path) -> Path | None:
    """The folder of the machine that an enclosure hides a path in, by one of its own; None for what it will see.

    A file that is written to such a path in the enclosure is gone with it.
    """
    if inside():
        return None
    real = Path(os.path.realpath(path))
    return next(
        (folder for folder in (PRIVATE_RUN, SHARED_MEMORY) if real.is_relative_to(folder.resolve())), None
    )


def resolv_conf() -> Path:
    """The file that tells programs in an enclosure their name server: one of the machine, to be covered, or one to make
    in the enclosure's own /run, where systemd's link leads.

    EnvironmentLacks where there is neither: nothing is made on the machine.
    """
    target = RESOLV_CONF.resolve()
    if not target.exists() and not target.is_relative_to(PRIVATE_RUN):
        raise EnvironmentLacks(
            f"there is no {target}, in whose place a measurement has one of its own; make an empty one: touch {target}"
        )
    return target


def folder_for_an_enclosure() -> contextlib.AbstractContextManager[Path]:
    """A `private_folder` that an enclosure sees, wherever $TMPDIR is."""
    usual = Path(tempfile.gettempdir())
    return temporary_folder(Path("/tmp") if hidden_by(usual) else usual, "coldload", 0o700)  # noqa: S108


def enclosed(command: Callable[[], int]) -> int:
    """Run `command` in a fresh enclosure and return its exit code; nothing of it remains afterwards.

    Raises EnvironmentLacks when there can be none, CommandKilled when one of its three processes was killed, and
    KeyboardInterrupt when a signal ended it in order.

    Must be called before the process has started threads. The command runs in a forked child: what it changes
    in memory is not seen by the caller.
    """
    if inside():
        return command()
    sys.stdout.flush()
    sys.stderr.flush()
    outside = os.getpid()
    trouble_read, trouble_write = os.pipe()
    child = interruption.forked()
    if child == 0:
        os.close(trouble_read)
        _enter_and_supervise(command, outside, trouble_write)
    os.close(trouble_write)
    with os.fdopen(trouble_read) as pipe:
        code = _wait_until_interrupted(child)
        trouble = pipe.read()
    if trouble.startswith(KILLED):
        raise CommandKilled(trouble.removeprefix(KILLED))
    if trouble:
        raise EnvironmentLacks(refusals.why_not(refusals.Refusal.of(trouble), refusals.privileges()))
    if code < 0:
        raise CommandKilled(_killed("the supervisor of the enclosure", code))
    if code == interruption.EXIT_CODE:
        interruption.unwound()
    return code


def _wait_until_interrupted(child: int) -> int:
    """Wait for the enclosure. After a signal it has a moment to end in order, and is killed with all that is inside."""
    killed = False

    def kill() -> None:
        nonlocal killed
        killed = True
        os.kill(child, signal.SIGKILL)

    code = _wait_passing_signals(child, lambda: interruption.after_patience(kill))
    return interruption.EXIT_CODE if killed else code


def _wait_passing_signals(child: int, passed: Callable[[], None] = lambda: None) -> int:
    """Wait for the child and pass signals on to it (it ignores those the terminal sent it already).

    Returns its exit code, of one that a signal ended the negative number of that. What `passed` may have set going ends
    with the child. Its number is not freed, and so no foreign process's, before nothing is sent to it any more.
    """

    def pass_on(number: int, _frame: object) -> None:
        os.kill(child, number)
        passed()

    previous = {number: signal.signal(number, pass_on) for number in interruption.SIGNALS}
    try:
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        interruption.calm()
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _passed_on(code: int, of: str, trouble: int) -> int:
    """The exit code of a process of the enclosure; that it was killed is told to the process outside."""
    if code >= 0:
        return code
    os.write(trouble, f"{KILLED}{_killed(of, code)}".encode())
    return EnvironmentLacks.exit_code


def _killed(of: str, code: int) -> str:
    """As in `the process of the command was killed by SIGKILL`, and who may have done that."""
    number = signal.Signals(-code)
    who = " (by somebody, or by the kernel for want of memory: see `dmesg`)"
    return f"{of} was killed by {number.name}{who if number is signal.SIGKILL else ''}"


def _enter_and_supervise(command: Callable[[], int], outside: int, trouble: int) -> None:
    """In the forked child: make the namespaces, then fork the first process inside and wait for it."""
    code = 3
    try:
        syscalls.die_with_parent(signal.SIGKILL)
        if os.getppid() != outside:
            os._exit(137)
        _unshare()
        supervisor = os.pidfd_open(os.getpid())
        first = interruption.forked()
        if first == 0:
            _be_first_process(command, trouble, supervisor)
        os.close(supervisor)
        code = _passed_on(_wait_passing_signals(first), "the first process of the enclosure", trouble)
    except OSError as error:
        os.write(trouble, refusals.told(error).encode())
    except KeyboardInterrupt:  # before it passes signals on
        code = interruption.EXIT_CODE
    finally:
        os._exit(code)


def _unshare() -> None:
    uid, gid = os.geteuid(), os.getegid()
    flags = syscalls.CLONE_NEWNS | syscalls.CLONE_NEWPID | syscalls.CLONE_NEWNET
    if uid != 0:
        syscalls.unshare(syscalls.CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
    syscalls.unshare(flags)


def _be_first_process(command: Callable[[], int], trouble: int, supervisor: int) -> None:
    """As process 1 inside: private mounts, fork the command, reap every orphan until the command ends."""
    code = 3
    try:
        syscalls.die_with_parent(signal.SIGKILL)
        if select.select([supervisor], [], [], 0)[0]:  # it died before; its number is not known in here
            os._exit(137)
        os.close(supervisor)
        _private_mounts()
        loopback_up()
        os.environ[MARK] = "1"
        worker = interruption.forked()
        if worker == 0:
            os.close(trouble)
            _work(command)
        code = _passed_on(_reap_until(worker), "the process of the command", trouble)
    except OSError as error:
        os.write(trouble, refusals.told(error).encode())
    except KeyboardInterrupt:  # before it passes signals on
        code = interruption.EXIT_CODE
    finally:
        os._exit(code)


def _private_mounts() -> None:
    """Nothing mounted here is seen outside; /proc shows the enclosure's own processes."""
    private = syscalls.MS_REC | syscalls.MS_PRIVATE
    safe = syscalls.MS_NOSUID | syscalls.MS_NODEV
    syscalls.mount("none", "/", "", private)
    syscalls.mount("proc", "/proc", "proc", safe)
    syscalls.mount("tmpfs", str(PRIVATE_RUN), "tmpfs", safe, "mode=755")
    syscalls.mount("tmpfs", str(SHARED_MEMORY), "tmpfs", safe, "mode=1777")
    for folder in (WORKSPACE / "tmp", PRIVATE_RUN / "netns"):
        folder.mkdir(parents=True)
    os.environ["TMPDIR"] = str(WORKSPACE / "tmp")
    tempfile.tempdir = None  # what Python knew of outside may be hidden


def limit_private_files(total_bytes: int) -> None:
    """Let each private file system fill half of that, as it may fill half of the memory at first. Inside only."""
    kept = syscalls.MS_REMOUNT | syscalls.MS_NOSUID | syscalls.MS_NODEV
    for folder in (PRIVATE_RUN, SHARED_MEMORY):
        syscalls.mount("tmpfs", str(folder), "tmpfs", kept, f"size={total_bytes // 2}")


@contextlib.contextmanager
def covered(target: Path, by: Path) -> Iterator[None]:
    """One file in the place of another, in the enclosure's own mounts; TestbedFailed when it cannot be."""
    try:
        syscalls.mount(str(by), str(target), "", syscalls.MS_BIND)
    except OSError as error:
        raise TestbedFailed(f"cannot cover {target}: {error}") from error
    try:
        yield
    finally:
        syscalls.unmount(str(target))


def loopback_up() -> None:
    """In the network namespace of the calling thread. The enclosure's own network is its loopback alone: drivers talk
    to their helpers over it.
    """
    request = struct.pack("16sH14x", b"lo", IFF_UP | IFF_RUNNING)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, request)


def _reap_until(worker: int) -> int:
    """Wait for the worker and all orphans, and pass signals on to it; returns as `_wait_passing_signals`."""

    def pass_on(number: int, _frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.kill(worker, number)

    for passed in interruption.SIGNALS:
        signal.signal(passed, pass_on)
    while True:
        pid, status = os.wait()
        if pid == worker:
            return os.waitstatus_to_exitcode(status)


def _told(leaving: SystemExit) -> int:
    """The exit code of a command that leaves so, as Python has it: what is no number is told, and means 1."""
    if leaving.code is None or isinstance(leaving.code, int):
        return leaving.code or 0
    sys.stderr.write(f"{leaving.code}\n")
    return 1


def _work(command: Callable[[], int]) -> None:
    """The command's own process."""
    if signal.SIGHUP not in interruption.SIGNALS:
        # A shell that goes sends SIGHUP to our group, and some children hear it all the same (Node).
        os.setpgid(0, 0)
    interruption.unwind(inside=True)
    code = 1
    try:
        code = command()
    except KeyboardInterrupt:
        code = interruption.EXIT_CODE
    except SystemExit as leaving:
        code = _told(leaving)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):  # the command has told what it could not write
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
