"""The file of a study as a value: its text and its keys. Whoever reads, keeps, shows or packs a study has it as this.

`harness.study.studyfile` makes of it what is to be measured. What the command line changed is in the plan, not here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.errors import StudyError
from harness.input import textfile

STUDY = "study.toml"  # in a run directory
PUBLISHED_KEY, CLAIMS_KEY = "published", "claims"
RATE_KEYS = ("trace_", "steps_", "template")  # beginnings of keys whose values name files
_RATE = re.compile(r"""((?:(?:trace|steps)_(?:up|down)|template)\s*=\s*)("(?:[^"\\\n]|\\.)*"|'[^'\n]*')""")
_CLAIMS = re.compile(
    rf"""((?:^{PUBLISHED_KEY}|\b{CLAIMS_KEY})\s*=\s*)("(?:[^"\\\n]|\\.)*\.toml"|'[^'\n]*\.toml')""",
    re.MULTILINE,
)


@dataclass(frozen=True)
class StudyText:
    """`text` is as its author wrote it, with all comments; it is empty of a run that has no study.toml any more."""

    text: str = ""

    @classmethod
    def read(cls, path: Path) -> StudyText:
        """The text of a file; OSError when it cannot be read, StudyError when it is no text."""
        try:
            return cls(textfile.read_text(path))
        except textfile.TomlRefusedError as error:
            raise StudyError(str(error)) from error

    @cached_property
    def keys(self) -> Mapping[str, Any]:
        """The keys with their values, unchecked; StudyError, in one line, for what is no TOML."""
        try:
            return textfile.parse_toml(self.text)
        except textfile.TomlRefusedError as error:
            raise StudyError(str(error)) from error

    @property
    def claims_file(self) -> str | None:
        """The file of claims that others published, where the study names one of its author's; else None."""
        said = self.keys.get(PUBLISHED_KEY)
        name = said.get(CLAIMS_KEY) if isinstance(said, dict) else said
        return name if isinstance(name, str) and name.endswith(".toml") else None

    def is_kept_in(self, run: Path) -> bool:
        """Whether a run directory is of this very study, letter by letter."""
        try:
            return StudyText.read(run / STUDY) == self
        except (OSError, StudyError):
            return False

    def _says(self, keys: Mapping[str, Any]) -> bool:
        try:
            return self.keys == keys
        except StudyError:
            return False

    def as_run(self, options: Iterable[tuple[str, str]]) -> str:
        """The text, and below it the options of the command line that changed the study."""
        return self.text + "".join(f"# run with {name} {value}\n" for name, value in options)

    def with_comments(self, change: Callable[[str], str]) -> StudyText:
        """The study with each comment changed."""
        return StudyText(textfile.with_comments(self.text, change))

    def with_files(self, moved: Callable[[str], str], claims: str | None) -> StudyText:
        """The study with other names of the files that it reads: traces, step lists and templates by `moved`, its
        author's claims as `claims`. StudyError when a file is named where the text cannot be changed safely.
        """

        def renamed(found: re.Match[str]) -> str:
            return f"{found[1]}{json.dumps(moved(textfile.parse_toml(f'value = {found[2]}')['value']))}"

        text, wanted = _RATE.sub(renamed, self.text), _moved(self.keys, moved)
        if self.claims_file is not None and claims is not None:
            said = wanted[PUBLISHED_KEY]
            wanted[PUBLISHED_KEY] = {**said, CLAIMS_KEY: claims} if isinstance(said, dict) else claims
            text = _CLAIMS.sub(lambda found: f"{found[1]}{json.dumps(claims)}", text)
        made = StudyText(text)
        if not made._says(wanted):
            raise StudyError(
                "a file is named in a way that cannot be changed; write each on one line, as in "
                'trace_down = "FILE" and published = "FILE"'
            )
        return made


def _moved(value: Any, moved: Callable[[str], str], key: str = "") -> Any:
    """The keys with the names of traces, step lists and templates changed."""
    if isinstance(value, dict):
        return {name: _moved(each, moved, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_moved(inner, moved, key) for inner in value]
    return moved(value) if isinstance(value, str) and key.startswith(RATE_KEYS) else value
