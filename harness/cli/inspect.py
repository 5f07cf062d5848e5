"""`coldload doctor` and `coldload calibrate`: what is ready, and whether the link does what it should."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.table import Table
from rich.text import Text

from harness.calibrate import calibrate
from harness.cli.common import Subcommands, console, in_enclosure
from harness.model import Backend, Link
from harness.preflight import checks, missing
from harness.reading import LinkReading, refuse_if_off
from harness.study_file import read_study
from harness.study_links import named_links, shipped_links
from harness.testbed import testbed


def add_commands(commands: Subcommands) -> None:
    doctor = commands.add_parser(
        "doctor", help="what is ready, what is missing, and the command that mends it"
    )
    doctor.set_defaults(run=run_doctor)
    check = commands.add_parser(
        "calibrate",
        help="a link's round-trip time, rates, queues and loss, configured against measured",
        description="Measures links from client to server host: 300 echoes; each way a train of packets, a TCP stream, "
        "a full queue, and loss. A link takes half a minute and as long as its queues take to drain.",
    )
    check.add_argument(
        "--link",
        action="append",
        metavar="NAME",
        help="a link of configs/links, or all of one of its files (may be repeated)",
    )
    check.add_argument("--all", action="store_true", help="every link of configs/links")
    check.add_argument("--study", metavar="STUDY.toml", help="the links of a study")
    check.add_argument(
        "--short",
        action="store_true",
        help="only what every run does before its first trial: a second per link",
    )
    add_link_options(check)
    check.set_defaults(run=run_calibrate)


def add_link_options(parser: argparse.ArgumentParser) -> None:
    """--down-mbps, --up-mbps, --rtt-ms and --backend."""
    parser.add_argument("--down-mbps", type=float, help="rate to the client in 10^6 bit/s (default 10)")
    parser.add_argument("--up-mbps", type=float, help="rate from the client (default: as down)")
    parser.add_argument("--rtt-ms", type=float, help="full round-trip time in ms (default 50)")
    parser.add_argument(
        "--backend",
        type=Backend,
        choices=list(Backend),
        metavar="|".join(Backend),
        help="what emulates the link (default: tun, or veth where TUN devices may not be opened)",
    )


def link_of(arguments: argparse.Namespace) -> Link:
    """The link the options describe."""
    down = 10.0 if arguments.down_mbps is None else arguments.down_mbps
    return Link.of(down, 50.0 if arguments.rtt_ms is None else arguments.rtt_ms, arguments.up_mbps)


def run_doctor(_arguments: argparse.Namespace) -> int:
    found = checks()
    out = console()
    for check in found:
        mark = "ok" if check.ok else ("limits" if check.optional else "MISSING")
        out.print(f"{mark:8} {check.what}: {check.found}", markup=False)
        if not check.ok:
            out.print(f"{'':8} to mend it: {check.remedy}", markup=False)
    lacking = missing(found)
    if lacking:
        out.print(f"\n{len(lacking)} missing; `make setup` installs everything, or use the commands above.")
        return 3
    out.print("\nready; try `coldload demo --quick`")
    return 0


def run_calibrate(arguments: argparse.Namespace) -> int:
    links = [link for name in arguments.link or () for link in named_links(name)]
    if arguments.all:
        links.extend(shipped_links())
    if arguments.study:
        links.extend(read_study(Path(arguments.study)).links)
    if not links:
        links = [link_of(arguments)]
    return in_enclosure(arguments, lambda: _calibrate(links, arguments.backend, thorough=not arguments.short))


def _calibrate(links: list[Link], backend: Backend | None, *, thorough: bool) -> int:
    out = console()
    readings: list[LinkReading] = []
    with testbed(backend=backend) as made:
        for link in links:
            with out.status(Text(f"measuring {link.name} ({len(readings) + 1} of {len(links)})")):
                readings.append(calibrate(made, link, thorough=thorough))
            out.print(_table(readings[-1]))
            out.print()
    out.print(
        f"{readings[0].backend} devices, {readings[0].scheduling} scheduling; RTT is the full round trip, "
        "rates are 10^6 bit/s of IP packets"
    )
    refuse_if_off(readings)
    return 0


def _table(reading: LinkReading) -> Table:
    """Configured against measured, a line per figure."""
    table = Table("", title=reading.link.name, title_justify="left", box=None, pad_edge=False)
    for column in ("configured", "measured", "error", "", "p99", "n"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for figure in reading.figures.values():
        places = 2 if figure.unit in ("ms", "%") else 3
        share = f"{figure.error / figure.configured:+.2%}" if figure.configured and figure.unit != "%" else ""
        table.add_row(
            f"{figure.what}, {figure.unit}",
            f"{figure.configured:.{places}f}",
            f"{figure.measured:.{places}f}",
            f"{figure.error:+.{places}f}",
            share,
            "" if figure.p99 is None else f"{figure.p99:.{places}f}",
            str(figure.n),
            "OFF" if figure.off else "ok",
        )
    return table
