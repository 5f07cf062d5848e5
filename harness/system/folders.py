"""Where coldload is installed, what mends it, and the user's folders: for what is kept, and what can be made again.

A checkout has its Makefile, a wheel has pip. The user's folders follow the XDG Base Directory Specification.
"""

from __future__ import annotations

import os
import pwd
import sys
from pathlib import Path

import harness
from harness.errors import EnvironmentLacks

PROJECT = "coldload"
MAKE = "make setup"  # in a checkout, for everything
OUTSIDE = "COLDLOAD_OUTSIDE"  # in a root: the folder of the packages outside (harness.system.roots)
FOLDER = Path(os.environ.get(OUTSIDE) or Path(harness.__file__).parents[1])


def is_checkout() -> bool:
    """Whether the package lies in a checkout, where an editable install leaves it."""
    return all((FOLDER / name).is_file() for name in ("Makefile", "pyproject.toml"))


def set_up_everything() -> str:
    """The command that installs all that `coldload doctor` looks for, as far as the Python packages are there."""
    return MAKE if is_checkout() else "coldload setup"


def set_up_again() -> str:
    """The command that installs the Python packages, and the link emulator with them."""
    if is_checkout():
        return MAKE
    if OUTSIDE in os.environ:
        return "coldload root make lab"
    return f"{sys.executable} -m pip install --force-reinstall {_wheel()}"


def set_up_engines(*engines: str) -> str:
    """The command that installs engines that are optional. A root of the lab is made anew with them."""
    if OUTSIDE in os.environ:
        return " ".join(["coldload root make lab", *(f"--engine {engine}" for engine in engines)])
    return " ".join(["coldload setup", *engines])


def set_up_with(extra: str) -> str:
    """The command that installs the Python packages with those of an extra."""
    return MAKE if is_checkout() else f"{sys.executable} -m pip install {_wheel(f'[{extra}]')}"


def cannot_start(error: Exception) -> str:
    """What is said where Python cannot import what a command needs."""
    said = " ".join(str(error).split()) or type(error).__name__
    return (
        f"cannot start: {said[:300]}; install it again ({set_up_again()}), or see whether "
        "memory, processes or open files are at a limit (`ulimit -a`)"
    )


def _wheel(extra: str = "") -> str:
    """What pip is told to install: the version that is there, from where it came."""
    import json  # noqa: PLC0415  # seldom needed
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415

    try:
        installed = distribution(PROJECT)
    except PackageNotFoundError:
        return f"'{PROJECT}{extra}'"
    origin = installed.read_text("direct_url.json")  # of a wheel that came as a file or by its URL
    if origin:
        return f"'{PROJECT}{extra} @ {json.loads(origin)['url']}'"
    return f"'{PROJECT}{extra}=={installed.version}'"


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


def user_name() -> str | None:
    """The name of the user; None for one without an entry in passwd, as in a container that is started by a number."""
    import getpass  # noqa: PLC0415  # seldom needed

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # from Python 3.13 on the latter
        return None


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
