"""The arguments of `coldload calibrate`."""

from __future__ import annotations

import argparse

from harness.cli.linkoptions import add_link_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The links to measure, and how thoroughly."""
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
    parser.add_argument("--study", metavar="STUDY.toml", help="the links of a study")
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
    add_link_options(parser)
