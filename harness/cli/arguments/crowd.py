"""The arguments of `coldload crowd`."""

from __future__ import annotations

import argparse
import re

from harness.cli.arguments.paths import given_path
from harness.cli.linkoptions import add_link_options, add_named_link
from harness.cli.replay_options import add_replay_options
from harness.cli.variantoption import add_set_option
from harness.model.engine import engines_of, speaking
from harness.model.kind import Kind
from harness.model.protocol import Protocol
from harness.model.settings import TLS_VERSIONS
from harness.model.variant import PLAIN
from harness.study.rules import ABILITIES

SECONDS_OF = {"": 1, "s": 1, "m": 60, "h": 3600}
SPOKEN = tuple(protocol for protocol in Protocol if speaking(protocol, Kind.USERS))


def duration_s(text: str) -> float:
    """`30s`, `2m`, `1h`, or a number of seconds."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)([smh]?)", text)
    if found is None:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is no duration; it is a number with s, m or h, as in 30s"
        )
    return float(found[1]) * SECONDS_OF[found[2]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The page, the crowd, and the condition of its pages."""
    parser.description = (
        "Users load the page from one server, each cold and behind a link to itself, think, and load it again. What "
        "the page asks for is taken from three loads of it in the browser first. One line a second, then a summary."
    )
    parser.add_argument("name", metavar="NAME", help="an archive")
    parser.add_argument(
        "--protocol",
        choices=[each.value for each in Protocol],
        default=Protocol.HTTP1.value,
        metavar="PROTOCOL",
        help=f"{', '.join(SPOKEN)}; default: {Protocol.HTTP1}",
    )
    parser.add_argument(
        "--generator",
        choices=[each.value for each in engines_of(Kind.USERS)],
        help="default: the first that speaks the protocol",
    )
    parser.add_argument("--users", type=int, default=10, metavar="N", help="how many users (default 10)")
    parser.add_argument(
        "--for",
        dest="for_s",
        type=duration_s,
        default=30.0,
        metavar="TIME",
        help="how long, as in 30s or 2m (default 30s)",
    )
    parser.add_argument(
        "--think",
        dest="think_s",
        type=duration_s,
        default=5.0,
        metavar="TIME",
        help="how long a user waits after a page (default 5s)",
    )
    parser.add_argument(
        "--page-timeout",
        dest="page_timeout_s",
        type=duration_s,
        default=60.0,
        metavar="TIME",
        help="after which a page has failed (default 60s)",
    )
    parser.add_argument("--variant", default=PLAIN, metavar="V", help="as of `coldload load` (default plain)")
    add_set_option(parser)
    parser.add_argument("--server", choices=list(ABILITIES), help="default: the usual one of the generator")
    add_replay_options(parser)
    parser.add_argument(
        "--tls", choices=TLS_VERSIONS, help="the one version there is (default: the generator's usual one)"
    )
    parser.add_argument(
        "--keep", type=given_path, metavar="DIR", help="store the lines of pages, seconds and buckets here"
    )
    parser.add_argument(
        "--json", action="store_true", help="print the whole record; the seconds go to stderr"
    )
    add_named_link(parser)
    add_link_options(parser)
