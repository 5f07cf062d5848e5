"""The options of a link, for commands that take one."""

from __future__ import annotations

import argparse

from harness.model.link import Backend, Link


def add_link_options(parser: argparse.ArgumentParser) -> None:
    """--down-mbps, --up-mbps, --rtt-ms and --backend."""
    parser.add_argument(
        "--down-mbps", type=float, metavar="MBPS", help="rate to the client in 10^6 bit/s (default 10)"
    )
    parser.add_argument(
        "--up-mbps", type=float, metavar="MBPS", help="rate from the client (default: as down)"
    )
    parser.add_argument("--rtt-ms", type=float, metavar="MS", help="full round-trip time in ms (default 50)")
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
