"""Texts without what they tell of the machine and of the person at it: paths, the names of user and host. Pure.

Versions and reasons of failures quote programs and their logs, which name files of the machine.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

CUT = "\N{HORIZONTAL ELLIPSIS}"
SHORTEST_NAME = 3  # of a user or a host; shorter ones are parts of other words
EVERYWHERE = frozenset({"root", "localhost", "debian", "user"})  # names that tell nothing
# At least one folder and what it holds. The path of a URL stands behind its host, so it is none.
_PATH = re.compile(
    r"""(?:file:/*|(?<![\w/:.~%-])(?:~[\w.-]*)?)/(?:[^\s/'"`,;:()<>\[\]{}|\\]+/)+(?P<last>[^\s/'"`,;:()<>\[\]{}|\\]*)"""
)


def told_of_nobody(value: Any, names: Collection[str]) -> Any:
    """JSON whose texts hold neither paths (the last part of one stays) nor one of these names."""
    if isinstance(value, str):
        return _text(value, names)
    if isinstance(value, list):
        return [told_of_nobody(each, names) for each in value]
    if isinstance(value, dict):
        return {key: told_of_nobody(each, names) for key, each in value.items()}
    return value


def _text(text: str, names: Collection[str]) -> str:
    cut = _PATH.sub(rf"{CUT}/\g<last>", text)
    telling = [name for name in names if len(name) >= SHORTEST_NAME and name.lower() not in EVERYWHERE]
    if not telling:
        return cut
    return re.sub(rf"(?<!\w)(?:{'|'.join(map(re.escape, telling))})(?!\w)", CUT, cut)
