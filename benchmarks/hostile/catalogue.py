"""All hostile pages by name, and which of them are loaded by which driver."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import cache

from benchmarks.hostile import answers, bombs, endless, forging, oddpaths, reaching
from benchmarks.hostile.site import Page
from harness.model.engine import BROWSERS, Driver

HONEST = "honest"


@cache
def catalogue() -> dict[str, Page]:
    """Every page by its name."""
    found = [
        page for module in (forging, endless, answers, reaching, oddpaths, bombs) for page in module.pages()
    ]
    return {page.name: page for page in found}


def names(only: Callable[[str], bool], chosen: bool, share: float, chance: random.Random) -> list[str]:
    """`page/PAGE/DRIVER` of what is to be loaded; with less than the whole, another part for each seed.

    Forged times and endless loads go through every driver. Odd answers and requests are dealt out among them, unless
    cases were `chosen` by name.
    """
    everywhere = {page.name for module in (forging, endless) for page in module.pages()}
    drivers = tuple(driver for driver in Driver if driver.engine in BROWSERS)
    turn = chance.randrange(len(drivers))
    found = [
        f"page/{name}/{driver}"
        for number, (name, page) in enumerate(catalogue().items())
        for place, driver in enumerate(drivers)
        if (chosen or name in everywhere or place == (number + turn) % len(drivers))
        and page.engine in (None, driver.engine)
    ]
    wanted = [name for name in found if only(name)]
    return (
        wanted
        if share >= 1
        else sorted(chance.sample(wanted, math.ceil(len(wanted) * share)), key=wanted.index)
    )
