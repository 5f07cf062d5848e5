"""What set-up leaves out, because only some commands need it: each part is made when a command first needs it.

That is before the enclosure, which has no network. `make setup-all` makes all of it beforehand.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterable

from harness.capacity import k6build
from harness.cli.console import console
from harness.cli.shipped import make_shipped_archives
from harness.model.condition import Condition
from harness.model.engine import Engine
from sites.archive import archives_root
from sites.recipes import RECIPES
from sites.servers import nodepackages

GATEWAY = "spdy-gateway"


def make_first_needed(arguments: argparse.Namespace, conditions: Iterable[Condition]) -> int:
    """What these conditions need and a set-up has not made; the exit code, which is 0 when all of it is there.

    A page that ships, the generator of users, the packages of the gateway. It is told on standard error, as standard
    output may be for a program.
    """
    wanted = tuple(conditions)
    parts = {part for condition in wanted for part in (condition.engine, condition.server)}
    if Engine.K6 in parts:
        k6build.build()
    if GATEWAY in parts or Engine.SPDY_CLIENT in parts:
        nodepackages.install()
    return make_pages({condition.page for condition in wanted}, arguments)


def make_pages(names: Collection[str], arguments: argparse.Namespace) -> int:
    """Those of the pages that ship and are not archived yet; the exit code."""
    root = archives_root()
    missing = {name for name in names if name in RECIPES and not (root / name).is_dir()}
    return make_shipped_archives(arguments, root, console(sys.stderr), missing) if missing else 0
