"""`coldload`: parses the command line, imports the command, runs it, returns its exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import harness
from harness.cli.commands import COMMANDS, CommandRow
from harness.cli.failures import reported
from harness.errors import UsageError
from harness.input.keys import nearest
from harness.input.shown import one_line, shown

EPILOG = """exit codes: 0 done, 1 the measurement says no, 2 wrong input, 3 the machine lacks something, 130 interrupted
first steps: `coldload doctor`, then `coldload demo --quick`"""


class OneLineParser(argparse.ArgumentParser):
    """A parser that tells a mistake in one line, as every other mistake is told."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Argparse calls this for each value with `choices`."""
        if action.choices is not None and value not in action.choices and value != []:  # [] of nargs="*"
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
            self.command.add_arguments(self)
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
    run = next(command for command in COMMANDS if command.name == arguments.command).imported()
    return partial(reported, arguments, partial(run, arguments))


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit code."""
    return prepared(argv)()
