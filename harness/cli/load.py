"""`coldload load`, `verify` and `shell`: one trial, one page under the glass, one command in the emulated network."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from pathlib import Path

from harness.calibrate import calibrate, refuse_if_off
from harness.cli.common import Subcommands, console, in_enclosure
from harness.cli.inspect import add_link_options, link_of
from harness.cli.verify import verify_variant
from harness.enclosure import WORKSPACE
from harness.errors import UsageError
from harness.model import Backend, Condition, Driver, Engine, Link, Origins, Outcome, Protocol
from harness.plan import PlannedTrial
from harness.records import Record
from harness.runner import bench
from harness.servers import ABILITIES, DEFAULT_SERVER, refuse_unless_able
from harness.testbed import testbed
from harness.trial import TrialOptions, run_trial
from harness.variants import PLAIN, parse_variant, served_name
from sites.archive import Archive, archives_root, open_archive
from sites.optimise.derive import variant_of


def add_commands(commands: Subcommands) -> None:
    load = commands.add_parser("load", help="one trial, one line")
    load.add_argument("name", metavar="NAME", help="an archive")
    load.add_argument("--protocol", choices=[each.value for each in Protocol], default="http1")
    load.add_argument(
        "--variant", default=PLAIN, metavar="V", help="as of `coldload optimize` (default plain)"
    )
    load.add_argument("--driver", choices=[each.value for each in Driver], default="playwright")
    load.add_argument("--server", choices=list(ABILITIES), default=DEFAULT_SERVER)
    load.add_argument("--timeout-s", type=float, default=60.0)
    load.add_argument(
        "--keep", type=Path, metavar="DIR", help="store NetLog, packet capture and screenshot here"
    )
    load.add_argument("--json", action="store_true", help="print the whole record")
    add_link_options(load)
    load.set_defaults(run=run_load)
    verify = commands.add_parser(
        "verify", help="load an archive once and report what was asked for and not found"
    )
    verify.add_argument("name", metavar="NAME")
    verify.add_argument("--protocol", choices=[each.value for each in Protocol], default="h2")
    verify.add_argument(
        "--variant", metavar="V", help="compare this variant's screenshot with the original's instead"
    )
    verify.add_argument(
        "--keep", type=Path, metavar="DIR", help="with --variant: store both screenshots here"
    )
    verify.add_argument("--screenshot", type=Path, metavar="FILE.png")
    verify.set_defaults(run=run_verify)
    shell = commands.add_parser("shell", help="a shell or a command inside the emulated network")
    add_link_options(shell)
    shell.add_argument("argv", nargs="*", metavar="COMMAND", help="after --; default: $SHELL")
    shell.set_defaults(run=run_shell)


def _one_trial(
    archive: Archive, condition: Condition, options: TrialOptions, files: Path, backend: Backend | None = None
) -> Record:
    planned = PlannedTrial("00001", 1, 1, condition)
    served = served_name(condition.page, condition.variant)
    with bench({served: archive}, [condition.protocol], backend=backend, server=condition.server) as opened:
        refuse_if_off([calibrate(opened.testbed, condition.link)])
        return run_trial(opened.testbed, opened.drivers, planned, options, files)


def _condition(
    name: str,
    protocol: str,
    link: Link,
    driver: str = "playwright",
    variant: str = PLAIN,
    *,
    server: str = DEFAULT_SERVER,
) -> Condition:
    return Condition(
        page=name,
        variant=variant,
        protocol=Protocol(protocol),
        link=link,
        engine=Engine.CHROMIUM,
        driver=Driver(driver),
        origins=Origins.SINGLE,
        server=server,
    )


def run_load(arguments: argparse.Namespace) -> int:
    if not 1 <= arguments.timeout_s <= 3600:
        raise UsageError(f"--timeout-s is {arguments.timeout_s:g}; it must be 1 to 3600")
    variant = parse_variant(arguments.variant)
    archive = variant_of(open_archive(archives_root(), arguments.name), variant)
    link = link_of(arguments)
    condition = _condition(
        arguments.name, arguments.protocol, link, arguments.driver, variant.name, server=arguments.server
    )
    refuse_unless_able(condition.server, [condition.protocol])
    keep = ("netlog", "pcap", "screenshot") if arguments.keep else ()
    files = (arguments.keep or WORKSPACE / "kept").absolute()

    def command() -> int:
        options = TrialOptions(arguments.timeout_s, keep)
        record = _one_trial(archive, condition, options, files, arguments.backend)
        print(json.dumps(record.to_json()) if arguments.json else _line(record))
        return 0 if record.outcome is Outcome.OK else 1

    return in_enclosure(arguments, command)


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


def run_verify(arguments: argparse.Namespace) -> int:
    archive = open_archive(archives_root(), arguments.name)
    if arguments.variant:
        variant, protocol = parse_variant(arguments.variant), Protocol(arguments.protocol)
        keep = arguments.keep and arguments.keep.absolute()
        return in_enclosure(arguments, lambda: verify_variant(archive, variant, protocol, console(), keep))
    condition = _condition(arguments.name, arguments.protocol, Link.of(100, 10))

    def command() -> int:
        files = WORKSPACE / "kept"
        record = _one_trial(archive, condition, TrialOptions(60.0, ("screenshot",)), files)
        seen = record.observation
        out = console()
        out.print(f"{archive.name} ({archive.start_url}) over {condition.protocol}: {record.outcome}")
        if record.reason:
            out.print(record.reason, markup=False)
        if seen.requests is not None and seen.missed_requests is not None:
            answered = seen.requests - seen.missed_requests
            out.print(
                f"{answered} of {seen.requests} requests answered ({answered / max(1, seen.requests):.1%})"
            )
        for url in seen.missed:
            out.print(f"  not archived: {url}", markup=False)
        for url in sorted(set(seen.failed) - {f"{url} (404)" for url in seen.missed}):
            out.print(f"  failed: {url}", markup=False)
        if arguments.screenshot and (files / "screenshot.png").exists():
            arguments.screenshot.write_bytes((files / "screenshot.png").read_bytes())
            out.print(f"screenshot: {arguments.screenshot}")
        return 0 if record.outcome is Outcome.OK else 1

    return in_enclosure(arguments, command)


def run_shell(arguments: argparse.Namespace) -> int:
    link = link_of(arguments)
    words = arguments.argv or [os.environ.get("SHELL", "/bin/sh")]
    return in_enclosure(arguments, lambda: _shell(link, arguments.backend, words))


def _shell(link: Link, backend: Backend | None, words: list[str]) -> int:
    """Run the words on the client host; the server host answers at 10.0.255.254."""
    with testbed(backend=backend) as made:
        refuse_if_off([calibrate(made, link)])
        with made.client(link) as client, client.host.entered():
            try:
                return subprocess.run(words, check=False).returncode
            except FileNotFoundError as error:
                raise UsageError(f"cannot run {words[0]}: there is no such program") from error
