"""`coldload show`: a run in a local browser page."""

from __future__ import annotations

import argparse
import sys

from analysis.show.serving import open_server
from harness.cli.plaintext import say
from harness.cli.runfolders import run_folders
from harness.system import interruption


def run(arguments: argparse.Namespace) -> int:
    with run_folders([arguments.run]) as (directory,), open_server(directory, arguments.port) as server:
        say(server.url if arguments.trial is None else server.url_of(arguments.trial))
        say("Open this address in a browser on this machine; Ctrl-C ends it.")
        sys.stdout.flush()
        server.serve()
        interruption.calm()  # which is how it ends
    return 0
