"""The names of the engines, and what a reader must know where there is more than one."""

from __future__ import annotations

from collections.abc import Iterable

from harness.model.engine import BROWSERS, DEFAULT_ENGINE, Engine

LABELS = {engine.value: engine.traits.label for engine in Engine}
_BROWSERS = (
    "The engines are browsers that load a page in different ways, "
    "so a difference between them is not the protocol's"
)
NOT_COMPARED = f"{_BROWSERS}: comparisons are within an engine."
COMPARED = f"{_BROWSERS}. The study asks for one all the same, which compares browsers"
GENERATORS = (
    "The generators ask in different ways and cost different CPU, so a difference between them is not the protocol's: "
    "comparisons are within a generator."
)


def label(engine: str) -> str:
    """The name for readers; an engine nobody knows keeps its own."""
    return LABELS.get(engine, engine)


def ordered(engines: Iterable[str]) -> tuple[str, ...]:
    """Each engine once: browsers, the oldest first, then generators."""
    present = set(engines)
    browsers = [engine.value for engine in reversed(BROWSERS)]
    order = [*browsers, *(name for name in LABELS if name not in browsers)]
    known = [name for name in order if name in present]
    return (*known, *sorted(present - LABELS.keys()))


def worth_saying(engines: Iterable[str]) -> bool:
    """Whether a reader has to be told the engine: unless it is today's browser alone, or one generator."""
    names = set(engines)
    usual = {DEFAULT_ENGINE.value, *(engine.value for engine in Engine if engine not in BROWSERS)}
    return len(names) > 1 or not names <= usual
