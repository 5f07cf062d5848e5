"""The files of a run that hold a line per event, read again when it goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.errors import RecordsError, UsageError
from harness.input import jsontext
from harness.input.shown import one_line


def each_line(
    path: Path,
    note: Callable[[Any], None],
    parse: Callable[[bytes], object] = jsontext.parse,
) -> None:
    """Hand what `parse` makes of every line to `note`; nothing where there is no file. A last line that a kill cut off
    is none.

    RecordsError names the line for which `note` raises ValueError, KeyError, TypeError or UsageError.
    """
    for number, line, ended in jsontext.lines(path) if path.exists() else ():
        if not ended:
            return
        try:
            note(parse(line))
        except (ValueError, KeyError, TypeError, UsageError) as error:
            raise RecordsError(
                f"{path} line {number} is damaged ({one_line(str(error))}); mend or remove it"
            ) from error
