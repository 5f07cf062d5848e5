"""Probe of what the page writes to its console, and of text that no font can show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.engines.browser import CONSOLE_LIMIT, CONSOLE_MOST
from harness.model.metric import Source, Unit, metric
from harness.probes.evidence import Evidence
from harness.probes.probe import OpenPage, Probe
from harness.probes.screens import SCREENS

GLYPHS = "glyphs"  # in `keep`


@dataclass(frozen=True)
class PageConsole:
    """The first errors and uncaught exceptions, how many the browser knew of, and characters without a glyph."""

    errors: tuple[str, ...] | None = None
    error_count: int | None = None
    without_glyph: Mapping[str, int] | None = None


@dataclass(frozen=True)
class ConsoleMetrics:
    """What the page wrote to its console."""

    console_errors: tuple[str, ...] | None = metric(
        "Console errors",
        Unit.TEXTS,
        Source.CONSOLE,
        "errors on the page's console and uncaught exceptions, the first 20",
    )
    console_error_count: int | None = metric(
        "Console errors known", Unit.COUNT, Source.CONSOLE, "how many of these errors the browser knew of"
    )


class ConsoleProbe(Probe):
    """Asked after the load event: more errors are kept of a page that is looked at screenful by screenful."""

    metrics = ConsoleMetrics
    console = PageConsole()

    def ask(self, page: OpenPage) -> None:
        load, browser = self.load, page.browser
        most = CONSOLE_MOST if load.options.linger_s and load.keeps(SCREENS) else CONSOLE_LIMIT
        with page.answers("console of the page"):
            errors = browser.console_errors(most)
            self.console = PageConsole(errors, browser.console_error_count)
        if load.keeps(GLYPHS):
            with page.answers("text of the page"):
                lacking = browser.text_without_glyph()
            self.console = PageConsole(errors, self.console.error_count, lacking)

    def seen(self) -> PageConsole:
        return self.console

    @staticmethod
    def reduce(evidence: Evidence) -> Mapping[str, Any]:
        seen = evidence.of(PageConsole)
        return {"console_errors": seen.errors, "console_error_count": seen.error_count}
