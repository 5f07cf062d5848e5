"""Run directories with plausible numbers, for testing the analysis alone. Nothing here was ever measured."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from harness.model import protocol
from harness.model.kind import Kind
from harness.model.link import Link
from harness.model.trials import Trials
from harness.records import SCHEMAS
from harness.study.claim import Claim, Publication
from harness.study.figure import StudyFigure
from harness.study.metrics import unsound

ROUND_TRIPS = {"http1-close": 13.0, "http1": 7.5, "https1": 9.5, "spdy": 6.0, "h2": 6.0, "h3": 5.0}
CONNECTIONS = {"http1-close": 24, "http1": 6, "https1": 6, "spdy": 1, "h2": 1, "h3": 1}
BODY_BYTES = {"dummy-2012": 1_120_000, "news-mobile": 38_500}


@dataclass(frozen=True)
class Synthetic:
    """What to make up.

    `outcomes` overrides the outcome of single trials, by id; those in `repeat` get a second attempt that ends well.
    `aa`: the baseline of each page and link is measured twice. `claims` of the plan's header. `factors` multiply the
    times of a page, variant, protocol or compression, by name.
    `run_noise`: how far each protocol is off in this run as a whole, as a standard deviation; depends on the seed.
    `figures` and `published` of the plan's header.
    `sets`: of pages, in the plan's header. `waits`: records tell what the loads waited for.
    """

    pages: tuple[str, ...] = ("dummy-2012", "news-mobile")
    variants: tuple[str, ...] = ("plain",)
    protocols: tuple[str, ...] = ("http1-close", "http1", "https1", "h2")
    rates_mbps: tuple[float, ...] = (1.0, 10.0)
    rtts_ms: tuple[float, ...] = (20.0, 50.0, 100.0, 200.0)
    trials: int = 5
    drivers: tuple[str, ...] = ("playwright",)
    engines: tuple[str, ...] = ("chromium",)
    noise: float = 0.015
    seed: int = 2012
    outcomes: Mapping[str, str] = field(default_factory=dict)
    compressions: tuple[str, ...] = ("recorded",)
    aa: bool = False
    repeat: frozenset[str] = frozenset()
    claims: tuple[Claim, ...] | None = None
    factors: Mapping[str, float] = field(default_factory=dict)
    run_noise: float = 0.0
    figures: tuple[StudyFigure, ...] = ()
    published: Publication | None = None
    sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    waits: bool = False

    def conditions(self) -> list[dict[str, Any]]:
        every = product(
            self.pages,
            self.variants,
            self.compressions,
            self.protocols,
            self.rates_mbps,
            self.rtts_ms,
            self.drivers,
            self.engines,
        )
        found: list[dict[str, Any]] = [
            {
                "page": page,
                "variant": variant,
                "compression": compression,
                "protocol": spoken,
                "link": link(rate, rtt),
                "engine": engine,
                "driver": driver,
                "origins": "single",
                "server": "apache",
                "device": "desktop",
                "again": False,
            }
            for page, variant, compression, spoken, rate, rtt, driver, engine in every
        ]
        first = (self.variants[0], self.compressions[0], protocol.baseline(self.protocols))
        twice = [each for each in found if (each["variant"], each["compression"], each["protocol"]) == first]
        return [*found, *({**each, "again": True} for each in twice if self.aa)]

    def records(self) -> list[dict[str, Any]]:
        random = np.random.default_rng(self.seed)
        of_run = {name: random.normal(0, self.run_noise) for name in self.protocols}
        made: list[dict[str, Any]] = []
        trials = 0
        for block in range(1, self.trials + 1):
            drift = random.normal(0, 0.01)
            for condition in random.permutation(np.array(self.conditions(), dtype=object)):
                trials += 1
                trial, outcome = f"{trials:05d}", self.outcomes.get(f"{trials:05d}", "ok")
                of_run_ms = plausible_ms(condition) * math.exp(of_run[condition["protocol"]])
                for name in ("page", "variant", "protocol", "compression"):
                    of_run_ms *= self.factors.get(condition[name], 1.0)
                for attempt in range(1, 2 + (trial in self.repeat)):
                    ms = of_run_ms * math.exp(drift + random.normal(0, self.noise))
                    head = {
                        "schema": SCHEMAS[Kind.LOAD],
                        "trial": trial,
                        "attempt": attempt,
                        "block": block,
                        "order": trials,
                        "condition": condition,
                    }
                    seen = observed(condition, ms, outcome if attempt == 1 else "ok", trials)
                    waited = waits(condition, ms) if self.waits and seen["plt_ms"] else {}
                    told = head | seen | waited
                    made.append(told | {"left_out": unsound(told)})
        return made

    def write(self, directory: Path) -> Path:
        """Make the run directory and return it."""
        directory.mkdir(parents=True, exist_ok=True)
        records = [begun_in(directory, record) for record in self.records()]
        header = {
            "schema": 1,
            "study": "made-up",
            "title": "A made-up study",
            "seed": self.seed,
            "trials": self.trials * len(self.conditions()),
            "blocks": self.trials,
            "conditions": len(self.conditions()),
            "per_condition": Trials.of(self.trials).to_json(),
        }
        if self.claims is not None:
            header["claims"] = [claim.to_json() for claim in self.claims]
        if self.figures:
            header["figures"] = [figure.to_json() for figure in self.figures]
        if self.published is not None:
            header["published"] = self.published.to_json()
        if self.sets:
            header["sets"] = {name: list(pages) for name, pages in self.sets.items()}
        keys = ("trial", "block", "order", "condition")
        planned = [{key: r[key] for key in keys} for r in records if r["attempt"] == 1]
        links = {c["link"]["name"]: c["link"] for c in self.conditions()}
        write_lines(directory / "plan.jsonl", [header, *planned])
        write_lines(directory / "records.jsonl", records)
        write_lines(directory / "calibration.jsonl", [calibration(found) for found in links.values()])
        (directory / "study.toml").write_text('name = "made-up"\ntitle = "A made-up study"\n')
        (directory / "environment.json").write_text(json.dumps(ENVIRONMENT))
        return directory


def begun_in(directory: Path, record: dict[str, Any]) -> dict[str, Any]:
    """The record with the milliseconds of its start from the folder's name: no two runs begin at once."""
    ms = zlib.crc32(f"{directory.parent.name}/{directory.name}".encode()) % 1000
    return record | {"started_utc": record["started_utc"].replace(".000Z", f".{ms:03d}Z")}


def link(rate_mbps: float, rtt_ms: float) -> dict[str, Any]:
    return Link.of(rate_mbps, rtt_ms).to_json()


def plausible_ms(condition: Mapping[str, Any]) -> float:
    """Start-up, round trips and serialisation; a variant halves the bytes, and so does a compression."""
    size = BODY_BYTES.get(condition["page"], 400_000) / (1 if condition["variant"] == "plain" else 2)
    size /= 1 if condition["compression"] in ("none", "recorded") else 2
    trips = ROUND_TRIPS.get(condition["protocol"], 8.0) * (0.45 + 0.55 * min(1, size / 1e6))
    rtt_ms, rate_mbps = float(condition["link"]["rtt_ms"]), float(condition["link"]["down_mbps"])
    return 90 + trips * rtt_ms + size * 8 / rate_mbps / 1e3


def waits(condition: Mapping[str, Any], ms: float) -> dict[str, float]:
    """The link takes what bytes and rate make of it, handshakes the rest of what connections cost."""
    size = BODY_BYTES.get(condition["page"], 400_000) / (1 if condition["variant"] == "plain" else 2)
    down = min(0.9 * ms, size * 8 / float(condition["link"]["down_mbps"]) / 1e3)
    handshakes = (ms - down) * (0.5 if condition["protocol"] == "http1-close" else 0.1)
    parts = {
        "down": down,
        "up": 0.0,
        "handshakes": handshakes,
        "server": 0.0,
        "main_thread": 30.0,
        "unknown": 0.0,
    }
    parts["round_trips"] = ms - sum(parts.values())
    return {f"waited_{name}_ms": took for name, took in parts.items()}


def observed(condition: Mapping[str, Any], ms: float, outcome: str, order: int) -> dict[str, Any]:
    size = BODY_BYTES.get(condition["page"], 400_000)
    seen = outcome == "ok"
    connections = CONNECTIONS.get(condition["protocol"], 6)
    return {
        "outcome": outcome,
        "reason": None if seen else "made up",
        "started_utc": f"2026-01-{1 + order // 1000:02d}T{order // 60 % 24:02d}:{order % 60:02d}:00.000Z",
        "navigate_ms": ms * 1.01 if seen else None,
        "plt_ms": ms if seen else None,
        "ttfb_ms": 2.2 * condition["link"]["rtt_ms"] + 6 if seen else None,
        "dcl_ms": ms * 0.4 if seen else None,
        "fcp_ms": ms * 0.45 if seen else None,
        "lcp_ms": ms * 0.9 if seen else None,
        "cls": 0.012 if seen else None,
        "tbt_ms": None,
        "speed_index_ms": None,
        "requests": 24 if seen else None,
        "failed_requests": 0 if seen else None,
        "missed_requests": 0 if seen else None,
        "fuzzy_requests": 0 if seen else None,
        "connections": connections if seen else None,
        "server_requests": 24 if seen else None,
        "server_connections": connections if seen else None,
        "bytes_down": size + 1_200 * connections + size // 40 if seen else None,
        "bytes_up": size // 30 if seen else None,
        "bytes_body": size if seen else None,
        "protocols": {"http/1.1": 24} if seen else {},
        "missed": [],
        "fuzzy": [],
        "link_reading": {
            "backend": "tun",
            "scheduling": "fifo",
            "down": {"packets_out": 820, "drops_queue": 2, "late_p99_us": 40.0, "late_max_us": 310.0},
        },
        "client_cpu_s": 1.4,
        "server_cpu_s": 0.03,
        "overhead_ms": 820.0,
    }


def calibration(of: Mapping[str, Any]) -> dict[str, Any]:
    def rate(mbps: float) -> dict[str, Any]:
        return {"configured": mbps, "measured": mbps * 0.9991, "n": 60, "p99": None}

    rtt = of["rtt_ms"]
    return {
        "schema": 1,
        "link": dict(of),
        "backend": "tun",
        "scheduling": "fifo",
        "rtt_ms": {"configured": rtt, "measured": rtt + 0.06, "p99": rtt + 0.21, "n": 20},
        "down_mbps": rate(of["down_mbps"]),
        "up_mbps": rate(of["up_mbps"]),
        "ok": True,
        "taken_utc": "2026-01-01T00:00:00Z",
    }


ENVIRONMENT = {
    "machine": {"processor": "Made-up CPU 3000", "cores": 2, "memory_kib": 8_388_608, "kernel": "6.1.0"},
    "programs": {"chromium": "Chromium 999.0", "apache": None},
    "browser": {"flags": ["--one", "--two"]},
}


def timed_out(made: Synthetic, which: Callable[[Mapping[str, Any]], bool]) -> Synthetic:
    """The same run, but that some of its loads timed out."""
    late = {record["trial"]: "page-timeout" for record in made.records() if which(record)}
    return replace(made, outcomes={**made.outcomes, **late})


def entitled(directory: Path, title: str) -> None:
    """Give the study of a run another title."""
    path = directory / "plan.jsonl"
    header, *planned = map(json.loads, path.read_text().splitlines())
    write_lines(path, [header | {"title": title}, *planned])


def write_lines(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
