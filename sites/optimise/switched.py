"""Filters switched off for a page because they break it: a file in the archive's folder that says which, and why."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from harness.errors import ArchiveError
from harness.model.engine import Engine
from harness.system.files import replace_text
from sites.archive import Archive

FILE, SCHEMA = "switched-off.json", 1


@dataclass(frozen=True)
class SwitchedOff:
    """A filter that no variant of a page gets; `reason` says what was seen, `variant` in which it was.

    `engine` is the one in which it was seen and for which it is off; files of older versions name none, which is each.
    """

    filter: str
    reason: str
    variant: str
    found_utc: str
    engine: str = ""

    def applies_to(self, engine: Engine) -> bool:
        """Whether variants for an engine go without the filter."""
        return self.engine in ("", engine)


def path_of(archive: Archive) -> Path:
    """Where the file is, if there is one."""
    return archive.folder / FILE


def switched_off(archive: Archive) -> tuple[SwitchedOff, ...]:
    """What is switched off for a page; ArchiveError when the file is damaged."""
    path = path_of(archive)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return msgspec.convert(data["filters"], tuple[SwitchedOff, ...])
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ArchiveError(
            f"{path} is damaged ({error}); remove it, and `coldload verify` finds out again"
        ) from error


def switch_off(archive: Archive, found: Iterable[SwitchedOff]) -> None:
    """Add to what is switched off."""
    known = {(each.filter, each.engine): each for each in (*switched_off(archive), *found)}
    text = json.dumps({"schema": SCHEMA, "filters": [asdict(each) for each in known.values()]}, indent=1)
    path = path_of(archive)
    try:
        replace_text(path, text + "\n")
    except OSError as error:
        raise ArchiveError(f"cannot write {path}: {error.strerror}; nothing is switched off") from error
