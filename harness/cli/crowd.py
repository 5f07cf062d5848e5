"""`coldload crowd`: one trial of kind users."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from harness.capacity.arrival import crowd_of
from harness.capacity.crowdtrial import CrowdOptions, run_crowd_trial
from harness.capacity.limits import Machine, refuse_too_many
from harness.capacity.provedload import in_the_browser, proved_recipe
from harness.capacity.recipe import PageRecipe
from harness.capacity.usergenerators import GENERATORS
from harness.cli.archived import warn_if_broken
from harness.cli.arguments.crowd import SPOKEN
from harness.cli.crowdlines import cut_short, recipe_line, second_line, summary
from harness.cli.enclosing import in_enclosure
from harness.cli.firstneeded import make_first_needed
from harness.cli.linkoptions import link_of
from harness.cli.replay_options import replay_of
from harness.cli.variantoption import chosen_variant
from harness.errors import TestbedFailed, UsageError
from harness.input.shown import one_line
from harness.lab.addresses import refuse_count
from harness.lab.calibrateclients import client_readings
from harness.lab.calibration import refuse_if_off
from harness.lab.testbed import testbed
from harness.model.condition import Condition
from harness.model.engine import Engine, speaking
from harness.model.kind import Kind
from harness.model.link import Backend
from harness.model.plan import PlannedTrial
from harness.model.protocol import Protocol
from harness.model.serversettings import Tuning
from harness.model.settings import Replay
from harness.model.workload import Users
from harness.outcome import Outcome
from harness.records import Record
from harness.study.rules import check
from harness.system.enclosure import WORKSPACE
from harness.trial.bench import bench
from sites.archive import Archive, archives_root, open_archive
from sites.optimise.derive import variant_of

BUCKET_S = 10.0
MEASURED_CLIENTS = 10  # of which each has its link measured before the trial


def run(arguments: argparse.Namespace) -> int:
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
        recipe = _recipe(archive, condition, replay, arguments.backend)
        say(one_line(recipe_line(arguments.name, recipe)))
        options = CrowdOptions(
            recipe,
            each_second=lambda second, ended: say(second_line(second, ended)),
            interrupted=lambda seen: say("\n".join(map(one_line, cut_short(condition, seen)))),
        )
        record = _one_trial(archive, condition, replay, options, files, backend=arguments.backend)
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


def _recipe(archive: Archive, condition: Condition, replay: Replay, backend: Backend | None) -> PageRecipe:
    """What the page asks for; and whether the machine carries so many who ask for it."""
    asked = in_the_browser(condition)
    with bench(
        {asked.served.archive: archive},
        [asked.protocol],
        backend=backend,
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
    *,
    backend: Backend | None,
) -> Record:
    with testbed(backend=backend) as made:
        tuning = Tuning(status=True, name=condition.server)
        made.serve(archive, [condition.protocol], replay, condition.server, condition.engine, tuning)
        users = condition.workload.most if isinstance(condition.workload, Users) else 1
        refuse_if_off([*client_readings(made, condition.link, min(users, MEASURED_CLIENTS))][-1:])
        return run_crowd_trial(made, PlannedTrial("00001", 1, 1, condition), options, files)


def _exit_code(outcome: Outcome) -> int:
    if outcome is Outcome.TESTBED_FAILED:
        return TestbedFailed.exit_code
    return 0 if outcome is Outcome.OK else 1
