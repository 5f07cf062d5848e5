"""What a change of a page would save, by `advise` and by Lighthouse, beside what it saved when it was measured anew.

Both look at the same archive by HTTP/2 and the link `cable`, in the same Chromium: Lighthouse simulates that link from
loads that no link slows, which is its usual method. The page is loaded with each change
that an audit of Lighthouse has an estimate for (`python -m benchmarks.lighthouse`), in blocks: what `advise` says comes
of the first half of the blocks, and the truth is what the second half says. Lighthouse's estimate is the median over
three loads. The error is that of the saving of LCP (largest contentful paint), a change of a page being a pair; what an
audit does not tell of counts as no saving. The truth has an error of its own, which is in both. The time is that until
either has answered, for one page: half of the time of the run, and three loads by Lighthouse.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from analysis.evaluation.results import evaluate
from analysis.runs.rundirectory import Run, load
from benchmarks.headline.row import Figure, Found, NotThereError, Size
from benchmarks.lighthouse import ESTIMATES, Beside, changed, estimate, measured, told_by_lighthouse
from benchmarks.lighthouseload import PACKAGE, VERSION, fetch
from benchmarks.lighthousetables import AUDITS
from harness.engines.browsers import maker_of
from harness.errors import EnvironmentLacks, TestbedFailed
from harness.model.engine import DEFAULT_ENGINE, DESKTOP
from harness.model.protocol import Protocol
from harness.study.advising import Alternative
from harness.study.linkfile import named_links
from harness.system.enclosure import enclosed
from harness.system.folders import records_cache
from sites.archive import archives_root, open_archive

TITLE, TURNS, MINUTES = "Advice", 10, 20
PAGES, LINK, LOADS = ("agency", "dashboard"), "cable", 3
SMALL_BLOCKS = 6  # the fewest of which each half has an interval
METRIC = "lcp_ms"


@dataclass(frozen=True)
class Looked:
    """A page that both have looked at: the run directory, what was changed, and how long either took."""

    page: str
    run: Path
    alternatives: Sequence[Alternative]
    advised_s: float
    estimated_s: float


def looked(beside: Beside, most: int | None) -> Looked:
    """Measure the page with at most so many changes, all blocks in one run, and have Lighthouse load it."""
    alternatives = beside.changes()[0][:most]
    began = time.monotonic()
    run = changed(beside, beside.study(alternatives))
    measured_s, began = time.monotonic() - began, time.monotonic()
    if enclosed(lambda: estimate(beside, run / ESTIMATES, observing=False)):
        raise SystemExit(f"Lighthouse did not load {beside.archive.name}")
    return Looked(beside.archive.name, run, alternatives, measured_s / 2, time.monotonic() - began)


def half(run: Run, blocks: int, *, second: bool) -> Run:
    """Half of the blocks of a run."""
    within = run.records["block"] > blocks // 2
    return replace(run, records=run.records[within if second else ~within])


def errors(
    here: Mapping[str, Any], told: Mapping[str, Any], truth: Mapping[str, Any]
) -> list[tuple[float, float]]:
    """By how many ms a change's saving was told wrongly, by ours and by Lighthouse."""
    pairs = []
    for audit, names in AUDITS.items():
        spread = told["audits"][audit][METRIC]
        estimated = 0.0 if spread is None else spread["median"]
        for name in names:
            said, seen = (
                result["changes"].get(name, {}).get(METRIC, {}).get("saved_ms") for result in (here, truth)
            )
            if said is not None and seen is not None:
                pairs.append((abs(said - seen), abs(estimated - seen)))
    return pairs


def measure(size: Size) -> Mapping[str, object]:
    try:
        fetch()
    except (TestbedFailed, EnvironmentLacks) as failed:
        raise NotThereError(f"{PACKAGE} is not installed; npm said: {failed}") from failed
    (link,) = named_links(LINK)
    pages, loads, blocks = (PAGES[:1], 1, SMALL_BLOCKS) if size.quick else (PAGES, LOADS, size.turns)
    besides = [
        Beside(open_archive(archives_root(), page), Protocol.H2, link, DESKTOP, blocks, loads)
        for page in pages
    ]
    seen = [looked(beside, 1 if size.quick else None) for beside in besides]
    pairs: list[tuple[float, float]] = []
    left_out: list[str] = []
    for comparison in seen:  # after the last enclosure, which wants a process without threads
        run = load(comparison.run, records_cache())
        results = [evaluate([half(run, blocks, second=second)]) for second in (False, True)]
        here, truth = (measured(result, comparison.alternatives) for result in results)
        estimates = told_by_lighthouse(comparison.run / ESTIMATES)
        pairs += errors(here, estimates, truth)
        counts = (here["left_out"], truth["left_out"])
        told = ", ".join(f"{rule} {count}" for half_of in counts for rule, count in half_of.items())
        if told:
            left_out.append(f"attempts of {comparison.page}: {told}")
        left_out += [f"an audit of {comparison.page}: {failed}" for failed in estimates["failed"]]
    times = [(comparison.advised_s, comparison.estimated_s) for comparison in seen]
    peer = f"Lighthouse {VERSION}"
    figures = [
        Figure("error of a saving that is told, LCP", "ms", peer, pairs, in_turns=False, front=True),
        Figure("time until all savings of a page are told", "s", peer, times, in_turns=False),
    ]
    chromium = maker_of(DEFAULT_ENGINE).programs()["chromium"]()
    return Found(figures, {"Lighthouse": VERSION, "chromium": chromium}, left_out).to_json()
