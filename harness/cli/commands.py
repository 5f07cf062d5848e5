"""The commands, one row per command: all that `coldload --help` reads. A command is imported when it is chosen.

A command has two modules of one name. `harness/cli/arguments/MODULE.py` says what it takes (`add_arguments`) and
imports little. `harness/cli/MODULE.py` does it (`run`) and imports what it needs, at the top as always.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

Run = Callable[[argparse.Namespace], int]


class CommandRow(NamedTuple):
    """A command of the command line, its modules, and its line in the list of commands."""

    name: str
    module: str
    help: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Import what the command takes, and add that to its parser."""
        import_module(f"harness.cli.arguments.{self.module}").add_arguments(parser)

    def imported(self) -> Run:
        """Import what the command does."""
        run: Run = import_module(f"harness.cli.{self.module}").run
        return run


COMMANDS = (
    CommandRow("doctor", "doctor", "tell what is ready, what is missing, and the command that mends it"),
    CommandRow(
        "setup",
        "setup",
        "install what is missing, and make beforehand what the first command that needs it would make",
    ),
    CommandRow(
        "calibrate",
        "calibrate",
        "measure a link's round-trip time, rates, queues and loss against the configured ones",
    ),
    CommandRow("demo", "demo", "run the main job on what ships with the project; ends with report.html"),
    CommandRow(
        "plan", "plan", "show what a study will do: conditions, order, number of trials, estimated time"
    ),
    CommandRow("run", "run", "run a study; goes on where a run of it was interrupted"),
    CommandRow("archive", "archive", "archive a live page with everything it needs"),
    CommandRow("import", "imports", "make an archive of a recording: WARC, WACZ, HAR, HTTrack mirror"),
    CommandRow(
        "pages",
        "pages",
        "list archives; for one: hosts, requests and bytes by type, notes, the last verification",
    ),
    CommandRow(
        "verify", "verify", "load an archive, desktop and mobile, and report how faithfully it is replayed"
    ),
    CommandRow("optimize", "optimise", "make a variant of an archive and show what each filter did"),
    CommandRow("load", "load", "load an archive once, and print one line about that"),
    CommandRow(
        "crowd", "crowd", "load an archive by a crowd of users at a time; one line a second, then a summary"
    ),
    CommandRow("cluster", "cluster", "make the certificates of a cluster, for `coldload run --on`"),
    CommandRow("root", "root", "make a Debian tree of its own for what this machine lacks"),
    CommandRow("shell", "shell", "run a shell or a command inside the emulated network"),
    CommandRow("report", "report", "make tables, figures and report.html from the records of runs"),
    CommandRow(
        "compare",
        "compare",
        "tell what changed between two runs of a study; --fail-on makes it a test for CI",
    ),
    CommandRow("records", "records", "give out the records of a run, or some of them, as CSV or Parquet"),
    CommandRow(
        "show", "show", "show a run in a local browser page: waterfalls, records, two trials side by side"
    ),
    CommandRow(
        "pack", "pack", "make one file of a run, from which another machine can report it and run it again"
    ),
    CommandRow("completion", "completion", "print what makes a shell complete the words of coldload"),
)
