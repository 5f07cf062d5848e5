"""How many frames a second a film takes, and its Speed Index beside others. A few minutes.

    .venv/bin/python -m benchmarks.film [--only rate known speedline] [--into DIR]

`rate` films a page in which something always moves. `known` films a page that tells when each of its boxes was painted.
`speedline` gives the films of pages to Lighthouse's own implementation, which npm fetches into a cache of this
benchmark. What a film costs: `benchmarks/observing.py`.
"""

from __future__ import annotations

import base64
import json
import re
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from analysis.runs.filmfile import FILE, KeptFilm, read_film
from benchmarks import common, quoted
from harness.model.engine import Driver
from harness.model.kind import FILM
from harness.model.protocol import Protocol
from harness.probes.probe import TrialOptions
from harness.probes.registry import Observation
from harness.system.enclosure import enclosed
from harness.system.program import Command, run
from harness.trial.trial import BrowserLab, browser_lab
from sites.archive import Archive, archives_root, open_archive

FILMED = TrialOptions(keep=(FILM,), vitals=True)
BOXES = 10
FOR_S = 2.5  # after its load event it has painted all, and told its console of them
KNOWN = f"""<style>img {{ position: absolute; width: 100px; height: 100px }}</style><script>
const canvas = document.createElement("canvas"), painted = [];
canvas.width = canvas.height = 100;
const context = canvas.getContext("2d"); context.fillStyle = "#204080"; context.fillRect(0, 0, 100, 100);
const address = canvas.toDataURL();
new PerformanceObserver((list) => {{
  for (const each of list.getEntries()) painted.push(each.renderTime);
  if (painted.length === {BOXES}) console.error(JSON.stringify(painted));
}}).observe({{type: "element", buffered: true}});
function box(number) {{
  const made = new Image(); made.src = address; made.setAttribute("elementtiming", `box ${{number}}`);
  made.style.left = `${{number % 5 * 200 + 50}}px`; made.style.top = number < 5 ? "50px" : "300px";
  document.body.append(made);
  if (number + 1 < {BOXES}) setTimeout(box, 100, number + 1);
}}
addEventListener("load", () => setTimeout(box, 50, 0));
</script>"""


def painted_ms(console: Iterable[str]) -> Sequence[float]:
    """When each box was painted, from what the page told its console. Their mean is the Speed Index."""
    told = next(match[0] for text in console if (match := re.search(r"\[[\d.,]+\]", text)))
    times: list[float] = json.loads(told)
    assert len(times) == BOXES
    return times


PARTS = ("rate", "known", "speedline")
PAGES = ("agency", "icons-2013", "text-100k")  # of `speedline`
SPEEDLINE = "speedline-core@1.4.3"
SECONDS = 600
# Given the pictures as a trace of Chromium has them, it answers with the Speed Index and each frame's progress.
ASKED = """const told = JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"));
require(process.argv[2])(told.events, {timeOrigin: told.begin, include: "speedIndex"}).then((found) => {
  const progress = found.frames.map((each) => each.getProgress());
  console.log(JSON.stringify({speed_index_ms: found.speedIndex, progress}));
});"""
MOVING = """<style>@keyframes turn { to { transform: rotate(360deg) } }
div { width: 300px; height: 300px; background: #c03020; animation: turn 1s linear infinite }</style><div></div>"""


def made_pages(root: Path) -> dict[str, Archive]:
    """The pages of our own."""
    archives = {}
    for name, body in (("known", KNOWN), ("moving", MOVING)):
        text = f"<!doctype html><title>{name}</title><body>{body}</body>"
        archives[name] = common.archived(root, name, common.html(f"https://{name}.example/", text))
    return archives


def loaded(
    opened: BrowserLab, page: str, driver: Driver, number: int, files: Path, options: TrialOptions
) -> Observation | None:
    """What one load showed; None when it does not count."""
    record = common.load(opened, common.condition(page, driver=driver), number, files, options)
    return record.observation if record else None


Row = Mapping[str, str]


def told_rate(opened: BrowserLab, driver: Driver) -> Row:
    """Frames a second while something moves."""
    with TemporaryDirectory() as kept:
        loaded(opened, "moving", driver, 1, Path(kept), FILMED)
        times = [frame.at_ms for frame in read_film(Path(kept) / FILE).frames[1:]]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    return {
        "frames_per_s": f"{1000 * len(gaps) / (times[-1] - times[0]):.1f}",
        "median_gap_ms": f"{statistics.median(gaps):.1f}",
        "longest_gap_ms": f"{max(gaps):.1f}",
    }


def told_known(opened: BrowserLab, driver: Driver, loads: int) -> Row:
    """The Speed Index over the mean of the times at which boxes were painted."""
    ratios = []
    for number in range(1, loads + 1):
        with TemporaryDirectory() as kept:
            options = replace(FILMED, linger_s=FOR_S)
            seen = loaded(opened, "known", driver, number, Path(kept), options)
        if seen is not None and seen.speed_index_ms:
            ratios.append(seen.speed_index_ms / statistics.mean(painted_ms(seen.console_errors or ())))
    middle, worst = statistics.median(ratios), max(ratios, key=lambda each: abs(each - 1))
    return {"of_the_painted": f"{middle:.3f}", "farthest": f"{worst:.3f}", "n": str(len(ratios))}


def by_speedline(film: KeptFilm) -> Mapping[str, object]:
    """What Lighthouse's implementation, which has been fetched, makes of the same pictures."""
    speedline = common.npm_modules("film", SPEEDLINE) / "speedline-core"
    begin = 1_000_000  # us; a time of 0 it takes for none
    events = [
        {
            "name": "Screenshot",
            "cat": "disabled-by-default-devtools.screenshot",
            "ts": begin + frame.at_ms * 1000,
            "args": {"snapshot": base64.b64encode(frame.path.read_bytes()).decode()},
        }
        for frame in film.frames
    ]
    with TemporaryDirectory() as folder:
        asked = Path(folder) / "asked.json"
        asked.write_text(json.dumps({"begin": begin, "events": events}))
        node = Command.of(common.NODE, "-e", ASKED, asked, speedline)
        answer: Mapping[str, object] = json.loads(run(node, timeout_s=SECONDS))
    return answer


def beside_speedline(opened: BrowserLab, page: str) -> Row:
    """The Speed Index by us and by Lighthouse's implementation, of the same pictures; SystemExit without a film."""
    with TemporaryDirectory() as kept:
        files = Path(kept)
        seen = loaded(opened, page, common.DRIVERS[0], 1, files, FILMED)
        if seen is None or seen.speed_index_ms is None:
            raise SystemExit(f"the load of {page} does not count, so there is no film of it")
        theirs = by_speedline(read_film(files / FILE))
    return {
        "ours_ms": f"{seen.speed_index_ms:.1f}",
        "speedline_ms": f"{theirs['speed_index_ms']:.1f}",
        "frames": str(seen.film_frames),
    }


def rows_of(opened: BrowserLab, part: str) -> Iterator[Row]:
    """What one part says."""
    if part == "speedline":
        yield from ({"page": page, **beside_speedline(opened, page)} for page in PAGES)
        return
    for driver in common.DRIVERS:
        told = told_rate(opened, driver) if part == "rate" else told_known(opened, driver, 10)
        yield {"driver": driver, **told}


def measure(only: Sequence[str], into: Path | None) -> int:
    with TemporaryDirectory() as root:
        archives = {name: open_archive(archives_root(), name) for name in PAGES}
        with browser_lab({**archives, **made_pages(Path(root))}, [Protocol.H2]) as opened:
            for name in only:
                part, rows = quoted.Part("film", name, common.ENGINE), list[Row]()
                for row in rows_of(opened, name):
                    rows.append(row)
                    print(f"{name}: {', '.join(f'{key} {value}' for key, value in row.items())}", flush=True)
                if into:
                    part.keep(into, rows, [next(iter(rows[0]))])
    return 0


def main() -> int:
    parser = common.parser(__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    quoted.add_into(parser)
    arguments = parser.parse_args()
    if "speedline" in arguments.only:
        common.npm_modules("film", SPEEDLINE)
    print(common.machine())
    return enclosed(lambda: measure(arguments.only, arguments.into))


if __name__ == "__main__":
    sys.exit(main())
