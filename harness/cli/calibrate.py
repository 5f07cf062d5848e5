"""`coldload calibrate`: whether a link does what it should."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rich.table import Table
from rich.text import Text

from harness.cli.console import console
from harness.cli.enclosing import in_enclosure
from harness.cli.linkoptions import link_of
from harness.errors import StudyError
from harness.lab.addresses import refuse_count
from harness.lab.calibrate import calibrate
from harness.lab.calibrateclients import calibrate_clients
from harness.lab.calibration import Calibration, refuse_if_off
from harness.lab.testbed import Testbed, testbed
from harness.model.link import Backend, Link
from harness.study.linkfile import named_links, shipped_links
from harness.study.studyfile import read_study


def run(arguments: argparse.Namespace) -> int:
    links = [link for name in arguments.link or () for link in named_links(name)]
    if arguments.all:
        links.extend(shipped_links())
    if arguments.study:
        links.extend(read_study(Path(arguments.study)).links)
    if not links:
        links = [link_of(arguments)]
    clients = arguments.clients
    if clients is None:
        return in_enclosure(
            arguments,
            lambda: _calibrate(
                links,
                arguments.backend,
                lambda made, link: calibrate(made, link, thorough=not arguments.short),
            ),
        )
    if arguments.short:
        raise StudyError("--short is of one client; leave --short or --clients out")
    refuse_count(clients)
    each = [replace(link, per_client=True) for link in links]
    return in_enclosure(
        arguments,
        lambda: _calibrate(
            each, arguments.backend, lambda made, link: calibrate_clients(made, link, clients)
        ),
    )


def _calibrate(
    links: list[Link], backend: Backend | None, measure: Callable[[Testbed, Link], Calibration]
) -> int:
    out = console()
    readings: list[Calibration] = []
    with testbed(backend=backend) as made:
        for link in links:
            with out.status(Text(f"measuring {link.name} ({len(readings) + 1} of {len(links)})")):
                readings.append(measure(made, link))
            out.print(_table(readings[-1]))
            out.print()
    out.print(
        f"{readings[0].backend} devices, {readings[0].scheduling} scheduling; RTT is the full round trip, "
        "rates are 10^6 bit/s of IP packets"
    )
    refuse_if_off(readings)
    return 0


def _table(reading: Calibration) -> Table:
    """Configured against measured, a line per figure."""
    table = Table("", title=reading.link.name, title_justify="left", box=None, pad_edge=False)
    for column in ("configured", "measured", "error", "", "p99", "n"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for figure in reading.figures.values():
        places = 2 if figure.unit in ("ms", "%") else 3
        share = f"{figure.error / figure.configured:+.2%}" if figure.configured and figure.unit != "%" else ""
        table.add_row(
            f"{figure.what}, {figure.unit}" if figure.unit else figure.what,
            f"{figure.configured:.{places}f}",
            f"{figure.measured:.{places}f}",
            f"{figure.error:+.{places}f}",
            share,
            "" if figure.p99 is None else f"{figure.p99:.{places}f}",
            str(figure.n),
            "OFF" if figure.off else "ok",
        )
    return table
