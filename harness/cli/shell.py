"""`coldload shell`: a shell or a command in the emulated network."""

from __future__ import annotations

import argparse
import os

from harness.cli.enclosing import in_enclosure
from harness.cli.linkoptions import link_of
from harness.lab.calibrate import check_link
from harness.lab.testbed import testbed
from harness.model.link import Backend, Link
from harness.system.program import in_foreground


def run(arguments: argparse.Namespace) -> int:
    link = link_of(arguments)
    words = arguments.argv or [os.environ.get("SHELL", "/bin/sh")]
    return in_enclosure(arguments, lambda: _shell(link, arguments.backend, words))


def _shell(link: Link, backend: Backend | None, words: list[str]) -> int:
    """Run the words on the client host; the server host answers at 10.0.255.254."""
    with testbed(backend=backend) as made:
        check_link(made, link)
        with made.client(link) as client, client.host.entered():
            code = in_foreground(words)
            client.link.check()  # what ran on a link that has died ran on none
            return code
