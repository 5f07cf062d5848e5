"""`coldload load`: one trial."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from harness.cli.enclosing import in_enclosure
from harness.cli.linkoptions import link_of
from harness.cli.replay_options import replay_of
from harness.errors import TestbedFailed, UsageError
from harness.input.shown import one_line
from harness.model.condition import Condition
from harness.model.device import DESKTOP, DEVICES, Device
from harness.model.engine import DEFAULT_DRIVERS, Driver, Engine
from harness.model.link import Backend
from harness.model.protocol import Protocol
from harness.model.settings import Replay
from harness.model.variant import parse_variant, served_name
from harness.outcome import Outcome
from harness.records import Record
from harness.study.abilities import DEFAULT_SERVERS
from harness.study.plan import PlannedTrial
from harness.system.enclosure import WORKSPACE
from harness.testbed.calibrate import check_link
from harness.trial.bench import bench
from harness.trial.trial import TrialOptions, run_trial
from sites.archive import Archive, archives_root, open_archive
from sites.optimise.derive import variant_of


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
    served = served_name(condition.page, condition.variant)
    with bench(
        {served: archive},
        [condition.protocol],
        backend=backend,
        replay=replay,
        server=condition.server,
        engine=condition.engine,
    ) as opened:
        check_link(opened.testbed, condition.link)
        return run_trial(opened.testbed, opened.drivers, planned, options, files)


def _driver(arguments: argparse.Namespace, engine: Engine) -> Driver:
    driver = Driver(arguments.driver or DEFAULT_DRIVERS[engine])
    if driver.engine is not engine:
        raise UsageError(f"--driver {driver} steers {driver.engine}, not {engine}; leave it out")
    return driver


def _device(arguments: argparse.Namespace, engine: Engine) -> Device:
    if engine is Engine.QTWEBKIT and arguments.device != DESKTOP.name:
        raise UsageError(f"--device {arguments.device}: qtwebkit is a desktop only; leave it out")
    return DEVICES[arguments.device]


def run(arguments: argparse.Namespace) -> int:
    if not 1 <= arguments.timeout_s <= 3600:
        raise UsageError(f"--timeout-s is {arguments.timeout_s:g}; it must be 1 to 3600")
    variant = parse_variant(arguments.variant)
    link = link_of(arguments)
    engine, protocol = Engine(arguments.engine), Protocol(arguments.protocol)
    protocol.refuse_unless_spoken_by(engine)
    variant.refuse_unless_for(engine)
    archive = variant_of(open_archive(archives_root(), arguments.name), variant, engine)
    server = arguments.server or DEFAULT_SERVERS[engine]
    replay = replay_of(arguments, [protocol], engine, server)
    condition = Condition(
        page=arguments.name,
        variant=variant.name,
        protocol=protocol,
        link=link,
        engine=engine,
        driver=_driver(arguments, engine),
        origins=replay.origins,
        server=server,
        device=_device(arguments, engine),
        compression=str(replay.compression),
    )
    keep = ("netlog", "pcap", "screenshot") if arguments.keep else ()
    files = (arguments.keep or WORKSPACE / "kept").absolute()

    def command() -> int:
        options = TrialOptions(arguments.timeout_s, keep)
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
        f"{record.planned.condition}: {seen.plt_ms:,.0f} ms load, {_ms(seen.fcp_ms)} first paint, "
        f"{seen.requests} requests ({spoken}; {seen.missed_requests} not archived), "
        f"{seen.connections} connections, {_kb(seen.bytes_down)} down, {_kb(seen.bytes_up)} up"
    )


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f} ms"


def _kb(value: int | None) -> str:
    return "-" if value is None else f"{value / 1000:,.0f} kB"
