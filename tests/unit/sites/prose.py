"""A text whose coded size tells the level of the coding, as that of real texts does."""

from __future__ import annotations

import random


def prose(words: int = 6000) -> bytes:
    """The same text each time: some 800 words, a few of them in most places, without markup."""
    dice = random.Random(1)  # noqa: S311 - no secret
    known = ["".join(dice.choices("etaoinshrdlu", k=dice.randint(2, 9))) for _ in range(800)]
    return " ".join(known[min(int(dice.paretovariate(0.7)), 800) - 1] for _ in range(words)).encode()
