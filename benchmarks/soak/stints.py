"""The studies of a soak, one after the other: by turns a page that ships and hostile pages.

A page that ships is loaded by all protocols, in all engines, by all drivers. Hostile pages are loaded as it is known
what is true of them (`benchmarks/hostile/truth.py`): over their link, in all engines, by all drivers, by HTTP/1.1.
"""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.hostile.commands import Workdir
from benchmarks.hostile.site import LINK
from benchmarks.hostile.truth import HONEST, TIMEOUT_S, catalogue
from harness.errors import ArchiveError
from harness.model.engine import BROWSER_DRIVERS, BROWSERS
from harness.model.protocol import Protocol
from sites.archive import write_archive
from sites.warc import About

PAGES = ("dummy-2012", "agency", "mobile-news-2012", "dashboard", "article", "gazetteer")
VARIANTS = ("plain", "minify", "core-2012", "inline")
LINKS = ((20, 20), (10, 80))  # Mbit/s, ms
BLOCKS = 4  # of a page that ships
ATTEMPTS = 3  # at a trial of it
HOSTILE_PAGES = 8  # of a study, beside the honest one
OF_REAL_PAGES = 3 / 4  # of the trials
OUTLIVED = 4  # in every fourth pair of studies the runner outlives all faults
REAL_TIMEOUT_S = 30
REAL_PER_BLOCK = sum(len(engine.traits.protocols) * len(engine.traits.drivers) for engine in BROWSERS)

STUDY = """
name = "{name}"
pages = [{pages}]
variants = ["{variant}"]
engines = [{engines}]
drivers = [{drivers}]
protocols = [{protocols}]
trials = {{least = {blocks}, attempts = {attempts}}}
determinism = {determinism}
aa = false
portraits = false
seed = {seed}
timeout_s = {timeout_s:g}
[[links]]
down_mbps = {down_mbps:g}
rtt_ms = {rtt_ms:g}
"""


@dataclass(frozen=True)
class Stint:
    """One study. Of a page that ships it has `blocks` trials of each condition, of hostile pages one. `attempts` are
    those that a trial may have.
    """

    number: int
    pages: tuple[str, ...]
    blocks: int
    hostile: bool
    seed: int
    attempts: int

    @property
    def name(self) -> str:
        """Also that of its folder."""
        return f"{self.number:03d}-{'hostile' if self.hostile else self.pages[0]}"

    @property
    def is_outlived(self) -> bool:
        """Whether only faults come that the runner outlives: its memory is looked at over the whole study."""
        return (self.number - 1) // 2 % OUTLIVED == OUTLIVED - 1

    @property
    def trials(self) -> int:
        return len(self.pages) * len(BROWSER_DRIVERS) if self.hostile else self.blocks * REAL_PER_BLOCK

    def write(self, workdir: Workdir) -> Path:
        """Its folder, with study.toml; the archives of hostile pages are made."""
        folder = workdir.folder / self.name
        study = folder / "study.toml"
        if not study.exists():
            folder.mkdir(exist_ok=True)
            pages = [*self._archived(workdir)] if self.hostile else [*self.pages]
            study.write_text(self._text(pages))
        return folder

    def _archived(self, workdir: Workdir) -> Iterator[str]:
        """The pages that can be archived."""
        for name in self.pages:
            page = catalogue()[name]
            with contextlib.suppress(ArchiveError):
                if not (workdir.archives / name).exists():
                    about = About(page.start, "bench", "bench", ())
                    write_archive(workdir.archives, name, about, page.responses)
                yield name

    def _text(self, pages: list[str]) -> str:
        turn = (self.number - 1) // 2
        down_mbps, rtt_ms = map(float, LINKS[turn % len(LINKS)])
        if self.hostile:
            down_mbps, rtt_ms = LINK.down.rate.mean_mbps, LINK.rtt_ms
        return STUDY.format(
            name=f"soak-{self.name}",
            pages=_listed(pages),
            variant="plain" if self.hostile else VARIANTS[turn % len(VARIANTS)],
            engines=_listed(BROWSERS),
            drivers=_listed(BROWSER_DRIVERS),
            protocols=_listed([Protocol.HTTP1] if self.hostile else Protocol),
            blocks=self.blocks,
            attempts=self.attempts,
            determinism="false" if self.hostile else "true",
            seed=self.seed,
            timeout_s=TIMEOUT_S if self.hostile else REAL_TIMEOUT_S,
            down_mbps=down_mbps,
            rtt_ms=rtt_ms,
        )


def _listed(names: Iterable[object]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def hostile_names() -> list[str]:
    """The hostile pages that any engine loads, from its usual server, by HTTP/1.1."""
    return [
        name
        for name, page in catalogue().items()
        if not (page.flag or page.server)
        and page.engines == frozenset(BROWSERS)
        and page.protocol is Protocol.HTTP1
        and name != HONEST
    ]


def stints(trials: int, seed: int, *, repeated: bool = True) -> list[Stint]:
    """The studies of a soak of at least so many trials. The same number and seed give the same ones.

    Where nothing is `repeated`, no run waits for a calm machine.
    """
    chance, studies = random.Random(seed), list[Stint]()  # noqa: S311
    deck: list[str] = []
    left = trials
    while left > 0:
        number, turn = len(studies) + 1, len(studies) // 2
        if number % 2:
            blocks = min(BLOCKS, max(1, round(left * OF_REAL_PAGES / REAL_PER_BLOCK)))
            page, attempts = PAGES[turn % len(PAGES)], ATTEMPTS if repeated else 1
            made = Stint(number, (page,), blocks, hostile=False, seed=seed, attempts=attempts)
        else:
            count = min(HOSTILE_PAGES, max(1, math.ceil(left / len(BROWSER_DRIVERS)) - 1))
            if len(deck) < count:
                others = [name for name in hostile_names() if name not in deck]
                deck += chance.sample(others, len(others))
            pages, deck = deck[:count], deck[count:]
            made = Stint(number, (HONEST, *pages), 1, hostile=True, seed=seed, attempts=1)
        studies.append(made)
        left -= made.trials
    return studies
