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
from harness.pack.privacy import told_of_nobody

PUBLISHED = "published"
_TRACE = re.compile(r"""((?:trace|steps)_(?:up|down)\s*=\s*)("(?:[^"\\\n]|\\.)*"|'[^'\n]*')""")
_PUBLISHED = re.compile(rf"^{PUBLISHED}\s*=[^\n]*\n?", re.MULTILINE)
_CLAIMS = re.compile(
    rf"""((?:^{PUBLISHED}|\bclaims)\s*=\s*)("(?:[^"\\\n]|\\.)*\.toml"|'[^'\n]*\.toml')""", re.MULTILINE
)


def without_paths(text: str) -> str:
    """TOML whose comments hold no paths."""
    return tomltext.with_comments(text, lambda comment: told_of_nobody(comment, ()))


def study_without_places(text: str, places: Mapping[str, str], claims: str | None) -> str:
    """The study with its traces where `places` says, by the names of their files. RecordsError when that cannot be.

    `claims` is where the user's file of claims that others published is. A run of an older version has no copy of it
    (None): the study is then without them, and the plan alone has them. Comments lose their paths.
    """

    def moved(value: str) -> str:
        name = PurePosixPath(value).name
        return places.get(name, name)

    def rewritten(found: re.Match[str]) -> str:
        value = tomllib.loads(f"value = {found[2]}")["value"]
        return f"{found[1]}{json.dumps(moved(value))}"

    made = _TRACE.sub(rewritten, without_paths(text))
    try:
        expected = _moved(tomltext.parse(text), moved)
        if _own_claims(expected) and claims is None:
            del expected[PUBLISHED]
            made = _PUBLISHED.sub("", made)
        elif _own_claims(expected):
            said = expected[PUBLISHED]
            expected[PUBLISHED] = {**said, "claims": claims} if isinstance(said, dict) else claims
            made = _CLAIMS.sub(lambda found: f"{found[1]}{json.dumps(claims)}", made)
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
