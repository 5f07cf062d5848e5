"""The text of a study as it goes into a pack: it finds its traces there, and names no place of the machine. Pure."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

from harness.errors import RecordsError
from harness.input import tomltext
from harness.input.shown import one_line
from harness.model.rate import RecordedRate
from harness.pack.privacy import told_of_nobody

PUBLISHED = "published"
_TRACE = re.compile(r"""((?:trace|steps)_(?:up|down)\s*=\s*)("(?:[^"\\\n]|\\.)*"|'[^'\n]*')""")
_PUBLISHED = re.compile(rf"^{PUBLISHED}\s*=[^\n]*\n?", re.MULTILINE)


def place_of(rate: RecordedRate) -> str:
    """Where a trace lies in a pack: under its own name, which is a part of the plan."""
    return f"rates/{rate.sha256[:12]}/{rate.file}"


def study_without_places(text: str, places: Mapping[str, str]) -> str:
    """The study with its traces where `places` says, by the names of their files. RecordsError when that cannot be.

    Comments lose their paths. Claims that others published, in a file of the user's, are left out: the plan holds them.
    """

    def moved(value: str) -> str:
        name = PurePosixPath(value).name
        return places.get(name, name)

    def rewritten(found: re.Match[str]) -> str:
        value = tomllib.loads(f"value = {found[2]}")["value"]
        return f"{found[1]}{json.dumps(moved(value))}"

    made = _TRACE.sub(rewritten, tomltext.with_comments(text, lambda comment: told_of_nobody(comment, ())))
    try:
        expected = _moved(tomltext.parse(text), moved)
        if _own_claims(expected):
            del expected[PUBLISHED]
            made = _PUBLISHED.sub("", made)
        after = tomltext.parse(made)
    except tomltext.TomlRefusedError as error:
        raise RecordsError(
            f"the run's study.toml is damaged ({one_line(str(error))}); it cannot be packed"
        ) from error
    if expected != after:
        raise RecordsError(
            "the run's study.toml names its files in a way that cannot be packed; write each on one line, as in "
            'trace_down = "FILE" and published = "FILE"'
        )
    return made


def _own_claims(data: Mapping[str, Any]) -> bool:
    """Whether published claims come from a file of the user's, and not from those that ship."""
    said = data.get(PUBLISHED)
    name = said.get("claims") if isinstance(said, dict) else said
    return isinstance(name, str) and name.endswith(".toml")


def _moved(value: Any, moved: Callable[[str], str], key: str = "") -> Any:
    """Parsed TOML with the places of its traces replaced."""
    if isinstance(value, dict):
        return {name: _moved(each, moved, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_moved(each, moved, key) for each in value]
    return moved(value) if isinstance(value, str) and key.startswith(("trace_", "steps_")) else value
