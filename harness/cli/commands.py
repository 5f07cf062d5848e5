"""The command line: its commands, one row per command, and what parses it. All that `coldload --help` reads.

A command is one module, imported when the command is chosen: `add_arguments` says what it takes, `run` does it. The
module imports little, and `run` what it needs, so that the help of a command is quick, too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple, NoReturn, Protocol, cast

import harness
from harness.cli.failures import reported
from harness.errors import UsageError
from harness.input.shown import one_line, shown


class CommandModule(Protocol):
    """What every command has."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Say what the command takes."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Do it; returns the exit code."""


class CommandRow(NamedTuple):
    """A command of the command line, its module, and its line in the list of commands."""

    name: str
    module: str
    help: str

    def imported(self) -> CommandModule:
        """The command's module."""
        return cast(CommandModule, import_module(f"harness.cli.{self.module}"))


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
    CommandRow(
        "advise", "advise", "try what would make a page faster, one change at a time, and rank what it saves"
    ),
    CommandRow("archive", "archive", "archive a live page with everything it needs"),
    CommandRow("record", "record", "record a live page, signed in or after a click, in one WACZ file"),
    CommandRow(
        "import",
        "imports",
        "make an archive of a recording (WARC, WACZ, HAR, HTTrack mirror) or a site's folder",
    ),
    CommandRow(
        "pages",
        "pages",
        "list archives; for one: hosts, requests and bytes by type, notes, the last verification",
    ),
    CommandRow(
        "verify",
        "verify",
        "load an archive, desktop and mobile, and report how faithfully it is replayed; --live: beside its live page",
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
    CommandRow(
        "versus",
        "versus",
        "measure two releases of a page, or two variants of it, against each other; --fail-on makes it a test for CI",
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


EPILOG = """exit codes: 0 done, 1 the measurement says no, 2 wrong input, 3 the machine lacks something, 4 --fail-on of
`compare` and `versus` is not known to hold, 130 interrupted
first steps: `coldload doctor`, then `coldload demo --quick`"""


class OneLineParser(argparse.ArgumentParser):
    """A parser that tells a mistake in one line, as every other mistake is told."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Argparse calls this for each value with `choices`."""
        if action.choices is not None and value not in action.choices and value != []:  # [] of nargs="*"
            from harness.input.keys import nearest

            known = list(map(str, action.choices))
            hint = nearest(str(value), known)
            told = f"there is no {shown(value)}{hint}; there are: {', '.join(known)}"
            raise argparse.ArgumentError(action, told)

    def error(self, message: str) -> NoReturn:
        self.exit(UsageError.exit_code, f"{self.prog}: {one_line(message)}; see `{self.prog} --help`\n")


class CommandParser(OneLineParser):
    """The parser of one command. It gets its arguments when it is first used, which is when the command is chosen."""

    def __init__(self, *, command: CommandRow, **options: Any) -> None:
        super().__init__(description=f"{command.help[0].upper()}{command.help[1:]}.", **options)
        self.command = command
        self.complete = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Argparse parses the words after the command's name by this."""
        self.add_its_arguments()
        return super().parse_known_args(args, namespace)

    def add_its_arguments(self) -> None:
        """Give it its arguments, unless it has them."""
        if not self.complete:
            self.command.imported().add_arguments(self)
            self.complete = True


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = OneLineParser(
        prog="coldload",
        description="A page-load laboratory on one machine: archived pages, an emulated link, cold loads, proof.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"coldload {harness.__version__}")
    top.add_argument("-v", "--verbose", action="store_true", help="show the traceback of an error")
    commands = top.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", required=True, parser_class=CommandParser
    )
    for command in COMMANDS:
        commands.add_parser(command.name, help=command.help, command=command)
    return top


def prepared(argv: Sequence[str] | None = None) -> Callable[[], int]:
    """The command that the words name, with its arguments and all that it imports, ready to run."""
    top, words = parser(), sys.argv[1:] if argv is None else argv
    if not words:
        top.print_help(sys.stderr)
        raise SystemExit(UsageError.exit_code)
    arguments = top.parse_args(words)
    (command,) = (row for row in COMMANDS if row.name == arguments.command)
    return partial(reported, arguments, partial(command.imported().run, arguments))


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit code."""
    return prepared(argv)()
