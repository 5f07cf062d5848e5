"""The fonts that browsers have in every load (configs/fonts.conf), and what text of a page none of them can show."""

from __future__ import annotations

import hashlib
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from harness.input.shown import shortened
from harness.system.program import Command, run

CONFIGURATION = Path(str(resources.files("configs").joinpath("fonts.conf")))
ENVIRONMENT = {"FONTCONFIG_FILE": str(CONFIGURATION)}
# Control, format, spaces, marks that only change their neighbour (as variation selectors do): no glyph is missed.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"})
_SELECTORS = range(0xFE00, 0xFE10)


def described() -> dict[str, Any]:
    """How many fonts there are, and a digest of their names, styles and versions: the layout of pages hangs on it."""
    lines = sorted(_listed("%{file|basename} %{family} %{style} %{fontversion}\n").splitlines())
    return {"fonts": len(lines), "digest": hashlib.sha256("\n".join(lines).encode()).hexdigest()}


class Characters:
    """Characters as ranges of code points, first to last, in order and apart."""

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for first, last in sorted(ranges):
            if self._firsts and first <= self._lasts[-1] + 1:
                self._lasts[-1] = max(self._lasts[-1], last)
            else:
                self._firsts.append(first)
                self._lasts.append(last)

    @classmethod
    def parse(cls, text: str) -> Characters:
        """Ranges as fontconfig writes them: `20-7e a0`."""
        pairs = (word.partition("-") for word in text.split())
        return cls((int(first, 16), int(last or first, 16)) for first, _, last in pairs)

    def __contains__(self, character: str) -> bool:
        at = bisect_right(self._firsts, ord(character)) - 1
        return at >= 0 and ord(character) <= self._lasts[at]

    def lacking(self, text: str) -> Counter[str]:
        """The characters of a text that should be seen and are not among these."""
        return Counter(character for character in text if character not in self and _is_seen(character))


def covered() -> Characters:
    """Every character that one of the fonts has."""
    return Characters.parse(_listed("%{charset}\n"))


def by_script(characters: Mapping[str, int]) -> list[str]:
    """As in `Sinhala: 12 characters, U+0D85 and 3 more`, the most frequent first; other than letters are `symbols`."""
    scripts: dict[str, Counter[str]] = {}
    for character, count in characters.items():
        scripts.setdefault(_script(character), Counter())[character] += count
    ranked = sorted(scripts.items(), key=lambda each: -each[1].total())
    return [f"{script}: {_counted(found)}" for script, found in ranked]


def _counted(found: Counter[str]) -> str:
    often = [f"U+{ord(character):04X}" for character, _ in found.most_common()]
    return f"{found.total()} character{'s' if found.total() > 1 else ''}, {shortened(often, 1)}"


def _script(character: str) -> str:
    if unicodedata.category(character) == "Co":
        return "private use (an icon font's)"
    letter = unicodedata.category(character)[0] in "LMN"
    words = unicodedata.name(character, "").split()
    return words[0].capitalize() if letter and words else "symbols"


def _is_seen(character: str) -> bool:
    return unicodedata.category(character) not in _UNSEEN and ord(character) not in _SELECTORS


def _listed(format_: str) -> str:
    command = Command.of("fc-list", "--format", format_)
    return run(command.with_environment(**ENVIRONMENT), timeout_s=60)
