"""How many times longer a script of fixed work takes on a slowed processor, for both drivers.

    .venv/bin/python benchmarks/cpu_slowdown.py [--rounds 15]

The page does the same work in its own thread, in that of a frame of another site, and in a worker, and times each by
itself. Rates and drivers take turns. Prints medians of the ratios to full speed of the same round, with quartiles.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from harness.model.condition import FULL_SPEED, SLOWDOWNS, Condition, Origins
from harness.model.engine import Driver, Engine
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.study.plan import PlannedTrial
from harness.system.enclosure import WORKSPACE, enclosed
from harness.trial.bench import bench
from harness.trial.trial import TrialOptions, run_trial
from sites.archive import Archive, Response, write_archive
from sites.warc import About

PAGE = "work"
START_URL, FRAME_URL = "https://site.example/", "https://other.example/"
# Some 50 ms at full speed, once it has been compiled.
WORK = """const work = () => { let sum = 0; const begun = performance.now();
for (let step = 0; step < 4e6; step++) sum = (sum * 31 + step) % 1000003;
return performance.now() - begun; }; work(); work();"""
IN_A_WORKER = f"{WORK} postMessage(work())"
# The load event waits for the frame, and the frame, which works only when it is asked, for the page and its worker.
IN_THE_PAGE = f"""<script>{WORK} console.error("coldload page " + work() + " ");
const worker = new Worker(URL.createObjectURL(new Blob([`{IN_A_WORKER}`])));
worker.onmessage = (told) => console.error("coldload worker " + told.data + " ");</script>
<iframe src="{FRAME_URL}"></iframe>"""
IN_THE_FRAME = f'<script>{WORK} console.error("coldload frame " + work() + " ");</script>'

Times = dict[tuple[Driver, int, str], list[float]]


def page(root: Path) -> Archive:
    """The page and its frame."""
    bodies = {START_URL: IN_THE_PAGE, FRAME_URL: IN_THE_FRAME}
    answers = [
        Response(
            url=url,
            status=200,
            headers=(("Content-Type", "text/html"),),
            body=f"<!doctype html><html><head><title>work</title></head><body>{body}</body></html>".encode(),
        )
        for url, body in bodies.items()
    ]
    return write_archive(root, PAGE, About(START_URL, "benchmark", "benchmark", ()), answers)


def times_told(messages: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Where work was done, with the ms that it took."""
    for message in messages:
        _, told, rest = message.partition("coldload ")
        if told:
            where, took, *_ = rest.strip('"').split()
            yield where, float(took)


def measure(archive: Archive, rounds: int) -> Times:
    """The ratios to full speed by driver, slowdown and place; the first round warms the machine up."""
    ratios: Times = defaultdict(list)
    drivers = [driver for driver in Driver if driver.engine is Engine.CHROMIUM]
    with bench({PAGE: archive}, [Protocol.H2]) as opened:
        for number in range(rounds + 1):
            for driver in drivers:
                took: dict[int, Mapping[str, float]] = {}
                for slowdown in SLOWDOWNS:
                    condition = Condition(
                        page=PAGE,
                        protocol=Protocol.H2,
                        link=Link.of(100, 2),
                        engine=driver.engine,
                        driver=driver,
                        origins=Origins.SINGLE,
                        server="caddy",
                        cpu_slowdown=slowdown,
                    )
                    planned = PlannedTrial(f"{number:05d}", number, number, condition)
                    record = run_trial(
                        opened.testbed, opened.drivers, planned, TrialOptions(), WORKSPACE / "kept"
                    )
                    took[slowdown] = dict(times_told(record.observation.console_errors or ()))
                for slowdown in SLOWDOWNS if number else ():
                    for where in took[slowdown].keys() & took[FULL_SPEED].keys():
                        ratio = took[slowdown][where] / took[FULL_SPEED][where]
                        ratios[driver, slowdown, where].append(ratio)
    return ratios


def report(ratios: Times) -> None:
    """A line for each driver, slowdown and place."""
    print("driver      slowdown  place   ratio  quartiles        n")
    for (driver, slowdown, where), values in sorted(ratios.items()):
        if slowdown == FULL_SPEED:
            continue
        low, middle, high = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
        print(
            f"{driver:<11} {slowdown:<9} {where:<7} {middle:5.2f}  {low:5.2f} to {high:5.2f}  {len(values):4}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds

    def inside() -> int:
        with tempfile.TemporaryDirectory() as folder:
            report(measure(page(Path(folder)), rounds))
        return 0

    return enclosed(inside)


if __name__ == "__main__":
    sys.exit(main())
