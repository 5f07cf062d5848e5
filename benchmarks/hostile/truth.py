"""All hostile pages by name, which of them are loaded by which driver, and whether the record of one is true.

That is told by what is known of the page.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from benchmarks.hostile import answers, bombs, endless, forging, reaching
from benchmarks.hostile.cases import FORGED, HUNG, LEFT, MISBLAMED, TRACEBACK, Case, one_line, traceback_in
from benchmarks.hostile.site import LINK, Page, picture_ms
from benchmarks.hostile.worker import Told
from harness.engines.webkit.log import as_sent
from harness.errors import Outcome
from harness.model.engine import BROWSER_DRIVERS, Driver
from harness.records import RecordReader, StoredRecord

HONEST = "honest"
TIMEOUT_S = 8.0
ANSWER_S = 4.0
SLACK_S = 40.0  # for what a trial is beside its load: the browser's start, its answers, its rest, its end
TIMES = ("navigate_ms", "plt_ms", "ttfb_ms", "dcl_ms", "fcp_ms", "lcp_ms", "tbt_ms", "observed_ms")
# How much longer than the honest page one may take on a busy machine.
LONGER_SHARE, LONGER_MS = 1.4, 500.0


@cache
def catalogue() -> dict[str, Page]:
    """Every page by its name."""
    pages = [page for module in (forging, endless, answers, reaching, bombs) for page in module.pages()]
    return {page.name: page for page in pages}


def names(only: Callable[[str], bool], chosen: bool, share: float, chance: random.Random) -> list[str]:
    """`page/PAGE/DRIVER` of what is to be loaded; with less than the whole, another part for each seed.

    Forged times and endless loads go through every driver. Odd answers and requests are dealt out among them, unless
    cases were `chosen` by name.
    """
    everywhere = {page.name for module in (forging, endless) for page in module.pages()}
    turn = chance.randrange(len(BROWSER_DRIVERS))
    loads = [
        f"page/{name}/{driver}"
        for number, (name, page) in enumerate(catalogue().items())
        for index, driver in enumerate(BROWSER_DRIVERS)
        if (chosen or name in everywhere or index == (number + turn) % len(BROWSER_DRIVERS))
        and driver.engines[0] in page.engines
    ]
    wanted = [name for name in loads if only(name)]
    return (
        wanted
        if share >= 1
        else sorted(chance.sample(wanted, math.ceil(len(wanted) * share)), key=wanted.index)
    )


def judged(told: Told, honest: Mapping[str, float]) -> Case:
    """The case with its faults."""
    _, name, driver = told.name.split("/")
    page, row = catalogue()[name], f"pages, {Driver(driver).engines[0]} by {driver}"
    faults: dict[str, str] = {}
    answer = told.answer or {}
    trace = traceback_in(answer.get("exception", "") or told.written)
    if trace:
        faults[TRACEBACK] = trace
    elif "record" not in answer and "refused" not in answer and not told.hung:
        faults[TRACEBACK] = f"no record: {told.died}: {one_line(told.written)}"
    if told.hung:
        faults[HUNG] = f"no record after {told.seconds:.0f} s of {TIMEOUT_S:g} s and {SLACK_S:g} s of slack"
    if answer.get("left"):
        faults[LEFT] = "; ".join(answer["left"])
    record = record_in(answer)
    if record is None:
        said = f"refused: {answer['refused']}" if "refused" in answer else "no record"
        return Case(row, told.name, one_line(said), told.seconds, faults)
    faults |= against(page, record, answer["wall_ms"], honest.get(driver))
    return Case(row, told.name, one_line(said_of(record)), told.seconds, faults)


def record_in(answer: Mapping[str, Any]) -> StoredRecord | None:
    """The record that a worker tells of, if it does, read as those of a run are."""
    return RecordReader()(answer["record"].encode()) if "record" in answer else None


def against(page: Page, record: StoredRecord, wall_ms: float, honest_ms: float | None) -> dict[str, str]:
    """The faults of a record, by what is known of its page. `wall_ms` is what the trial took, `honest_ms` the load of
    the honest page.
    """
    faults: dict[str, str] = {}
    outcome = Outcome(record.outcome)
    if outcome not in page.may:
        faults[MISBLAMED] = f"{said_of(record)} (may be {', '.join(sorted(page.may))})"
    if page.missed is not None and (other := misses(record) ^ set(map(as_sent, page.missed))):
        faults[MISBLAMED] = f"not answered as by the others: {', '.join(sorted(other))}"
    untrue = []
    if outcome is Outcome.OK:
        untrue = list(untruths(page, record, wall_ms, honest_ms))
    elif outcome is Outcome.PAGE_TIMEOUT:
        untrue = list(no_time_out(record, wall_ms))
    if untrue:
        faults[FORGED] = "; ".join(untrue)
    return faults


def no_time_out(record: StoredRecord, wall_ms: float) -> Iterator[str]:
    """Why a load cannot have timed out, which would count as the longest time of its condition."""
    if wall_ms < TIMEOUT_S * 1000:
        yield f"it timed out in a trial of {wall_ms:.0f} ms"
    for name in ("plt_ms", "navigate_ms"):
        value = record.facts[name]
        if value is not None:
            yield f"it timed out, and its {name} is {value:g}"


def said_of(record: StoredRecord) -> str:
    """How a load ended, as its record tells."""
    return f"{record.outcome}: {record.reason}" if record.reason else f"ok, {record.facts['plt_ms']} ms"


def misses(record: StoredRecord) -> frozenset[str]:
    """The paths of the page's own host that were asked for and not found, or answered by something near.

    WebKit writes escapes in its own way: the paths are written so here, whatever the engine.
    """
    facts = record.facts
    return frozenset(
        as_sent(f"/{url.split('/', maxsplit=3)[3]}") for url in (*facts["missed"], *facts["fuzzy"])
    )


def untruths(page: Page, record: StoredRecord, wall_ms: float, honest_ms: float | None) -> Iterator[str]:
    """What cannot be true of a load that is said to be ok."""
    facts = record.facts
    for name in (*TIMES, "cls"):
        value = facts[name]
        if value is None and name != "plt_ms":
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            yield f"{name} is {value!r}, no number"
            continue
        if value < 0 or (name == "plt_ms" and value == 0) or (name != "cls" and value > wall_ms):
            yield f"{name} is {value:g} in a trial of {wall_ms:.0f} ms"
        if name in ("ttfb_ms", "dcl_ms", "plt_ms", "fcp_ms", "lcp_ms") and 0 <= value < LINK.rtt_ms:
            yield f"{name} is {value:g}, less than the link's round trip of {LINK.rtt_ms:g} ms"
    plt = facts["plt_ms"]
    if page.weighs and isinstance(plt, int | float):
        if plt < 0.98 * picture_ms():
            yield f"plt_ms is {plt:g}, but the picture alone takes {picture_ms():.0f} ms on the link"
        if page.light and honest_ms is not None and plt > LONGER_SHARE * honest_ms + LONGER_MS:
            yield f"plt_ms is {plt:g}, but the same page without the script takes {honest_ms:.0f} ms"
    if facts["requests"] is None or facts["requests"] < page.objects:
        yield f"requests is {facts['requests']}, but the page cannot do with fewer than {page.objects}"
