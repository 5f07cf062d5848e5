"""What Lighthouse says that a change would save, beside what the change saved when it was measured.

    .venv/bin/python -m benchmarks.lighthouse [--pages agency dashboard] [--link cable] [--blocks 5] [--loads 3]

It prints how long it will take before it begins. Both sides load the same archive by the same protocol in the same
Chromium. Lighthouse simulates a link of the same settings, which is its usual method, from loads that no link slows, at
full speed of the processor; a saving is the median over its loads, which its reports round to 50 ms. The paints that it
observes are those of loads over the link itself. A change is
measured as `coldload advise` does it, against the page as archived, in a run that is kept among the others: the saving
is the median of the page as archived times one less the ratio, with the ratio's 95 % interval.

The figures go to `data/lighthouse.json` in the folder `--into` (docs/results), beside those of other pages that it
holds, and as tables between the marks of `lighthouse.md` there. `--estimates` has Lighthouse alone load the pages anew.
`--tables` makes the tables anew from the JSON file and measures nothing. What docs/results shows is of two calls:
`--pages @desktop`, and `--pages @mobile --device mobile --link 4g`.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from analysis.evaluation.results import Results, evaluate
from analysis.labels import words
from analysis.runs.rundirectory import load
from benchmarks import common
from benchmarks.lighthouseload import VERSION, fetch, lighthouse_load, observed, simulated
from benchmarks.lighthousetables import AUDITS, BASE, UNMATCHED, write_tables
from harness.cli.run import new_folder
from harness.engines.browsers import maker_of
from harness.lab.environment import describe_machine
from harness.model.condition import Condition, Origins
from harness.model.engine import DEFAULT_ENGINE, DESKTOP, DEVICES, Device
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.settings import Replay
from harness.model.trials import TYPICAL_REST_S, seconds_of
from harness.model.variant import FILTERS, parse_variant
from harness.study.advising import Advising, Alternative
from harness.study.linkfile import named_links
from harness.study.pageset import pages_of
from harness.study.planning import make_plan
from harness.study.studyfile import parse_study
from harness.study.studytext import STUDY
from harness.system.enclosure import enclosed
from harness.system.folders import RUNS, kept_folder, records_cache
from harness.trial.trial import browser_lab
from sites.archive import Archive, archives_root, open_archive
from sites.mediatype import compressible
from sites.optimise.derive import derive
from sites.optimise.page import Page, Resource

DATA, DOCUMENT = "data/lighthouse.json", "lighthouse.md"
ESTIMATES = "lighthouse.jsonl"  # in a run directory
GZIP, LEAST_BYTES = "gzip-6", 1400  # a smaller text fits into one packet as it is
METRICS = ("fcp_ms", "lcp_ms")  # beside plt_ms, of which Lighthouse estimates nothing
OF_LIGHTHOUSE = {"fcp_ms": "FCP", "lcp_ms": "LCP"}
LIGHTHOUSE_S, OPENING_S = 10.0, 30.0  # a load by Lighthouse; what a page takes beside its loads
UNSLOWED = Link.of(1000, 1)
SIMULATED, OBSERVED = "simulated", "observed"
REPEATED = 1.05  # of the trials: attempts that are made again


@dataclass(frozen=True)
class Beside:
    """A page and how it is loaded, by both sides, and what is to be changed of it."""

    archive: Archive
    protocol: Protocol
    link: Link
    device: Device
    blocks: int
    loads: int

    @property
    def plain(self) -> Condition:
        plain = common.condition(self.archive.name, self.protocol, self.link)
        return replace(plain, origins=Origins.RECORDED, device=self.device)

    def changes(self) -> tuple[list[Alternative], dict[str, str]]:
        """What is measured, and by name why another change is not: it changes nothing of this page."""
        tried, idle = [], {}
        for name in dict.fromkeys(name for names in AUDITS.values() for name in names):
            if name in {protocol.value for protocol in Protocol}:
                if name != self.protocol:
                    tried.append(Alternative(name, "", "", {"protocol": name}))
            elif name == GZIP:
                if any(map(_travels_uncompressed, Page.of(self.archive).resources.values())):
                    tried.append(Alternative(name, "", "", {"compression": name}))
                else:
                    idle[name] = "all text travels compressed"
            else:
                made = derive(self.archive, parse_variant(name)).report
                repeat = name == "extend_cache"
                if made.unchanged:
                    idle[name] = "; ".join(made.why_unchanged)
                else:
                    does = FILTERS.get(name, "")
                    tried.append(Alternative(name, does, "", {"variant": name}, repeat_view=repeat))
        return tried, idle

    def study(self, alternatives: Sequence[Alternative]) -> Advising:
        notes = ("Written by `python -m benchmarks.lighthouse`.",)
        return Advising(
            self.archive.name,
            self.protocol,
            (self.link.name,),
            tuple(alternatives),
            self.blocks,
            self.blocks,
            notes,
            self.device,
            METRICS,
        )


def _travels_uncompressed(resource: Resource) -> bool:
    return (
        compressible(resource.mime)
        and len(resource.body) > LEAST_BYTES
        and len(resource.wire_body) == len(resource.body)
    )


def seconds(beside: Beside, advising: Advising) -> float:
    """About how long a page takes."""
    study = parse_study(advising.text.text, STUDY)
    page_bytes = sum(entry.body_bytes for entry in beside.archive.entries)
    trials = make_plan(study, 1).trials
    measured = sum(seconds_of(trial.condition, page_bytes) + TYPICAL_REST_S for trial in trials)
    return OPENING_S + REPEATED * measured + 2 * LIGHTHOUSE_S * beside.loads


def estimate(beside: Beside, file: Path, *, observing: bool = True) -> int:
    """Write the reports of Lighthouse's loads into the file, a line each; 0. Must run inside an enclosure.

    It estimates from loads that no link slows and, if it is to observe, loads as often over the link itself.
    """
    link, page = beside.link, beside.archive.name
    simulating = simulated(link.rtt_ms, link.down.rate.mean_mbps)
    kinds = {SIMULATED: (replace(beside.plain, link=UNSLOWED), simulating, (*BASE, *AUDITS, *UNMATCHED))}
    if observing:
        kinds[OBSERVED] = (beside.plain, observed(), BASE)
    replay = Replay(origins=Origins.RECORDED)
    with (
        browser_lab({page: beside.archive}, [beside.protocol], replay=replay) as opened,
        file.open("w") as told,
    ):
        for number in range(1, beside.loads + 1):
            print(f"  Lighthouse loads {page}, {number} of {beside.loads}", flush=True)
            for kind, (cell, settings, audits) in kinds.items():
                report = lighthouse_load(opened, cell, number, settings, audits)
                line = {"kind": kind, "audits": report["audits"], "warnings": report["runWarnings"]}
                print(json.dumps(line), file=told)
    return 0


def spread(values: Sequence[float]) -> dict[str, float] | None:
    """Median and range; None of nothing."""
    if not values:
        return None
    return {"median": statistics.median(values), "low": min(values), "high": max(values), "n": len(values)}


def told_by_lighthouse(file: Path) -> dict[str, Any]:
    """What its loads said: times of the page in ms, and by audit its savings in ms by metric."""
    reports = [json.loads(line) for line in file.read_text().splitlines()]
    audits = [report["audits"] for report in reports if report["kind"] == SIMULATED]
    seen = [
        report["audits"]["metrics"]["details"]["items"][0]
        for report in reports
        if report["kind"] == OBSERVED and "details" in report["audits"]["metrics"]
    ]

    def savings(audit: str, metric: str) -> list[float]:
        estimates = (report_audits[audit].get("metricSavings") or {} for report_audits in audits)
        return [float(by_metric[metric]) for by_metric in estimates if metric in by_metric]

    return {
        "loads": len(audits),
        "warnings": sorted({str(warning) for report in reports for warning in report["warnings"]}),
        SIMULATED: {
            "fcp_ms": spread(
                [report_audits["first-contentful-paint"]["numericValue"] for report_audits in audits]
            ),
            "lcp_ms": spread(
                [report_audits["largest-contentful-paint"]["numericValue"] for report_audits in audits]
            ),
        },
        OBSERVED: {
            "fcp_ms": spread([timing["observedFirstContentfulPaint"] for timing in seen]),
            "lcp_ms": spread([timing["observedLargestContentfulPaint"] for timing in seen]),
        },
        "audits": {
            audit: {name: spread(savings(audit, metric)) for name, metric in OF_LIGHTHOUSE.items()}
            for audit in (*AUDITS, *UNMATCHED)
        },
        "failed": sorted(
            {
                f"{audit}: {found['errorMessage']}"
                for report in reports
                for audit, found in report["audits"].items()
                if "errorMessage" in found
            }
        ),
    }


def measured(results: Results, alternatives: Sequence[Alternative]) -> dict[str, Any]:
    """Medians of the page as archived in ms, and by change what it saves of each metric in ms, with bounds."""
    counted = results.sifted.by_metric
    changes: dict[str, dict[str, Any]] = {alternative.name: {} for alternative in alternatives}
    plain: dict[str, Any] = {}
    for row in results.claims:
        if not row.pairs:
            continue
        name, metric = row.claim.name.partition(",")[0], row.claim.metric
        _, reference = row.pairs[0]
        values = counted.loc[counted["cell"] == reference, metric].dropna()
        middle, seen = float(values.median()), row.comparison
        if row.setting.get("cache") != "warm":
            plain[metric] = spread([float(value) for value in values])
        if seen is None:
            continue
        known = {
            "reference_ms": middle,
            "saved_ms": middle * (1 - seen.ratio),
            "low_ms": middle * (1 - seen.high),
            "high_ms": middle * (1 - seen.low),
        }
        changes[name][metric] = {
            **{key: round(value, 1) if math.isfinite(value) else None for key, value in known.items()},
            "blocks": seen.n,
        }
    return {
        "plain": plain,
        "changes": changes,
        "attempts": len(results.records),
        "left_out": {name: count for name, count in results.sifted.by_rule().items() if count},
    }


def changed(beside: Beside, advising: Advising) -> Path:
    """Measure what the changes of one page save; the run directory."""
    page = beside.archive.name
    folder = new_folder(kept_folder(RUNS), f"lighthouse-{page}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
    with TemporaryDirectory() as scratch:
        study = Path(scratch, STUDY)
        study.write_text(advising.text.text)
        command = [sys.executable, "-m", "harness.cli", "run", str(study), "--out", str(folder)]
        code = subprocess.run(command, check=False).returncode
    if code:
        raise SystemExit(f"the run {folder} ended with exit code {code}")
    return folder


def load_by_both(beside: Beside, advising: Advising) -> Path:
    """Measure one page, and have Lighthouse load it; the run directory."""
    folder = changed(beside, advising)
    if enclosed(lambda: estimate(beside, folder / ESTIMATES)):
        raise SystemExit(f"Lighthouse did not load {beside.archive.name}")
    return folder


def compare(besides: Sequence[Beside]) -> dict[str, Any]:
    """A sitting of the JSON file: all pages; the time it takes is printed before it begins."""
    todo = []
    for beside in besides:
        print(f"making what is measured of {beside.archive.name}", flush=True)
        tried, idle = beside.changes()
        todo.append((beside, beside.study(tried), idle))
    minutes = sum(seconds(beside, advising) for beside, advising, _ in todo) / 60
    pages = words.count(len(todo), "page")
    print(
        f"{pages}: about {minutes:.0f} minutes on a quiet machine, from {datetime.now(UTC):%H:%M} UTC",
        flush=True,
    )
    machine = describe_machine()
    runs = [load_by_both(beside, advising) for beside, advising, _ in todo]
    told = [  # after the last enclosure, which wants a process without threads
        {
            "page": beside.archive.name,
            "run": run.name,
            "lighthouse": told_by_lighthouse(run / ESTIMATES),
            "measured": measured(evaluate([load(run, records_cache())]), advising.alternatives),
            "nothing_to_do": idle,
        }
        for run, (beside, advising, idle) in zip(runs, todo, strict=True)
    ]
    plain = besides[0].plain
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "versions": {"lighthouse": VERSION, "chromium": maker_of(DEFAULT_ENGINE).programs()["chromium"]()},
        "machine": {name: machine[name] for name in ("processor", "cores", "kernel", "system")},
        "load_average": {"before": machine["load_average"], "after": list(os.getloadavg())},
        "link": plain.link.to_json(),
        "protocol": plain.protocol,
        "device": besides[0].device.name,
        "blocks": besides[0].blocks,
        "pages": told,
    }


def estimated_anew(sittings: Sequence[dict[str, Any]], besides: Sequence[Beside]) -> None:
    """Put new estimates in the place of those that the sittings have of these pages."""
    told = {}
    with TemporaryDirectory(dir="/var/tmp") as folder:
        for beside in besides:
            file = Path(folder, beside.archive.name)
            if enclosed(partial(estimate, beside, file)):
                raise SystemExit(f"Lighthouse did not load {beside.archive.name}")
            told[beside.archive.name] = told_by_lighthouse(file)
    now, plain = f"{datetime.now(UTC):%Y-%m-%d}", besides[0].plain
    for sitting in sittings:
        place = {"link": plain.link.to_json(), "protocol": plain.protocol, "device": besides[0].device.name}
        pages = [page for page in sitting["pages"] if page["page"] in told]
        if pages and all(sitting[key] == value for key, value in place.items()):
            sitting["estimated"] = now
            for page in pages:
                page["lighthouse"] = told[page["page"]]


def added(sittings: Sequence[dict[str, Any]], new: dict[str, Any]) -> list[dict[str, Any]]:
    """The sittings and a new one, which takes the place of what was told of its pages over its link."""
    again = {page["page"] for page in new["pages"]}
    kept = []
    for sitting in sittings:
        alike = all(sitting[key] == new[key] for key in ("link", "protocol", "device"))
        pages = [page for page in sitting["pages"] if not (alike and page["page"] in again)]
        if pages:
            kept.append({**sitting, "pages": pages})
    return [*kept, new]


def main() -> int:
    parser = common.parser(__doc__)
    parser.add_argument("--pages", nargs="+", default=["agency", "dashboard"], help="archives, or @set")
    parser.add_argument("--link", default="cable", help="one that ships")
    parser.add_argument("--protocol", type=Protocol, default=Protocol.H2)
    parser.add_argument("--device", choices=DEVICES, default=DESKTOP.name)
    parser.add_argument("--blocks", type=int, default=5, help="loads of each condition")
    parser.add_argument("--loads", type=int, default=3, help="loads by Lighthouse")
    parser.add_argument("--into", type=Path, default=Path("docs/results"))
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--estimates", action="store_true", help="only have Lighthouse load the pages anew")
    only.add_argument("--tables", action="store_true", help="only make the tables anew")
    asked = parser.parse_args()
    data: Path = asked.into / DATA
    if not asked.tables:
        fetch()
        (link,) = named_links(asked.link)
        pages, _ = pages_of({"pages": asked.pages}, Path())
        device = DEVICES[asked.device]
        archives = [open_archive(archives_root(), page) for page in pages]
        besides = [
            Beside(archive, asked.protocol, link, device, asked.blocks, asked.loads) for archive in archives
        ]
        sittings = json.loads(data.read_text())["sittings"] if data.exists() else []
        if asked.estimates:
            estimated_anew(sittings, besides)
        else:
            sittings = added(sittings, compare(besides))
        data.parent.mkdir(parents=True, exist_ok=True)
        written = {"schema": 2, "sittings": sittings}
        data.write_text(json.dumps(written, indent=1, allow_nan=False) + "\n")
    print(write_tables(json.loads(data.read_text())["sittings"], asked.into / DOCUMENT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
