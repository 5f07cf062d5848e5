"""Run directories of kinds `users` and `requests` with plausible numbers, for testing the analysis alone.

Nothing here was ever measured. The shapes are those of the studies they stand for: workers that run out, pipelining
that pays beyond some number of connections, compressing that costs CPU by the kilobyte.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from harness.model.kind import Kind
from harness.model.link import NO_LINK
from harness.model.trials import Trials
from harness.records import SCHEMAS
from harness.study.claim import Claim, Publication
from harness.study.figure import StudyFigure
from tests.unit.analysis.synthetic import ENVIRONMENT, begun_in, calibration, link, write_lines

WIRES = {"h2": "h2", "h3": "h3", "spdy": "spdy/3", "spdy-plain": "spdy/3"}
THINK_S = 5.0
OBJECTS = 51
PAGE_BYTES = 95_000
WORKERS = 400
# Of a page of many small files: how long it takes with nobody else, and how many pages a second its server can.
PAGE_MS = {"http1": 1_090.0, "https1": 1_300.0, "h2": 560.0, "h3": 520.0, "spdy": 640.0}
MOST_PAGES_S = {"http1": 16.3, "https1": 15.9, "h2": 98.0, "h3": 110.0, "spdy": 92.0}
CPU_MS = {"http1": 6.5, "https1": 13.0, "h2": 12.0, "h3": 15.0, "spdy": 14.0}
# Of text: which share of its bytes a coding leaves, and what it costs in ms of CPU a kilobyte.
CODINGS = {"none": (1.0, 0.002), "gzip-6": (0.32, 0.09), "gzip-1": (0.38, 0.035), "br-5": (0.29, 0.12)}


@dataclass(frozen=True)
class SyntheticCrowd:
    """Kind `users`: a ramp of `users`, or `steps`. `outcomes` by trial, as of `Synthetic`.

    A page is of many small files, unless its name is `text-50`: a text of 50 kB.
    """

    pages: tuple[str, ...] = ("icons",)
    protocols: tuple[str, ...] = ("http1", "https1", "h2")
    servers: tuple[str, ...] = ("apache-2013",)
    compressions: tuple[str, ...] = ("recorded",)
    users: int = 1000
    seconds: float = 1200.0
    bucket_s: float = 30.0
    steps: tuple[int, ...] = ()
    trials: int = 5
    aa: bool = True
    seed: int = 2013
    outcomes: Mapping[str, str] = field(default_factory=dict)
    claims: tuple[Claim, ...] | None = None
    figures: tuple[StudyFigure, ...] = ()
    published: Publication | None = None

    def conditions(self) -> list[dict[str, Any]]:
        workload: dict[str, Any] = {"think_s": THINK_S, "page_timeout_s": 90.0, "bucket_s": self.bucket_s}
        if self.steps:
            workload |= {"steps": list(self.steps), "step_s": self.seconds / len(self.steps)}
        else:
            workload |= {"from": 1, "to": self.users, "over_s": self.seconds}
        cells: list[dict[str, Any]] = [
            {
                **_place(page, spoken, server, coding, "spdy-client" if "spdy" in spoken else "k6"),
                "link": link(5.0, 85.0),
                "workload": workload,
            }
            for page, spoken, server, coding in product(
                self.pages, self.protocols, self.servers, self.compressions
            )
        ]
        return _with_twins(cells, self.protocols[0], self.compressions[0], aa=self.aa)

    def write(self, directory: Path) -> Path:
        random = np.random.default_rng(self.seed)
        records = []
        for block, trial, condition in _planned(self.conditions(), self.trials, random):
            outcome = self.outcomes.get(trial, "ok")
            buckets = list(self._buckets(condition, random)) if outcome == "ok" else []
            if buckets:
                write_lines(_folder(directory, trial) / "buckets.jsonl", buckets)
            observed = _crowd(condition, buckets, random) if buckets else {}
            records.append(_record(block, trial, condition, "users", outcome) | observed)
        return _write(directory, records, self, "A crowd on one server (made up)")

    def _buckets(self, condition: Mapping[str, Any], random: np.random.Generator) -> Any:
        """The server answers what it can; what is above that waits, and after the time-out fails."""
        name, page = condition["protocol"], condition["page"]
        event = condition["server"] != "apache-2013"  # a server whose connections hold no worker
        cpu_ms, bytes_page, most = _cost(condition)
        most = most * (4.5 if event else 1.0) * math.exp(random.normal(0, 0.02))
        least_s = (
            PAGE_MS.get(name, 800.0) / 1e3 if not page.startswith("text") else 0.25 + bytes_page * 8 / 5e6
        )
        for number in range(round(self.seconds / self.bucket_s)):
            start = number * self.bucket_s
            users = self._users(start + self.bucket_s / 2)
            wanted = users / (least_s + THINK_S)
            over = max(0.0, wanted / most - 1)
            rate = min(wanted, most / (1 + 0.12 * over)) * math.exp(random.normal(0, 0.015))
            page_s = max(least_s, users / rate - THINK_S) * math.exp(random.normal(0, 0.01))
            failed = int(random.poisson(max(0.0, over - 2.0) * 0.6)) if name != "h2" or over > 0.05 else 0
            busy = WORKERS if over else min(WORKERS, round(WORKERS * wanted / most * 0.97))
            pages = round(rate * self.bucket_s)
            yield {
                "t_s": start,
                "seconds": self.bucket_s,
                "users": users,
                "pages": pages,
                "failed": failed,
                "errors": {"timeout": failed} if failed else {},
                "pages_per_s": rate,
                "page_ms": 1e3 * page_s if pages else None,
                "page_mean_ms": 1.1e3 * page_s if pages else None,
                "page_p95_ms": 1.6e3 * page_s if pages else None,
                "workers_busy": None if event else busy,
                "workers": None if event else WORKERS,
                "cpu_idle_share": max(0.02, 1 - rate * cpu_ms / 1e3 / 2 - 0.01),
                "server_cpu_s": rate * cpu_ms / 1e3 * self.bucket_s,
                "memory_bytes": 60e6
                + users * (55e3 if name == "h2" else 190e3) * math.exp(random.normal(0, 0.02)),
                "requests": pages * OBJECTS,
            }

    def _users(self, at_s: float) -> float:
        if self.steps:
            return float(self.steps[min(int(at_s / self.seconds * len(self.steps)), len(self.steps) - 1)])
        return 1 + (self.users - 1) * at_s / self.seconds


@dataclass(frozen=True)
class SyntheticRate:
    """Kind `requests`: `made_by` names the generators, each with its protocols."""

    pages: tuple[str, ...] = ("one-file",)
    made_by: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: {"wrk": ("http1", "https1"), "h2load": ("http1", "https1", "h2")}
    )
    servers: tuple[str, ...] = ("nginx",)
    compressions: tuple[str, ...] = ("recorded",)
    connections: tuple[int, ...] = (16, 64, 256, 1024)
    depths: tuple[int, ...] = (1, 8)
    trials: int = 5
    aa: bool = True
    seed: int = 2012
    outcomes: Mapping[str, str] = field(default_factory=dict)
    claims: tuple[Claim, ...] | None = None
    figures: tuple[StudyFigure, ...] = ()
    published: Publication | None = None

    def conditions(self) -> list[dict[str, Any]]:
        spoken = [(engine, protocol) for engine, names in self.made_by.items() for protocol in names]
        cells: list[dict[str, Any]] = [
            {
                **_place(page, name, server, coding, engine),
                "link": NO_LINK.to_json(),
                "workload": {"connections": connections, "depth": depth, "seconds": 10.0, "warm_s": 2.0},
            }
            for page, (engine, name), server, coding, connections, depth in product(
                self.pages, spoken, self.servers, self.compressions, self.connections, self.depths
            )
        ]
        return _with_twins(cells, "http1", self.compressions[0], aa=self.aa)

    def write(self, directory: Path) -> Path:
        random = np.random.default_rng(self.seed)
        records = []
        for block, trial, condition in _planned(self.conditions(), self.trials, random):
            outcome = self.outcomes.get(trial, "ok")
            observed = _rate(condition, random) if outcome == "ok" else {}
            records.append(_record(block, trial, condition, "requests", outcome) | observed)
        return _write(directory, records, self, "Requests a second (made up)")


def _place(page: str, spoken: str, server: str, coding: str, engine: str) -> dict[str, Any]:
    return {
        "page": page,
        "variant": "plain",
        "compression": coding,
        "protocol": spoken,
        "engine": engine,
        "driver": engine,
        "origins": "single",
        "server": "spdy-gateway" if "spdy" in spoken else server,
        "device": "desktop",
    }


def _with_twins(cells: list[dict[str, Any]], protocol: str, coding: str, *, aa: bool) -> list[dict[str, Any]]:
    twice = [cell for cell in cells if (cell["protocol"], cell["compression"]) == (protocol, coding)]
    return [*cells, *({**cell, "again": True} for cell in twice if aa)]


def _planned(conditions: list[dict[str, Any]], blocks: int, random: np.random.Generator) -> Any:
    number = 0
    for block in range(1, blocks + 1):
        for condition in random.permutation(np.array(conditions, dtype=object)):
            number += 1
            yield block, f"{number:05d}", condition


def _record(block: int, trial: str, condition: Mapping[str, Any], kind: str, outcome: str) -> dict[str, Any]:
    number = int(trial)
    return {
        "schema": SCHEMAS[Kind(kind)],
        "kind": kind,
        "trial": trial,
        "attempt": 1,
        "block": block,
        "order": number,
        "condition": condition,
        "left_out": None if outcome == "ok" else outcome,
        "outcome": outcome,
        "reason": None if outcome == "ok" else "made up",
        "started_utc": f"2026-01-{1 + number // 24:02d}T{number % 24:02d}:00:00.000Z",
        "overhead_ms": 4_000.0,
    }


def _cost(condition: Mapping[str, Any]) -> tuple[float, float, float]:
    """CPU in ms and bytes of a page, and how many of them a second its server can."""
    name, page = condition["protocol"], condition["page"]
    if not page.startswith("text"):
        return CPU_MS.get(name, 10.0), PAGE_BYTES, MOST_PAGES_S.get(name, 50.0)
    left, ms_per_kb = CODINGS.get(condition["compression"], (1.0, 0.002))
    kilobytes = float(page.partition("-")[2])
    cpu_ms = 0.25 + kilobytes * ms_per_kb
    return cpu_ms, 1e3 * kilobytes * left + 900, 900 / cpu_ms


def _crowd(
    condition: Mapping[str, Any], buckets: list[dict[str, Any]], random: np.random.Generator
) -> dict[str, Any]:
    pages = sum(bucket["pages"] for bucket in buckets)
    failed = sum(bucket["failed"] for bucket in buckets)
    best = max(buckets, key=lambda bucket: bucket["pages_per_s"])
    _, bytes_page, _ = _cost(condition)
    cpu_s = sum(bucket["server_cpu_s"] for bucket in buckets)
    times = [bucket["page_ms"] for bucket in buckets if bucket["page_ms"]]
    starved = any(bucket["workers_busy"] == WORKERS for bucket in buckets)
    bytes_down = round(pages * bytes_page * math.exp(random.normal(0, 0.002)))
    return {
        "pages": pages,
        "pages_failed": failed,
        "errors": {"timeout": failed} if failed else {},
        "pages_per_s": best["pages_per_s"],
        "users_at_most_pages": best["users"],
        "page_ms": float(np.median(times)),
        "page_mean_ms": 1.1 * float(np.mean(times)),
        "page_p95_ms": float(np.quantile(times, 0.95)),
        "first_error_users": next((round(bucket["users"]) for bucket in buckets if bucket["failed"]), None),
        "users_over_bound": next(
            (round(bucket["users"]) for bucket in buckets if (bucket["page_ms"] or 0) > 3000), None
        ),
        "requests": pages * OBJECTS,
        "bytes_down": bytes_down,
        "bytes_down_per_page": round(bytes_down / (pages + failed)),
        "bytes_up": pages * 9_000,
        "connections": pages * (1 if condition["protocol"] in WIRES else 6),
        "generator_cpu_s": pages * 0.006,
        "generator_cpu_ms_per_page": 6.0,
        "generator_memory_bytes": 320_000_000,
        "server_cpu_s": cpu_s,
        "server_cpu_ms_per_page": 1e3 * cpu_s / pages,
        "server_memory_bytes": max(bucket["memory_bytes"] for bucket in buckets),
        "workers_busy": buckets[-1]["workers_busy"],
        "workers": buckets[-1]["workers"],
        "cpu_idle_share": min(bucket["cpu_idle_share"] for bucket in buckets),
        "limited_by": "workers" if starved else "nothing",
        "requests_by_protocol": {WIRES.get(condition["protocol"], "http/1.1"): pages * OBJECTS},
        "tls_versions": {},
        "link_reading": {"down": {"packets_out": 820, "drops_queue": 2}},
        "duration_s": buckets[-1]["t_s"] + buckets[-1]["seconds"],
        "foreign_cpu_share": 0.01,
        "accounting": "cgroup",
    }


def _rate(condition: Mapping[str, Any], random: np.random.Generator) -> dict[str, Any]:
    connections, depth = condition["workload"]["connections"], condition["workload"]["depth"]
    cost = {"http1": 1.0, "https1": 1.45, "h2": 1.7, "spdy": 6.0}.get(condition["protocol"], 1.0)
    busy = connections / (connections + 9) / (1 + connections / 900)
    pipelined = 2.5 * (1 - 0.55 * connections / 1500) if depth > 1 else 1.0
    per_s = 130_000 * busy * pipelined / cost * (0.82 if condition["engine"] == "h2load" else 1.0)
    per_s *= math.exp(random.normal(0, 0.02))
    requests = round(10 * per_s)
    latency = 1e3 * connections * depth / per_s
    told = condition["engine"] != "wrk" or depth == 1  # wrk tells no latency of what it pipelines
    left, _ = CODINGS.get(condition["compression"], (1.0, 0.0))
    return {
        "requests_per_s": per_s,
        "requests": requests,
        **{
            f"latency_{name}_ms": latency * factor if told else None
            for name, factor in {"p50": 0.9, "p90": 1.5, "p99": 2.8, "p999": 6.5}.items()
        },
        **{
            f"batch_{name}_ms": latency * factor if condition["engine"] == "wrk" else None
            for name, factor in {"p50": 0.9, "p99": 2.8}.items()
        },
        "errors": {"timeout": 3} if connections > 1000 else {},
        "bytes_body": round(requests * 1_000 * left),
        "bytes_per_s": per_s * 1_200,
        "server_cpu_s": 9.6,
        "server_cpu_us_per_request": 9.6e6 / requests,
        "generator_cpu_s": 7.0,
        "limited_by": "server-cpu",
        "requests_by_protocol": {WIRES.get(condition["protocol"], "http/1.1"): requests},
        "tls_versions": {},
        "link_reading": None,
        "duration_s": 10.0,
        "foreign_cpu_share": 0.01,
        "accounting": "cgroup",
    }


def _folder(directory: Path, trial: str) -> Path:
    folder = directory / "trials" / trial
    folder.mkdir(parents=True)
    return folder


def _write(
    directory: Path, records: list[dict[str, Any]], made: SyntheticCrowd | SyntheticRate, title: str
) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    header: dict[str, Any] = {
        "schema": 1,
        "study": "made-up",
        "title": title,
        "seed": made.seed,
        "trials": len(records),
        "blocks": made.trials,
        "conditions": len(made.conditions()),
        "per_condition": Trials.of(made.trials).to_json(),
    }
    if made.claims is not None:
        header["claims"] = [claim.to_json() for claim in made.claims]
    if made.figures:
        header["figures"] = [figure.to_json() for figure in made.figures]
    if made.published is not None:
        header["published"] = made.published.to_json()
    planned = [{key: record[key] for key in ("trial", "block", "order", "condition")} for record in records]
    links = {record["condition"]["link"]["name"]: record["condition"]["link"] for record in records}
    write_lines(directory / "plan.jsonl", [header, *planned])
    write_lines(directory / "records.jsonl", [begun_in(directory, record) for record in records])
    write_lines(
        directory / "calibration.jsonl",
        [calibration(link) for link in links.values() if link.get("emulated", True)],
    )
    (directory / "study.toml").write_text(f'name = "made-up"\ntitle = "{title}"\n')
    (directory / "environment.json").write_text(json.dumps(ENVIRONMENT))
    return directory
