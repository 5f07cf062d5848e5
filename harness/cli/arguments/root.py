"""The arguments of `coldload root`."""

from __future__ import annotations

import argparse

from harness.system.roots import RELEASE, SUITES, Purpose


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is to be done, with which root."""
    parser.description = (
        "A root is a minimal Debian tree of your own, which the enclosure enters. `historical` has the engine of 2012, "
        "for Debian 13; `laboratory` has all that coldload needs, for other distributions, where every command then "
        "runs in it. COLDLOAD_ROOT=none keeps a command out of it."
    )
    parser.add_argument(
        "what", choices=["make", "list", "remove"], help="make one (again), list them, or remove one"
    )
    parser.add_argument(
        "purpose",
        nargs="?",
        choices=[str(each) for each in Purpose],
        help="which one (default: what this machine lacks)",
    )
    parser.add_argument(
        "--release",
        default=RELEASE,
        choices=list(SUITES),
        help="the release of Debian (default: %(default)s, which has all of it)",
    )
    parser.add_argument(
        "--if-missing",
        action="store_true",
        help="make it only if there is none that fits this version of coldload",
    )
    parser.add_argument("--mirror", metavar="URL", help="where packages come from (default: Debian's own)")
