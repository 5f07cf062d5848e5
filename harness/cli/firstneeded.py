"""What set-up leaves out, because only some commands need it: each part is made when a command first needs it.

That is before the enclosure, which has no network. `coldload setup` makes all of it beforehand.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Collection, Iterable

from harness.capacity import k6build
from harness.cli.console import console
from harness.cli.root import tell
from harness.cli.shipped import make_shipped_archives
from harness.errors import EnvironmentLacks
from harness.lab import rootmaking
from harness.lab.rootmaking import RootRecipe
from harness.model.condition import Condition
from harness.model.engine import Engine
from harness.system import roots
from harness.system.roots import Purpose
from sites.archive import archives_root
from sites.recipes import RECIPES
from sites.servers import nodepackages

GATEWAY = "spdy-gateway"


def make_first_needed(arguments: argparse.Namespace, conditions: Iterable[Condition]) -> int:
    """`make_parts_and_pages` of conditions."""
    wanted = tuple(conditions)
    parts = {part for condition in wanted for part in (condition.engine, condition.server)}
    return make_parts_and_pages(arguments, parts, {condition.page for condition in wanted})


def make_parts_and_pages(
    arguments: argparse.Namespace, parts: Collection[str], pages: Collection[str]
) -> int:
    """What these engines, servers and pages need and a set-up has not made; the exit code, 0 when all of it is there.

    A page that ships, the generator of users, the packages of the gateway. It is told on standard error, as standard
    output may be for a program.
    """
    if Engine.K6 in parts:
        k6build.build()
    wanted_root = Engine.QTWEBKIT in parts and os.environ.get(roots.CHOICE) != roots.NONE
    if wanted_root and rootmaking.lacking() is Purpose.HISTORICAL:
        with contextlib.suppress(EnvironmentLacks):  # as with the gateway's packages
            rootmaking.make(RootRecipe(Purpose.HISTORICAL), tell)
    if GATEWAY in parts or Engine.SPDY_CLIENT in parts:
        with contextlib.suppress(
            nodepackages.GatewayLacks
        ):  # the command says so, and a study of others goes on
            nodepackages.install()
    root = archives_root()
    missing = {name for name in pages if name in RECIPES and not (root / name).is_dir()}
    return make_shipped_archives(arguments, root, console(sys.stderr), missing) if missing else 0
