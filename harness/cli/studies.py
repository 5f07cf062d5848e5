"""`coldload plan`, `run` and `demo`."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import math
import secrets
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from analysis.reach import clear_ones_needed, least_trials
from harness.cli.archives import make_shipped_archives
from harness.cli.common import Subcommands, console, in_enclosure
from harness.cli.report import write as write_report
from harness.errors import MeasurementRefused, StudyError
from harness.model.condition import RECORDED_COMPRESSION, Condition
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.variant import PLAIN
from harness.outcome import Outcome
from harness.run.directory import RunDirectory, open_run
from harness.run.progress import progress
from harness.run.runner import Summary, run_study
from harness.study.plan import Plan, make_plan
from harness.study.study import Study
from harness.study.studyfile import read_study, shipped_studies
from sites.archive import archives_root, open_archive

RUNS = Path("runs")
# A rough guess for `plan`: what a trial costs beyond its load, and the round trips a load waits for.
TYPICAL_OVERHEAD_S = {"playwright": 0.8, "selenium": 1.3, "pyqt": 0.8}
REASONS_SHOWN = 3
TYPICAL_ROUND_TRIPS = 12


def add_commands(commands: Subcommands) -> None:
    demo = commands.add_parser(
        "demo", help="the main job on what ships with the project; ends with report.html"
    )
    demo.add_argument("--quick", action="store_true", help="2 round-trip times, 3 trials: a few minutes")
    demo.add_argument(
        "--out", type=Path, metavar="DIR", help="run directory (default: a new one under runs/)"
    )
    demo.set_defaults(run=run_demo)
    plan = commands.add_parser(
        "plan", help="the conditions, the order, the number of trials, the estimated time"
    )
    _add_study_options(plan)
    plan.add_argument("--order", action="store_true", help="list every trial in its order")
    plan.set_defaults(run=run_plan)
    execute = commands.add_parser(
        "run", help="run a study; goes on where a run of it was interrupted", description=run_run.__doc__
    )
    _add_study_options(execute)
    execute.add_argument(
        "--out", type=Path, metavar="DIR", help="run directory (default: a new one under runs/)"
    )
    execute.add_argument(
        "--new", action="store_true", help="start anew even if an unfinished run of the study exists"
    )
    execute.set_defaults(run=run_run)


def _add_study_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY.toml", help="a study file, or the name of one that ships")
    parser.add_argument(
        "--trials", type=int, metavar="N", help="trials per condition, instead of the study's"
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="KEY=VALUE",
        default=[],
        help="keep the conditions with page=, variant=, compression=, protocol=, link=, engine= or driver= this "
        "value (may be repeated)",
    )


def run_demo(arguments: argparse.Namespace) -> int:
    path = shipped_studies()["demo-quick" if arguments.quick else "demo"]
    code = make_shipped_archives(arguments, archives_root(), console())
    if code != 0:
        return code
    arguments.new = False
    return _run(arguments, path, path.read_text(encoding="utf-8"), read_study(path))


def run_plan(arguments: argparse.Namespace) -> int:
    _, _, study = _chosen(arguments)
    plan = make_plan(study, study.seed if study.seed is not None else secrets.randbits(32))
    out = console()
    out.print(conditions_table(study))
    if arguments.order:
        for planned in plan.trials:
            out.print(f"{planned.trial} block {planned.block}: {planned.condition}")
    seed = study.seed if study.seed is not None else "drawn when the run starts"
    out.print(
        f"\n{study.title}: {plan.conditions} conditions x {study.trials} trials = {len(plan.trials)} trials "
        f"in {plan.blocks} blocks, each in random order (seed {seed})"
    )
    out.print(f"estimated time: {_estimate(plan)}")
    _warn_of_no_verdict(out, study)
    return 0


def conditions_table(study: Study) -> Table:
    """A row per condition."""
    rows = [_words(condition) for condition in study.conditions]
    table = Table(*rows[0], box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row.values())
    return table


def run_run(arguments: argparse.Namespace) -> int:
    """Run a study. The same command goes on where an interrupted run of the study stopped."""
    path, text, study = _chosen(arguments)
    _warn_of_no_verdict(console(), study)
    return _run(arguments, path, text, study)


def comparisons_of(study: Study) -> int:
    """The most comparisons that are corrected together: of protocols, of variants, or of compressions."""
    cells = study.conditions
    places = Counter(replace(cell, protocol=Protocol.HTTP1) for cell in cells)
    protocols = sum(math.comb(count, 2) for count in places.values())
    variants = len(cells) - len({replace(cell, variant=PLAIN) for cell in cells})
    compressions = len(cells) - len({replace(cell, compression=RECORDED_COMPRESSION) for cell in cells})
    return max(protocols, variants, compressions)


def _warn_of_no_verdict(out: Console, study: Study) -> None:
    """Say so when no outcome of the study, however clear, could become a verdict."""
    comparisons = comparisons_of(study)
    if comparisons == 0:
        return
    needed = clear_ones_needed(comparisons, study.trials)
    if needed is None:
        out.print(
            f"warning: {comparisons} comparison{'s' * (comparisons > 1)} with {study.trials} "
            f"trial{'s' * (study.trials > 1)} can give no verdict; at least {least_trials(comparisons, comparisons)} "
            f"trials, and {least_trials(comparisons, 1)} for one difference among equals"
        )
    elif needed > 1:
        out.print(
            f"note: {comparisons} comparisons with {study.trials} trials give a verdict where {needed} or more of them "
            f"differ clearly; at least {least_trials(comparisons, 1)} trials for one difference among equals"
        )


def _chosen(arguments: argparse.Namespace) -> tuple[Path, str, Study]:
    """The study of the command line, its text with the options noted, and the study with them applied."""
    path = shipped_studies().get(arguments.study, Path(arguments.study))
    study = read_study(path)
    text = path.read_text(encoding="utf-8")
    if arguments.trials is not None:
        if arguments.trials < 1:
            raise StudyError(f"--trials is {arguments.trials}; it must be at least 1")
        study = replace(study, trials=arguments.trials)
        text += f"\n# run with --trials {arguments.trials}\n"
    for condition in arguments.only:
        study = _only(study, condition)
        text += f"# run with --only {condition}\n"
    return path, text, study


def _only(study: Study, choice: str) -> Study:
    key, _, value = choice.partition("=")
    lists: dict[str, tuple[Any, ...]] = {
        "page": study.pages,
        "variant": study.variants,
        "compression": study.compressions,
        "protocol": study.protocols,
        "link": study.links,
        "engine": study.engines,
        "driver": study.drivers,
    }
    if key not in lists:
        raise StudyError(f"--only {choice}: the key must be one of {', '.join(lists)}")
    names = [item.name if isinstance(item, Link) else str(item) for item in lists[key]]
    if value not in names:
        raise StudyError(f"--only {choice}: the study has no such {key}; it has: {', '.join(names)}")
    kept: dict[str, Any] = {f"{key}s": (lists[key][names.index(value)],)}
    return replace(study, **kept)


def _words(condition: Condition) -> dict[str, str]:
    return {
        "page": condition.page,
        "variant": condition.variant,
        "compression": condition.compression,
        "link": condition.link.name,
        "protocol": condition.protocol,
        "engine": condition.engine,
        "driver": condition.driver,
    }


def _run(arguments: argparse.Namespace, path: Path, text: str, study: Study) -> int:
    for page in study.pages:
        open_archive(archives_root(), page)  # refuses before anything is written
    folder = arguments.out or _folder(study, text, fresh=arguments.new)
    seed = study.seed if study.seed is not None else secrets.randbits(32)
    with open_run(folder, text, make_plan(study, seed)) as opened:
        return in_enclosure(arguments, lambda: _run_and_report(study, opened, path))


def _folder(study: Study, text: str, *, fresh: bool) -> Path:
    """The latest unfinished run of this very study, else a new folder."""
    if not fresh:
        for folder in sorted(RUNS.glob(f"{study.name}-*Z*"), reverse=True):
            if _unfinished_run_of(folder, text):
                return folder
    return new_folder(RUNS, f"{study.name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")


def new_folder(root: Path, name: str) -> Path:
    """A folder made just now, by this call alone: of several runs begun in one second the later have a number."""
    root.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):
        folder = root / (name if number == 1 else f"{name}-{number}")
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise AssertionError  # numbers do not end


def _unfinished_run_of(folder: Path, text: str) -> bool:
    plan, stored = folder / "plan.jsonl", folder / "study.toml"
    if not plan.exists() or not stored.exists() or stored.read_bytes() != text.encode():
        return False
    records = folder / "records.jsonl"
    count = records.read_bytes().count(b"\n") if records.exists() else 0
    return count < plan.read_bytes().count(b"\n") - 1


def _run_and_report(study: Study, run: RunDirectory, path: Path) -> int:
    out = console()
    total, done = len(run.plan.trials), len(run.recorded_trials())
    verb = "going on with" if done else "starting"
    out.print(
        f"{verb} {run.folder}: {total - done} of {total} trials to do (study {path.name}, seed {run.plan.seed})"
    )
    with progress(out, total, done) as listener:
        summary = run_study(study, run, archives_root(), listener)
    out.print(_described(summary))
    write_report([run.folder])
    _refuse_unless_one_counts(run)
    return 0


def _refuse_unless_one_counts(run: RunDirectory) -> None:
    """Raise MeasurementRefused when no trial of a run is ok, with what they are instead."""
    endings = run.endings()
    if any(outcome == Outcome.OK for outcome, _ in endings):
        return
    often = [
        f"{count} {outcome}: {reason}" for (outcome, reason), count in endings.most_common(REASONS_SHOWN)
    ]
    more = f"; and {len(endings) - REASONS_SHOWN} more reasons" if len(endings) > REASONS_SHOWN else ""
    raise MeasurementRefused(
        f"no trial of {run.folder} counts, so nothing was measured ({'; '.join(often)}{more})"
    )


def _described(summary: Summary) -> str:
    ok = summary.outcomes[Outcome.OK]
    others = ", ".join(
        f"{count} {outcome}" for outcome, count in summary.outcomes.items() if outcome is not Outcome.OK
    )
    new = sum(summary.outcomes.values())
    return (
        f"{new} trials: {ok} ok"
        + (f", {others}" if others else "")
        + (f" ({summary.already} were recorded before)" if summary.already else "")
    )


def _estimate(plan: Plan) -> str:
    """A rough time from the archives' bytes; says so when a page is not archived yet."""
    sizes: dict[str, int] = {}
    for page in {trial.condition.page for trial in plan.trials}:
        archive = open_archive(archives_root(), page)
        sizes[page] = sum(entry.body_bytes for entry in archive.entries)
    seconds = 0.0
    for trial in plan.trials:
        condition = trial.condition
        seconds += TYPICAL_OVERHEAD_S[condition.driver]
        seconds += sizes[condition.page] * 8 / (condition.link.down.rate.mean_mbps * 1e6)
        seconds += TYPICAL_ROUND_TRIPS * condition.link.rtt_ms / 1e3
    minutes = seconds / 60
    return f"about {minutes:.0f} min" if minutes >= 2 else f"about {seconds:.0f} s"
