"""The arguments of `coldload import`."""

from __future__ import annotations

import argparse

from harness.cli.arguments.paths import given_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A recording, and the name of its archive."""
    parser.add_argument(
        "file",
        type=given_path,
        metavar="FILE",
        help=".warc, .warc.gz, .wacz, .har with bodies, or a mirror folder",
    )
    parser.add_argument("--name", help="name of the archive (default: the file's name)")
    parser.add_argument(
        "--start-url",
        metavar="URL",
        help="the page to load (default: what the recording names, or begins with)",
    )
    parser.add_argument("--replace", action="store_true", help="replace an archive of the same name")
