"""`coldload crowd`: one trial of kind users."""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.failures import in_enclosure
from harness.cli.options import (
    add_link_options,
    add_named_link,
    add_replay_options,
    add_set_option,
    chosen_variant,
    link_of,
    replay_of,
)
from harness.cli.paths import given_path
from harness.errors import TestbedFailed, UsageError
from harness.input.shown import one_line
from harness.model.condition import Condition
from harness.model.engine import Engine, engines_of, speaking
from harness.model.kind import Kind
from harness.model.protocol import Protocol
from harness.model.serversettings import Tuning
from harness.model.settings import TLS_VERSIONS, Replay
from harness.model.underload import CrowdObservation
from harness.model.variant import PLAIN
from harness.model.workload import Users
from harness.outcome import Outcome
from harness.study.rules import ABILITIES

if TYPE_CHECKING:
    from harness.capacity.crowdtrial import CrowdOptions
    from harness.capacity.recipe import PageRecipe
    from harness.capacity.series import PageLine, Second
    from harness.records import Record
    from sites.archive import Archive


SECONDS_OF = {"": 1, "s": 1, "m": 60, "h": 3600}
SPOKEN = tuple(protocol for protocol in Protocol if speaking(protocol, Kind.USERS))


LIMITS = {
    "workers": "the server's workers",
    "server-cpu": "the server's CPU",
    "generator-cpu": "the generator's CPU, so the trial does not count",
    "emulator": "the link emulator, so the trial does not count",
    "link": "the link",
    "nothing": "nothing",
}


BUCKET_S = 10.0
MEASURED_CLIENTS = 10  # of which each has its link measured before the trial


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


def run(arguments: argparse.Namespace) -> int:
    from harness.capacity.crowdtrial import CrowdOptions
    from harness.capacity.recipe import in_the_browser
    from harness.capacity.usergenerators import GENERATORS
    from harness.cli.archived import warn_if_broken
    from harness.cli.making import make_first_needed
    from harness.lab.addresses import refuse_count
    from harness.study.rules import check
    from harness.system.enclosure import WORKSPACE
    from sites.archive import archives_root, open_archive
    from sites.optimise.derive import variant_of

    refuse_count(arguments.users)
    protocol = Protocol(arguments.protocol)
    engine = _generator(protocol, arguments.generator)
    variant = chosen_variant(arguments.variant, arguments.settings)
    replay = replay_of(arguments, engine)
    link = link_of(arguments)
    condition = Condition(
        page=arguments.name,
        variant=variant,
        protocol=protocol,
        link=replace(link, per_client=True) if link.emulated else link,  # none is what the rules refuse
        engine=engine,
        driver=engine.drivers[0],
        origins=replay.origins,
        server=arguments.server or engine.traits.server,
        compression=replay.compression,
        workload=_users(arguments),
    )
    check(condition, replay)
    check(in_the_browser(condition), replay)
    code = make_first_needed(arguments, [condition, in_the_browser(condition)])
    if code:
        return code
    original = open_archive(archives_root(), arguments.name)
    warn_if_broken(original, variant, engine)
    archive = variant_of(original, variant, engine)
    GENERATORS[engine].version()  # is it there?
    files = (arguments.keep or WORKSPACE / "kept").absolute()
    talk = sys.stderr if arguments.json else sys.stdout

    def say(what: str) -> None:
        print(what, file=talk, flush=True)

    def command() -> int:
        recipe = _recipe(archive, condition, replay)
        say(one_line(recipe_line(arguments.name, recipe)))
        options = CrowdOptions(
            recipe,
            each_second=lambda second, ended: say(second_line(second, ended)),
            interrupted=lambda seen: say("\n".join(map(one_line, cut_short(condition, seen)))),
        )
        record = _one_trial(archive, condition, replay, options, files)
        print(json.dumps(record.to_json()) if arguments.json else "\n".join(map(one_line, summary(record))))
        return _exit_code(record.outcome)

    return in_enclosure(arguments, command)


def _generator(protocol: Protocol, named: str | None) -> Engine:
    """What makes users that speak a protocol; UsageError when nothing does."""
    speakers = speaking(protocol, Kind.USERS)
    if not speakers:
        raise UsageError(
            f"--protocol {protocol}: no generator of users speaks it; protocols of crowds: {', '.join(SPOKEN)}"
        )
    return Engine(named) if named else speakers[0]


def _users(arguments: argparse.Namespace) -> Users:
    """As many users from the first second to the last."""
    return Users(
        steps=(arguments.users,),
        step_s=arguments.for_s,
        think_s=arguments.think_s,
        page_timeout_s=arguments.page_timeout_s,
        bucket_s=min(BUCKET_S, arguments.for_s),
    )


def _recipe(archive: Archive, condition: Condition, replay: Replay) -> PageRecipe:
    """What the page asks for; and whether the machine carries so many who ask for it."""
    from harness.capacity.arrival import Machine, crowd_of, refuse_too_many
    from harness.capacity.recipe import in_the_browser, proved_recipe
    from harness.system.enclosure import WORKSPACE
    from harness.trial.browserlab import browser_lab

    asked = in_the_browser(condition)
    with browser_lab(
        {asked.served.archive: archive},
        [asked.protocol],
        replay=replay,
        server=asked.server,
        engine=asked.engine,
    ) as opened:
        recipe = proved_recipe(opened, condition, WORKSPACE / "recipe")
    workload = condition.workload
    if isinstance(workload, Users):
        refuse_too_many(crowd_of(workload, recipe, condition.protocol, condition.link.rtt_ms), Machine.this())
    return recipe


def _one_trial(
    archive: Archive,
    condition: Condition,
    replay: Replay,
    options: CrowdOptions,
    files: Path,
) -> Record:
    from harness.capacity.crowdtrial import run_crowd_trial
    from harness.lab.calibrateclients import client_readings
    from harness.lab.calibration import refuse_if_off
    from harness.lab.testbed import testbed
    from harness.model.trials import PlannedTrial

    with testbed() as made:
        tuning = Tuning(status=True, name=condition.server)
        made.serve(archive, [condition.protocol], replay, condition.server, condition.engine, tuning)
        users = condition.workload.most if isinstance(condition.workload, Users) else 1
        refuse_if_off([*client_readings(made, condition.link, min(users, MEASURED_CLIENTS))][-1:])
        return run_crowd_trial(made, PlannedTrial("00001", 1, 1, condition), options, files)


def _exit_code(outcome: Outcome) -> int:
    if outcome is Outcome.TESTBED_FAILED:
        return TestbedFailed.exit_code
    return 0 if outcome is Outcome.OK else 1


def recipe_line(name: str, recipe: PageRecipe) -> str:
    """What a page is, before the crowd starts."""
    waiting = sum(each.after != (-1,) for each in recipe.objects)
    hosts = len(recipe.hosts)
    return (
        f"{name}: {recipe.requests} requests to {hosts} host{'s' * (hosts > 1)}, {waiting} of them after others than "
        "the document"
    )


def second_line(second: Second, ended: Sequence[PageLine]) -> str:
    """One second: `ended` are the pages that ended or failed in it."""
    times = [page.ms for page in ended if page.ms is not None]
    failed = Counter(page.error or "unknown" for page in ended if page.ms is None)
    words = [
        f"{second.t_s:4.0f} s",
        f"{_count(second.users)} users",
        f"{len(times):,} pages",
        f"{statistics.median(times):,.0f} ms" if times else "- ms",
        _failures(failed),
        f"server {_cores(second.server_cpu_s)} {_mb(second.server_rss_bytes)}{_workers(second)}",
        f"generator {_cores(second.generator_cpu_s)}",
        f"emulator {_cores(second.emulator_cpu_s)}",
        f"idle {_share(second.machine_idle_share)}",
    ]
    return "  ".join(words)


def summary(record: Record) -> Iterator[str]:
    """The trial in some lines."""
    yield f"{record.planned.condition}"
    if record.outcome is not Outcome.OK:
        yield f"  {record.outcome}: {record.reason}"
    if isinstance(record.observation, CrowdObservation):
        yield from _figures(record.observation)


def cut_short(condition: Condition, seen: CrowdObservation) -> Iterator[str]:
    """What was measured of a trial that somebody ended early."""
    yield f"{condition}"
    yield f"  interrupted after {_number(seen.duration_s)} s; what was measured until then:"
    yield from _figures(seen)


def _figures(seen: CrowdObservation) -> Iterator[str]:
    if seen.pages is None:
        return
    yield (
        f"  pages: {seen.pages:,} loaded, {_failures(seen.errors)}; at most {_number(seen.pages_per_s)} a second "
        f"at {_count(seen.users_at_most_pages)} users"
    )
    yield f"  page time: {_ms(seen.page_ms)} median, {_ms(seen.page_p95_ms)} for 95 %"
    yield (
        f"  requests: {_count(seen.requests)} over {_count(seen.connections)} connections ("
        f"{', '.join(f'{count:,} by {name}' for name, count in seen.requests_by_protocol.items()) or '-'}); "
        f"{_mb(seen.bytes_down)} down, {_mb(seen.bytes_up)} up"
    )
    yield (
        f"  server: {_number(seen.server_cpu_s)} s of CPU, {_ms(seen.server_cpu_ms_per_page)} a page, "
        f"{_mb(seen.server_memory_bytes)}, {_count(seen.workers_busy)} of {_count(seen.workers)} workers busy"
    )
    yield (
        f"  generator: {_number(seen.generator_cpu_s)} s of CPU, {_ms(seen.generator_cpu_ms_per_page)} a page, "
        f"{_mb(seen.generator_memory_bytes)}"
    )
    if seen.limited_by is None and not seen.pages:
        yield "  what limits the crowd is not known, as no page was loaded"
    else:
        yield f"  limited by {LIMITS.get(seen.limited_by or '', 'what was not found out')}"


def _failures(counts: Mapping[str, int]) -> str:
    told = ", ".join(f"{count:,} {error}" for error, count in counts.items())
    return f"{sum(counts.values()):,} failed{f' ({told})' if told else ''}"


def _workers(second: Second) -> str:
    if second.workers_busy is None:
        return ""
    return f" {second.workers_busy:,}{'' if second.workers is None else f'/{second.workers:,}'} workers"


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"


def _cores(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f} ms" if value < 100 else f"{value:,.0f} ms"


def _mb(value: int | None) -> str:
    return "-" if value is None else f"{value / 1e6:,.1f} MB"
