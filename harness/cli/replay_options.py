"""The options of a single load that say how its page is served; in a study they are keys of the same names."""

from __future__ import annotations

import argparse

from harness.model.compression import Compression
from harness.model.condition import Origins
from harness.model.engine import DEFAULT_ENGINE, Engine, speaking
from harness.model.protocol import Protocol
from harness.model.settings import (
    ONE_CERTIFICATE,
    TLS_VERSIONS,
    CertificateChain,
    CertificateKey,
    Replay,
    ThinkTime,
)


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
        "--certificate-chain",
        type=int,
        default=ONE_CERTIFICATE.length,
        metavar="N",
        help="certificates that a server sends in a handshake, 1 (default) to 5",
    )
    parser.add_argument(
        "--certificate-key",
        choices=list(CertificateKey),
        default=ONE_CERTIFICATE.key,
        help="the kind of their keys (default ecdsa-p256)",
    )
    parser.add_argument(
        "--think-time",
        default="none",
        metavar="none|recorded|MS",
        help="how long the server waits before it answers, in ms (default none; not with caddy)",
    )


def engine_and_protocol(arguments: argparse.Namespace) -> tuple[Engine, Protocol]:
    """What --engine and --protocol name; of one that is not named, the usual one for the other."""
    if arguments.engine is None and arguments.protocol is None:
        return DEFAULT_ENGINE, DEFAULT_ENGINE.traits.usual_protocol
    if arguments.engine is None:
        protocol = Protocol(arguments.protocol)
        return speaking(protocol)[0], protocol
    engine = Engine(arguments.engine)
    return engine, Protocol(arguments.protocol or engine.traits.usual_protocol)


def replay_of(arguments: argparse.Namespace, engine: Engine) -> Replay:
    """The settings that the options describe."""
    return Replay(
        origins=Origins(getattr(arguments, "origins", Replay.origins)),
        determinism=arguments.determinism == "true",
        compression=Compression.parse(arguments.compression),
        think_time=_think_time(getattr(arguments, "think_time", "none")),
        tls=getattr(arguments, "tls", None) or engine.traits.tls,
        tls_resumption=getattr(arguments, "tls_resumption", False),
        chain=CertificateChain(
            getattr(arguments, "certificate_chain", ONE_CERTIFICATE.length),
            CertificateKey(getattr(arguments, "certificate_key", ONE_CERTIFICATE.key)),
        ),
    )


def _think_time(text: str) -> ThinkTime:
    try:
        return ThinkTime.parse(float(text))
    except ValueError:
        return ThinkTime.parse(text)
