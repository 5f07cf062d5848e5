"""The browsers, what steers each, and what each takes of what filters may put into a page. Pure.

Only what came after the one or the other engine stands in `TAKES`. Of languages there is nothing to state: filters
write no syntax into scripts and style sheets that was not there before.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Engine(StrEnum):
    """The browser: today's, or the one that speaks what the 2012 study compared."""

    CHROMIUM = "chromium"
    QTWEBKIT = "qtwebkit"


MODERN = frozenset({Engine.CHROMIUM})
HISTORICAL = frozenset({Engine.QTWEBKIT})
BOTH = MODERN | HISTORICAL


class Driver(StrEnum):
    """What steers the browser; each driver steers one engine."""

    _value_: str
    engine: Engine

    def __new__(cls, value: str, engine: Engine = Engine.CHROMIUM) -> Driver:
        member = str.__new__(cls, value)
        member._value_ = value
        member.engine = engine
        return member

    PLAYWRIGHT = "playwright", Engine.CHROMIUM
    SELENIUM = "selenium", Engine.CHROMIUM
    PYQT = "pyqt", Engine.QTWEBKIT


DEFAULT_DRIVERS = {Engine.CHROMIUM: Driver.PLAYWRIGHT, Engine.QTWEBKIT: Driver.PYQT}

WEBP = "WebP images"
AVIF = "AVIF images"
LAZY_IMAGES = 'loading="lazy"'
PRELOAD = "Link: rel=preload"

# tests/system/test_variants.py asks the engines themselves.
TAKES: Mapping[Engine, frozenset[str]] = {
    Engine.CHROMIUM: frozenset({WEBP, AVIF, LAZY_IMAGES, PRELOAD}),
    Engine.QTWEBKIT: frozenset({WEBP}),
}
