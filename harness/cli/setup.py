"""`coldload setup`: what coldload needs beside its Python packages, all of it or some, beforehand."""

from __future__ import annotations

import argparse
import sys

import configs
from harness.cli.failures import going_on

PARTS = ("debian", "firefox", "webkit", "gateway", "k6", "pages", "root")


def add_arguments(parser: argparse.ArgumentParser) -> None:
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
    parts, done = arguments.parts or PARTS, 0
    with going_on(lambda: f"{done} of {len(parts)} parts are set up; the same command goes on"):
        for number, part in enumerate(parts, start=1):
            print(f"setting up {part} ({number} of {len(parts)})", file=sys.stderr)
            code = _set_up(part, arguments)
            if code:
                return code
            done = number
    return 0


def _set_up(part: str, arguments: argparse.Namespace) -> int:
    """Make one part; the exit code."""
    if part == "gateway":
        from sites.servers import nodepackages

        nodepackages.install()
    elif part == "k6":
        from harness.capacity import k6

        k6.build()
    elif part == "pages":
        from harness.cli.making import make_shipped_archives

        make_shipped_archives(arguments)
    elif part == "root":
        from harness.cli.root import make_historical

        make_historical()
    else:  # Debian packages: of an optional engine, or all others
        from harness.system.program import in_foreground

        return in_foreground(["sh", str(configs.FOLDER / "debian-setup.sh"), *[part] * (part != "debian")])
    return 0
