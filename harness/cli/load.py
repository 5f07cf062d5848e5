"""`coldload load`: one trial."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from harness.cli.archived import warn_if_broken
from harness.cli.enclosing import in_enclosure
from harness.cli.firstneeded import make_first_needed
from harness.cli.linkoptions import link_of
from harness.cli.replay_options import engine_and_protocol, replay_of
from harness.cli.slowerdevice import slower_device
from harness.cli.variantoption import chosen_variant
from harness.errors import TestbedFailed, UsageError
from harness.input.shown import one_line
from harness.lab.calibrate import check_link
from harness.lab.machinespeed import machine_speed
from harness.model.condition import FULL_SPEED, Condition
from harness.model.device import DEVICES
from harness.model.engine import Driver
from harness.model.link import Backend
from harness.model.observation import Observation
from harness.model.plan import PlannedTrial
from harness.model.revisit import CacheState
from harness.model.settings import Replay
from harness.outcome import Outcome
from harness.records import Record
from harness.study.observing import FILM, TRACE, refuse_unfilmable
from harness.study.rules import check
from harness.system.enclosure import WORKSPACE
from harness.trial.bench import bench
from harness.trial.har import BODIES, HAR
from harness.trial.trial import TrialOptions, run_trial
from sites.archive import Archive, archives_root, open_archive
from sites.optimise.derive import variant_of

KEPT = (HAR, "netlog", "pcap", "screenshot", TRACE)


def _one_trial(
    archive: Archive,
    condition: Condition,
    replay: Replay,
    options: TrialOptions,
    files: Path,
    *,
    backend: Backend | None,
) -> Record:
    planned = PlannedTrial("00001", 1, 1, condition)
    with bench(
        {condition.served.archive: archive},
        [condition.protocol],
        backend=backend,
        replay=replay,
        server=condition.server,
        engine=condition.engine,
    ) as opened:
        check_link(opened.testbed, condition.link)
        speed = machine_speed()
        record = run_trial(opened.testbed, opened.drivers, planned, options, files)
        return replace(record, machine_speed=speed)


def run(arguments: argparse.Namespace) -> int:
    if not 1 <= arguments.timeout_s <= 3600:
        raise UsageError(f"--timeout-s is {arguments.timeout_s:g}; it must be 1 to 3600")
    if arguments.bodies and not arguments.keep:
        raise UsageError("--bodies goes with --keep DIR: they are kept in the HAR there")
    if arguments.film and not arguments.keep:
        raise UsageError("--film goes with --keep DIR: its pictures are stored there")
    variant = chosen_variant(arguments.variant, arguments.settings)
    link = link_of(arguments)
    engine, protocol = engine_and_protocol(arguments)
    replay = replay_of(arguments, engine)
    condition = Condition(
        page=arguments.name,
        variant=variant,
        protocol=protocol,
        link=link,
        engine=engine,
        driver=Driver(arguments.driver or engine.drivers[0]),
        origins=replay.origins,
        server=arguments.server or engine.traits.server,
        device=DEVICES[arguments.device],
        compression=replay.compression,
        cpu_slowdown=arguments.cpu_slowdown or FULL_SPEED,
        cache=CacheState(arguments.cache),
    )
    check(condition, replay)
    hint = None if arguments.cpu_slowdown else slower_device(condition.device, [condition.cpu_slowdown])
    if hint:
        print(hint, file=sys.stderr)
    code = make_first_needed(arguments, [condition])
    if code:
        return code
    original = open_archive(archives_root(), arguments.name)
    warn_if_broken(original, variant, engine)
    archive = variant_of(original, variant, engine)
    kept = (*KEPT, *(BODIES,) * arguments.bodies, *(FILM,) * arguments.film)
    refuse_unfilmable(kept, [engine])
    keep = kept if arguments.keep else ()
    files = (arguments.keep or WORKSPACE / "kept").absolute()

    def command() -> int:
        vitals = arguments.vitals or TRACE in keep  # a trace is had soonest from a page at rest
        options = TrialOptions(arguments.timeout_s, keep, vitals=vitals)
        record = _one_trial(archive, condition, replay, options, files, backend=arguments.backend)
        print(json.dumps(record.to_json()) if arguments.json else one_line(_line(record)))
        return _exit_code(record.outcome)

    return in_enclosure(arguments, command)


def _exit_code(outcome: Outcome) -> int:
    if outcome is Outcome.TESTBED_FAILED:
        return TestbedFailed.exit_code
    return 0 if outcome is Outcome.OK else 1


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
    found = f"{film}{_ms(seen.lcp_ms)} largest paint, {_score(seen.cls)} layout shift, {_ms(seen.tbt_ms)} blocked, "
    return found if seen.settled else f"{found}not settled, "


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f} ms"


def _kb(value: int | None) -> str:
    return "-" if value is None else f"{value / 1000:,.0f} kB"
