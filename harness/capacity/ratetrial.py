"""Kind `requests`: a fresh client, its link, a tool that asks for one URL without a pause; the record; the lab."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dnsredirect.names import Asking
from harness.capacity.limit import Capacity, Part
from harness.capacity.loadtool import ClosedLoop, RateTool, ToolWatch, files_of, run_tool
from harness.capacity.rateproof import RateEvidence, Window, burst, ending, limited_by, observe
from harness.capacity.ratetools import H2LOAD, WRK
from harness.capacity.resources import Cores, allotted_here, pinned, placed
from harness.capacity.spdyclient import SPDY_CLIENT
from harness.errors import Outcome, StudyError, TestbedFailed
from harness.lab.endpoint import Endpoint
from harness.lab.lab import Archives, Opening, TrialLab, opened, parts_of
from harness.lab.testbed import Client, Testbed
from harness.model.condition import Condition
from harness.model.engine import Engine
from harness.model.kind import OUTPUT, Requests
from harness.model.link import Way
from harness.model.serversettings import USUAL, ServerSettings, Tuning
from harness.model.trials import PlannedTrial
from harness.model.underload import RateObservation
from harness.records import Record
from harness.study.study import EngineSetup, Study
from harness.system.accounts import Account, account
from harness.system.files import utc_text
from sites.coding import BROWSER_CODINGS
from sites.servers.server import served_to

TOOLS: Mapping[Engine, RateTool] = {
    Engine.WRK: WRK,
    Engine.H2LOAD: H2LOAD,
    Engine.SPDY_CLIENT: SPDY_CLIENT,
}


@dataclass(frozen=True)
class RateOptions:
    """What a trial needs beyond its condition.

    `settings` are those of its server, None: the usual ones. Of `keep`, `output` is what the tool printed.
    """

    settings: ServerSettings | None = None
    keep: tuple[str, ...] = ()


def run_rate_trial(testbed: Testbed, planned: PlannedTrial, options: RateOptions, files: Path) -> Record:
    """Run one planned trial and return its record; `files` is where kept files go."""
    condition, started, before = planned.condition, datetime.now(UTC), time.perf_counter()
    if not isinstance(condition.workload, Requests):
        raise StudyError(f"a closed loop needs requests, and the condition {condition} has none")
    try:
        endpoint = testbed.endpoint(condition)
    except TestbedFailed as failure:
        now = utc_text(started, "milliseconds")
        return Record(planned, Outcome.TESTBED_FAILED, str(failure), now, RateObservation(), None)
    cores, tool = allotted_here(), TOOLS[condition.engine]
    loop = loop_of(condition, condition.workload, endpoint, len(cores.generator) if tool.threaded else 1)
    seen = RateEvidence(loop, endpoint.replay.tls)
    attempt = _RateAttempt(testbed, planned, options, files, endpoint, tool, cores, seen)
    failed = attempt.failure()
    evidence = attempt.seen
    outcome, reason = ending(evidence, failed)
    if failed is None and outcome is not Outcome.OK:
        try:
            testbed.examine(endpoint)
        except TestbedFailed as failure:
            outcome, reason = ending(evidence, failure)
    limit = None
    if evidence.used is not None and evidence.reading is not None:
        capacity = _capacity(condition, options.settings or USUAL[condition.server], loop, cores)
        limit = limited_by(evidence.used, evidence.generator_cpu_s, evidence.reading.seconds, capacity)
    return Record(
        planned=planned,
        outcome=outcome,
        reason=reason,
        started_utc=utc_text(started, "milliseconds"),
        observation=observe(evidence, limit.value if limit else None),
        overhead_ms=max(0.0, 1000 * (time.perf_counter() - before - loop.seconds)),
        archive_digest=endpoint.archive.digest,
    )


def loop_of(condition: Condition, load: Requests, endpoint: Endpoint, most_threads: int) -> ClosedLoop:
    """What the tool of a condition is to ask for: the document of its page."""
    codings = BROWSER_CODINGS[condition.protocol.scheme] & condition.engine.traits.codings
    return ClosedLoop(
        url=endpoint.start_url,
        protocol=condition.protocol,
        connections=load.connections,
        depth=load.depth,
        seconds=load.seconds,
        warm_s=load.warm_s,
        codings=tuple(sorted(codings)),
        threads=threads_for(load.connections, most_threads),
    )


def threads_for(connections: int, most: int) -> int:
    """As many as there may be so that each has as many connections as the next: wrk makes no other numbers of them."""
    return next(count for count in range(most, 0, -1) if connections % count == 0)


def _capacity(condition: Condition, settings: ServerSettings, loop: ClosedLoop, cores: Cores) -> Capacity:
    """What there is to run out. How many workers are busy nobody asks: that would cost what is measured."""
    return Capacity(
        server=Part.on(cores.server, settings.most_cores),
        generator=Part.on(cores.generator, loop.threads),
        emulator=Part.on(cores.emulator, 1),
        down_mbps=condition.link.limit_mbps(Way.DOWN),
        up_mbps=condition.link.limit_mbps(Way.UP),
    )


@dataclass
class _RateAttempt:
    """A trial under way at its endpoint. `seen` is all that was seen of it so far."""

    testbed: Testbed
    planned: PlannedTrial
    options: RateOptions
    files: Path
    endpoint: Endpoint
    tool: RateTool
    cores: Cores
    seen: RateEvidence
    window: Window | None = None

    def failure(self) -> TestbedFailed | None:
        """Run the tool and gather what is seen; returns what ended the trial early."""
        testbed, planned = self.testbed, self.planned
        try:
            with (
                testbed.client(planned.condition.link, draw=planned.draw, tcp=self.endpoint.tcp) as client,
                tempfile.TemporaryDirectory(prefix="tool-", dir=testbed.folder) as folder,
                self._log_of_its_own(),
                self._placed(client) as accounts,
            ):
                asking = Asking.over(planned.condition.link)
                testbed.resolver.use(self.endpoint.address, asking=asking)
                try:
                    self._measure(client, accounts, Path(folder))
                except TestbedFailed:
                    testbed.examine(self.endpoint, client)  # the part that is to blame, if there is one
                    raise
        except TestbedFailed as failure:
            return failure
        return None

    def _saw(self, **seen: Any) -> None:
        self.seen = replace(self.seen, **seen)

    @contextlib.contextmanager
    def _log_of_its_own(self) -> Iterator[None]:
        """The server's log lies in memory, and some servers log every request of a closed loop."""
        try:
            yield
        finally:
            self.endpoint.server.empty_log()

    @contextlib.contextmanager
    def _placed(self, client: Client) -> Iterator[list[Account]]:
        """Server and emulator on their cores; the accounts of the server's programs."""
        with contextlib.ExitStack() as undo:
            programs = self.endpoint.server.programs.values()
            undo.enter_context(placed(self.endpoint.server, client.link, self.cores))
            accounts = [undo.enter_context(account(pid)) for pid in programs]
            self._saw(accounting=accounts[0].kind)
            yield accounts

    def _measure(self, client: Client, accounts: list[Account], folder: Path) -> None:
        server, tool, loop = self.endpoint.server, self.tool, self.seen.loop
        self._saw(burst=burst(tool, loop, client.host))
        log_offset = server.log_offset

        def began() -> None:
            client.link.begin()
            self.window = Window(accounts, client)

        client.link.begin()  # for the warm-up; once more when the counting begins
        watch = ToolWatch(began, lambda: self._check(client), lambda pid: pinned(pid, self.cores.generator))
        ran = run_tool(tool, loop, client.host.path, folder, watch)
        self._saw(used=self.window.close() if self.window else None, generator_cpu_s=ran.cpu_s)
        self._check(client)
        self._saw(served=served_to(server.each_request(log_offset), client.address))
        if OUTPUT in self.options.keep:
            self.files.mkdir(parents=True, exist_ok=True)
            shutil.copy(files_of(folder) / OUTPUT, self.files / f"{tool.name}.txt")
        self._saw(reading=tool.read(ran.said, loop, files_of(folder)))

    def _check(self, client: Client) -> None:
        """Raise TestbedFailed when a part that the trial needs has died or is stopped."""
        self.endpoint.check()
        client.link.check()


class RateLab(TrialLab):
    """The servers of a study of request rates; its tools are started by each trial."""

    def __init__(self, study: Study, archives: Archives) -> None:
        super().__init__(archives, parts_of(study), study.tcp)
        self._options = {
            (part.factor, setup.server.name): RateOptions(setup.server.capacity, study.keep)
            for part in study.parts
            for setup in part.setups
        }

    def refuse_unless_usable(self, engine: Engine) -> None:
        TOOLS[engine].version()

    def tuning(self, setup: EngineSetup) -> Tuning:
        """A status page costs what is measured, so that there is none."""
        return Tuning(setup.server.settings, name=setup.server.name)

    def run_trial(self, planned: PlannedTrial, files: Path) -> Record:
        condition = planned.condition
        options = self._options[condition.factor, condition.server]
        return run_rate_trial(self.testbed, planned, options, files)


def rate_lab(opening: Opening) -> contextlib.AbstractContextManager[RateLab]:
    """The lab for a study, open for the length of the block; nothing of it depends on which trials are left."""
    return opened(RateLab(opening.study, opening.archives))


def rate_programs() -> Mapping[str, Callable[[], str]]:
    """What trials run by, each with what asks for its version."""
    return {engine.value: tool.version for engine, tool in TOOLS.items()}
