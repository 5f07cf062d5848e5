"""The arguments of `coldload load`."""

from __future__ import annotations

import argparse

from harness.cli.arguments.paths import given_folder
from harness.cli.linkoptions import add_link_options, add_named_link
from harness.cli.replay_options import add_replay_options, add_server_options
from harness.cli.variantoption import add_set_option
from harness.model.condition import SLOWDOWNS, CacheState
from harness.model.device import DESKTOP, DEVICES, MOBILE
from harness.model.engine import BROWSER_DRIVERS, BROWSERS, DEFAULT_ENGINE
from harness.model.protocol import Protocol
from harness.model.variant import PLAIN
from harness.study.rules import ABILITIES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The page and the condition of its load."""
    parser.add_argument("name", metavar="NAME", help="an archive")
    parser.add_argument(
        "--protocol",
        choices=[each.value for each in Protocol],
        default=Protocol.HTTP1.value,
        metavar="PROTOCOL",
        help=f"{', '.join(Protocol)}; default: {Protocol.HTTP1}",
    )
    parser.add_argument(
        "--variant",
        default=PLAIN,
        metavar="V",
        help="filters and sets, as `coldload optimize` lists them (default plain)",
    )
    add_set_option(parser)
    parser.add_argument(
        "--engine",
        choices=[each.value for each in BROWSERS],
        help=f"the browser (default: the first that speaks the protocol, {DEFAULT_ENGINE} if it does)",
    )
    parser.add_argument(
        "--driver", choices=[each.value for each in BROWSER_DRIVERS], help="default: the engine's usual one"
    )
    parser.add_argument(
        "--device",
        choices=list(DEVICES),
        default=DESKTOP.name,
        help="what the browser says it is (default desktop)",
    )
    parser.add_argument(
        "--cpu-slowdown",
        type=int,
        choices=SLOWDOWNS,
        help=f"how many times slower the page's scripts run (default 1; {MOBILE.cpu_slowdown} is usual for {MOBILE})",
    )
    parser.add_argument(
        "--cache",
        choices=list(CacheState),
        default=CacheState.COLD,
        help="warm: the page has been loaded once before, untimed (default cold)",
    )
    parser.add_argument("--server", choices=list(ABILITIES), help="default: the engine's usual one")
    add_replay_options(parser)
    add_server_options(parser)
    parser.add_argument(
        "--timeout-s", type=float, default=60.0, metavar="S", help="the longest a load may take (default 60)"
    )
    parser.add_argument(
        "--keep",
        type=given_folder,
        metavar="DIR",
        help="store HAR, NetLog, packet capture, screenshot and trace here",
    )
    parser.add_argument("--bodies", action="store_true", help="with --keep: the HAR holds all bodies")
    parser.add_argument(
        "--film",
        action="store_true",
        help="with --keep: film the load until the page comes to rest (it then takes some per cent longer)",
    )
    parser.add_argument(
        "--vitals",
        action="store_true",
        help="observe the page until it comes to rest (2 to 10 s more; --keep does): largest paint, layout shift, "
        "blocked time",
    )
    parser.add_argument("--json", action="store_true", help="print the whole record")
    add_named_link(parser)
    add_link_options(parser)
