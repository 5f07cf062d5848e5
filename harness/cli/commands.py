"""The command line: its commands, one row per command, and what parses it. All that `coldload --help` reads.

A command is one module, imported when the command is chosen: `add_arguments` says what it takes, `run` does it. The
module imports little, and `run` what it needs, so that the help of a command is quick, too.
"""

from __future__ import annotations

import argparse
import os
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
    """A command of the command line, and its line in the list of commands."""

    name: str
    help: str
    module: str = ""  # where it is not called as the command

    def imported(self) -> CommandModule:
        """The command's module."""
        return cast(CommandModule, import_module(f"harness.cli.{self.module or self.name}"))


COMMANDS = (
    CommandRow("doctor", "tell what is ready, what is missing, and the command that mends it"),
    CommandRow(
        "setup",
        "install what is missing, and make beforehand what the first command that needs it would make",
    ),
    CommandRow(
        "calibrate", "measure a link's round-trip time, rates, queues and loss against the configured ones"
    ),
    CommandRow("demo", "run the main job on what ships with the project; ends with report.html"),
    CommandRow("plan", "show what a study will do: conditions, order, number of trials, estimated time"),
    CommandRow("run", "run a study; goes on where a run of it was interrupted"),
    CommandRow("advise", "try what would make a page faster, one change at a time, and rank what it saves"),
    CommandRow("archive", "archive a live page with everything it needs"),
    CommandRow("record", "record a live page, signed in or after a click, in one WACZ file"),
    CommandRow(
        "import",
        "make an archive of a recording (WARC, WACZ, HAR, HTTrack mirror) or a site's folder",
        "imports",
    ),
    CommandRow(
        "pages", "list archives; for one: hosts, requests and bytes by type, notes, the last verification"
    ),
    CommandRow(
        "verify",
        "load an archive, desktop and mobile, and report how faithfully it is replayed; --live: beside its live page",
    ),
    CommandRow("optimize", "make a variant of an archive and show what each filter did", "optimise"),
    CommandRow("load", "load an archive once, and print one line about that"),
    CommandRow("crowd", "load an archive by a crowd of users at a time; one line a second, then a summary"),
    CommandRow("cluster", "make the certificates of a cluster, for `coldload run --on`"),
    CommandRow("root", "make a Debian tree of its own for what this machine lacks"),
    CommandRow("shell", "run a shell or a command inside the emulated network"),
    CommandRow("report", "make tables, figures and report.html from the records of runs"),
    CommandRow("compare", "tell what changed between two runs of a study; --fail-on makes it a test for CI"),
    CommandRow(
        "versus",
        "measure two releases of a page, or two variants of it, against each other; --fail-on makes it a test for CI",
    ),
    CommandRow("records", "give out the records of a run, or some of them, as CSV or Parquet"),
    CommandRow("show", "show a run in a local browser page: waterfalls, records, two trials side by side"),
    CommandRow("pack", "make one file of a run, from which another machine can report it and run it again"),
    CommandRow("completion", "print what makes a shell complete the words of coldload"),
)
# Those that read or write archives.
WITH_ARCHIVES = {
    "advise", "archive", "crowd", "demo", "doctor", "import", "load", "optimize", "pack", "pages", "plan", "run",
    "setup", "verify", "versus",
}  # fmt: skip

EPILOG = """exit codes: 0 done, 1 the measurement says no, 2 wrong input, 3 the machine lacks something, 4 --fail-on of
`compare` and `versus` is not known to hold, 130 interrupted
first steps: `coldload doctor`, then `coldload demo --quick`"""


USUAL_COLUMNS = 80


class OneLineParser(argparse.ArgumentParser):
    """A parser that tells a mistake in one line, as every other mistake is told."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Argparse calls this for each value with `choices`."""
        if action.choices is not None and value not in action.choices and value != []:  # [] of nargs="*"
            from harness.input.keys import listed, nearest

            known = list(map(str, action.choices))
            hint = nearest(str(value), known)
            told = f"there is no {shown(value)}{hint}; there are: {listed(str(value), known)}"
            raise argparse.ArgumentError(action, told)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Argparse's own, but that what is not known is told with the option that it may have been meant for."""
        arguments, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._meant(unknown)}")
        return arguments

    def _meant(self, unknown: Sequence[str]) -> str:
        """The option that is most like the first of some words that is like any."""
        from harness.input.keys import VERY_LIKE, nearest

        names = (word.partition("=")[0] for word in unknown if word.startswith("-"))
        return next(
            filter(None, (nearest(name, self._option_string_actions, VERY_LIKE) for name in names)), ""
        )

    def _get_formatter(self) -> argparse.HelpFormatter:
        """With the width of the terminal. Argparse has it from shutil, whose import takes a tenth of a help's time."""
        try:
            columns = int(os.environ.get("COLUMNS") or os.get_terminal_size().columns) or USUAL_COLUMNS
        except (OSError, ValueError):  # no terminal
            columns = USUAL_COLUMNS
        made: Any = self.formatter_class
        formatter = made(prog=self.prog, width=columns - 2)
        if hasattr(formatter, "_set_color"):  # from Python 3.14 on
            formatter._set_color(getattr(self, "color", False))
        return cast(argparse.HelpFormatter, formatter)

    def error(self, message: str) -> NoReturn:
        self.exit(UsageError.exit_code, f"{self.prog}: {one_line(message)}; see `{self.prog} --help`\n")


class CommandParser:
    """Stands among argparse's parsers for the one of a command, which is made when the command is chosen."""

    def __init__(self, *, command: CommandRow, **options: Any) -> None:
        self._command = command
        self._options = options

    def made(self) -> argparse.ArgumentParser:
        """The parser, with what the command takes."""
        told = self._command.help
        parser = OneLineParser(description=f"{told[0].upper()}{told[1:]}.", **self._options)
        self._command.imported().add_arguments(parser)
        if self._command.name in WITH_ARCHIVES:
            from harness.cli.paths import add_archives

            add_archives(parser)
        return parser

    def parse_known_args(self, args: Any, namespace: Any) -> tuple[Any, list[str]]:
        """Argparse parses the words after the command's name by this; the command itself refuses what it has not."""
        return self.made().parse_args(args, namespace), []

    def _check_help(self, _: object) -> None:
        """Argparse of Python 3.14 has the help of a command checked by this."""


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
        title="commands",
        dest="command",
        metavar="COMMAND",
        required=True,
        parser_class=cast("type[argparse.ArgumentParser]", CommandParser),
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
    if getattr(arguments, "archives", None):
        from harness.cli.paths import use_archives

        use_archives(arguments.archives)
    (command,) = (row for row in COMMANDS if row.name == arguments.command)
    return partial(reported, arguments, partial(command.imported().run, arguments))


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit code."""
    return prepared(argv)()
