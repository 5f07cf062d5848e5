"""A run of many records, written by the project's own writers. Nothing in it was measured.

Each trial takes about as long as its protocol's round trips, its bytes and its variant make it. A few attempts are left
out and repeated, a few time out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from harness.model.condition import Condition
from harness.model.trials import PlannedTrial
from harness.outcome import Outcome
from harness.probes.registry import Observation
from harness.records import Record
from harness.run.directory import open_run
from harness.study.plan import Plan
from harness.study.planning import make_plan
from harness.study.studyfile import parse_study
from harness.system.files import utc_text
from sites.archive import write_archive
from sites.response import Response
from sites.warc import About

SEED = 2012
FIRST_TRIAL = datetime(2026, 1, 1, tzinfo=UTC)
TRIPS = {"http1-close": 13.0, "http1": 7.5, "https1": 9.5, "h2": 6.0, "h3": 5.0}
VARIANTS = {"plain": 1.0, "minify": 0.96, "inline": 0.85, "core": 0.75}
RTTS_MS = (20, 50, 100)
NOISE, DRIFT = 0.02, 0.01  # of the logarithm of a time: between trials, between blocks
LEFT_OUT, TIMED_OUT = 0.01, 0.001  # shares of the attempts
LATE_US = 400_000  # by which packets of a disturbed attempt are overdue: more than the limit


@dataclass(frozen=True)
class LargeRun:
    """How much is made up: pages by five protocols, four variants and three links, so many trials of each.

    `share`: how much of the plan was made when the run ended.
    """

    pages: int = 50
    trials: int = 33
    share: float = 1.0

    @property
    def page_names(self) -> list[str]:
        return [f"page-{number:02d}" for number in range(1, self.pages + 1)]

    @property
    def study_text(self) -> str:
        """The study's file."""
        return (
            'name = "large"\ntitle = "A large study"\nserver = "caddy"\n'
            f"pages = {_listed(self.page_names)}\nprotocols = {_listed(TRIPS)}\nvariants = {_listed(VARIANTS)}\n"
            f"trials = {self.trials}\nseed = {SEED}\n[[links]]\ndown_mbps = 10\nrtt_ms = {list(RTTS_MS)}\n"
        )

    def write(self, folder: Path) -> int:
        """Make the run directory; the number of its records.

        Lines are those of `RunDirectory.append`, which has each on disk before the next: that would take hours here.
        """
        plan = make_plan(parse_study(self.study_text, "study.toml"), SEED)
        count = 0
        with open_run(folder, plan) as run, run.records_path.open("w") as file:
            for record in self.records(run.plan):
                file.write(json.dumps(record.to_json()) + "\n")
                count += 1
        return count

    def records(self, plan: Plan) -> Iterator[Record]:
        """Those of the attempts at the trials that were made, in their order."""
        random = np.random.default_rng(SEED)
        drifts = random.normal(0, DRIFT, plan.blocks + 1)
        for planned in plan.trials[: round(self.share * len(plan.trials))]:
            disturbed, hung = random.random(2) < (LEFT_OUT, TIMED_OUT)
            ms = usual_ms(planned.condition) * math.exp(drifts[planned.block] + random.normal(0, NOISE))
            attempt = _attempt(planned, ms)
            if disturbed:
                yield replace(attempt, left_out="late-packets-down", observation=_seen(planned, ms, LATE_US))
                yield replace(attempt, attempt=2)
            elif hung:
                reason, nothing = "no load event within 120 s", Observation()
                yield replace(
                    attempt,
                    outcome=Outcome.PAGE_TIMEOUT,
                    left_out="page-timeout",
                    reason=reason,
                    observation=nothing,
                )
            else:
                yield attempt

    def archive(self, root: Path) -> None:
        """Archives of the pages, as small as may be, so that the study can be planned and run."""
        for name in self.page_names:
            start = f"http://{name}.example/"
            about = About(start, "made up", "none", ())
            page = b"<!doctype html><title>large</title><p>One of many pages.</p>"
            write_archive(root, name, about, [Response(start, 200, (("Content-Type", "text/html"),), page)])


def usual_ms(condition: Condition) -> float:
    """Something like a page-load time; pages differ by their number."""
    size = 1 + int(condition.page.rpartition("-")[2]) % 10 / 10
    trips = TRIPS[condition.protocol] * condition.link.rtt_ms
    return VARIANTS[condition.variant.name] * size * (400 + trips)


def _attempt(planned: PlannedTrial, ms: float) -> Record:
    """The first attempt at a trial, which counts."""
    started = utc_text(FIRST_TRIAL + timedelta(seconds=2 * planned.order), "milliseconds")
    digest = f"{planned.condition.page}-{planned.condition.variant}"
    return Record(planned, Outcome.OK, None, started, _seen(planned, ms, 40), 820.0, digest)


def _seen(planned: PlannedTrial, ms: float, stalled_us: int) -> Observation:
    """What a load told: as much as a real record holds."""
    bytes_down = round(VARIANTS[planned.condition.variant.name] * 1_150_000)
    return Observation(
        navigate_ms=ms * 1.01,
        plt_ms=ms,
        ttfb_ms=ms * 0.1,
        dcl_ms=ms * 0.4,
        fcp_ms=ms * 0.45,
        painted=True,
        requests=24,
        requests_after_load=1,
        failed_requests=0,
        missed_requests=0,
        fuzzy_requests=0,
        cache_hits=0,
        connections=6,
        connect_ms=planned.condition.link.rtt_ms,
        bytes_down=bytes_down,
        bytes_up=40_000 + planned.order % 100,
        bytes_body=bytes_down - 30_000,
        protocols={"http/1.1": 24},
        service_requests=0,
        relayed_requests=0,
        server_requests=24,
        server_connections=6,
        pipelining_depth=1,
        link_reading=_reading(bytes_down, stalled_us),
        client_cpu_s=1.4,
        server_cpu_s=0.03,
        foreign_cpu_share=0.01,
        steal_share=0.0,
        console_errors=(),
        console_error_count=0,
        server_stopped_ms=0.0,
        server_late_ms=10.1,
        server_thread_late_ms=3.5,
        client_stopped_ms=0.0,
        client_late_ms=376.9,
        client_thread_late_ms=42.1,
        requested_digest=f"{planned.condition.page}",
    )


def _reading(bytes_down: int, stalled_us: int) -> dict[str, Any]:
    """The emulator's counters."""
    way = {
        **dict.fromkeys(("packets_in", "packets_out"), 820),
        **dict.fromkeys(("bytes_in", "bytes_out"), bytes_down),
        **dict.fromkeys(("drops_queue", "drops_loss", "drops_codel", "drops_device", "oversize"), 0),
        **dict.fromkeys(("malformed", "write_errors", "held_packets", "lateness_p50_us"), 0),
        "max_queue_bytes": 121_500,
        "lateness_p99_us": 300,
        "lateness_max_us": 9013,
        "late_1ms": 10,
        "late_5ms": 4,
        "stalled_us": stalled_us,
    }
    return {
        "backend": "tun",
        "scheduling": "fifo",
        "arrivals": "kernel",
        "seed": 2,
        "down": way,
        "up": {**way, "stalled_us": 40},
        "pcap_packets": None,
        "pcap_error": None,
        "cpu_user_s": 0.022345,
        "cpu_system_s": 0.089669,
        "elapsed_s": 5.082331,
    }


def _listed(names: Iterable[str]) -> str:
    return json.dumps(list(names))  # an array of texts is the same in TOML
