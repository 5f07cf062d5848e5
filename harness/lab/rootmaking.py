"""Making a root: a minimal Debian tree, by mmdebstrap, as root or as an ordinary user.

All files of a tree belong to the user who made it, so that he can enter and remove it without any right. A tree is
made under another name and moved into place when it is whole: whatever cuts that off, the next try begins anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import configs
from harness.errors import EnvironmentLacks, StorageFailed, TestbedFailed
from harness.input.shown import Tell
from harness.lab.emulated import LINKEM_FOLDER
from harness.lab.preflight import debian_packages, debian_release
from harness.system import refusals
from harness.system.files import utc_now
from harness.system.folders import FOLDER, PROJECT, is_checkout, user_name
from harness.system.process import running
from harness.system.program import Command
from harness.system.roots import (
    CERTIFICATES,
    RELEASE,
    SUITES,
    Purpose,
    Root,
    around,
    folder_of,
    read,
    refuse_shadowed_folders,
    unused,
)

# Free space that each needs while it is made, and how long that took on two cores with a near mirror.
NEEDED_GB = {Purpose.HISTORICAL: 1, Purpose.LAB: 4}
MINUTES = {Purpose.HISTORICAL: 1, Purpose.LAB: 5}
TELL_EVERY_S = 10.0
FONTS = ("fontconfig", "fonts-")
LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*")
COMPILED = ("src", "Cargo.toml", "Cargo.lock", "build.py")  # of the emulator
LINKEM_PARTS = (*COMPILED, "tests")
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")  # mmdebstrap finds it only by gpg
# Only root may make files of others' and devices, as mmdebstrap does: these become root's, and go.
IN_PLACE = """set -e
mmdebstrap "$@" "$SUITE" "$TREE" $MIRROR
find "$TREE/dev" -xdev -mindepth 1 -delete
find "$TREE" -xdev "(" ! -user 0 -o ! -group 0 ")" -exec chown --no-dereference 0:0 "{}" +
"""
UNPACKED = """set -o pipefail
mmdebstrap "$@" "$SUITE" - $MIRROR | tar --extract --no-same-owner --exclude "./dev/*" --directory "$TREE"
"""
HOOK = configs.FOLDER / "root-hook.sh"
PIP_SETTINGS = Path("/etc/pip.conf")
# How apt-get, then pip, tell that no server was reached.
NOT_FETCHED = re.compile(
    r"(Temporary failure resolving|Could not resolve|Could not connect to|Connection timed out|Connection failed).*"
    r"|requirement \S+ \(from versions: none\)|Read timed out"
)


@dataclass(frozen=True)
class RootRecipe:
    """What a root is made of."""

    purpose: Purpose
    release: str = RELEASE
    mirror: str | None = None
    engines: Sequence[str] = ()  # those of the optional ones that a lab is to hold

    @property
    def packages(self) -> list[str]:
        """By name: all that the release has, or what only it has and fonts for that."""
        offered = [
            package
            for package in debian_packages()
            if package.release in ("", self.release) and package.engine in ("", *self.engines)
        ]
        if self.purpose is Purpose.HISTORICAL:
            return [offer.name for offer in offered if offer.release or offer.name.startswith(FONTS)]
        return [offer.name for offer in offered]

    def digest(self) -> str:
        """Of what of this version of coldload goes into it."""
        parts = [*self.packages]
        if self.purpose is Purpose.LAB:
            parts += [*requirements(), constraints(), HOOK.read_text()]
            parts += [path.read_text() for path in _emulator_files()]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def requirements() -> list[str]:
    """The Python packages that coldload needs, as pip names them."""
    if is_checkout():
        project = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]
        return [*project["dependencies"], *project["optional-dependencies"]["cluster"]]
    named = (requirement.partition("; extra == ") for requirement in metadata.requires(PROJECT) or ())
    return [each for each, _, extra in named if extra.strip("'\"") in ("", "cluster")]


def constraints() -> str:
    """The versions of Python packages that are pinned, as pip reads them: the wheel has them among its data."""
    return ((FOLDER if is_checkout() else configs.FOLDER) / "constraints.txt").read_text()


def _emulator_files() -> list[Path]:
    return sorted(path for part in COMPILED for path in _files(LINKEM_FOLDER / part))


def _files(top: Path) -> Iterator[Path]:
    yield from (path for path in top.rglob("*") if path.is_file()) if top.is_dir() else [top]


def fits(made: Root, purpose: Purpose) -> bool:
    """Whether a root was made for this version of coldload."""
    return made.made_for == RootRecipe(purpose, made.release, engines=made.engines).digest()


def is_there(purpose: Purpose, engines: Sequence[str] = ()) -> bool:
    """Whether there is a whole root for this version of coldload, with these of the optional engines."""
    made = _whole(purpose)
    return made is not None and fits(made, purpose) and set(engines) <= set(made.engines)


def engines_held(purpose: Purpose) -> Sequence[str]:
    """The optional engines in a root: one that is made in its place holds them too."""
    made = _whole(purpose)
    return made.engines if made else ()


def _whole(purpose: Purpose) -> Root | None:
    try:
        return read(folder_of(purpose))
    except EnvironmentLacks:  # it is damaged
        return None


def lacking() -> Purpose | None:
    """The root that this machine needs and does not have, if it needs one."""
    if debian_release() not in SUITES:
        return Purpose.LAB
    lacks = [package for package in debian_packages() if not package.is_offered and not package.is_there()]
    return Purpose.HISTORICAL if lacks and not is_there(Purpose.HISTORICAL) else None


def make(recipe: RootRecipe, tell: Tell) -> Root:
    """Make a root, in the place of an earlier one; EnvironmentLacks or StorageFailed in one line when it cannot be."""
    _refuse_unless_possible(recipe)
    folder = folder_of(recipe.purpose)
    with _alone(folder):
        began = time.monotonic()
        tell(
            f"making a root for the {_of(recipe.purpose)}: Debian {recipe.release}, {len(recipe.packages)} packages; "
            f"some {MINUTES[recipe.purpose]} min, once"
        )
        new = folder.with_name(f".{folder.name}.new")
        _removed(new)
        try:
            (new / "tree").mkdir(parents=True)
            _bootstrap(recipe, new, tell)
            stored = asdict(
                Root(
                    new,
                    recipe.release,
                    utc_now(),
                    recipe.digest(),
                    _versions(new / "tree/coldload/packages"),
                    recipe.engines,
                )
            )
            del stored["folder"]
            (new / "root.json").write_text(json.dumps(stored, indent=1) + "\n")
            _removed(new / "tmp")
            _removed(folder)
            os.sync()  # dpkg wrote in haste: after a power cut a tree in its place has to be whole
            new.rename(folder)
        except OSError as error:
            raise StorageFailed(
                f"cannot make a root in {new}: {error.strerror}; make room, or set XDG_DATA_HOME to another disk"
            ) from error
        finally:
            _removed(new)
        made = read(folder)
        if made is None:
            raise StorageFailed(f"the root in {folder} was removed while it was made; make it again")
        tell(f"the root is made ({time.monotonic() - began:.0f} s): {made}")
        return made


def remove(purpose: Purpose) -> bool:
    """Remove a root; whether there was one."""
    folder = folder_of(purpose)
    if not folder.exists():
        return False
    with _alone(folder):
        (folder / "root.json").unlink(missing_ok=True)
        _removed(folder)
    return True


def _of(purpose: Purpose) -> str:
    return "historical engine" if purpose is Purpose.HISTORICAL else "whole lab"


def _refuse_unless_possible(recipe: RootRecipe) -> None:
    if recipe.purpose is Purpose.LAB:
        refuse_shadowed_folders()
    ordinary = os.geteuid() != 0
    packages = {"mmdebstrap": bool(shutil.which("mmdebstrap")), "debian-archive-keyring": KEYRING.exists()}
    if ordinary:
        packages["uidmap"] = bool(shutil.which("newuidmap"))
    if missing := [name for name, there in packages.items() if not there]:
        raise EnvironmentLacks(
            f"a root is made by mmdebstrap; missing here: {', '.join(missing)}; install that with this system's "
            f"package manager (Debian and Ubuntu: sudo apt-get install {' '.join(missing)})"
        )
    if ordinary:
        _refuse_unless_users_can(recipe.purpose)
    home = folder_of(recipe.purpose)
    there = next(parent for parent in home.parents if parent.exists())
    free_gb = shutil.disk_usage(there).free / 1e9
    if free_gb < NEEDED_GB[recipe.purpose]:
        raise StorageFailed(
            f"{free_gb:.1f} GB are free in {there}, and a root for the {_of(recipe.purpose)} takes "
            f"{NEEDED_GB[recipe.purpose]}; make room, or set XDG_DATA_HOME to another disk"
        )


def _refuse_unless_users_can(purpose: Purpose) -> None:
    """What an ordinary user needs beside programs."""
    if around() is not None:
        raise EnvironmentLacks(
            "only root can make one from within the root of the lab; make it beforehand: "
            f"coldload root make {purpose}"
        )
    refusals.refuse_without_user_namespaces(refusals.user_namespace_error())
    subuids = Path("/etc/subuid")
    if not _has_subuids(subuids.read_text() if subuids.exists() else ""):
        user = user_name() or str(os.getuid())
        raise EnvironmentLacks(
            f"{user} has no subordinate user IDs in /etc/subuid, which mmdebstrap needs; `sudo usermod --add-subuids "
            f"100000-165535 --add-subgids 100000-165535 {user}`, or make the root as root"
        )


def _has_subuids(text: str) -> bool:
    names = {user_name(), str(os.getuid())}
    return any(line.partition(":")[0] in names for line in text.splitlines())


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """No other process makes, removes or uses this root meanwhile."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f".{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise EnvironmentLacks(
                f"{folder} is being made by another process; wait until it has ended"
            ) from error
        with unused(folder):
            yield


def _bootstrap(recipe: RootRecipe, new: Path, tell: Tell) -> None:
    """Let mmdebstrap make the tree: as root where it stays, else as an archive that is unpacked without its owners."""
    with tempfile.TemporaryDirectory(prefix="coldload-root-") as made:
        given = Path(made)
        given.chmod(0o755)  # the hook may run as another user
        shutil.copy(HOOK, given / "hook.sh")
        if recipe.purpose is Purpose.LAB:
            _give(given)
        words = [
            "--variant=minbase",
            f"--keyring={KEYRING}",
            f"--include={','.join([*recipe.packages, 'python3'])}",
            "--dpkgopt=force-unsafe-io",  # a tree that a power cut leaves is thrown away
            *(f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT),
            f"--customize-hook=sh {given}/hook.sh {given} $1",
        ]
        script = IN_PLACE if os.geteuid() == 0 else UNPACKED
        command = Command.of(*_all_of_it_dies(), "bash", "-c", script, "mmdebstrap", *words)
        command = command.named("mmdebstrap").dying_with_us()
        command = command.with_environment(
            SUITE=SUITES[recipe.release], TREE=str(new / "tree"), MIRROR=recipe.mirror or ""
        )
        if os.geteuid() == 0:  # for an ordinary user it needs a folder that everybody may enter
            (new / "tmp").mkdir()
            command = command.with_environment(TMPDIR=str(new / "tmp"))
        log = new.with_name(f"{recipe.purpose}.log")
        log.unlink(missing_ok=True)
        with running(command, log) as process:
            began = time.monotonic()
            try:
                while not process.ends_within(TELL_EVERY_S):
                    tell(f"  {time.monotonic() - began:.0f} s: {_last_told(log)}")
            except KeyboardInterrupt:
                process.kill()  # the first process of a namespace hears nothing milder
                raise
            try:
                process.check_ended_well()
            except TestbedFailed as failure:
                raise EnvironmentLacks(_why(log)) from failure


def _all_of_it_dies() -> tuple[str, ...]:
    """What makes processes go with the first one. What mmdebstrap starts for an ordinary user does so anyway."""
    if os.geteuid() != 0:
        return ()
    return ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


def _last_told(log: Path) -> str:
    steps = [line for line in log.read_text(errors="replace").splitlines() if line.startswith("I: ")]
    return steps[-1].removeprefix("I: ")[:100] if steps else "starting"


def _why(log: Path) -> str:
    """One line of what mmdebstrap, the hook or tar printed."""
    text = log.read_text(errors="replace")
    if "No space left" in text or "enough free space" in text:
        return "mmdebstrap could not make the tree: the disk is full; make room, then the same command"
    said = [line for line in text.splitlines() if line.startswith(("E: ", "ERROR", "error", "tar: "))]
    if fetching := NOT_FETCHED.search("\n".join(said)):
        return f"packages for the tree cannot be fetched ({fetching[0][:100]}): is there a network? More is in {log}"
    why = said[0].removeprefix("E: ")[:150] if said else "it told no reason"
    return f"mmdebstrap could not make the tree: {why}; more is in {log}"


def _give(folder: Path) -> None:
    """What the tree of a lab takes from this installation."""
    (folder / "requirements.txt").write_text("".join(f"{requirement}\n" for requirement in requirements()))
    (folder / "constraints.txt").write_text(constraints())
    (folder / "linkem").mkdir()
    for part in LINKEM_PARTS:
        source = LINKEM_FOLDER / part
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / "linkem" / part)
    for settings in (PIP_SETTINGS, CERTIFICATES):
        if settings.exists():
            shutil.copy(settings, folder / settings.name)


def _versions(listed: Path) -> dict[str, str]:
    rows = (line.split("\t") for line in listed.read_text().splitlines())
    return {name.partition(":")[0]: version for name, version in rows}


def _removed(folder: Path) -> None:
    """Remove a tree, also where it has folders that nobody may write in."""
    if not folder.exists():
        return
    for parent, folders, _ in os.walk(folder):
        for name in folders:
            inner = Path(parent, name)
            if not inner.is_symlink() and not os.access(inner, os.W_OK | os.X_OK):
                inner.chmod(0o700)
    shutil.rmtree(folder)
