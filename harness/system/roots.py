"""Roots: Debian trees of our own with what this machine lacks, where they lie, what is in them, how one is entered.

    python -P -m harness.system.roots TREE PATH... -- PROGRAM...      starts the program in a tree

The root of a process is put together on a file system in memory that vanishes with it: the folders of the tree, read as
they are, and beside them paths of the machine. Nothing is written for it, so any number of processes use one tree.

Imports little: `coldload` asks here before anything else, also under a Python that has none of the packages.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NoReturn

from harness.errors import ColdloadError, EnvironmentLacks, UsageError
from harness.system import refusals, syscalls
from harness.system.folders import FOLDER, OUTSIDE, cache_folder, data_folder, roots_folder

SUITES = {"12": "bookworm", "13": "trixie"}
RELEASE = "12"  # the last one that has all that coldload can use
CHOICE = "COLDLOAD_ROOT"  # inside: the folder of the root; `none` beforehand: use none
NONE = "none"
INSIDE = Path("/coldload")  # what a root of the lab has of ours
PYTHON = INSIDE / "venv/bin/python"
SOURCE = INSIDE / "source"
PACKAGES = ("harness", "sites", "analysis", "configs", "dnsredirect")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
OF_ANOTHER_PYTHON = ("PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "LD_PRELOAD")
# What of the machine is not seen in a root: it has its own. /var has homes on some distributions.
ITS_OWN = frozenset(
    {"bin", "boot", "coldload", "etc", "lib", "lib32", "lib64", "libx32", "sbin", "usr", "var"}
)
FROM_WITHIN = (
    Path("/var/home"),
    Path("/var/tmp"),  # noqa: S108
    Path("/etc/resolv.conf"),
    Path("/etc/hosts"),
    Path("/etc/pip.conf"),
)
HISTORICAL_SIGN = Path("/usr/lib/python3/dist-packages/PyQt5/QtWebKit.abi3.so")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


KERNEL = tuple(Path("/", name) for name in ("dev", "proc", "run", "sys"))
NOT_OF_THE_TREE = ("dev", "proc", "run", "sys", "tmp", "mnt")


class Purpose(StrEnum):
    """What a root is made for."""

    HISTORICAL = "historical"
    LAB = "lab"


@dataclass(frozen=True)
class Root:
    """A root that is whole. `made_for` is a digest of what of this version of coldload is in it.

    `engines` are the optional engines that it holds.
    """

    folder: Path
    release: str
    made_utc: str
    made_for: str
    packages: Mapping[str, str] = field(default_factory=dict)
    engines: Sequence[str] = ()

    @property
    def tree(self) -> Path:
        return self.folder / "tree"

    def __str__(self) -> str:
        held = "".join(f", with {engine}" for engine in self.engines)
        made = f"Debian {self.release}, made {self.made_utc[:10]}, {len(self.packages)} packages"
        return f"{made}{held}, in {self.folder}"


def folder_of(purpose: Purpose) -> Path:
    """Where the user's root for a purpose lies, or would."""
    return roots_folder() / purpose


def find(purpose: Purpose) -> Root | None:
    """The root that was made for it; None also for one that was cut off, and where none is to be used."""
    chosen = os.environ.get(CHOICE)
    if chosen == NONE:
        return None
    if chosen and OUTSIDE not in os.environ:
        raise UsageError(f"{CHOICE} is {chosen!r}; set it to `{NONE}`, so that no root is used, or unset it")
    try:
        folder = folder_of(purpose)
    except EnvironmentLacks:  # who has no home has no root, and the command may need neither
        return None
    return read(folder)


def read(folder: Path) -> Root | None:
    """The root of a folder, unless it is not there or not whole."""
    try:
        stored = json.loads((folder / "root.json").read_bytes())
        return Root(folder, **stored)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise EnvironmentLacks(
            f"the root in {folder} is damaged ({error}); to make it anew: coldload root make {folder.name}"
        ) from error


def around() -> Root | None:
    """The root of the lab that this process runs in."""
    return read(Path(os.environ[CHOICE])) if OUTSIDE in os.environ else None


def of_the_historical_engine() -> Root | None:
    """The root that the engine of 2012 is started in; None where the machine has it."""
    return None if HISTORICAL_SIGN.exists() else find(Purpose.HISTORICAL)


def shadowed_by(path: Path) -> Path | None:
    """The folder, as /var, in whose place a root of the lab has its own, so that it shows no path of the machine there;
    None for what it shows. A file that is written to such a path in the root is lost with it.
    """
    real = Path(os.path.realpath(path))
    if any(real.is_relative_to(shown) for shown in (*FROM_WITHIN, CERTIFICATES)):
        return None
    top = real.parts[:2]
    return Path(*top) if top[1:] and top[1] in ITS_OWN else None


def refuse_shadowed_folders() -> None:
    """EnvironmentLacks where a folder that coldload keeps files in would not be the machine's in a root of the lab."""
    for variable, folder in _kept_folders():
        if there := shadowed_by(folder):
            raise EnvironmentLacks(
                f"coldload keeps files in {folder}, and the root of the lab has its own {there}: what is written there "
                f"is lost; set {variable} to a folder below /home, say"
            )


def _kept_folders() -> Iterator[tuple[str, Path]]:
    """Each with the variable that chooses it; who has no home has only those that are chosen."""
    for variable, folder in (("XDG_DATA_HOME", data_folder), ("COLDLOAD_CACHE", cache_folder)):
        try:
            found = folder()
        except EnvironmentLacks:
            continue
        yield variable, found
    if chosen := os.environ.get("COLDLOAD_ARCHIVES"):
        yield "COLDLOAD_ARCHIVES", Path(chosen)


def go_inside(made: Root, words: Sequence[str]) -> NoReturn:
    """Become coldload with these words in a root of the lab; EnvironmentLacks when that cannot be."""
    refuse_shadowed_folders()
    here = Path.cwd()
    is_shadowed = shadowed_by(here) is not None  # the tree may have a folder of that name
    environment = {name: value for name, value in os.environ.items() if name not in OF_ANOTHER_PYTHON}
    environment |= {CHOICE: str(made.folder), OUTSIDE: str(FOLDER), "PATH": PATH, "PYTHONPATH": str(SOURCE)}
    privileges = refusals.privileges()
    try:
        enter(made.tree, dict(_paths_seen()))
    except OSError as error:
        raise EnvironmentLacks(
            refusals.why_not(refusals.Refusal.of(refusals.told(error)), privileges)
        ) from error
    if is_shadowed or Path.cwd() != here:
        raise EnvironmentLacks(
            f"{here} is not seen from the root in {made.folder}; go to a folder below /home"
        )
    try:
        os.execve(PYTHON, [str(PYTHON), "-P", "-m", "harness.cli", *words], environment)  # noqa: S606
    except OSError as error:
        raise EnvironmentLacks(
            f"the root in {made.folder} is damaged ({PYTHON}: {error.strerror}); "
            "to make it anew: coldload root make lab"
        ) from error


def _paths_seen() -> Iterator[tuple[Path, Path]]:
    """What of the machine is seen in a root of the lab, and as what."""
    for path in sorted(Path("/").iterdir()):
        if path.name not in ITS_OWN:
            yield path, path
    for path in FROM_WITHIN:
        if path.exists():
            yield path, path.resolve()
    if CERTIFICATES.exists():
        yield CERTIFICATES, CERTIFICATES.resolve()
    for name, path in sources():
        yield SOURCE / name, path


def sources() -> Iterator[tuple[str, Path]]:
    """The packages of this installation."""
    for name in PACKAGES:
        path = FOLDER / name
        yield name, path if path.is_dir() else FOLDER / "dns" / name


def enter(tree: Path, shared: Mapping[Path, Path], *, read_only: bool = False) -> None:
    """Make the tree the root of this process, in a mount namespace of its own; OSError when that cannot be.

    Nobody removes the tree before this process has ended, and the program that it becomes.

    With `read_only` nothing of the tree can be changed there, not even by who has its files.

    `shared`: paths there, each with the path of the machine that is seen under it. An ordinary user needs a user
    namespace for it, and gets one in which he is the same user; he has no rights in it once he has started a program.
    """
    here = Path.cwd()
    os.set_inheritable(_locked(tree), True)
    if os.geteuid() != 0:
        _user_namespace()
    syscalls.unshare(syscalls.CLONE_NEWNS)
    syscalls.mount("none", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
    root = tree / "mnt"  # an empty folder to stand on, of a tree that nobody sees after this
    syscalls.mount("tmpfs", str(root), "tmpfs", syscalls.MS_NOSUID, "mode=755")
    for there, path in _of_tree(tree, shared):
        _show(path, root / there.relative_to("/"), read_only=read_only)
    for there, path in shared.items():
        _show(path, root / there.relative_to("/"))
    _sticky(root / "tmp")
    os.chdir(root)
    syscalls.pivot_root()
    os.chdir(here if here.is_dir() else "/")


def _locked(tree: Path) -> int:
    """Lock a tree against its removal, for as long as this process or one of its children has the descriptor."""
    descriptor = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    with contextlib.suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), tree.stat()):
            return descriptor
    os.close(descriptor)
    raise EnvironmentLacks(
        f"the root in {tree.parent} is being made anew or removed; wait until that has ended, and try again"
    )


@contextlib.contextmanager
def kept(made: Root) -> Iterator[None]:
    """Nobody removes a root for the length of the block, also while no process is in it."""
    descriptor = _locked(made.tree)
    try:
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def unused(folder: Path) -> Iterator[None]:
    """Nobody enters the root of a folder for the length of the block; EnvironmentLacks when somebody is in it."""
    with contextlib.ExitStack() as stack:
        tree = folder / "tree"
        if tree.exists():
            descriptor = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                who = "".join(f" (process {pid})" for pid in _who_is_in(tree)[:1])
                raise EnvironmentLacks(
                    f"the root in {folder} is in use by a coldload that runs{who}; wait until it has ended, or end it"
                ) from error
        yield


def _who_is_in(tree: Path) -> list[int]:
    """The processes that have it open, as far as this user may see that; the first is the command itself."""
    here, pids = tree.stat(), set()
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            if os.path.samestat(descriptor.stat(), here):
                pids.add(int(descriptor.parts[2]))
    return sorted(pids - {os.getpid()})


def _user_namespace() -> None:
    uid, gid = os.geteuid(), os.getegid()
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def _of_tree(tree: Path, shared: Iterable[Path]) -> Iterable[tuple[Path, Path]]:
    """What is seen of the tree, with where it is seen. Of a folder in which a shared path is to be made what is in
    it is taken one by one, so that nothing is made in the tree itself.
    """
    within = {tree / path.relative_to("/") for path in shared}
    opened = {parent for path in within if not path.exists() for parent in path.parents}

    def seen(folder: Path) -> Iterator[Path]:
        for entry in sorted(folder.iterdir()):
            if folder == tree and entry.name in NOT_OF_THE_TREE:
                continue
            if entry in opened and not entry.is_symlink():
                yield from seen(entry)
            else:
                yield entry

    return ((Path("/", entry.relative_to(tree)), entry) for entry in seen(tree))


def _show(path: Path, there: Path, *, read_only: bool = False) -> None:
    """Bind a path of the machine, with all that is mounted in it, or make the same symbolic link."""
    there.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() and not there.exists():
        there.symlink_to(path.readlink())
        return
    if path.is_dir():
        there.mkdir(exist_ok=True)
    elif not there.exists():
        there.touch()
    syscalls.mount(str(path), str(there), "", syscalls.MS_BIND | syscalls.MS_REC)
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
    """Enter a tree with the kernel's own paths and those named, and become the program."""
    at = words.index("--")
    tree, *shared = words[:at]
    program = words[at + 1 :]
    try:
        enter(Path(tree), {path: path for path in (*KERNEL, *map(Path, shared))}, read_only=True)
        os.execvp(program[0], program)  # noqa: S606  # as every program that puts another one in its place
    except (ColdloadError, OSError) as error:
        sys.exit(f"cannot start {program[0]} in {tree}: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
