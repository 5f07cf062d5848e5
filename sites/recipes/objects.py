"""`objects-5`, `objects-20`, `objects-100`: the bytes of the 2012 study's dummy page, in few or many objects.

A page of 14 kB and pictures of 1.1 MB together (1 kB is 1000 bytes), all of one size, that nothing can compress, on one
host. How many there are is all in which the pages differ. The document names every picture, so that a browser knows
them all at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from sites.archive import Response
from sites.recipes.noise import noise
from sites.recipes.recipe import Recipe, static

START_URL = "http://objects.example/"
MADE = datetime(2012, 7, 1, 12, 0, tzinfo=UTC)
COUNTS = (5, 20, 100)
PICTURES_BYTES = 1_100_000
PAGE_BYTES = 14_000


def responses(_packages: Path, count: int) -> Iterator[Response]:
    """The page, then its pictures."""
    yield static(START_URL, "text/html", page(count), MADE)
    picture = noise(PICTURES_BYTES // count)
    for number in range(1, count + 1):
        yield static(f"{START_URL}{number}.png", "image/png", picture, MADE)


def page(count: int) -> bytes:
    """The document: a line for each picture, then a comment that fills it up."""
    head = f"<!DOCTYPE html>\n<html><head><title>{count} pictures</title></head><body>\n"
    lines = "".join(f'<img src="{number}.png" alt="{number}">\n' for number in range(1, count + 1))
    frame = len(f"{head}{lines}<!--  -->\n</body></html>\n")
    return f"{head}{lines}<!-- {'.' * (PAGE_BYTES - frame)} -->\n</body></html>\n".encode()


OBJECTS = tuple(
    Recipe(
        name=f"objects-{count}",
        start_url=START_URL,
        summary=f"HTML 14 kB and {count} pictures of 1.1 MB together, all of one size.",
        licence="as coldload itself: random numbers",
        made=partial(responses, count=count),
    )
    for count in COUNTS
)
