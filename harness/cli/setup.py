"""`coldload setup`: what coldload needs beside its Python packages, all of it or some, beforehand."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from importlib import resources

from harness.cli.failures import going_on
from harness.errors import EnvironmentLacks
from harness.system.folders import OUTSIDE, set_up_engines
from harness.system.roots import Purpose

PARTS = ("debian", "firefox", "webkit", "gateway", "k6", "pages", "root")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is set up."""
    parser.description = (
        "Install the Debian packages that are missing (as root, or through sudo), and make beforehand what the first "
        "command that needs it would make: npm packages of the server spdy-gateway, the generator of users (k6), pages "
        "that ship, the root with QtWebKit where this release of Debian has none. The engines Firefox and WebKit are "
        "Debian packages of their own. What is there stays as it is."
    )
    parser.add_argument(
        "parts", nargs="*", choices=PARTS, metavar="PART", help=f"{', '.join(PARTS)} (default: all of it)"
    )


def run(arguments: argparse.Namespace) -> int:
    lacking = _engines_that_the_root_lacks()
    if named := [engine for engine in lacking if engine in arguments.parts]:
        raise EnvironmentLacks(_without(*named))
    if lacking and not arguments.parts:
        print(_without(*lacking), file=sys.stderr)
    parts, done = arguments.parts or [part for part in PARTS if part not in lacking], 0
    with going_on(lambda: f"{done} of {len(parts)} parts are set up; the same command goes on"):
        for number, part in enumerate(parts, start=1):
            print(f"setting up {part} ({number} of {len(parts)})", file=sys.stderr)
            code = MAKERS[part](arguments)
            if code:
                return code
            done = number
    return 0


def _engines_that_the_root_lacks() -> list[str]:
    """Of the optional ones, in a root of the laboratory: nothing can be installed there."""
    if OUTSIDE not in os.environ:
        return []
    from harness.lab.preflight import debian_packages

    return sorted(
        {package.engine for package in debian_packages() if package.engine and not package.is_there()}
    )


def _without(*engines: str) -> str:
    return (
        f"the root of the laboratory is without {' and '.join(engines)}; "
        f"to make it anew with that: {set_up_engines(*engines)}"
    )


def _debian(_: argparse.Namespace) -> int:
    return _packages()


def _firefox(_: argparse.Namespace) -> int:
    return _packages("firefox")


def _webkit(_: argparse.Namespace) -> int:
    return _packages("webkit")


def _packages(*engine: str) -> int:
    """Install the Debian packages that are missing: those of an optional engine, or all others."""
    from harness.system.program import in_foreground

    return in_foreground(["sh", str(resources.files("configs") / "debian-setup.sh"), *engine])


def _gateway(_: argparse.Namespace) -> int:
    from sites.servers import nodepackages

    nodepackages.install()
    return 0


def _k6(_: argparse.Namespace) -> int:
    from harness.capacity import k6

    k6.build()
    return 0


def _pages(arguments: argparse.Namespace) -> int:
    from harness.cli.console import console
    from harness.cli.making import make_shipped_archives
    from sites.archive import archives_root

    return make_shipped_archives(arguments, archives_root(), console())


def _root(_: argparse.Namespace) -> int:
    from harness.cli.root import tell
    from harness.lab import rootmaking
    from harness.lab.rootmaking import RootRecipe

    if rootmaking.lacking() is Purpose.HISTORICAL:
        rootmaking.make(RootRecipe(Purpose.HISTORICAL), tell)
    return 0


MAKERS: Mapping[str, Callable[[argparse.Namespace], int]] = dict(
    zip(PARTS, (_debian, _firefox, _webkit, _gateway, _k6, _pages, _root), strict=True)
)
