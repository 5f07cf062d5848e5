"""`coldload doctor` and `coldload calibrate`: what is ready, and whether the link does what it should."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.table import Table

from harness.calibrate import as_row, calibrate, refuse_if_off
from harness.cli.common import Subcommands, console, in_enclosure
from harness.model import Link
from harness.preflight import checks, missing
from harness.study import named_link, read_study
from harness.testbed import testbed


def add_commands(commands: Subcommands) -> None:
    doctor = commands.add_parser(
        "doctor", help="what is ready, what is missing, and the command that mends it"
    )
    doctor.set_defaults(run=run_doctor)
    check = commands.add_parser("calibrate", help="configured against measured round-trip time and rate")
    check.add_argument(
        "--link", action="append", metavar="NAME", help="a link of configs/links (may be repeated)"
    )
    check.add_argument("--study", metavar="STUDY.toml", help="the links of a study")
    add_link_options(check)
    check.set_defaults(run=run_calibrate)


def add_link_options(parser: argparse.ArgumentParser) -> None:
    """--down-mbps, --up-mbps and --rtt-ms."""
    parser.add_argument("--down-mbps", type=float, help="rate to the client in 10^6 bit/s (default 10)")
    parser.add_argument("--up-mbps", type=float, help="rate from the client (default: as down)")
    parser.add_argument("--rtt-ms", type=float, help="full round-trip time in ms (default 50)")


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
    links = [named_link(name) for name in arguments.link or ()]
    if arguments.study:
        links.extend(read_study(Path(arguments.study)).links)
    if not links:
        links = [link_of(arguments)]
    return in_enclosure(arguments, lambda: _calibrate(links))


def _calibrate(links: list[Link]) -> int:
    out = console()
    readings = []
    with testbed() as made:
        for link in links:
            readings.append(calibrate(made, link))
    table = Table(*as_row(readings[0]), box=None, pad_edge=False)
    for reading in readings:
        table.add_row(*as_row(reading).values())
    out.print(table)
    out.print(
        f"\n{readings[0].backend} devices, {readings[0].scheduling} scheduling; RTT is the full round trip, "
        "rates are 10^6 bit/s of IP packets"
    )
    refuse_if_off(readings)
    return 0
