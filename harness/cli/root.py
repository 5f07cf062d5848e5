"""`coldload root`: Debian trees of our own for what this machine lacks."""

from __future__ import annotations

import argparse
import sys

from harness.cli.plaintext import say
from harness.errors import EnvironmentLacks, UsageError
from harness.lab import rootmaking
from harness.lab.rootmaking import RootRecipe
from harness.system.roots import Purpose, folder_of, read


def run(arguments: argparse.Namespace) -> int:
    if arguments.what == "list":
        return _list()
    purpose = Purpose(arguments.purpose) if arguments.purpose else rootmaking.lacking()
    if arguments.what == "remove":
        if not arguments.purpose:
            raise UsageError("name the root to remove: " + " or ".join(Purpose))
        say(
            f"removed {purpose}"
            if rootmaking.remove(Purpose(arguments.purpose))
            else f"there is no root {purpose}"
        )
        return 0
    if purpose is None:
        say(
            "this machine lacks nothing that a root has; to make one all the same, name it: "
            + " or ".join(Purpose)
        )
        return 0
    if not (arguments.if_missing and rootmaking.is_there(purpose)):
        rootmaking.make(RootRecipe(purpose, arguments.release, arguments.mirror), tell)
    return 0


def tell(text: str) -> None:
    """A line of progress; standard output may be for a program."""
    print(f"root: {text}", file=sys.stderr, flush=True)


def _list() -> int:
    for purpose in Purpose:
        try:
            made = read(folder_of(purpose))
        except EnvironmentLacks as error:
            say(f"{purpose}: {error}")
            continue
        if made is None:
            say(f"{purpose}: none")
        else:
            say(
                f"{purpose}: {made}"
                + ("" if rootmaking.fits(made, purpose) else "; of another version of coldload")
            )
    return 0
