"""The options of a single load, shell or calibration: link, variant, how the page is served.

In a study they are keys of the same names.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence

from harness.errors import StudyError, UsageError
from harness.model.condition import FULL_SPEED, SLOWDOWNS, Compression, Origins
from harness.model.engine import BROWSERS, DEFAULT_ENGINE, DESKTOP, DEVICES, MOBILE, Device, Engine, speaking
from harness.model.filtersettings import SETTINGS, settings_of
from harness.model.link import Link, Way
from harness.model.protocol import Protocol
from harness.model.settings import (
    EQUAL,
    ONE_CERTIFICATE,
    OTHERS,
    TLS_VERSIONS,
    CertificateChain,
    CertificateKey,
    Distances,
    Replay,
    ThinkTime,
)
from harness.model.variant import Variant, parse_variant

# Those of `add_rate_options`.
RATES = ("--down-mbps", "--up-mbps", "--rtt-ms", "--delay-down-ms", "--delay-up-ms")


def given(arguments: argparse.Namespace, *options: str) -> list[str]:
    """Those of some options that a command line gives. What they are when left out must be None, False or []."""
    values = ((option, getattr(arguments, option.strip("-").replace("-", "_"))) for option in options)
    return [option for option, value in values if not (value is None or value is False or value == [])]


def refuse_without(needed: str, arguments: argparse.Namespace, *options: str) -> None:
    """UsageError for the first of these options that is given, where `needed` is not: it would change nothing."""
    for option in given(arguments, *options):
        raise UsageError(f"{option} does nothing without {needed}; leave it out, or give {needed}, too")


def refuse_beside(other: str, arguments: argparse.Namespace, *options: str) -> None:
    """UsageError for the first of these options that is given beside `other`, where it would change nothing."""
    for option in given(arguments, *options):
        raise UsageError(f"{option} does nothing beside {other}; leave one of them out")


def add_protocol_option(
    parser: argparse.ArgumentParser,
    usual: Protocol | None,
    spoken: Collection[Protocol] = tuple(Protocol),
    *,
    told: str = "",
) -> None:
    """--protocol, the `usual` one where it is left out; `told` says which that is where there are several."""
    parser.add_argument(
        "--protocol",
        choices=[protocol.value for protocol in Protocol],
        default=usual and usual.value,
        metavar="PROTOCOL",
        help=f"{', '.join(spoken)}; default: {told or usual}",
    )


def add_engine_option(parser: argparse.ArgumentParser, usual: Engine | None = None) -> None:
    """--engine; without a usual one it follows from the protocol, see `engine_and_protocol`."""
    default = (
        f": the first that speaks the protocol, {DEFAULT_ENGINE} if it does" if usual is None else f" {usual}"
    )
    parser.add_argument(
        "--engine",
        choices=[browser.value for browser in BROWSERS],
        default=usual and usual.value,
        help=f"the browser (default{default})",
    )


def add_device_options(parser: argparse.ArgumentParser) -> None:
    """--device and --cpu-slowdown."""
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
        help="how many times slower the page's main thread works "
        f"(default 1; {MOBILE.cpu_slowdown} is usual for {MOBILE})",
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
    """--origins, --distance, --tls, --tls-resumption and --think-time."""
    parser.add_argument(
        "--origins",
        choices=[choice.value for choice in Origins],
        default=Replay.origins.value,
        help="server addresses: one for all names (default), or as recorded",
    )
    parser.add_argument(
        "--distance",
        default=EQUAL,
        metavar="equal|recorded|HOST=MS,...",
        help="what a round trip to a host takes longer than the link's: nothing (default), as recorded, or ms by host, "
        f"{OTHERS} for all others (needs --origins recorded)",
    )
    add_tls_option(parser, "engine")
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


def add_tls_option(parser: argparse.ArgumentParser, whose: str) -> None:
    """--tls, by default the usual version of the engine or generator."""
    parser.add_argument(
        "--tls", choices=TLS_VERSIONS, help=f"the one version there is (default: the {whose}'s usual one)"
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
        distance=_distance(getattr(arguments, "distance", EQUAL)),
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


def _distance(text: str) -> Distances:
    """`equal`, `recorded`, or `cdn.example=12,*=recorded`."""
    if "=" not in text:
        return Distances.parse(text)
    table: dict[str, float | str] = {}
    for pair in text.split(","):
        host, _, ms = pair.partition("=")
        try:
            table[host] = float(ms)
        except ValueError:
            table[host] = ms
    return Distances.parse(table)


def add_set_option(parser: argparse.ArgumentParser) -> None:
    """Limits of the variant's filters."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="SETTING=NUMBER",
        help="a limit of a filter, as in inline_css.max_bytes=4096 or, by its name in mod_pagespeed, "
        "CssInlineMaxBytes=4096 (may be repeated; `coldload optimize` without arguments lists them)",
    )


def chosen_variant(text: str, settings: Sequence[str]) -> Variant:
    """A variant by its name, with what `--set` says; UsageError for a limit that none of its filters keeps to."""
    variant = parse_variant(text)
    changed = settings_of(",".join(settings)) if settings else ()
    chosen = variant.with_settings(changed)
    for name, _ in changed:
        if name not in dict(chosen.settings):
            raise UsageError(
                f"--set {name}: {variant} has no {' or '.join(SETTINGS[name].filters)}; leave it out, or choose "
                "another variant"
            )
    return chosen


def add_links_option(parser: argparse.ArgumentParser, usual: Sequence[str]) -> None:
    """--link, for commands that take several."""
    parser.add_argument(
        "--link",
        action="append",
        default=[],
        metavar="NAME",
        help=f"a link that ships, as cable or 4g (may be repeated; default {' and '.join(usual)})",
    )


def add_link_options(parser: argparse.ArgumentParser) -> None:
    """--link, for commands that take one, and the rates and delays that describe one."""
    parser.add_argument(
        "--link", metavar="NAME", help="a link that ships, as cable or 4g, instead of the next five"
    )
    add_rate_options(parser)


def add_rate_options(parser: argparse.ArgumentParser) -> None:
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
    from harness.study.linkfile import named_link

    if given(arguments, *RATES):
        raise StudyError("give --link, or rates and delays; the link that is named has its own")
    return named_link(arguments.link)


def slower_device(device: Device, slowdowns: Collection[int]) -> str | None:
    """What to say where a device that is slower than a desktop is measured at the full speed of this machine alone."""
    if device.cpu_slowdown == FULL_SPEED or set(slowdowns) != {FULL_SPEED}:
        return None
    return (
        f"device: {device} runs at the full speed of this machine's processor; "
        f"cpu_slowdown = {device.cpu_slowdown} is usual for it"
    )
