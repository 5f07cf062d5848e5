"""The options of a single load that say how its page is served; in a study they are keys of the same names."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from harness.model.condition import Origins
from harness.model.engine import Engine
from harness.model.protocol import Protocol
from harness.model.settings import DEFAULT_TLS, TLS_VERSIONS, Compression, Replay, ThinkTime
from harness.study.abilities import refuse_unless_able


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
        help="of text: recorded (default), none, gzip, brotli or zstd, these also with a level and coded by the server "
        "as it sends: gzip-9, gzip-9-dynamic",
    )


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """--origins, --tls, --tls-resumption and --think-time."""
    parser.add_argument(
        "--origins",
        choices=[each.value for each in Origins],
        default=Replay.origins.value,
        help="server addresses: one for all names (default), or as recorded",
    )
    parser.add_argument(
        "--tls", choices=TLS_VERSIONS, help="the one version there is (default: the engine's usual one)"
    )
    parser.add_argument(
        "--tls-resumption",
        action="store_true",
        help="let connections resume the session of another one of the load (default: each shakes hands in full)",
    )
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
        origins=Origins(getattr(arguments, "origins", Replay.origins)),
        determinism=arguments.determinism == "true",
        compression=Compression.parse(arguments.compression),
        think_time=_think_time(getattr(arguments, "think_time", "none")),
        tls=getattr(arguments, "tls", None) or DEFAULT_TLS[engine],
        tls_resumption=getattr(arguments, "tls_resumption", False),
    )
    refuse_unless_able(server, protocols, replay)
    replay.refuse_unless_for(protocols, engine)
    return replay


def _think_time(text: str) -> ThinkTime:
    try:
        return ThinkTime.parse(float(text))
    except ValueError:
        return ThinkTime.parse(text)
