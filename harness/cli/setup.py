"""`coldload setup`: what coldload needs beside its Python packages, all of it or some, beforehand."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from importlib import resources

from harness.capacity import k6build
from harness.cli.arguments.setup import PARTS
from harness.cli.console import console
from harness.cli.root import tell
from harness.cli.shipped import make_shipped_archives
from harness.lab import rootmaking
from harness.lab.rootmaking import RootRecipe
from harness.system.program import in_foreground
from harness.system.roots import Purpose
from sites.archive import archives_root
from sites.servers import nodepackages


def run(arguments: argparse.Namespace) -> int:
    for part in arguments.parts or PARTS:
        code = MAKERS[part](arguments)
        if code:
            return code
    return 0


def _debian(_: argparse.Namespace) -> int:
    return in_foreground(["sh", str(resources.files("configs") / "debian-setup.sh")])


def _gateway(_: argparse.Namespace) -> int:
    nodepackages.install()
    return 0


def _k6(_: argparse.Namespace) -> int:
    k6build.build()
    return 0


def _pages(arguments: argparse.Namespace) -> int:
    return make_shipped_archives(arguments, archives_root(), console())


def _root(_: argparse.Namespace) -> int:
    if rootmaking.lacking() is Purpose.HISTORICAL:
        rootmaking.make(RootRecipe(Purpose.HISTORICAL), tell)
    return 0


MAKERS: Mapping[str, Callable[[argparse.Namespace], int]] = dict(
    zip(PARTS, (_debian, _gateway, _k6, _pages, _root), strict=True)
)
