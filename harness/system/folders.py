"""The user's folders, by the XDG Base Directory Specification: for what is kept, and what can be made again."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from harness.errors import EnvironmentLacks
from harness.system.installation import is_checkout

NAME = "coldload"
ARCHIVES, RUNS = "archives", "runs"
_USER = os.getuid()  # as it is outside: in the enclosure the user is called root
_CHOICES = (
    "HOME, XDG_DATA_HOME, XDG_CACHE_HOME, COLDLOAD_ARCHIVES and COLDLOAD_CACHE say where coldload writes"
)


def cache_folder() -> Path:
    """What is downloaded or built once: $COLDLOAD_CACHE, or coldload below $XDG_CACHE_HOME (~/.cache)."""
    given = os.environ.get("COLDLOAD_CACHE")
    return Path(given) if given else _base("XDG_CACHE_HOME", ".cache") / NAME


def records_cache() -> Path:
    """Where the records of large runs are kept once they were read."""
    return cache_folder() / "records"


def kept_folder(name: str) -> Path:
    """Where `archives` or `runs` are kept: in the current folder when coldload runs from a checkout of it.

    Else coldload/NAME below $XDG_DATA_HOME (~/.local/share), whatever the current folder is.
    """
    return Path(name) if is_checkout() else data_folder() / name


def data_folder() -> Path:
    """What is kept for a user: coldload below $XDG_DATA_HOME (~/.local/share)."""
    return _base("XDG_DATA_HOME", ".local/share") / NAME


def roots_folder() -> Path:
    """Where the user's roots lie (harness.system.roots), once there are any."""
    return data_folder() / "roots"


def made_folder(folder: Path) -> Path:
    """The folder, made with all above it if need be; EnvironmentLacks when it cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentLacks(f"cannot make the folder {folder} ({error.strerror}); {_CHOICES}") from error
    return folder


def _base(variable: str, usual: str) -> Path:
    """A base folder. One that is not absolute is ignored, as the specification says."""
    given = Path(os.environ.get(variable, ""))
    return given if given.is_absolute() else _home() / usual


def _home() -> Path:
    try:
        home = os.environ["HOME"] if "HOME" in os.environ else pwd.getpwuid(_USER).pw_dir
    except KeyError:
        raise EnvironmentLacks(
            f"there is no home folder: HOME is not set and user {_USER} has none; {_CHOICES}"
        ) from None
    if not Path(home).is_absolute():
        raise EnvironmentLacks(f"HOME is {home!r}, which is no absolute path; {_CHOICES}")
    return Path(home)
