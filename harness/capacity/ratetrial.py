"""One trial of kind `requests`: a fresh client, its link, a tool that asks for one URL without a pause; the record."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.capacity.closedloop import ClosedLoop, RateReading
from harness.capacity.h2load import H2LOAD
from harness.capacity.rateobserve import observe
from harness.capacity.rateproof import RateEvidence, ending
from harness.capacity.ratetool import OUTPUT, RateTool, Watch, files_of, run_tool
from harness.capacity.wrk import WRK
from harness.errors import TestbedFailed
from harness.model.condition import Condition
from harness.model.engine import Engine
from harness.model.rateobservation import RateObservation
from harness.model.workload import Requests
from harness.outcome import Outcome
from harness.records import Record
from harness.study.plan import PlannedTrial
from harness.system.clock import utc_text
from harness.system.processtree import ForeignCpu
from harness.testbed.endpoint import Endpoint
from harness.testbed.testbed import Client, Testbed
from sites.coding import BROWSER_CODINGS
from sites.servedrequest import ServedRequest, served_to

TOOLS: Mapping[Engine, RateTool] = {Engine.WRK: WRK, Engine.H2LOAD: H2LOAD}
ACCOUNTING = "processes"


@dataclass(frozen=True)
class RateOptions:
    """What a study asks for beyond its conditions: of `keep`, `output` is what the tool printed."""

    keep: tuple[str, ...] = ()


def run_rate_trial(testbed: Testbed, planned: PlannedTrial, options: RateOptions, files: Path) -> Record:
    """Run one planned trial and return its record; `files` is where kept files go."""
    started, before = datetime.now(UTC), time.perf_counter()
    try:
        endpoint = testbed.endpoint(planned.condition)
    except TestbedFailed as failure:
        now = utc_text(started, "milliseconds")
        return Record(planned, Outcome.TESTBED_FAILED, str(failure), now, RateObservation(), None)
    attempt = _Attempt(testbed, planned, options, files, endpoint)
    failed = attempt.failure()
    evidence = attempt.evidence()
    outcome, reason = ending(evidence, failed)
    if failed is None and outcome is not Outcome.OK:
        try:
            testbed.examine(endpoint)
        except TestbedFailed as failure:
            outcome, reason = ending(evidence, failure)
    return Record(
        planned=planned,
        outcome=outcome,
        reason=reason,
        started_utc=utc_text(started, "milliseconds"),
        observation=observe(evidence, ACCOUNTING, limited_by=None),
        overhead_ms=(time.perf_counter() - before - attempt.loop.seconds) * 1000,
        archive_digest=endpoint.archive.digest,
    )


def loop_of(condition: Condition, endpoint: Endpoint) -> ClosedLoop:
    """What the tool of a condition is to ask for: the document of its page."""
    load = condition.workload
    if not isinstance(load, Requests):
        raise TypeError(f"{condition} is no closed loop")
    scheme = condition.protocol.scheme
    return ClosedLoop(
        url=endpoint.start_url,
        protocol=condition.protocol,
        connections=load.connections,
        depth=load.depth,
        seconds=load.seconds,
        warm_s=load.warm_s,
        codings=tuple(sorted(BROWSER_CODINGS[scheme] & condition.engine.traits.codings)),
    )


class _Attempt:
    """A trial under way at its endpoint, and what was seen of it so far."""

    def __init__(
        self, testbed: Testbed, planned: PlannedTrial, options: RateOptions, files: Path, endpoint: Endpoint
    ) -> None:
        self.loop = loop_of(planned.condition, endpoint)
        self._testbed = testbed
        self._planned = planned
        self._options = options
        self._files = files
        self._endpoint = endpoint
        self._tool = TOOLS[planned.condition.engine]
        self._foreign: ForeignCpu | None = None
        self._server_cpu_before_s: float | None = None
        self._link_before: Mapping[str, Any] | None = None
        self._link_reading: Mapping[str, Any] | None = None
        self._foreign_share: float | None = None
        self._server_cpu_s: float | None = None
        self._generator_cpu_s: float | None = None
        self._served: tuple[ServedRequest, ...] | None = None
        self._reading: RateReading | None = None

    def failure(self) -> TestbedFailed | None:
        """Run the tool and gather what is seen; returns what ended the trial early."""
        planned, testbed = self._planned, self._testbed
        try:
            with (
                testbed.client(planned.condition.link, block=planned.block) as client,
                tempfile.TemporaryDirectory(prefix="tool-", dir=testbed.folder) as folder,
                self._log_of_its_own(),
            ):
                testbed.resolver.use(self._endpoint.address)
                try:
                    self._measure(client, Path(folder))
                except TestbedFailed:
                    testbed.examine(self._endpoint, client)  # the part that is to blame, if there is one
                    raise
        except TestbedFailed as failure:
            return failure
        return None

    def evidence(self) -> RateEvidence:
        """All that was seen."""
        return RateEvidence(
            loop=self.loop,
            tls=self._endpoint.replay.tls,
            reading=self._reading,
            served=self._served,
            link_before=self._link_before,
            link_reading=self._link_reading,
            server_cpu_s=self._server_cpu_s,
            generator_cpu_s=self._generator_cpu_s,
            foreign_cpu_share=self._foreign_share,
        )

    @contextlib.contextmanager
    def _log_of_its_own(self) -> Iterator[None]:
        """The server's log lies in memory, and some servers log every request of a closed loop."""
        try:
            yield
        finally:
            self._endpoint.server.empty_log()

    def _measure(self, client: Client, folder: Path) -> None:
        server, tool = self._endpoint.server, self._tool
        log_offset = server.log_offset
        watch = Watch(began=lambda: self._begin(client), check=lambda: self._check(client))
        ran = run_tool(tool, self.loop, client.host.path, folder, watch)
        self._end(client)
        self._generator_cpu_s = ran.cpu_s
        self._check(client)
        self._served = served_to(server.requests(log_offset), client.address)
        if OUTPUT in self._options.keep:
            self._files.mkdir(parents=True, exist_ok=True)
            shutil.copy(files_of(folder) / OUTPUT, self._files / f"{tool.name}.txt")
        self._reading = tool.read(ran.said, self.loop, files_of(folder))

    def _begin(self, client: Client) -> None:
        """The counters when the counting begins; the link's reading takes longest and comes first."""
        self._link_before = client.link.reading()
        self._foreign = ForeignCpu()
        self._server_cpu_before_s = self._endpoint.server.cpu_seconds()

    def _end(self, client: Client) -> None:
        now = self._endpoint.server.cpu_seconds()
        if now is not None and self._server_cpu_before_s is not None:
            self._server_cpu_s = round(now - self._server_cpu_before_s, 3)
        self._foreign_share = self._foreign.share() if self._foreign else None
        self._link_reading = client.link.reading()

    def _check(self, client: Client) -> None:
        """Raise TestbedFailed when a part that the trial needs has died or is stopped."""
        self._endpoint.check()
        client.link.check()
