"""Hostile pages loaded in a testbed: what a load left behind, and whether its record is true."""

from __future__ import annotations

import contextlib
import math
import os
import random
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchmarks.hostile import answers, endless, forging, reaching
from benchmarks.hostile.cases import FORGED, HUNG, LEFT, MISBLAMED, TRACEBACK, Case, one_line, traceback_in
from benchmarks.hostile.site import LINK, Page, picture_ms
from benchmarks.hostile.worker import Begin, End, Told, carried_out
from harness.enclosure import WORKSPACE, enclosed
from harness.errors import ArchiveError, ColdloadError
from harness.model import Condition, Driver, Engine, Origins, Outcome, Protocol, TcpSettings
from harness.plan import PlannedTrial
from harness.records import Record
from harness.replay import DEFAULT_TLS, Replay
from harness.runner import Bench, opened
from harness.servers import DEFAULT_SERVERS
from harness.trial import TrialOptions, run_trial
from sites.archive import write_archive

TIMEOUT_S = 8.0
ANSWER_S = 4.0
SLACK_S = 26.0  # for what a trial is beside its load: the browser's start, its answers, its end
SETTLE_S = 1.5  # a process that is being ended may take so long to go
BATCH = 36  # loads to a testbed
HONEST = "honest"
HOME = WORKSPACE / "home"  # a link that every browser of Chromium's drivers starts by, made by the first one
TIMES = ("navigate_ms", "plt_ms", "ttfb_ms", "dcl_ms", "fcp_ms", "lcp_ms", "tbt_ms")


@cache
def catalogue() -> dict[str, Page]:
    """Every page by its name."""
    found = [page for module in (forging, endless, answers, reaching) for page in module.pages()]
    return {page.name: page for page in found}


def names(only: Callable[[str], bool], chosen: bool, share: float, chance: random.Random) -> list[str]:
    """`page/PAGE/DRIVER` of what is to be loaded; with less than the whole, another part for each seed.

    Forged times and endless loads go through every driver. Odd answers and requests are dealt out among them, unless
    cases were `chosen` by name.
    """
    everywhere = {page.name for module in (forging, endless) for page in module.pages()}
    drivers = tuple(Driver)
    turn = chance.randrange(len(drivers))
    found = [
        f"page/{page}/{driver}"
        for number, page in enumerate(catalogue())
        for place, driver in enumerate(drivers)
        if chosen or page in everywhere or place == (number + turn) % len(drivers)
    ]
    wanted = [name for name in found if only(name)]
    return (
        wanted
        if share >= 1
        else sorted(chance.sample(wanted, math.ceil(len(wanted) * share)), key=wanted.index)
    )


def load_all(wanted: Sequence[str], folder: Path) -> Iterator[Case]:
    """Load the pages, some to a testbed."""
    for start in range(0, len(wanted), BATCH):
        batch = wanted[start : start + BATCH]
        honest: dict[str, float] = {}
        controls = [
            f"control/{HONEST}/{driver}" for driver in Driver if any(n.endswith(f"/{driver}") for n in batch)
        ]
        for told in carried_out(
            [*controls, *batch], _in_enclosure, TIMEOUT_S + SLACK_S, folder / "pages.log"
        ):
            case = judged(told, honest)
            if told.name in controls and told.answer and told.answer["record"]["plt_ms"]:
                honest[told.name.rpartition("/")[2]] = told.answer["record"]["plt_ms"]
            if told.name not in controls or case.faults:
                yield case


def _in_enclosure(batch: Sequence[str], begin: Begin, end: End) -> None:
    if enclosed(partial(_load_batch, batch, begin, end)):
        raise AssertionError("the enclosure of the pages ended by itself")


def _load_batch(batch: Sequence[str], begin: Begin, end: End) -> int:
    with opened(Bench({}, [], TcpSettings(), None)) as bench, tempfile.TemporaryDirectory() as archives:
        loader = _Loader(bench, Path(archives))
        for number, name in enumerate(batch, start=1):
            begin(name)
            _, page, driver = name.split("/")
            end(loader.load(catalogue()[page], Driver(driver), number))
    return 0


@dataclass
class _Loader:
    bench: Bench
    archives: Path

    def load(self, page: Page, driver: Driver, number: int) -> dict[str, Any]:
        """One trial as JSON: its record, the time it took, an exception and what it left behind."""
        try:
            self._serve(page, driver.engine)
        except ArchiveError as error:
            return {"refused": str(error)}
        except Exception:
            return {"exception": traceback.format_exc()}
        condition = Condition(
            page=page.name,
            variant="plain",
            protocol=Protocol.HTTP1,
            link=LINK,
            engine=driver.engine,
            driver=driver,
            origins=Origins.SINGLE,
            server=DEFAULT_SERVERS[driver.engine],
        )
        planned = PlannedTrial(f"{number:05d}", number, number, condition)
        self.bench.drivers.prepare(condition)
        before, began = surroundings(), time.perf_counter()
        try:
            record = run_trial(
                self.bench.testbed,
                self.bench.drivers,
                planned,
                TrialOptions(TIMEOUT_S, ANSWER_S),
                WORKSPACE / "kept",
            )
        except Exception:
            self.bench.renew()
            return {"exception": traceback.format_exc()}
        wall_ms = (time.perf_counter() - began) * 1000
        answer = {"record": record.to_json(), "wall_ms": wall_ms, "left": left_behind(before)}
        if record.outcome is Outcome.TESTBED_FAILED:
            self.bench.renew()
        return answer

    def _serve(self, page: Page, engine: Engine) -> None:
        testbed = self.bench.testbed
        if any(key[0] == page.name and key[2] is engine for key in testbed.endpoints):
            return
        archive = write_archive(
            self.archives, page.name, page.start, page.responses, captured_with="bench", user_agent="bench"
        )
        replay = Replay(tls=DEFAULT_TLS[engine], determinism=False)
        testbed.serve(archive, [Protocol.HTTP1], replay, DEFAULT_SERVERS[engine], engine)


def surroundings() -> dict[str, set[str]]:
    """What stands around a trial: processes, folders, networks and mounts of this enclosure."""
    folders = (WORKSPACE, WORKSPACE / "tmp", Path("/run/netns"), Path("/dev/shm"))  # noqa: S108
    return {
        "process": {pid.name for pid in Path("/proc").iterdir() if pid.name.isdigit() and _lives(pid)},
        "mount": set(Path("/proc/self/mounts").read_text().splitlines()),
        "file": {
            str(path) for folder in folders if folder.is_dir() for path in folder.iterdir() if path != HOME
        },
    }


def _lives(process: Path) -> bool:
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def left_behind(before: Mapping[str, set[str]]) -> list[str]:
    """What is there that was not before, after a moment for what is on its way out."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        now = surroundings()
        left = [
            f"{kind} {_described(kind, each)}" for kind in now for each in sorted(now[kind] - before[kind])
        ]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.05)


def _described(kind: str, name: str) -> str:
    if kind != "process":
        return name
    with contextlib.suppress(OSError):
        return Path(f"/proc/{name}/cmdline").read_text(errors="replace").replace("\0", " ")[:100]
    return name


def judged(told: Told, honest: Mapping[str, float]) -> Case:
    """The case with its faults."""
    _, name, driver = told.name.split("/")
    page, row = catalogue()[name], f"pages, {Driver(driver).engine} by {driver}"
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
    record = answer.get("record")
    if record is None:
        said = f"refused: {answer['refused']}" if "refused" in answer else "no record"
        return Case(row, told.name, one_line(said), told.seconds, faults)
    said = f"{record['outcome']}: {record['reason']}" if record["reason"] else f"ok, {record['plt_ms']} ms"
    outcome = Outcome(record["outcome"])
    if outcome not in page.may:
        faults[MISBLAMED] = f"{said} (may be {', '.join(sorted(page.may))})"
    untrue = (
        list(untruths(page, record, answer["wall_ms"], honest.get(driver))) if outcome is Outcome.OK else []
    )
    if untrue:
        faults[FORGED] = "; ".join(untrue)
    return Case(row, told.name, one_line(said), told.seconds, faults)


def untruths(page: Page, record: Mapping[str, Any], wall_ms: float, honest_ms: float | None) -> Iterator[str]:
    """What cannot be true of a load that is said to be ok."""
    for name in (*TIMES, "cls"):
        value = record[name]
        if value is None and name != "plt_ms":
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            yield f"{name} is {value!r}, no number"
            continue
        if value < 0 or (name == "plt_ms" and value == 0) or (name != "cls" and value > wall_ms):
            yield f"{name} is {value:g} in a trial of {wall_ms:.0f} ms"
        if name in ("ttfb_ms", "dcl_ms", "plt_ms", "fcp_ms", "lcp_ms") and 0 <= value < LINK.rtt_ms:
            yield f"{name} is {value:g}, less than the link's round trip of {LINK.rtt_ms:g} ms"
    plt = record["plt_ms"]
    if page.weighs and isinstance(plt, int | float):
        if plt < 0.98 * picture_ms():
            yield f"plt_ms is {plt:g}, but the picture alone takes {picture_ms():.0f} ms on the link"
        if honest_ms is not None and plt > 1.4 * honest_ms + 500:
            yield f"plt_ms is {plt:g}, but the same page without the script takes {honest_ms:.0f} ms"
    if record["requests"] is None or record["requests"] < page.objects:
        yield f"requests is {record['requests']}, but the page cannot do with fewer than {page.objects}"
