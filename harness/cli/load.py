"""`coldload load`: one trial."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.failures import exit_code_of, in_enclosure
from harness.cli.options import (
    add_device_options,
    add_engine_option,
    add_link_options,
    add_protocol_option,
    add_replay_options,
    add_server_options,
    add_set_option,
    chosen_variant,
    engine_and_protocol,
    link_of,
    replay_of,
    slower_device,
)
from harness.cli.paths import ARCHIVES_HERE, given_folder, refuse_hidden
from harness.cli.telling import telling, warn_if_disturbed
from harness.errors import Outcome, UsageError
from harness.input.shown import one_line
from harness.model.condition import FULL_SPEED, CacheState, Condition
from harness.model.engine import BROWSER_DRIVERS, DEVICES, Capability, Driver, Engine
from harness.model.kind import BODIES, FILM, HAR, NETLOG, PCAP, SCREENSHOT, TRACE, VITALS
from harness.model.protocol import Protocol
from harness.model.settings import Replay
from harness.model.variant import PLAIN
from harness.study.rules import ABILITIES

if TYPE_CHECKING:
    from harness.probes.probe import TrialOptions
    from harness.probes.registry import Observation
    from harness.records import Record
    from sites.archive import Archive

OPENING_S = 3.0  # servers start, the link is measured


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="an archive")
    add_protocol_option(parser, Protocol.HTTP1)
    parser.add_argument(
        "--variant",
        default=PLAIN,
        metavar="V",
        help="filters and sets, as `coldload optimize` lists them (default plain)",
    )
    add_set_option(parser)
    add_engine_option(parser)
    parser.add_argument(
        "--driver",
        choices=[driver.value for driver in BROWSER_DRIVERS],
        help="default: the engine's usual one",
    )
    add_device_options(parser)
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
        help="store HAR, NetLog, packet capture, screenshot and trace here, as far as the engine has them",
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
    add_link_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from harness.cli.archived import archive_of
    from harness.cli.making import make_first_needed
    from harness.model.trials import TYPICAL_REST_S, seconds_of
    from harness.probes.probe import TrialOptions
    from harness.study.enginefile import refuse_blind
    from harness.study.rules import check
    from harness.system.enclosure import WORKSPACE
    from sites.archive import archives_root

    refuse_hidden({"--keep": arguments.keep, ARCHIVES_HERE: archives_root()})
    if not 1 <= arguments.timeout_s <= 3600:
        raise UsageError(f"--timeout-s is {arguments.timeout_s:g}; it must be 1 to 3600")
    condition, replay = _condition(arguments)
    keep = _kept(arguments, condition.engine)
    check(condition, replay)
    hint = None if arguments.cpu_slowdown else slower_device(condition.device, [condition.cpu_slowdown])
    if hint:
        print(hint, file=sys.stderr)
    make_first_needed(arguments, [condition])
    archive = archive_of(condition.page, condition.variant, condition.engine, replay.distance)
    refuse_blind([*keep, *([VITALS] if arguments.vitals else [])], [condition.engine])
    files = (arguments.keep or WORKSPACE / "kept").absolute()

    def command() -> int:
        vitals = arguments.vitals or bool(keep)
        options = TrialOptions(arguments.timeout_s, keep, vitals=vitals)
        page_bytes = sum(entry.body_bytes for entry in archive.entries)
        usual_s = OPENING_S + seconds_of(condition, page_bytes) + TYPICAL_REST_S * vitals
        with telling(f"loading {condition}", usual_s):
            record = _one_trial(archive, condition, replay, options, files)
        warn_if_disturbed(record)
        print(json.dumps(record.to_json()) if arguments.json else one_line(_line(record)))
        return exit_code_of(record.outcome)

    return in_enclosure(arguments, command)


def _condition(arguments: argparse.Namespace) -> tuple[Condition, Replay]:
    """What is loaded, and how it is served."""
    variant, link = chosen_variant(arguments.variant, arguments.settings), link_of(arguments)
    engine, protocol = engine_and_protocol(arguments)
    replay = replay_of(arguments, engine)
    condition = Condition(
        page=arguments.name,
        variant=variant,
        protocol=protocol,
        link=link,
        engine=engine,
        driver=Driver(arguments.driver or engine.traits.drivers[0]),
        origins=replay.origins,
        server=arguments.server or engine.traits.server,
        device=DEVICES[arguments.device],
        compression=replay.compression,
        cpu_slowdown=arguments.cpu_slowdown or FULL_SPEED,
        cache=CacheState(arguments.cache),
    )
    return condition, replay


def _kept(arguments: argparse.Namespace, engine: Engine) -> tuple[str, ...]:
    """What is kept of the load: all that the engine can give, and what was asked for by name."""
    if arguments.keep:
        return (
            *(HAR, NETLOG, PCAP, SCREENSHOT),
            *([TRACE] * engine.can(Capability.TRACE)),
            *([BODIES] * arguments.bodies),
            *([FILM] * arguments.film),
        )
    if arguments.bodies:
        raise UsageError("--bodies goes with --keep DIR: they are kept in the HAR there")
    if arguments.film:
        raise UsageError("--film goes with --keep DIR: its pictures are stored there")
    return ()


def _one_trial(
    archive: Archive,
    condition: Condition,
    replay: Replay,
    options: TrialOptions,
    files: Path,
) -> Record:
    from harness.lab.calibrate import check_link
    from harness.lab.machine import measured_speed
    from harness.model.trials import PlannedTrial
    from harness.trial.trial import browser_lab, run_trial

    planned = PlannedTrial("00001", 1, 1, condition)
    with browser_lab(
        {condition.served.archive: archive},
        [condition.protocol],
        replay=replay,
        server=condition.server,
        engine=condition.engine,
    ) as opened:
        check_link(opened.testbed, condition.link, opened.testbed.endpoint(condition).distances_ms)
        speed = measured_speed()
        record = run_trial(opened.testbed, opened.browsers, planned, options, files)
        return replace(record, machine_speed=speed)


def _line(record: Record) -> str:
    seen = record.observation
    if record.outcome is not Outcome.OK:
        return f"{record.planned.condition}: {record.outcome}: {record.reason}"
    spoken = ", ".join(f"{count} by {name}" for name, count in seen.protocols.items())
    return (
        f"{record.planned.condition}: {seen.plt_ms:,.0f} ms load, {_ms(seen.fcp_ms)} first paint, {_vitals(seen)}"
        f"{seen.requests} requests ({spoken}; {seen.missed_requests} not archived), "
        f"{seen.connections} connections, {_kb(seen.bytes_down)} down, {_kb(seen.bytes_up)} up"
    )


def _vitals(seen: Observation) -> str:
    """Those that were waited for."""
    if seen.settled is None:
        return ""
    film = f"{_ms(seen.speed_index_ms)} Speed Index, " if seen.filmed else ""
    vitals = f"{film}{_ms(seen.lcp_ms)} largest paint, {_score(seen.cls)} layout shift, {_ms(seen.tbt_ms)} blocked, "
    return vitals if seen.settled else f"{vitals}not settled, "


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f} ms"


def _kb(value: int | None) -> str:
    return "-" if value is None else f"{value / 1000:,.0f} kB"
