"""What each engine takes of what filters may put into a page, stated once. Pure.

Only what came after the one or the other engine stands here. Of languages there is nothing to state: filters write no
syntax into scripts and style sheets that was not there before.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.model import Engine

WEBP = "WebP images"
AVIF = "AVIF images"
LAZY_IMAGES = 'loading="lazy"'
PRELOAD = "Link: rel=preload"

# tests/system/test_variants.py asks the engines themselves.
TAKES: Mapping[Engine, frozenset[str]] = {
    Engine.CHROMIUM: frozenset({WEBP, AVIF, LAZY_IMAGES, PRELOAD}),
    Engine.QTWEBKIT: frozenset({WEBP}),
}
