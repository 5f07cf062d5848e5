"""`coldload calibrate`: whether a link does what it should."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.failures import in_enclosure
from harness.cli.options import RATES, add_rate_options, given, link_of, refuse_beside
from harness.cli.telling import console, say, telling
from harness.errors import StudyError
from harness.model.link import Link

if TYPE_CHECKING:
    from rich.table import Table

    from harness.lab.calibration import Calibration
    from harness.lab.testbed import Testbed

SHORT_S, THOROUGH_S = 2.0, 30.0  # that a link usually takes
LINKS = ("--link", "--all", "--study")  # options that name links, each with its own rates and delays


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Measures links from client to server host: 300 echoes; each way a train of packets, a TCP stream, "
        "a full queue, and loss. A link takes half a minute and as long as its queues take to drain."
    )
    parser.add_argument(
        "--link",
        action="append",
        metavar="NAME",
        help="a link of configs/links, or all of one of its files (may be repeated)",
    )
    parser.add_argument("--all", action="store_true", help="every link of configs/links")
    parser.add_argument(
        "--study", metavar="STUDY.toml", help="the links of a study, with those of its factors"
    )
    parser.add_argument(
        "--short",
        action="store_true",
        help="only what every run does before its first trial: a second per link",
    )
    parser.add_argument(
        "--clients",
        type=int,
        metavar="N",
        help="give each of N clients such a link and measure rate, delay and fairness over them",
    )
    parser.add_argument(
        "--live",
        action="append",
        metavar="HOST",
        help="instead measure how far a live host is, by TCP handshakes, and how fast it sends, by its front page or, "
        "given as a URL, by that object (may be repeated)",
    )
    add_rate_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from harness.lab.calibrate import calibrate
    from harness.lab.calibrateclients import calibrate_clients
    from harness.lab.testbed import refuse_count

    if arguments.live:
        refuse_beside("--live", arguments, *LINKS, "--short", "--clients", *RATES)
        return _live(arguments.live)
    for named in given(arguments, *LINKS):
        refuse_beside(named, arguments, *RATES)
    links = _links(arguments)
    clients = arguments.clients
    if clients is None:
        return in_enclosure(
            arguments,
            lambda: _calibrate(
                links,
                lambda made, link: calibrate(made, link, thorough=not arguments.short),
                SHORT_S if arguments.short else THOROUGH_S,
            ),
        )
    if arguments.short:
        raise StudyError("--short is of one client; leave --short or --clients out")
    refuse_count(clients)
    each = [replace(link, per_client=True) for link in links]
    return in_enclosure(
        arguments,
        lambda: _calibrate(each, lambda made, link: calibrate_clients(made, link, clients)),
    )


def _links(arguments: argparse.Namespace) -> list[Link]:
    """The links that the options name; the one that they describe where they name none."""
    from harness.study.linkfile import named_links, shipped_links
    from harness.study.studyfile import read_study

    links = [link for name in arguments.link or () for link in named_links(name)]
    if arguments.all:
        links.extend(shipped_links())
    if arguments.study:
        links.extend(read_study(Path(arguments.study)).every_link)
    return links or [link_of(arguments)]


def _calibrate(
    links: list[Link], measure: Callable[[Testbed, Link], Calibration], usual_s: float | None = None
) -> int:
    from harness.lab.calibration import refuse_if_off
    from harness.lab.testbed import testbed

    readings: list[Calibration] = []
    with testbed() as made:
        for link in links:
            with telling(f"measuring {link.name} ({len(readings) + 1} of {len(links)})", usual_s):
                readings.append(measure(made, link))
            console().print(_table(readings[-1]))
            say()
    say(
        f"{readings[0].device} devices, {readings[0].scheduling} scheduling, arrivals told by the "
        f"{readings[0].arrivals or 'kernel'}; RTT is the full round trip, rates are 10^6 bit/s of IP packets"
    )
    refuse_if_off(readings)
    return 0


def _live(hosts: list[str]) -> int:
    """Measure live hosts, on the machine's own network."""
    from harness.lab.livehost import CONNECTIONS, host_reading, rate_reading, resolved
    from sites.urls import parse_url

    for host in hosts:
        url = parse_url(host if "://" in host else f"https://{host}/")
        reached = resolved(url.host, url.port)
        with telling(f"shaking hands with {url.host}"):
            reading = host_reading(url.host, reached)
        say(f"{url.host} ({reached[0]}, port {reached[1]})")
        lost = f", {reading.unanswered} without a time" if reading.unanswered else ""
        say(
            f"  round trip {reading.least_ms:.2f} ms at least, {reading.median_ms:.2f} at the median of "
            f"{len(reading.round_trips_ms)} handshakes{lost}"
        )
        for connections in (1, CONNECTIONS):
            with telling(f"asking for {url}"):
                rate = rate_reading(str(url), reached, connections)
            much = "too little to tell" if rate.mbps is None else f"{rate.mbps:.4g} Mbit/s at least"
            say(
                f"  rate down  {much}, {connections} connection{'s' * (connections > 1)}: "
                f"{rate.received_bytes / 1000:,.0f} kB in {rate.seconds:g} s"
            )
    say(
        "A proxy or a cache near by may have answered for the host, and the server may be what limits the rate. "
        "Nothing tells the rate up, queues or losses."
    )
    return 0


def _table(reading: Calibration) -> Table:
    """Configured against measured, a line per figure."""
    from rich.table import Table

    table = Table("", title=reading.link.name, title_justify="left", box=None, pad_edge=False)
    for column in ("configured", "measured", "error", "", "p99", "n"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for figure in reading.figures.values():
        digits = 2 if figure.unit in ("ms", "%") else 3
        share = f"{figure.error / figure.configured:+.2%}" if figure.configured and figure.unit != "%" else ""
        table.add_row(
            f"{figure.what}, {figure.unit}" if figure.unit else figure.what,
            f"{figure.configured:.{digits}f}",
            f"{figure.measured:.{digits}f}",
            f"{figure.error:+.{digits}f}",
            share,
            "" if figure.p99 is None else f"{figure.p99:.{digits}f}",
            str(figure.n),
            "OFF" if figure.off else "ok",
        )
    return table
