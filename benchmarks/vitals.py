"""The vitals of a record beside those of Google's web-vitals and of Lighthouse. Half an hour.

    .venv/bin/python -m benchmarks.vitals [--loads 5] [--only web-vitals trace lighthouse] [--into DIR]

`web-vitals` runs inside the very loads that our own figures are of, in the page's own world, and is asked when the page
has come to rest. `trace` gives a trace of our loads to Lighthouse's own computation. `lighthouse` makes loads of its
own, in a Chromium with the same flags over the same link, and is held against the median. Figures are medians with
their range; differences are ours minus theirs. npm fetches both packages into a cache of this benchmark, in the
versions below.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import common, quoted
from benchmarks.lighthouseload import LIGHTHOUSE_SECONDS, fetch, lighthouse_load, observed
from harness.engines.chromium.playwright import PlaywrightBrowser
from harness.engines.chromium.trace import read_trace
from harness.model.kind import TRACE
from harness.model.protocol import Protocol
from harness.probes.probe import TrialOptions, settles
from harness.probes.registry import Observation
from harness.probes.vitals import Vitals, vitals
from harness.system.enclosure import WORKSPACE, enclosed
from harness.system.program import Command, run
from harness.trial.trial import BrowserLab, browser_lab
from harness.trial.venue import surroundings
from sites.archive import Archive, archives_root, open_archive

WEB_VITALS = "web-vitals@6.2.3"
PARTS = ("web-vitals", "trace", "lighthouse")
PAGES = ("agency", "dummy-2012", "icons-2013", "text-100k")
LATE = "late"
LIBRARY = (
    "{source};\n(() => {{ const found = window.__vitals = {{}};"
    "for (const name of ['FCP', 'LCP', 'CLS', 'TTFB'])"
    "webVitals['on' + name]((told) => {{ found[name] = told.value; }}, {{reportAllChanges: true}}); }})();"
)
OF_LIGHTHOUSE = {
    "FCP": "first-contentful-paint",
    "LCP": "largest-contentful-paint",
    "CLS": "cumulative-layout-shift",
    "TBT": "total-blocking-time",
}
OF_A_RECORD = {"FCP": "fcp_ms", "LCP": "lcp_ms", "CLS": "cls", "TBT": "tbt_ms"}
# Lighthouse's figures of a trace: it is given the trace, and the folder of its own modules.
OF_THE_TRACE = """const [, file, modules] = process.argv;
const core = modules + "/lighthouse/core/";
const needed = ["lib/tracehouse/trace-processor.js", "computed/metrics/cumulative-layout-shift.js",
  "lib/lantern/lantern.js"];
Promise.all(needed.map((each) => import(core + each))).then((found) => {
  const [{TraceProcessor}, {CumulativeLayoutShift}, {Metrics}] = found;
  const trace = JSON.parse(require("fs").readFileSync(file, "utf8"));
  const whole = TraceProcessor.processTrace(trace);
  const {firstContentfulPaint, largestContentfulPaint} = TraceProcessor.processNavigation(whole).timings;
  const tasks = TraceProcessor.getMainThreadTopLevelEvents(whole);
  console.log(JSON.stringify({
    FCP: firstContentfulPaint, LCP: largestContentfulPaint,
    CLS: CumulativeLayoutShift.calculate(CumulativeLayoutShift.getLayoutShiftEvents(whole)),
    TBT: Metrics.TBTUtils.calculateSumOfBlockingTime(tasks, firstContentfulPaint, Infinity)}));
});"""
# Known for nothing but what comes late: a task of 300 ms, a shift, and the largest paint.
LATE_PAGE = b"""<!doctype html><title>late</title><style>p { font-size: 20px }</style>
<h1>A page that builds itself</h1><div id="room"></div><p>text below</p><script>
const after = (ms, what) => addEventListener("load", () => setTimeout(what, ms));
after(300, () => { const begun = performance.now(); while (performance.now() - begun < 300); });
after(800, () => { document.getElementById("room").style.height = "200px"; });
after(1200, () => { const big = document.createElement("p"); big.style.fontSize = "90px";
  big.textContent = "the largest text of this page, which comes late"; document.body.append(big); });
</script>"""


@dataclass(frozen=True)
class Figures:
    """One load by somebody: FCP, LCP, CLS, TTFB and TBT, as far as told."""

    told: Mapping[str, float]

    @classmethod
    def ours(cls, found: Vitals, ttfb_ms: float | None) -> Figures:
        values = {
            "FCP": found.fcp_ms,
            "LCP": found.lcp_ms,
            "CLS": found.cls,
            "TBT": found.tbt_ms,
            "TTFB": ttfb_ms,
        }
        return cls({name: value for name, value in values.items() if value is not None})


def archives(root: Path) -> dict[str, Archive]:
    """Pages that ship, and one that is known to change after its load."""
    made = common.archived(root, LATE, common.html("https://late.example/", LATE_PAGE))
    return {**{name: open_archive(archives_root(), name) for name in PAGES}, LATE: made}


def side_by_side(
    opened: BrowserLab, page: str, loads: int, library: str
) -> Iterator[tuple[Figures, Figures]]:
    """Our figures and those of the library, of the same loads."""
    cell = common.condition(page)
    endpoint = opened.testbed.endpoint(cell)
    for number in range(loads):
        with (
            opened.testbed.client(cell.link, draw=number) as client,
            opened.browsers.fresh(f"{page}-{number}", cell, surroundings(opened.testbed, endpoint)) as fresh,
        ):
            opened.testbed.resolver.use(endpoint.address)
            with fresh.start() as browser:
                assert isinstance(browser, PlaywrightBrowser)
                context = browser._context
                context.add_init_script(library)
                browser.load(endpoint.start_url, 60)
                times = browser.timeline()
                rest = settles(browser, client.link, cell.link.rtt_ms)
                theirs = context.pages[0].evaluate("window.__vitals")
                our_vitals = vitals(browser.entries(), times["time_origin_ms"], settled=rest)
                yield Figures.ours(our_vitals, times["ttfb_ms"]), Figures(theirs)


def own_loads(
    opened: BrowserLab, page: str, loads: int, files: Path = WORKSPACE / "kept", keep: tuple[str, ...] = ()
) -> Iterator[Observation]:
    """The records' own figures, of loads that count; what a load keeps is gone at the next one."""
    for number in range(1, loads + 1):
        cell = common.condition(page)
        record = common.load(opened, cell, number, files, TrialOptions(vitals=True, keep=keep))
        if record:
            yield record.observation


def by_trace(opened: BrowserLab, page: str, loads: int) -> Iterator[tuple[Figures, Figures]]:
    """Our figures and what Lighthouse makes of a trace, of the same loads."""
    for _ in range(loads):
        with TemporaryDirectory() as folder:
            files, plain = Path(folder), Path(folder) / "plain.json"
            for seen in own_loads(opened, page, 1, files, (TRACE,)):
                events = read_trace(files / "trace.json.gz").events
                plain.write_text(json.dumps({"traceEvents": events}))
                asked = Command.of(common.NODE, "-e", OF_THE_TRACE, plain, fetch())
                told = json.loads(run(asked, timeout_s=LIGHTHOUSE_SECONDS))
                ours = {name: getattr(seen, key) for name, key in OF_A_RECORD.items()}
                yield Figures(ours), Figures(told)


def by_lighthouse(opened: BrowserLab, page: str, loads: int) -> Iterator[Figures]:
    """Lighthouse's figures, observed and not simulated, in Chromiums of the same policy on the client's host."""
    for number in range(loads):
        cell = common.condition(page)
        told = lighthouse_load(opened, cell, number, observed(), tuple(OF_LIGHTHOUSE.values()))
        audits = {name: told["audits"][audit].get("numericValue") for name, audit in OF_LIGHTHOUSE.items()}
        yield Figures({name: value for name, value in audits.items() if value is not None})


def spread(values: Sequence[float], name: str = "") -> str:
    """Median and range; a layout shift is no time."""
    return common.spread(values, 4 if name == "CLS" else 1)


Row = Mapping[str, str]  # a figure of a page by us and by another


def row(page: str, name: str, ours: Sequence[float], theirs: Sequence[float], apart: str) -> Row:
    return {
        "page": page,
        "metric": name,
        "ours": spread(ours, name),
        "theirs": spread(theirs, name),
        "difference": apart,
    }


def compared(page: str, pairs: Sequence[tuple[Figures, Figures]]) -> Iterator[Row]:
    """A row per figure that both tell; `pairs` are of the same loads."""
    for name in ("TTFB", "FCP", "LCP", "CLS", "TBT"):
        told = ((one.told.get(name), other.told.get(name)) for one, other in pairs)
        both = [(one, other) for one, other in told if one is not None and other is not None]
        if both:
            ours, theirs = zip(*both, strict=True)
            yield row(page, name, ours, theirs, spread([one - other for one, other in both], name))


def apart(page: str, ours: Sequence[Observation], theirs: Sequence[Figures]) -> Iterator[Row]:
    """A row per figure, of loads that have nothing to do with each other: the difference is that of the medians."""
    for name, key in OF_A_RECORD.items():
        mine = [getattr(observation, key) for observation in ours if getattr(observation, key) is not None]
        others = [figures.told[name] for figures in theirs if name in figures.told]
        if mine and others:
            difference = statistics.median(mine) - statistics.median(others)
            yield row(page, name, mine, others, f"{difference:.4f}" if name == "CLS" else f"{difference:.1f}")


def rows_of(opened: BrowserLab, page: str, part: str, loads: int) -> Iterator[Row]:
    """What one part says of a page."""
    if part == "web-vitals":
        source = (fetch(WEB_VITALS) / "web-vitals" / "dist" / "web-vitals.iife.js").read_text()
        return compared(page, list(side_by_side(opened, page, loads, LIBRARY.format(source=source))))
    if part == "trace":
        return compared(page, list(by_trace(opened, page, loads)))
    return apart(page, list(own_loads(opened, page, loads)), list(by_lighthouse(opened, page, loads)))


def measure(loads: int, only: Sequence[str], into: Path | None) -> int:
    with contextlib.ExitStack() as stack:
        made = archives(Path(stack.enter_context(TemporaryDirectory())))
        opened = stack.enter_context(browser_lab(made, [Protocol.H2]))
        for name in only:
            part, rows = quoted.Part("vitals", name, common.ENGINE), list[Row]()
            print(f"{name}:\n| page | metric | ours | theirs | difference |\n| --- | --- | --- | --- | --- |")
            for page in made:
                for told in rows_of(opened, page, name, loads):
                    rows.append(told)
                    print(f"| {' | '.join(told.values())} |", flush=True)
            if into:
                part.keep(into, rows, ["page", "metric"])
    return 0


def main() -> int:
    parser = common.parser(__doc__)
    parser.add_argument("--loads", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    quoted.add_into(parser)
    arguments = parser.parse_args()
    fetch(WEB_VITALS)
    print(common.machine())
    return enclosed(lambda: measure(arguments.loads, arguments.only, arguments.into))


if __name__ == "__main__":
    sys.exit(main())
