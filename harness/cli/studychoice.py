"""The study that a command line chooses: the options that say which, and what they make of it."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cli.paths import given_folder, study_or_path
from harness.cli.telling import say
from harness.errors import StudyError, UsageError
from harness.input.keys import listed, nearest
from harness.input.shown import shown
from harness.model.condition import CACHE, CPU_SLOWDOWN, OF_WORKLOADS, SET, SET_MARK, of_workload
from harness.model.kind import Kind
from harness.model.link import Link

if TYPE_CHECKING:
    from harness.study.plan import Options
    from harness.study.serverfile import NamedServer
    from harness.study.study import Study


def add_study(parser: argparse.ArgumentParser) -> None:
    """STUDY, --trials, --until, --without and --only."""
    parser.add_argument(
        "study",
        type=study_or_path,
        metavar="STUDY.toml",
        help="a study file, the name of a study that ships, or a pack",
    )
    parser.add_argument(
        "--trials", type=int, metavar="N", help="trials per condition, instead of the study's"
    )
    parser.add_argument(
        "--until",
        metavar="PERCENT",
        help="stop a condition once the half-width of its interval is this, as in '2 %%', at looks fixed beforehand "
        "(at most 60 trials, or the study's most)",
    )
    parser.add_argument(
        "--without",
        action="append",
        metavar="PAGE=FILTERS",
        default=[],
        help="leave these filters out of the variants of a page, instead of those that the study leaves out, as of one "
        "that they break; PAGE= measures it with all of them (may be repeated)",
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="KEY=VALUE",
        default=[],
        help="keep the conditions with page=, variant=, compression=, protocol=, link=, engine=, driver=, server=, "
        "cpu_slowdown= or cache= this value, or one of several with commas (one server at a time); of crowds and "
        "closed loops also users=, connections= or depth=; figure= those that a figure of the study needs (may be "
        "repeated: all of them must be so)",
    )


def add_new(parser: argparse.ArgumentParser) -> None:
    """--new, beside --out."""
    parser.add_argument(
        "--new", action="store_true", help="start anew even if an unfinished run of the study exists"
    )


def refuse_new(arguments: argparse.Namespace) -> None:
    """UsageError for --new with an --out that holds a run: nothing new can begin there."""
    from harness.study.plan import PLAN

    if arguments.new and arguments.out is not None and (arguments.out / PLAN).exists():
        raise UsageError(
            f"--new cannot begin in --out {arguments.out}, which holds a run; choose another --out, or leave --new out "
            "to go on with that run"
        )


def add_out(parser: argparse.ArgumentParser) -> None:
    """--out."""
    parser.add_argument(
        "--out",
        type=given_folder,
        metavar="DIR",
        help="run directory (default: a new one under runs/; installed from a wheel, under "
        "$XDG_DATA_HOME/coldload/runs, ~/.local/share/coldload/runs)",
    )


REPEATED = ("without", "only")  # options that may be given several times


def chosen(arguments: argparse.Namespace) -> tuple[Path, Study]:
    """Where the study of the command line is, and the study with the options applied."""
    from harness.model.trials import MAX_TRIALS, USUAL_MOST, parse_until
    from harness.study.studyfile import read_study, shipped_studies

    shipped = shipped_studies()
    path = shipped.get(arguments.study, Path(arguments.study))
    if arguments.study not in shipped and _is_pack(path):
        arguments, study = _of_pack(arguments, path)
    else:
        study = read_study(path)
    options: list[tuple[str, str]] = []
    if arguments.trials is not None:
        if not 1 <= arguments.trials <= MAX_TRIALS:
            raise StudyError(f"--trials is {arguments.trials}; it must be 1 to {MAX_TRIALS}")
        number = arguments.trials
        study = replace(study, trials=replace(study.trials, least=number, most=number, until=None))
        options.append(("--trials", str(arguments.trials)))
    if arguments.until is not None:
        until = parse_until("--until", arguments.until)
        trials = study.trials
        most = trials.most if trials.until else max(trials.most, USUAL_MOST)
        study = replace(study, trials=replace(trials, most=most, until=until))
        options.append(("--until", arguments.until))
    for choice in arguments.without:
        study = _without(study, choice)
        options.append(("--without", choice))
    for choice in arguments.only:
        study = _only(study, choice)
        options.append(("--only", choice))
    if not study.conditions:
        raise StudyError(
            f"--only {' --only '.join(arguments.only)}: nothing of the study is left; leave one out"
        )
    study = _with_what_is_left(study) if arguments.only else study
    return path, replace(study, options=tuple(options))


def _is_pack(path: Path) -> bool:
    from harness.pack.packfile import is_pack

    return is_pack(path)


def _of_pack(arguments: argparse.Namespace, path: Path) -> tuple[argparse.Namespace, Study]:
    """The study of a pack, in the order of its run, with the options of that run beside those of the command line.

    Those of the command line count; its --trials fixes the number, whatever --until the run had.
    """
    options, study = _packed(path)
    given = argparse.Namespace(**vars(arguments))
    before = {name: [value for option, value in options if option == f"--{name}"] for name in REPEATED}
    for option, value in options:
        if option == "--trials" and value.isdecimal():
            given.trials = int(value) if arguments.trials is None else arguments.trials
        elif option == "--until":
            given.until = value if arguments.trials is None and arguments.until is None else arguments.until
        elif option.removeprefix("--") not in REPEATED:
            raise StudyError(f"{path} is of a run with {option} {value}, which this version does not know")
    for name in REPEATED:
        setattr(given, name, [*before[name], *getattr(arguments, name)])
    return given, study


def _packed(path: Path) -> tuple[Options, Study]:
    """The options that the run of a pack had, and its study with the run's seed."""
    from harness.pack.packedrun import read_plan
    from harness.pack.packfile import RUN, open_pack
    from harness.study.studyfile import parse_study
    from harness.study.studytext import STUDY, StudyText
    from harness.system.files import private_folder

    with private_folder() as folder, open_pack(path) as pack:
        run = pack.unpack(RUN, folder / RUN)
        try:
            text = StudyText.read(run / STUDY).text
        except (OSError, StudyError) as error:
            raise StudyError(f"cannot read the study of the pack {path}: {error}") from error
        plan, study = read_plan(run), parse_study(text, f"{path}: {STUDY}", run)
        return plan.options, replace(study, seed=plan.seed)


def _without(study: Study, choice: str) -> Study:
    """The study, and each of its factors, with what a page goes without."""
    from harness.study.variantfile import parse_without, refuse_without_use

    left_out = parse_without(choice)
    parts = [replace(part, without={**part.without, **left_out}) for part in study.parts]
    made = replace(parts[0], factors=tuple(parts[1:]))
    refuse_without_use(made)
    return made


def _only(study: Study, choice: str) -> Study:
    """The study with what is chosen alone, in each of its factors that have it."""
    from harness.study.study import of_one_figure

    key, _, value = choice.partition("=")
    if key == "figure":
        try:
            return of_one_figure(study, value)
        except StudyError as error:
            raise StudyError(f"--only {choice}: {error}") from error
    if key == "factor":
        return _only_factor(study, choice, value)
    kept = []
    for factor in study.factors:
        with contextlib.suppress(StudyError):
            kept.append(_only_of_one(factor, choice, key, value))
    return replace(_only_of_one(study, choice, key, value), factors=tuple(kept))


def _only_factor(study: Study, choice: str, value: str) -> Study:
    """The study as it is, or one of its factors without it."""
    names = [part.factor for part in study.parts if part.factor]
    if value not in names:
        raise StudyError(
            f"--only {choice}: the study has no such factor{nearest(value, names)}; "
            f"it has: {listed(value, names) or 'none'}"
        )
    if value == study.factor:
        return replace(study, factors=())
    return replace(study, pages=(), factors=tuple(part for part in study.factors if part.factor == value))


def _only_of_one(study: Study, choice: str, key: str, value: str) -> Study:
    if study.kind is not Kind.LOAD and key in OF_WORKLOADS[study.kind]:
        return _only_workload(study, choice, key, value)
    if key == SET:
        return _of_set(study, choice, value.removeprefix(SET_MARK))
    lists: dict[str, tuple[Any, ...]] = {
        "page": study.pages,
        "variant": study.variants,
        "compression": study.compressions,
        "protocol": study.protocols,
        "link": study.links,
        "engine": study.engines,
        "driver": study.drivers,
        "server": tuple(dict.fromkeys(setup.server for setup in study.setups)),
        **({CPU_SLOWDOWN: study.cpu_slowdowns, CACHE: study.caches} if study.kind is Kind.LOAD else {}),
    }
    if key not in lists:
        known = (*lists, SET, "factor", "figure")
        raise StudyError(f"--only {choice}: the key must be one of {', '.join(known)}{nearest(key, known)}")
    named = {item.name if isinstance(item, Link) else str(item): item for item in lists[key]}
    if key == "server" and value in named:
        return _at_server(study, named[value])
    wanted = _named(value, named, choice, key)
    kept: dict[str, Any] = {f"{key}s": tuple(item for name, item in named.items() if name in wanted)}
    return replace(study, **kept)


def _named(value: str, there: Collection[str], choice: str, key: str) -> Collection[str]:
    """The names that a choice means: one, or several with commas. StudyError for one that the study lacks."""
    wanted = [value] if value in there or key == "server" else value.split(",")
    lacks = [name for name in wanted if name not in there]
    if lacks:
        such = f"such {key}" if len(wanted) == 1 else f"{key} {shown(lacks[0])}"
        near = "" if "," in lacks[0] else nearest(lacks[0], there)
        raise StudyError(f"--only {choice}: the study has no {such}{near}; it has: {listed(lacks[0], there)}")
    return wanted


def _of_set(study: Study, choice: str, name: str) -> Study:
    """The pages of one set of a study."""
    if name not in study.sets:
        there = listed(name, study.sets) or "none"
        near = nearest(name, study.sets)
        raise StudyError(f"--only {choice}: the study has no such {SET}{near}; it has: {there}")
    return replace(study, pages=tuple(page for page in study.pages if page in study.sets[name]))


def _at_server(study: Study, server: NamedServer) -> Study:
    """A study at one of its servers: the engines, protocols and compressions that are measured with it."""
    setups = [setup for setup in study.setups if setup.server == server]
    return replace(
        study,
        engines=tuple(setup.engine for setup in setups),
        servers={setup.engine: (server,) for setup in setups},
        protocols=tuple(
            protocol for protocol in study.protocols if any(protocol in setup.protocols for setup in setups)
        ),
        compressions=tuple(
            compression
            for compression in study.compressions
            if any(compression in setup.compressions for setup in setups)
        ),
    )


def _only_workload(study: Study, choice: str, key: str, value: str) -> Study:
    """The workloads that have this value of a dimension of the kind."""
    values = [str(of_workload(workload)[key]) for workload in study.workloads]
    wanted = _named(value, dict.fromkeys(values), choice, key)
    kept = tuple(each for each, has in zip(study.workloads, values, strict=True) if has in wanted)
    return replace(study, workloads=kept)


def _with_what_is_left(study: Study) -> Study:
    """The study with the figures and claims that its conditions still hold; says which of its claims they do not."""
    from harness.study.claimfile import narrowed
    from harness.study.publicationfile import left_of
    from harness.study.study import figures_left, trimmed

    if study.only_figures:
        study = trimmed(study)
    figures = figures_left(study)
    conditions = study.dimensions
    left = []
    for claim in study.claims:
        still = narrowed(claim, conditions)
        if still is None:
            say(f"claim left out, nothing of it is measured: {claim.name}")
        else:
            left.append(still)
    published = study.published
    if published is not None:
        published = left_of(published, conditions, [figure.name for figure in figures])
    return replace(study, claims=tuple(left), figures=figures, published=published)
