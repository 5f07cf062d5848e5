"""The overhead of a trial beside browsertime: wall time from one load to the next, without the load itself.

Both load the dummy page over http1 from the same server through the same emulated link. A turn is two trials by each
driver of an engine, and two starts of browsertime of three loads each: as it ships, and with its waits off. No option
takes away the two seconds for which it sleeps behind the end of each browser; a line has them taken off the time. Its
time is taken from one navigation's start to
the next one's, less the page-load time, by the page's own clock: the start of the program is not in it. Ours is that of
the record: all of a trial but the page-load time. For that clock the replay fixes neither date nor chance.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import statistics
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import common
from benchmarks.headline.row import Figure, Found, NotThereError, Size, in_enclosure
from harness.engines.browsers import maker_of
from harness.errors import EnvironmentLacks, Outcome, TestbedFailed
from harness.input.shown import clipped
from harness.lab.testbed import CLIENT
from harness.model.condition import Condition
from harness.model.engine import BROWSERS, DEFAULT_ENGINE, Engine
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.settings import Replay
from harness.probes.probe import TrialOptions
from harness.system.enclosure import WORKSPACE
from harness.system.program import Command, find_program, run, version_line
from harness.trial.trial import BrowserLab, browser_lab, run_trial
from sites.archive import archives_root, open_archive

TITLE, TURNS, MINUTES = "Overhead of a trial", 5, 14
PAGE, LINK = "dummy-2012", Link.of(100, 2)
VERSION = "26.3.2"  # the newest of which npm has every part; 28.3.0 asks for a driver of Edge that was never published
PACKAGE = f"browsertime@{VERSION}"
INTERVALS = 2  # of one load to the next, in a turn
LIMIT_S = 120
SAID_AT_MOST = 200  # characters
AS_IT_SHIPS, WAITS_OFF = "as it ships", "its waits off but for 2 s"
SLEEP_MS, AWAKE = 2000.0, "its waits off, and 2 s taken off"
SETTINGS: Mapping[str, Sequence[str]] = {
    AS_IT_SHIPS: (),
    WAITS_OFF: (
        "--pageCompleteCheckStartWait=1",  # 0 would be the usual 5 s
        "--pageCompleteCheckPollTimeout=50",
        # The page before is of about: or data:, and has its load event.
        "--pageCompleteCheck=return location.protocol.startsWith('http') && performance.timing.loadEventEnd > 0",
        "--timeToSettle=1",
    ),
}
GECKODRIVER = "geckodriver is not installed; `cargo install geckodriver`, and its folder in PATH"
NO_WEBKIT = "browsertime steers no WebKit on Linux"
TIME_ORIGIN = Path(__file__).with_name("timeorigin.js")


def steered(engine: Engine) -> tuple[str, ...]:
    """Options by which browsertime uses the same browser; NotThereError when it cannot."""
    if engine is Engine.CHROMIUM:
        driver, browser = find_program("chromedriver"), find_program("chromium")
        return ("--browser=chrome", f"--chrome.chromedriverPath={driver}", f"--chrome.binaryPath={browser}")
    if engine is Engine.FIREFOX:
        geckodriver = shutil.which("geckodriver") or shutil.which(
            "geckodriver", path=Path.home() / ".cargo" / "bin"
        )
        if geckodriver is None:
            raise NotThereError(GECKODRIVER)
        browser = find_program("firefox-esr")
        return (
            "--browser=firefox",
            f"--firefox.geckodriverPath={geckodriver}",
            f"--firefox.binaryPath={browser}",
        )
    raise NotThereError(NO_WEBKIT)


def browsertime() -> Path:
    """Its modules. First outside an enclosure, which has no network."""
    try:
        return common.npm_modules("browsertime", PACKAGE)
    except (TestbedFailed, EnvironmentLacks) as failed:
        raise NotThereError(f"{PACKAGE} is not installed; npm said: {failed}") from failed


def loads(url: str, engine: Engine, settings: Sequence[str], count: int) -> list[tuple[float, float]]:
    """When each load of one start of browsertime began and how long it took, in ms."""
    with TemporaryDirectory(dir=WORKSPACE) as folder:
        words: tuple[str | Path | int | float, ...] = (
            common.NODE,
            browsertime() / "browsertime" / "bin" / "browsertime.js",
            *steered(engine),
            "--headless",
            f"--iterations={count}",
            f"--script={TIME_ORIGIN}",
            f"--resultDir={folder}/results",
            *settings,
            url,
        )
        command = Command.of(*words).on(CLIENT.path).as_ordinary_user().with_environment(HOME=folder)
        run(command, timeout_s=LIMIT_S, cwd=Path(folder))
        told = json.loads(Path(folder, "results", "browsertime.json").read_text())
    scripts = [iteration.get("custom", {}).get("timeorigin") for iteration in told[0]["browserScripts"]]
    if len(scripts) != count or None in scripts:
        raise TestbedFailed(f"browsertime tells of {len(scripts)} of {count} loads, and not when each began")
    return [(script["began"], script["took"]) for script in scripts]


def between(began_and_took: Sequence[tuple[float, float]]) -> float:
    """From a load to the next, without the load: the mean over them."""
    return statistics.mean(
        following - began - took for (began, took), (following, _) in pairwise(began_and_took)
    )


def of_browsertime(
    opened: BrowserLab, cell: Condition, settings: Sequence[str], left_out: list[str]
) -> float | None:
    """The mean overhead of browsertime's loads in one start of it; None when it fails."""
    endpoint = opened.testbed.endpoint(cell)
    try:
        with opened.testbed.client(cell.link):
            opened.testbed.resolver.use(endpoint.address, endpoint.known_names)
            return between(loads(endpoint.start_url, cell.engine, settings, INTERVALS + 1))
    except TestbedFailed as failed:
        left_out.append(f"a turn of browsertime in {cell.engine}: {clipped(str(failed), SAID_AT_MOST)}")
        return None


def of_trials(opened: BrowserLab, cell: Condition, turn: int, left_out: list[str]) -> float | None:
    """The mean overhead of some trials; None when one of them does not count."""
    overheads_ms = []
    for number in range(INTERVALS):
        planned = common.planned(turn * INTERVALS + number + 1, cell)
        record = run_trial(opened.testbed, opened.browsers, planned, TrialOptions(), WORKSPACE / "kept")
        if record.outcome is not Outcome.OK or record.overhead_ms is None:
            left_out.append(f"{cell.engine}, {cell.driver}: {record.outcome}: {record.reason}")
            return None
        overheads_ms.append(record.overhead_ms)
    return statistics.mean(overheads_ms)


def of_engine(engine: Engine, turns: int, left_out: list[str]) -> list[Figure]:
    """Figures of an engine: of each of its drivers beside each setting of browsertime."""
    why = ""
    try:
        maker_of(engine).refuse_unless_usable()
    except EnvironmentLacks as lacking:
        return [Figure(f"overhead of a trial, {engine}", "ms", "browsertime", why=str(lacking), front=True)]
    try:
        steered(engine)
    except NotThereError as missing:
        why = str(missing)
    cells = {driver: common.condition(PAGE, Protocol.HTTP1, LINK, driver) for driver in engine.traits.drivers}
    ours: dict[str, list[float | None]] = {driver: [] for driver in cells}
    theirs: dict[str, list[float | None]] = {name: [] for name in SETTINGS}
    page = open_archive(archives_root(), PAGE)
    plain = Replay(determinism=False)  # which would give the page a clock that stands still between loads
    with browser_lab({PAGE: page}, [Protocol.HTTP1], replay=plain, engine=engine) as opened:
        for turn in range(turns + 1):  # the first warms the machine's own caches and is dropped
            for driver, cell in cells.items():
                ours[driver].append(of_trials(opened, cell, turn, left_out))
            if turn and not why:
                cell = next(iter(cells.values()))
                for name, settings in SETTINGS.items():
                    theirs[name].append(of_browsertime(opened, cell, settings, left_out))
                if turn == 1 and not any(told[0] for told in theirs.values()):
                    why = f"browsertime fails with this {engine}; see what is left out"
    figures = []
    for driver_name, told in ours.items():
        what = f"overhead of a trial, {engine}, {driver_name}"
        if why:
            values = [overhead for overhead in told[1:] if overhead is not None]
            figures.append(Figure(what, "ms", "browsertime", here=values, why=why, front=True))
            continue
        for name, other in theirs.items():
            both = zip(told[1:], other, strict=True)
            pairs = [(one, two) for one, two in both if one is not None and two is not None]
            figures.append(Figure(what, "ms", f"browsertime, {name}", pairs))
            if name == WAITS_OFF:
                awake = [(one, two - SLEEP_MS) for one, two in pairs]
                figures.append(Figure(what, "ms", f"browsertime, {AWAKE}", awake, front=True))
    return figures


def measure(size: Size) -> Mapping[str, object]:
    browsertime()
    engines = (DEFAULT_ENGINE,) if size.quick else BROWSERS

    def inside() -> Found:
        left_out: list[str] = []
        figures = [figure for engine in engines for figure in of_engine(engine, size.turns, left_out)]
        versions = {"browsertime": VERSION, "chromedriver": version_line("chromedriver", "--version")}
        for engine in engines:
            with contextlib.suppress(EnvironmentLacks):  # what is missing has said so
                versions |= {name: told() for name, told in maker_of(engine).programs().items()}
        return Found(figures, versions, left_out)

    return in_enclosure(inside)
