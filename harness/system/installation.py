"""How coldload is installed, and so the commands that mend it: a checkout has its Makefile, a wheel has pip."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import harness

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
        return "coldload root make laboratory"
    return f"{sys.executable} -m pip install --force-reinstall {_wheel()}"


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
