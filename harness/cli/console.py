"""The console for people: nothing of what it prints is markup."""

from __future__ import annotations

from typing import IO, Any

from rich.console import Console
from rich.text import Text

from harness.input.shown import printable


class PlainConsole(Console):
    """A console that shows every text as it is written, also where it would mean something to a terminal."""

    def render_str(self, text: str, **options: Any) -> Text:
        """All texts, also those of tables, come through here."""
        return super().render_str(printable(text), **options)

    def on_broken_pipe(self) -> None:
        """The reader has gone: the command ends well (`errors_reported`), where rich would end it with 1."""
        raise  # noqa: PLE0704


def console(file: IO[str] | None = None) -> Console:
    """The console for people, by default on standard output; machine-readable output is printed plainly.

    What it prints holds titles, paths, URLs and texts of pages, so that nothing in a text is markup or an emoji.
    """
    return PlainConsole(file=file, highlight=False, soft_wrap=True, markup=False, emoji=False)


def percent(value: float | None) -> str:
    """As in `97.4 %`."""
    return "-" if value is None else f"{value:.1f} %"
