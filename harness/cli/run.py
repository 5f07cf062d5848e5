"""`coldload run`: runs a study in a new run directory, or goes on in the one of an interrupted run."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.failures import going_on, in_enclosure, refuse_stalled
from harness.cli.options import refuse_without
from harness.cli.paths import ARCHIVES_HERE, given_path, refuse_hidden
from harness.cli.report import BesideReport, add_asked
from harness.cli.studychoice import add_new, add_out, add_study, chosen, refuse_new
from harness.cli.telling import console, say
from harness.errors import EnvironmentLacks, MeasurementRefused, RecordsError, UsageError
from harness.input.shown import shortened
from harness.system.folders import RUNS, kept_folder, made_folder, set_up_with

if TYPE_CHECKING:
    from harness.run.coordinator import OpenCrew
    from harness.run.directory import RunDirectory
    from harness.study.plan import Enough, Found, Plan
    from harness.study.study import Study


REASONS_SHOWN = 3
WRITTEN_WITH_THE_REPORT = ("junit", "summary", "influx", "otlp", "html")
QUIETER = "; end what else runs on this machine, or wait until it has ended, and run it anew"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Run a study. The same command goes on where an interrupted run of the study stopped."
    )
    add_study(parser)
    add_out(parser)
    add_asked(parser)
    add_new(parser)
    parser.add_argument(
        "--lanes",
        metavar="N|auto",
        help="measure in N labs side by side, each on cores of its own; auto: as many as "
        "`coldload doctor --lanes` found (default: one, on all cores)",
    )
    cluster = parser.add_argument_group("on other machines (docs/cluster.md)")
    cluster.add_argument(
        "--on",
        metavar="URL",
        help="run on the workers of this scheduler of Dask, as in tls://lab.example:8786; records are stored here",
    )
    cluster.add_argument(
        "--certificates",
        type=given_path,
        metavar="DIR",
        help="the certificates of the cluster, as `coldload cluster certificates DIR` makes them",
    )
    cluster.add_argument(
        "--insecure",
        action="store_true",
        help="take a scheduler without certificates that others could reach: they can run programs on all its machines",
    )
    cluster.add_argument(
        "--allow-mixed",
        action="store_true",
        help="take machines with other browsers and servers; the report treats every machine as a level anyway",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run a study. The same command goes on where an interrupted run of the study stopped."""
    from harness.cli.making import provide_pages
    from harness.cli.plan import no_verdict_warning
    from harness.pack.packfile import is_pack

    refuse_new(arguments)
    if arguments.on is None:
        refuse_without("--on", arguments, "--certificates", "--insecure", "--allow-mixed")
    elif arguments.lanes is not None:
        raise UsageError("--lanes divides this machine, and --on runs on others; leave one of them out")
    path, study = chosen(arguments)
    warning = no_verdict_warning(study)
    if warning:
        say(warning)
    if is_pack(path):
        provide_pages(arguments, path, study.conditions)
    is_local = arguments.on is None
    elsewhere = _in_lanes(arguments, study) if is_local else _on_a_cluster(arguments, study)
    return run_and_report(arguments, path, study, elsewhere)


@dataclass(frozen=True)
class Course:
    """How a command that is no plain run has it run.

    `begun` is given the run directory before the first trial, `then` after the report: it makes the exit code, and
    tells what the command line asks beside the report.
    `ends_s`: when the time for it is up, by the monotonic clock.
    """

    begun: Callable[[Path], None] | None = None
    then: Callable[[Path], int] | None = None
    ends_s: float | None = None


USUAL_COURSE = Course()


def run_and_report(
    arguments: argparse.Namespace,
    path: Path,
    study: Study,
    elsewhere: OpenCrew | None = None,
    course: Course = USUAL_COURSE,
) -> int:
    """Run a study in its run directory and write the report.

    `elsewhere` opens executors with enclosures of their own; else there is one here.
    """
    from harness.cli.archived import refuse_broken, refuse_unless_archived
    from harness.cli.making import make_first_needed
    from harness.run.directory import open_run
    from harness.run.openlab import here
    from harness.study.planning import DRAW_BITS, make_plan

    _refuse_hidden(arguments, alone=elsewhere is None)
    asked = BesideReport() if course.then else BesideReport.of(arguments)
    if asked.budget:
        asked.budget.refuse_unless_of(study)
    make_first_needed(arguments, study.conditions)
    refuse_unless_archived(study)  # before anything is written
    refuse_broken(study)
    folder = arguments.out or _folder(study, fresh=arguments.new)
    seed = study.seed if study.seed is not None else secrets.randbits(32)
    with open_run(folder, make_plan(study, seed, draw=secrets.randbits(DRAW_BITS))) as opened:
        if course.begun is not None:
            course.begun(opened.folder)

        def command() -> int:
            code = _trials_and_report(study, opened, path, elsewhere or here, asked, course.ends_s)
            if course.then:
                code = course.then(opened.folder)
            refuse_unless_one_counts(opened)
            return code

        with going_on(lambda: left_at(opened, fresh=arguments.new)):
            return command() if elsewhere else in_enclosure(arguments, command)


def _refuse_hidden(arguments: argparse.Namespace, *, alone: bool) -> None:
    """UsageError for a place that is not seen where the trials are made; of a run `alone` also its report is."""
    from sites.archive import archives_root

    if getattr(arguments, "on", None):  # other machines have nothing of this one's
        return
    there = {"--out": arguments.out} if arguments.out else {"the folder of runs": kept_folder(RUNS)}
    refuse_hidden({**there, ARCHIVES_HERE: archives_root()})
    if alone:
        refuse_hidden({f"--{name}": getattr(arguments, name, None) for name in WRITTEN_WITH_THE_REPORT})


def left_at(run: RunDirectory, *, fresh: bool) -> str:
    """What an interrupted run has, and how to go on with it or without."""
    total, left = len(run.plan.trials), len(run.standing().left)
    again = f"the same command {'without --new ' if fresh else ''}goes on"
    if left == total:
        return f"no trial is recorded yet; {again}"
    report = f"`coldload report {run.folder}` tells what they are worth"
    return f"{total - left} of {total} trials are done in {run.folder}; {again}, {report}"


def _folder(study: Study, *, fresh: bool) -> Path:
    """The latest unfinished run of this very study, else a new folder."""
    runs = kept_folder(RUNS)
    if not fresh:
        for folder in sorted(runs.glob(f"{study.name}-*Z*"), reverse=True):
            if _unfinished_run_of(folder, study):
                return folder
    return new_folder(runs, f"{study.name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")


def new_folder(root: Path, name: str) -> Path:
    """A folder made just now, by this call alone: of several runs begun in one second the later have a number."""
    made_folder(root)
    for number in itertools.count(1):
        folder = root / (name if number == 1 else f"{name}-{number}")
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise AssertionError  # numbers do not end


def _unfinished_run_of(folder: Path, study: Study) -> bool:
    """Whether a folder holds one that can be gone on with; of one that cannot be read a warning is said."""
    from harness.run.attempts import Standing
    from harness.study.plan import PLAN, Plan

    path = folder / PLAN
    try:
        if not path.exists() or not study.text.is_kept_in(folder):
            return False
        plan = Plan.read(path)
        is_same = plan.options == study.options and plan.cells == frozenset(study.conditions)
        return is_same and not Standing.read(folder, plan).is_finished
    except (RecordsError, OSError) as error:
        say(f"warning: the run in {folder} is passed over: {error}")
        return False


def _on_a_cluster(arguments: argparse.Namespace, study: Study) -> OpenCrew:
    """Executors at the workers of a cluster. UsageError for one that cannot be meant."""
    try:
        from harness.cluster import running  # Dask
    except ModuleNotFoundError as error:
        raise EnvironmentLacks(
            f"--on needs Dask, which is not installed ({error.name}); to mend it: {set_up_with('cluster')}"
        ) from error
    running.refuse_kind(study)
    mixed, insecure = arguments.allow_mixed, arguments.insecure
    where = running.ClusterChoice.of(arguments.on, arguments.certificates, insecure=insecure, mixed=mixed)
    return partial(running.on_cluster, where)


def _in_lanes(arguments: argparse.Namespace, study: Study) -> OpenCrew | None:
    """Executors in several lanes; None where there is to be one."""
    from harness.cli.lanes import chosen_lanes
    from harness.run.lanecrew import in_lanes

    lanes = chosen_lanes(arguments.lanes, study.kind)
    if not lanes:
        return None
    refuse_stalled()
    return partial(in_lanes, lanes)


def _trials_and_report(
    study: Study,
    run: RunDirectory,
    path: Path,
    crew: OpenCrew,
    asked: BesideReport,
    ends_s: float | None,
) -> int:
    from harness.run.coordinator import Until, run_study
    from harness.run.progress import progress
    from sites.archive import archives_root

    total = len(run.plan.trials)
    standing = run.standing()
    done = total - len(standing.left)
    verb = "going on with" if standing.attempts.recorded else "starting"
    say(
        f"{verb} {run.folder}: {total - done} of {total} trials to do (study {path.name}, seed {run.plan.seed})"
    )
    with progress(console(), total, done) as listener:
        summary = run_study(study, run, archives_root(), listener, Until(enough_for(run.plan), ends_s), crew)
    say(str(summary))
    if not run.standing().attempts.recorded:
        raise MeasurementRefused(
            f"the time was up before the first trial of {run.folder}; the same command goes on"
        )
    from harness.cli.report import write  # pandas and matplotlib: not before the trials

    return write([run.folder], asked=asked)


def enough_for(plan: Plan) -> Enough | None:
    """Says at a look which conditions need no more trials; None for a plan with a fixed number of them."""
    from harness.study.plan import Found, of_trials

    until = plan.per_condition.until if plan.per_condition else None
    if until is None:
        return None

    def enough(folder: Path, block: int) -> Found:
        from analysis.claims.stopping import look  # pandas: not before the first look

        seen = look(folder, block, until)
        return Found(of_trials(plan, seen.trials), seen.facts)

    return enough


def refuse_unless_one_counts(run: RunDirectory) -> None:
    """Raise MeasurementRefused when no trial of a run has a result that counts, with the reasons."""
    from harness.study.metrics import machine_reasons

    endings = run.endings()
    if endings.pop(None, 0):
        return
    often = [f"{count} {ending}" for ending, count in endings.most_common()]
    reasons = shortened(often, REASONS_SHOWN, separator="; ", noun="reason")
    busy = QUIETER if machine_reasons() & endings.keys() else ""
    raise MeasurementRefused(f"no trial of {run.folder} counts, so nothing was measured ({reasons}){busy}")
