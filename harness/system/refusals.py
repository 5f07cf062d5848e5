"""Why the kernel refuses an enclosure, and what mends it.

The process that was refused tells the call and the error. Its parent, which has entered nothing, adds what it may do
itself (`Privileges`). The first line of `CAUSES` that fits both names the cause.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.errors import EnvironmentLacks
from harness.system import interruption, syscalls

CAPABILITIES = {
    "SYS_ADMIN": 21,
    "NET_ADMIN": 12,
    "NET_RAW": 13,
}  # namespaces and mounts; devices and routes; packets
CLONING = "kernel/unprivileged_userns_clone"
RESTRICTING = "kernel/apparmor_restrict_unprivileged_userns"
LEAVE_CHROOT = "enter the tree by pivot_root, as containers do (`man pivot_root`)"
MOST = tuple(f"user/max_{kind}_namespaces" for kind in ("user", "mnt", "pid", "net"))


@dataclass(frozen=True)
class Refusal:
    """The call that failed, and its error number."""

    number: int
    text: str

    @classmethod
    def of(cls, told: str) -> Refusal:
        number, _, text = told.partition(" ")
        return cls(int(number), text)

    @property
    def is_of_mount(self) -> bool:
        return "mount " in self.text


@dataclass(frozen=True)
class Privileges:
    """What a process may do: its user, capabilities and confinement, and the switches of the machine."""

    is_root: bool
    lacking: tuple[str, ...]  # of CAPABILITIES
    is_filtered: bool  # by seccomp
    is_profiled: bool  # confined by AppArmor
    root_is_mounted: bool  # as it is not in a chroot
    switches: dict[str, int]

    @property
    def none_allowed(self) -> list[str]:
        """The kinds of namespaces of which none may be made, as sysctl names them."""
        return [switch.replace("/", ".") for switch in MOST if self.switches.get(switch) == 0]


def privileges() -> Privileges:
    """That of this process."""
    process = Path("/proc/self")
    status = dict(line.split(":", 1) for line in _text(process / "status").splitlines() if ":" in line)
    effective = int(status.get("CapEff", "0"), 16)
    profile = _text(process / "attr" / "apparmor" / "current") or _text(process / "attr" / "current")
    mounted = {line.split()[4] for line in _text(process / "mountinfo").splitlines()}
    switches = {switch: _text(Path("/proc/sys", switch)) for switch in (CLONING, RESTRICTING, *MOST)}
    return Privileges(
        is_root=os.geteuid() == 0,
        lacking=tuple(name for name, bit in CAPABILITIES.items() if not effective >> bit & 1),
        is_filtered=status.get("Seccomp", "").strip() == "2",
        is_profiled="(enforce)" in profile,
        root_is_mounted="/" in mounted,
        switches={switch: int(value) for switch, value in switches.items() if value},
    )


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:  # this kernel does not have it
        return ""


@dataclass(frozen=True)
class Cause:
    """A reason to be refused: when it applies, what it is, what mends it."""

    applies: Callable[[Refusal, Privileges], bool]
    what: str
    mend: str


CAUSES = (
    Cause(
        lambda refusal, found: refusal.number == errno.ENOSPC and bool(found.none_allowed),
        "{none_allowed} is 0",
        "as root, set it to 10000 by `sysctl -w`",
    ),
    Cause(
        lambda refusal, _: refusal.number == errno.ENOSPC,
        "there are too many namespaces, or too many inside each other",
        "raise user.max_*_namespaces by `sysctl -w` as root, or run in fewer containers",
    ),
    Cause(
        lambda _, found: not found.root_is_mounted,
        'this is a chroot, whose "/" is no mount point',
        LEAVE_CHROOT,
    ),
    Cause(
        lambda refusal, _: refusal.number in (errno.EINVAL, errno.ENOSYS) and not refusal.is_of_mount,
        "this kernel has none",
        "use a kernel with user, mount, PID and network namespaces",
    ),
    Cause(
        lambda refusal, _: refusal.number == errno.ENOENT and refusal.is_of_mount,
        "there is no such folder",
        "make it by `mkdir` as root",
    ),
    Cause(
        lambda _, found: not found.is_root and found.switches.get(CLONING) == 0,
        "ordinary users may make no user namespaces",
        "run `sysctl -w kernel.unprivileged_userns_clone=1` as root, or run coldload as root",
    ),
    Cause(
        lambda _, found: not found.is_root and found.switches.get(RESTRICTING) == 1,
        "AppArmor restricts the user namespaces of ordinary users, as on Ubuntu",
        "run `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` as root, or run coldload as root",
    ),
    Cause(
        lambda _, found: found.is_root and bool(found.lacking),
        "this root lacks {lacking}, as in a container",
        "start the container with `{adding}`",
    ),
    Cause(
        lambda refusal, _: refusal.number == errno.EPERM and "mount /proc" in refusal.text,
        "parts of /proc are covered, as in a container",
        "start the container with `--security-opt systempaths=unconfined`, in Podman `--security-opt unmask=ALL`",
    ),
    Cause(
        lambda refusal, found: found.is_profiled and refusal.is_of_mount,
        "AppArmor confines this process, as in a container",
        "start the container with `--security-opt apparmor=unconfined`",
    ),
    Cause(
        lambda _, found: found.is_filtered,
        "seccomp filters the system calls of this process, as in a container",
        "start the container with `--security-opt seccomp=unconfined`",
    ),
    Cause(
        lambda refusal, _: refusal.number == errno.EPERM and "unshare" in refusal.text,
        "nothing known forbids it but a chroot",
        LEAVE_CHROOT,
    ),
    Cause(lambda _, __: True, "nothing known forbids it", "run it as root, outside of any container"),
)


def told(error: OSError) -> str:
    """The refusal, for the process that judges it."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{error.errno or 0} {where}{error.strerror or error}"


def why_not(refusal: Refusal, found: Privileges) -> str:
    """One line: what was tried, what was found, what mends it."""
    cause = next(cause for cause in CAUSES if cause.applies(refusal, found))
    words = {
        "none_allowed": " and ".join(found.none_allowed),
        "lacking": " and ".join(f"CAP_{name}" for name in found.lacking),
        "adding": " ".join(f"--cap-add {name}" for name in found.lacking),
    }
    what, mend = cause.what.format(**words), cause.mend.format(**words)
    return f"cannot make the private namespaces of the testbed ({refusal.text}): {what}; {mend}"


def refuse_without_capabilities() -> None:
    """EnvironmentLacks for a root that lacks some: without CAP_NET_RAW, say, only the link fails, and late."""
    rights = privileges()
    if rights.is_root and rights.lacking:
        raise EnvironmentLacks(why_not(Refusal(errno.EPERM, os.strerror(errno.EPERM)), rights))


def user_namespace_error() -> int:
    """The error number with which a child of this process is refused a user namespace; 0 when it gets one."""
    child = interruption.forked()
    if child == 0:
        number = 0
        try:
            syscalls.unshare(syscalls.CLONE_NEWUSER)
        except OSError as error:
            number = error.errno or errno.EPERM
        finally:
            os._exit(number)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def refuse_without_user_namespaces(number: int) -> None:
    """EnvironmentLacks for that number: browser and servers run as ordinary users, each in a user namespace."""
    if number:
        raise EnvironmentLacks(why_not(Refusal(number, f"unshare: {os.strerror(number)}"), privileges()))
