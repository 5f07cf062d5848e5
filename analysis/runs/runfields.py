"""The lines of a run's files, and their fields one by one. None is trusted: what is damaged is named with its line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from harness.errors import RecordsError, StudyError
from harness.input import jsontext
from harness.input.shown import one_line, shown
from harness.model.workload import Workload, workload_of

LARGEST = 1e12  # of a metric or a link: what is beyond was not measured, and could not be reckoned with


Line = TypeVar("Line")


def json_lines(path: Path, notes: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of each line; a last line without its newline may be torn and is then noted."""
    return read_lines(path, notes, jsontext.parse)


def read_lines(path: Path, notes: list[str], parse: Callable[[bytes], Line]) -> Iterator[tuple[int, Line]]:
    """`json_lines`, with what `parse` makes of each line; it raises ValueError for what is no JSON object."""
    try:
        for number, line, ended in jsontext.lines(path):
            try:
                yield number, parse(line)
            except ValueError as error:
                if not ended and len(line) <= jsontext.MAX_LINE_BYTES:
                    notes.append(
                        f"The last line of {path.name} is incomplete and was left out (line {number})."
                    )
                    return
                raise RecordsError(
                    f"{path}:{number} is damaged ({one_line(str(error))}); mend or remove that line"
                ) from error
    except OSError as error:
        raise RecordsError(f"cannot read {path}: {error.strerror}") from error


def lines_if_there(path: Path, notes: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Those of a file of the run; none without the file."""
    if path.is_file():
        yield from json_lines(path, notes)


def required(data: Mapping[str, Any], key: str, kind: type | tuple[type, ...], where: str) -> Any:
    """A value of a type; RecordsError for anything else."""
    value = data.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise RecordsError(f"{where}: {key} is {shown(value)}; the record is damaged or not one of ours")
    return value


def optional(data: Mapping[str, Any], key: str, kind: type | tuple[type, ...], where: str) -> Any:
    """`required`, or None where there is nothing."""
    return None if data.get(key) is None else required(data, key, kind, where)


def check_number(data: Mapping[str, Any], key: str, where: str) -> None:
    """RecordsError for what is neither null nor a number that can be reckoned with."""
    value = data.get(key)
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RecordsError(f"{where}: {key} is {shown(value)}; it must be a number or null")
    if abs(value) > LARGEST:
        raise RecordsError(f"{where}: {key} is {shown(value)}; it may be {LARGEST:g}")


def workload_in(condition: Mapping[str, Any], where: str) -> Workload | None:
    """The workload of a condition; None of a page load."""
    data = optional(condition, "workload", dict, where)
    try:
        return None if data is None else workload_of(data)
    except StudyError as error:
        raise RecordsError(f"{where}: the workload is damaged or not one of ours: {error}") from error


def canonical(condition: Mapping[str, Any]) -> str:
    """A condition as JSON; one object for equal ones."""
    return sys.intern(json.dumps(condition, sort_keys=True))
