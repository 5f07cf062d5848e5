"""The roots that were made here: where they lie, what is in them, and starting coldload in that of the laboratory.

Imports little: `coldload` asks here before anything else, also under a Python that has none of the packages.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NoReturn

from harness.errors import EnvironmentLacks, UsageError
from harness.system import refusals, root
from harness.system.folders import roots_folder
from harness.system.installation import FOLDER, OUTSIDE

SUITES = {"12": "bookworm", "13": "trixie"}
RELEASE = "12"  # the last one that has all that coldload can use
CHOICE = "COLDLOAD_ROOT"  # inside: the folder of the root; `none` beforehand: use none
NONE = "none"
INSIDE = Path("/coldload")  # what a root of the laboratory has of ours
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
QTWEBKIT = Path("/usr/lib/python3/dist-packages/PyQt5/QtWebKit.abi3.so")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


class Purpose(StrEnum):
    """What a root is made for."""

    HISTORICAL = "historical"
    LABORATORY = "laboratory"


@dataclass(frozen=True)
class Root:
    """A root that is whole. `made_for` is a digest of what of this version of coldload is in it."""

    folder: Path
    release: str
    made_utc: str
    made_for: str
    packages: Mapping[str, str] = field(default_factory=dict)

    @property
    def tree(self) -> Path:
        return self.folder / "tree"

    def __str__(self) -> str:
        return f"Debian {self.release}, made {self.made_utc[:10]}, {len(self.packages)} packages, in {self.folder}"


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


def inside() -> Root | None:
    """The root of the laboratory that this process runs in."""
    return read(Path(os.environ[CHOICE])) if OUTSIDE in os.environ else None


def of_the_historical_engine() -> Root | None:
    """The root that QtWebKit is started in; None where the machine has it."""
    return None if QTWEBKIT.exists() else find(Purpose.HISTORICAL)


def go_inside(made: Root, words: Sequence[str]) -> NoReturn:
    """Become coldload with these words in a root of the laboratory; EnvironmentLacks when that cannot be."""
    here = Path.cwd()
    environment = {name: value for name, value in os.environ.items() if name not in OF_ANOTHER_PYTHON}
    environment |= {CHOICE: str(made.folder), OUTSIDE: str(FOLDER), "PATH": PATH, "PYTHONPATH": str(SOURCE)}
    found = refusals.privileges()
    try:
        root.enter(made.tree, dict(_places()))
    except OSError as error:
        raise EnvironmentLacks(refusals.why_not(refusals.Refusal.of(refusals.told(error)), found)) from error
    if Path.cwd() != here:
        raise EnvironmentLacks(
            f"{here} is not seen from the root in {made.folder}; go to a folder below /home"
        )
    try:
        os.execve(PYTHON, [str(PYTHON), "-m", "harness.cli", *words], environment)  # noqa: S606
    except OSError as error:
        raise EnvironmentLacks(
            f"the root in {made.folder} is damaged ({PYTHON}: {error.strerror}); "
            "to make it anew: coldload root make laboratory"
        ) from error


def _places() -> Iterator[tuple[Path, Path]]:
    """What of the machine is seen in a root of the laboratory, and as what."""
    for place in sorted(Path("/").iterdir()):
        if place.name not in ITS_OWN:
            yield place, place
    for place in FROM_WITHIN:
        if place.exists():
            yield place, place.resolve()
    if CERTIFICATES.exists():
        yield CERTIFICATES, CERTIFICATES.resolve()
    for name, place in sources():
        yield SOURCE / name, place


def sources() -> Iterator[tuple[str, Path]]:
    """The packages of this installation."""
    for name in PACKAGES:
        place = FOLDER / name
        yield name, place if place.is_dir() else FOLDER / "dns" / name
