"""What a text must tell, whatever its words."""

from __future__ import annotations

import re
from collections.abc import Iterable

_END = re.compile(r"(?<=[.!?])\s+|\n|</?[a-z][^<>]*>")


def tells(told: str | Iterable[str], *facts: str) -> bool:
    """Whether one of the lines, or one sentence of a text, holds all of these facts; a number only as a whole."""
    lines = _END.split(told) if isinstance(told, str) else told
    return any(all(_holds(line, fact) for fact in facts) for line in lines)


def _holds(line: str, fact: str) -> bool:
    before = r"(?<!\d)(?<!\d[.,])" if fact[:1].isdigit() else ""
    after = r"(?!\d)(?![.,]\d)" if fact[-1:].isdigit() else ""
    return re.search(before + re.escape(fact) + after, line) is not None
