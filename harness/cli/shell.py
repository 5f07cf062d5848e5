"""`coldload shell`: a shell or a command in the emulated network."""

from __future__ import annotations

import argparse
import os

from harness.cli.failures import in_enclosure
from harness.cli.options import add_link_options, link_of
from harness.cli.telling import telling
from harness.model.link import Link

LINK_S = 3.0  # that it usually takes to be measured


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_link_options(parser)
    parser.add_argument("argv", nargs="*", metavar="COMMAND", help="after --; default: $SHELL")


def run(arguments: argparse.Namespace) -> int:
    link = link_of(arguments)
    words = arguments.argv or [os.environ.get("SHELL", "/bin/sh")]
    return in_enclosure(arguments, lambda: _shell(link, words))


def _shell(link: Link, words: list[str]) -> int:
    """Run the words on the client host; the server host answers at 10.0.255.254."""
    from harness.lab.calibrate import check_link
    from harness.lab.testbed import testbed
    from harness.system.program import in_foreground

    with testbed() as made:
        with telling("measuring the link", LINK_S):
            check_link(made, link)
        with made.client(link) as client, client.host.entered():
            code = in_foreground(words)
            client.link.check()  # what ran on a link that has died ran on none
            return code
