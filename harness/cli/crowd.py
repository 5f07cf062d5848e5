"""`coldload crowd`: one trial of kind users."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.cli.crowdlines import cut_short, recipe_line, second_line, summary
from harness.cli.failures import exit_code_of, in_enclosure
from harness.cli.options import (
    add_link_options,
    add_protocol_option,
    add_replay_options,
    add_set_option,
    add_tls_option,
    chosen_variant,
    link_of,
    refuse_without,
    replay_of,
)
from harness.cli.paths import ARCHIVES_HERE, given_path, refuse_hidden
from harness.cli.telling import telling, warn_if_disturbed
from harness.errors import UsageError
from harness.input.shown import one_line
from harness.model.condition import Condition
from harness.model.engine import Engine, engines_of, speaking
from harness.model.kind import Kind, Users
from harness.model.protocol import Protocol
from harness.model.serversettings import Tuning
from harness.model.settings import Replay
from harness.model.trials import PlannedTrial
from harness.model.variant import PLAIN
from harness.study.rules import ABILITIES

if TYPE_CHECKING:
    from harness.capacity.recipe import PageRecipe
    from harness.lab.testbed import Testbed
    from sites.archive import Archive


SECONDS_OF = {"": 1, "s": 1, "m": 60, "h": 3600}
SPOKEN = tuple(protocol for protocol in Protocol if speaking(protocol, Kind.USERS))


BUCKET_S = 10.0
USUAL_ROUNDS = 3
RECIPE_S = 25.0  # that loads without a crowd usually take
MEASURED_CLIENTS = 10  # of which each has its link measured before the trial


def duration_s(text: str) -> float:
    """`30s`, `2m`, `1h`, or a number of seconds."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)([smh]?)", text)
    if match is None:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is no duration; it is a number with s, m or h, as in 30s"
        )
    return float(match[1]) * SECONDS_OF[match[2]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Users load the page from one server, each cold and behind a link to itself, think, and load it again. What "
        "the page asks for is taken from three loads of it in the browser first. One line a second, then a summary."
    )
    parser.add_argument("name", metavar="NAME", help="an archive")
    add_protocol_option(parser, Protocol.HTTP1, SPOKEN)
    parser.add_argument(
        "--generator",
        choices=[engine.value for engine in engines_of(Kind.USERS)],
        help="default: the first that speaks the protocol",
    )
    parser.add_argument("--users", type=int, default=10, metavar="N", help="how many users (default 10)")
    for option, usual_s, told in (
        ("for", 30.0, "how long, as in 30s or 2m"),
        ("think", 5.0, "how long a user waits after a page"),
        ("page-timeout", 60.0, "after which a page has failed"),
        ("slower-than", Users.slower_than_s, "the bound of slow pages"),
    ):
        parser.add_argument(
            f"--{option}",
            dest=f"{option.replace('-', '_')}_s",
            type=duration_s,
            default=usual_s,
            metavar="TIME",
            help=f"{told} (default {usual_s:g}s)",
        )
    parser.add_argument(
        "--find-limit",
        action="store_true",
        help="look for the number of users from which on the median page takes longer than the bound, from --users on; "
        "each number is held for the time of --for",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        choices=range(2, 21),
        metavar="N",
        help="with --find-limit: how often the limit is met, 2 to 20, for its interval "
        f"(default {USUAL_ROUNDS})",
    )
    parser.add_argument("--variant", default=PLAIN, metavar="V", help="as of `coldload load` (default plain)")
    add_set_option(parser)
    parser.add_argument("--server", choices=list(ABILITIES), help="default: the usual one of the generator")
    add_replay_options(parser)
    add_tls_option(parser, "generator")
    parser.add_argument(
        "--keep", type=given_path, metavar="DIR", help="store the lines of pages, seconds and buckets here"
    )
    parser.add_argument(
        "--json", action="store_true", help="print the whole record; the seconds go to stderr"
    )
    add_link_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from harness.capacity.crowdtrial import GENERATORS, CrowdOptions, run_crowd_trial
    from harness.capacity.recipe import in_the_browser
    from harness.cli.archived import archive_of
    from harness.cli.crowdlimit import LimitSearch, refuse_unless_settled
    from harness.cli.making import make_first_needed
    from harness.lab.testbed import refuse_count
    from harness.study.rules import check
    from harness.system.enclosure import WORKSPACE
    from sites.archive import archives_root

    refuse_hidden({"--keep": arguments.keep, ARCHIVES_HERE: archives_root()})
    refuse_count(arguments.users)
    condition, replay = _condition(arguments)
    workload = _users(arguments)
    if arguments.find_limit:
        refuse_unless_settled(workload)
    else:
        refuse_without("--find-limit", arguments, "--rounds")
    check(condition, replay)
    check(in_the_browser(condition), replay)
    make_first_needed(arguments, [condition, in_the_browser(condition)])
    archive = archive_of(condition.page, condition.variant, condition.engine)
    GENERATORS[condition.engine].version()  # is it there?
    files = (arguments.keep or WORKSPACE / "kept").absolute()
    talk = sys.stderr if arguments.json else sys.stdout

    def say(what: str) -> None:
        print(what, file=talk, flush=True)

    def command() -> int:
        with telling(f"loading {arguments.name} three times to see what it asks for", RECIPE_S):
            recipe = _recipe(archive, condition, replay)
        say(one_line(recipe_line(arguments.name, recipe)))
        if arguments.find_limit:
            with _served(archive, condition, replay) as made:
                search = LimitSearch(made, condition, workload, recipe, files, say)
                return search.run(arguments.rounds or USUAL_ROUNDS, as_json=arguments.json)
        options = CrowdOptions(
            recipe,
            each_second=lambda second, ended: say(second_line(second, ended)),
            interrupted=lambda seen: say("\n".join(map(one_line, cut_short(condition, seen)))),
        )
        with _served(archive, condition, replay) as made:
            record = run_crowd_trial(made, PlannedTrial("00001", 1, 1, condition), options, files)
        warn_if_disturbed(record)
        print(json.dumps(record.to_json()) if arguments.json else "\n".join(map(one_line, summary(record))))
        return exit_code_of(record.outcome)

    return in_enclosure(arguments, command)


def _condition(arguments: argparse.Namespace) -> tuple[Condition, Replay]:
    """What each user loads, and how it is served."""
    protocol = Protocol(arguments.protocol)
    engine = _generator(protocol, arguments.generator)
    variant = chosen_variant(arguments.variant, arguments.settings)
    replay, link = replay_of(arguments, engine), link_of(arguments)
    condition = Condition(
        page=arguments.name,
        variant=variant,
        protocol=protocol,
        link=replace(link, per_client=True) if link.emulated else link,  # none is what the rules refuse
        engine=engine,
        driver=engine.traits.drivers[0],
        origins=replay.origins,
        server=arguments.server or engine.traits.server,
        compression=replay.compression,
        workload=_users(arguments),
    )
    return condition, replay


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
        slower_than_s=arguments.slower_than_s,
    )


def _recipe(archive: Archive, condition: Condition, replay: Replay) -> PageRecipe:
    """What the page asks for; and whether the machine carries so many who ask for it."""
    from harness.capacity.recipe import in_the_browser, proved_recipe
    from harness.capacity.resources import Machine, crowd_of, refuse_too_many
    from harness.system.enclosure import WORKSPACE
    from harness.trial.trial import browser_lab

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


@contextlib.contextmanager
def _served(archive: Archive, condition: Condition, replay: Replay) -> Iterator[Testbed]:
    """A testbed that serves the page, its link measured."""
    from harness.lab.calibrateclients import client_readings
    from harness.lab.calibration import refuse_if_off
    from harness.lab.testbed import testbed

    with testbed() as made:
        tuning = Tuning(status=True, name=condition.server)
        made.serve(archive, [condition.protocol], replay, condition.server, condition.engine, tuning)
        users = condition.workload.most if isinstance(condition.workload, Users) else 1
        refuse_if_off([*client_readings(made, condition.link, min(users, MEASURED_CLIENTS))][-1:])
        yield made
