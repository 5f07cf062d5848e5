"""The arguments of `coldload setup`."""

from __future__ import annotations

import argparse

PARTS = ("debian", "gateway", "k6", "pages", "root")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is set up."""
    parser.description = (
        "Install the Debian packages that are missing (as root, or through sudo), and make beforehand what the first "
        "command that needs it would make: npm packages of the server spdy-gateway, the generator of users (k6), pages "
        "that ship, the root with QtWebKit where this release of Debian has none. What is there stays as it is."
    )
    parser.add_argument(
        "parts", nargs="*", choices=PARTS, metavar="PART", help=f"{', '.join(PARTS)} (default: all of it)"
    )
