"""How far the replay of a page is off from the live page, in a web where the right answer is known.

    .venv/bin/python -m benchmarks.live [PAGE or @SET ...] [--times 10] [--down-mbps 20 --rtt-ms 20] [--into FOLDER]

The web is made here: each page is served by Apache over HTTPS with HTTP/1.1, each host of it at an address and a known
distance of its own, behind a link of a known rate; servers think for 20 ms. `coldload verify --live` knows nothing of
that: it measures distances, rate and think times, and loads the live page and the replay by nginx in turns. Pages of a
set whose name begins with `mobile` are loaded by a phone. The default is @desktop-2025 and @mobile-2025.

It prints a table in Markdown: how far the measured distances and the rate are off, the loads, and the replay's error
with its 95 % interval. With --into it also writes data/live.json there.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from analysis.statistics.estimate import estimate
from analysis.statistics.plainly import signed
from benchmarks import common
from harness.cli.verifylive import METRICS, Errors, interval, label, page_lines, pairs, to_json
from harness.lab.environment import describe_machine
from harness.lab.testbed import Testbed, testbed
from harness.model.condition import Origins
from harness.model.engine import DESKTOP, MOBILE, Device
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.settings import Distances, Replay, ThinkTime
from harness.study.pageset import read_set
from harness.system.enclosure import MARK, enclosed
from harness.verify.live import BesideOptions, beside, counted
from harness.verify.survey import Web
from sites.archive import Archive, archives_root, open_archive

SETS = ("@desktop-2025", "@mobile-2025")
THINK_MS = 20.0
FARTHEST_MS, STEPS = 90.0, 12  # of the distances, which go round in as many steps
MADE_HERE = Protocol.HTTPS1, "apache"


@dataclass(frozen=True)
class PageBeside:
    """A page beside its replay: its errors, what is kept of it, and how far its measurements were off."""

    errors: Errors
    told: Mapping[str, Any]
    row: tuple[str, ...]


def distances_of(archive: Archive) -> dict[str, float]:
    """The distance of each host; hosts at one address have one. The page's own host is at none."""
    step = FARTHEST_MS / (STEPS - 1)
    return {
        host: round(step * (5 * number % STEPS), 3)
        for number, hosts in enumerate(archive.address_groups)
        for host in hosts
    }


def measured(
    made: Testbed, archive: Archive, device: Device, link: Link, times: int, folder: Path
) -> PageBeside:
    """Serve a page as the live one, and set its replay beside it."""
    known, (protocol, server) = distances_of(archive), MADE_HERE
    distance = Distances(tuple(known.items()))
    replay = Replay(Origins.RECORDED, determinism=False, think_time=ThinkTime(THINK_MS), distance=distance)
    made.serve(archive, [protocol], replay, server)
    endpoint = made.endpoint_of(archive.name, protocol)
    made.resolver.use(endpoint.address)
    with made.client(link, distances_ms=endpoint.distances_ms) as client:
        options, web = BesideOptions(device, times), Web(client.host.path, made.trust)
        with beside(archive, endpoint.start_url, web, options, folder, _say) as opened:
            turns = list(opened.turns())
    kept, left_out = counted(turns)
    errors = Errors.of(archive.name, kept)
    survey, told = opened.survey, to_json(archive, endpoint.start_url, opened, turns, left_out, errors)
    off = [host.least_ms - link.rtt_ms - known[host.host] for host in survey.hosts if host.host in known]
    rate = survey.mbps / link.down.rate.mean_mbps if survey.mbps else float("nan")
    live, again = (estimate([pair[side] for pair in pairs(kept, "plt_ms")]) for side in (0, 1))
    compared = errors.compared()
    row = (
        f"`{archive.name}`",
        f"{len(survey.hosts)}",
        f"{max(map(abs, off)):.2f}",
        f"{signed(rate)} %",
        f"{len(kept)} of {len(turns)}",
        f"{live.median:,.0f}",
        f"{100 * live.cv:.1f} %",
        f"{again.median:,.0f}",
        *(
            f"{signed(compared[key].ratio)} % ({interval(compared[key])})" if key in compared else "-"
            for key in METRICS
        ),
    )
    return PageBeside(errors, told, row)


HEAD = (
    *("page", "hosts", "distance off, ms", "rate off", "turns", "live, ms", "spread", "replay, ms"),
    *(f"error of {label(key)}" for key in METRICS),
)


def table(pages: Sequence[PageBeside]) -> Iterator[str]:
    for cells in (HEAD, ("---",) * len(HEAD), *(page.row for page in pages)):
        yield f"| {' | '.join(cells)} |"


def chosen(names: Iterable[str]) -> Iterator[tuple[Archive, Device]]:
    """The archives of pages and sets, each with the device that loads it."""
    for name in names:
        device = MOBILE if name.startswith("@mobile") or name.endswith("-phone") else DESKTOP
        for page in read_set(name[1:], Path()).pages if name.startswith("@") else [name]:
            yield open_archive(archives_root(), page), device


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def main() -> int:
    parser = common.parser(__doc__)
    parser.add_argument("pages", nargs="*", default=SETS, metavar="PAGE or @SET")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--down-mbps", type=float, default=20.0)
    parser.add_argument("--rtt-ms", type=float, default=20.0)
    parser.add_argument("--into", type=Path)
    arguments = parser.parse_args()
    link = Link.of(arguments.down_mbps, arguments.rtt_ms)
    wanted = list(chosen(arguments.pages))
    before = os.getloadavg()

    def command() -> int:
        with testbed() as made:
            del os.environ[
                MARK
            ]  # the lab of the replay has an enclosure of its own, and sees not this one's files
            pages = []
            for archive, device in wanted:
                with TemporaryDirectory(dir="/var/tmp") as folder:
                    _say(archive.name)
                    pages.append(measured(made, archive, device, link, arguments.times, Path(folder)))
        lines = [*table(pages), "", *page_lines([page.errors for page in pages])]
        print("\n".join(lines))
        if arguments.into:
            data = {
                "date": datetime.now(UTC).date().isoformat(),
                "machine": describe_machine(),
                "load_average": {"before": before, "after": os.getloadavg()},
                "link": link.to_json(),
                "think_ms": THINK_MS,
                "table": lines,
                "pages": [page.told for page in pages],
            }
            path = arguments.into / "data" / "live.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(data, indent=1) + "\n")
        return 0

    return enclosed(command)


if __name__ == "__main__":
    sys.exit(main())
