"""`coldload versus`: two releases of a page, or two variants of it, measured against each other in one run."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from harness.cli.compare import CODES, Judging, add_judging, tell_answers
from harness.cli.options import (
    add_device_options,
    add_engine_option,
    add_links_option,
    add_protocol_option,
    refuse_without,
)
from harness.cli.paths import given_run, run_folders
from harness.cli.report import BesideReport, add_asked
from harness.cli.studychoice import add_new, add_out, refuse_new
from harness.cli.telling import say, telling
from harness.errors import UsageError
from harness.input.keys import NAME_PATTERN
from harness.input.shown import shortened, shown
from harness.model.condition import FULL_SPEED
from harness.model.engine import DEFAULT_ENGINE, Engine
from harness.model.kind import FELT
from harness.model.protocol import Protocol
from harness.model.variant import PLAIN, parse_variant
from harness.study.metrics import unobserved
from harness.system.folders import records_cache

if TYPE_CHECKING:
    from sites.filesapart import FileApart, FilesApart

PAGE = "versus.html"
USUAL_LINK = "cable"
USUAL_TRIALS = 20
LONGEST_NAME = 80
FILES_NAMED = 5


class Release(NamedTuple):
    """An archive in a variant."""

    page: str
    variant: str

    @classmethod
    def parse(cls, text: str, variant: str) -> Release:
        """`agency`, in the variant of all, or `agency:core`; UsageError for a name that no archive can have."""
        page, colon, own = text.partition(":")
        if not NAME_PATTERN.fullmatch(page):
            raise UsageError(
                f"{shown(text)} is no archive; name one, as in agency, or a variant of it, as in agency:core"
            )
        return cls(page, parse_variant(own if colon else variant).name)

    def __str__(self) -> str:
        return self.page if self.variant == PLAIN else f"{self.page}:{self.variant}"


Releases = tuple[Release, Release]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Load two releases of a page in turn, or two variants of it (`agency agency:core`), and say in a sentence for "
        "each metric that a visitor feels what B changes (first and largest paint, load, blocked time, bytes, "
        "requests), which files differ; the waterfalls on one page. It is a run like any other: the same command goes "
        f"on where it was interrupted, and `report`, `show` and `pack` take it. {CODES}"
    )
    parser.add_argument(
        "a",
        metavar="A",
        help="the reference: an archive, NAME or NAME:VARIANT; or, without B, a run of `coldload versus` to tell again",
    )
    parser.add_argument("b", metavar="B", nargs="?", help="what is set against it")
    add_links_option(parser, [USUAL_LINK])
    add_protocol_option(parser, Protocol.H2)
    parser.add_argument(
        "--variant", default=PLAIN, metavar="V", help="of sides that name none (default plain)"
    )
    add_engine_option(parser, DEFAULT_ENGINE)
    add_device_options(parser)
    parser.add_argument(
        "--trials",
        type=int,
        default=USUAL_TRIALS,
        metavar="N",
        help=f"loads of each side on each link (default {USUAL_TRIALS})",
    )
    add_judging(parser)
    add_asked(parser, "B", "the differences (by --fail-on) and the budget")
    add_out(parser)
    add_new(parser)


def run(arguments: argparse.Namespace) -> int:
    asked = BesideReport.of(arguments)
    judging = replace(Judging.of(arguments), budget=asked.budget)
    if arguments.b is None:
        refuse_without("B", arguments, "--link", "--cpu-slowdown", "--out", "--new")
        return _of_run(arguments, judging, asked)
    refuse_new(arguments)
    return _measured(arguments, judging, asked)


def _of_run(arguments: argparse.Namespace, judging: Judging, asked: BesideReport) -> int:
    """What an earlier run tells."""
    try:
        given = given_run(arguments.a)
    except argparse.ArgumentTypeError as error:
        raise UsageError(str(error)) from error
    if not given.exists():
        raise UsageError(
            f"{shown(arguments.a)} is no run; name one of `coldload versus`, or two archives, A and B"
        )
    with run_folders([given]) as (folder,):
        return _tell(folder, judging, asked, arguments.html, as_json=arguments.json)


def _measured(arguments: argparse.Namespace, judging: Judging, asked: BesideReport) -> int:
    from harness.cli.making import make_first_needed
    from harness.cli.plan import estimate
    from harness.cli.run import Course, run_and_report
    from harness.study.planning import make_plan
    from harness.study.studyfile import parse_study

    sides = Release.parse(arguments.a, arguments.variant), Release.parse(arguments.b, arguments.variant)
    study = parse_study(study_text(sides, arguments, judging.metrics), "versus")
    if judging.budget:
        judging.budget.of(study.claims[0].subject).refuse_unless_of(study)
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr if arguments.json else sys.stdout):
        make_first_needed(arguments, study.conditions)
        files = _files_of(sides, Engine(arguments.engine))
        if not files.files:
            every = "its one file" if files.same == 1 else f"all {files.same:,} files"
            same = f"{sides[1]} is {sides[0]}, byte for byte in {every}"
            if judging.limit is None and judging.budget is None:
                raise UsageError(f"{same}; there is nothing to compare")
            if asked == BesideReport() and arguments.html is None:
                say(f"{same}: nothing is above the bound")
                if arguments.json:
                    with contextlib.redirect_stdout(out):
                        _print_alike(sides, judging)
                return 0
            bounded = "what their loads do not tell is within the bound"
            say(f"{same}: {'its budget alone is held' if judging.limit is None else bounded}")
        plan = make_plan(study, 0)  # for its size alone
        say(f"{study.title}: {len(plan.trials)} loads, {estimate(plan, study)}")

        def then(folder: Path) -> int:
            with contextlib.redirect_stdout(out):
                page = arguments.html or folder / PAGE
                code = _tell(folder, judging, asked, page, files, as_json=arguments.json)
            out.flush()  # this may be a process of its own, which ends without
            return code

        return run_and_report(arguments, Path(study.name), study, course=Course(then=then))


def study_text(sides: Releases, arguments: argparse.Namespace, metrics: Sequence[str]) -> str:
    """The study that sets B against A, with a claim for each metric. UsageError for sides that cannot be compared."""
    a, b = sides
    if a == b:
        raise UsageError(f"A and B are both {a}; name two archives, or a variant of one, as in {a.page}:core")
    if a.page != b.page and a.variant != b.variant:
        raise UsageError(
            f"{a} and {b} differ in page and variant, so nobody could tell what makes a difference; "
            "compare two archives in one variant, or two variants of one archive"
        )
    dimension = "page" if a.page != b.page else "variant"
    before, after = (getattr(side, dimension) for side in sides)
    lacking = unobserved(Engine(arguments.engine))
    wanted = metrics or [metric for metric in FELT if metric not in lacking]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", f"versus-{a}-{b}")[:LONGEST_NAME]
    head = {
        "name": name,
        "title": f"{b} against {a}",
        "pages": list(dict.fromkeys(side.page for side in sides)),
        "variants": list(dict.fromkeys(side.variant for side in sides)),
        "protocols": [arguments.protocol],
        "engine": arguments.engine,
        "links": arguments.link or [USUAL_LINK],
        "device": arguments.device,
        "cpu_slowdown": arguments.cpu_slowdown or FULL_SPEED,
        "trials": arguments.trials,
        "keep": ["har"],
        "portraits": False,
    }
    lines = [f"# Made by `coldload versus {a} {b}`."]
    lines += [f"{key} = {json.dumps(value)}" for key, value in head.items()]
    for metric in dict.fromkeys(wanted):
        lines += ["", "[[claims]]", f"metric = {json.dumps(metric)}"]
        lines += [f"subject = {{{dimension} = {json.dumps(after)}}}"]
        lines += [f"reference = {{{dimension} = {json.dumps(before)}}}"]
    return "\n".join(lines) + "\n"


def _files_of(sides: Releases, engine: Engine) -> FilesApart:
    """Which files differ; ArchiveError for pages of different sites."""
    from sites.archive import archives_root, open_archive
    from sites.filesapart import files_apart, refuse_unlike
    from sites.optimise.derive import variant_of

    archives = [open_archive(archives_root(), side.page) for side in sides]
    if sides[0].page != sides[1].page:
        refuse_unlike(*archives)
    a, b = (
        variant_of(archive, parse_variant(side.variant), engine)
        for archive, side in zip(archives, sides, strict=True)
    )
    return files_apart(a, b)


def _print_alike(sides: Releases, judging: Judging) -> None:
    """What programs are told of two sides that are not measured, as no file differs."""
    from analysis.comparing.versus import alike_json

    a, b = map(str, sides)
    print(json.dumps(alike_json((a, b), judging.margin, judging.limit), indent=1))


def _tell(
    folder: Path,
    judging: Judging,
    asked: BesideReport,
    page: Path | None,
    files: FilesApart | None = None,
    *,
    as_json: bool,
) -> int:
    """Print what a run tells, write its page and what else is asked, and return the exit code."""
    from analysis.claims.junit import case_of
    from analysis.comparing.page import FileRow, page_of_versus, write
    from analysis.comparing.versus import read_versus, versus_json
    from harness.cli.comparelines import answered, cases, wrapped
    from harness.cli.report import write_files

    with telling("comparing the two sides"):
        versus = read_versus(folder, judging.metrics, judging.margin, records_cache(), judging.budget)
    if files is not None and not files.files:
        versus = replace(versus, answers=replace(versus.answers, alike=True))
    answers, text = versus.answers, _files_text(files) if files else ""
    limit = judging.limit
    limits = [case_of(row, versus.results.wording) for row in versus.limits]
    of_bound = None if limit is None else [*cases(answers, limit), *limits]
    write_files(versus.results, asked, of_bound)
    rows = [FileRow(file.url, _bytes_text(file)) for file in files.files] if files else None
    lines = ["", *wrapped([f"B, {answers.names[1]}, against A, {answers.names[0]} ({versus.text}):"])]
    lines += [*answered(answers, limit), *wrapped(f"caution: {caution}" for caution in versus.cautions)]
    lines += wrapped([text] if text else [])
    lines += wrapped(f"budget of B: {row.sentence}" for row in versus.limits)
    if page:
        write(page_of_versus(versus, limit, rows, text), page)
        lines.append(f"page: {page}")
    apart = [dict(vars(file)) for file in files.files] if files else None
    data = versus_json(versus, folder, apart, limit)
    code = tell_answers(answers, limit, lines, data if as_json else None)
    return 1 if any(row.went_wrong for row in versus.limits) else code


def _files_text(files: FilesApart) -> str:
    """`3 files differ, 28 are the same: style.css 5,120 to 4,096 bytes; ...`."""
    alike = "1 is the same" if files.same == 1 else f"{files.same:,} are the same"
    if not files.files:
        return f"no file differs, {alike}"
    named = [f"{file.url} {_bytes_text(file)}" for file in files.files]
    count = len(files.files)
    head = "1 file differs" if count == 1 else f"{count} files differ"
    return f"{head}, {alike}: {shortened(named, FILES_NAMED, separator='; ', noun='file')}"


def _bytes_text(file: FileApart) -> str:
    """What became of a file's body."""
    if file.a is None or file.b is None:
        return f"only in {'B' if file.a is None else 'A'}, {file.b if file.a is None else file.a:,} bytes"
    if file.same_body:
        return f"the same {file.a:,} bytes, other status or headers"
    return f"{file.a:,} bytes, other ones" if file.a == file.b else f"{file.a:,} to {file.b:,} bytes"
