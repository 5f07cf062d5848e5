"""The options of a link, for commands that take one."""

from __future__ import annotations

import argparse

from harness.errors import StudyError
from harness.model.link import Link, Way
from harness.study.linkfile import named_links


def add_named_link(parser: argparse.ArgumentParser) -> None:
    """--link, for commands that take one link."""
    parser.add_argument(
        "--link", metavar="NAME", help="a link that ships, as cable or 4g, instead of the next five"
    )


def add_link_options(parser: argparse.ArgumentParser) -> None:
    """--down-mbps, --up-mbps, --rtt-ms or --delay-down-ms and --delay-up-ms."""
    parser.add_argument(
        "--down-mbps", type=float, metavar="MBPS", help="rate to the client in 10^6 bit/s (default 10)"
    )
    parser.add_argument(
        "--up-mbps", type=float, metavar="MBPS", help="rate from the client (default: as down)"
    )
    parser.add_argument("--rtt-ms", type=float, metavar="MS", help="full round-trip time in ms (default 50)")
    for way in Way:
        parser.add_argument(
            f"--delay-{way}-ms",
            type=float,
            metavar="MS",
            help=f"delay {'to' if way is Way.DOWN else 'from'} the client in ms; both instead of --rtt-ms",
        )


def link_of(arguments: argparse.Namespace) -> Link:
    """The link the options describe, or name."""
    if getattr(arguments, "link", None):
        return _named(arguments)
    rate = 10.0 if arguments.down_mbps is None else arguments.down_mbps
    down, up = arguments.delay_down_ms, arguments.delay_up_ms
    if down is None and up is None:
        return Link.of(rate, 50.0 if arguments.rtt_ms is None else arguments.rtt_ms, arguments.up_mbps)
    if down is None or up is None or arguments.rtt_ms is not None:
        raise StudyError("give --rtt-ms, or both --delay-down-ms and --delay-up-ms")
    return Link.of(rate, round(down + up, 6), arguments.up_mbps, delays_ms=(down, up))


def _named(arguments: argparse.Namespace) -> Link:
    given = ("down_mbps", "up_mbps", "rtt_ms", "delay_down_ms", "delay_up_ms")
    if any(getattr(arguments, name) is not None for name in given):
        raise StudyError("give --link, or rates and delays; the link that is named has its own")
    links = named_links(arguments.link)
    if len(links) > 1:
        raise StudyError(
            f"--link {arguments.link} names {len(links)} links: {', '.join(link.name for link in links)}; "
            "name one of them"
        )
    return links[0]
