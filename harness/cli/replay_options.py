"""The options of a single load that say how its page is served; in a study they are keys of the same names."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from harness.model import Engine, Protocol
from harness.replay import DEFAULT_TLS, Compression, Replay, ThinkTime
from harness.servers import refuse_unless_able


def add_replay_options(parser: argparse.ArgumentParser) -> None:
    """--determinism and --compression."""
    parser.add_argument(
        "--determinism",
        choices=("true", "false"),
        default="true",
        help="whether the page gets the same random numbers and date at every load (default true)",
    )
    parser.add_argument(
        "--compression",
        default="recorded",
        metavar="CODING",
        help="of text: recorded (default), none, gzip or brotli, these two also with a level, as gzip-9",
    )


def add_think_time_option(parser: argparse.ArgumentParser) -> None:
    """--think-time."""
    parser.add_argument(
        "--think-time",
        default="none",
        metavar="none|recorded|MS",
        help="how long the server waits before it answers, in ms (default none; not with caddy)",
    )


def replay_of(
    arguments: argparse.Namespace, protocols: Iterable[Protocol], engine: Engine, server: str
) -> Replay:
    """The settings that the options describe; StudyError when the server or the browser cannot do them."""
    protocols = tuple(protocols)
    replay = Replay(
        determinism=arguments.determinism == "true",
        compression=Compression.parse(arguments.compression),
        think_time=_think_time(getattr(arguments, "think_time", "none")),
        tls=DEFAULT_TLS[engine],
    )
    refuse_unless_able(server, protocols, replay.think_time)
    replay.refuse_unless_for(protocols, engine)
    return replay


def _think_time(text: str) -> ThinkTime:
    try:
        return ThinkTime.parse(float(text))
    except ValueError:
        return ThinkTime.parse(text)
