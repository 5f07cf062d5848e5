"""The record of one attempt as it was written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.input import jsontext


def raw_record(path: Path, trial: str, attempt: int) -> dict[str, Any] | None:
    """The object of its line in records.jsonl; None when there is none any more."""
    sought = trial.encode() if trial.isascii() and trial.isprintable() else b""
    for _, line, _ in jsontext.lines(path):
        if sought not in line:  # parsing takes a hundred times as long
            continue
        try:
            data = jsontext.parse(line)
        except ValueError:
            continue  # a torn last line
        if data.get("trial") == trial and data.get("attempt", 1) == attempt:
            return data
    return None
