"""The study that a command line chooses, and what its size cannot show."""

from __future__ import annotations

import argparse
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from analysis.reach import clear_ones_needed, least_trials
from harness.cli.plaintext import say
from harness.errors import StudyError
from harness.model.compression import RECORDED_COMPRESSION
from harness.model.dimensions import dimensions_of
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.variant import AS_ARCHIVED
from harness.study.claimfile import narrowed
from harness.study.study import Study
from harness.study.studyfile import read_study, shipped_studies


def chosen(arguments: argparse.Namespace) -> tuple[Path, str, Study]:
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
    return path, text, _with_claims_left(study)


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


def _with_claims_left(study: Study) -> Study:
    """The study with the claims that its conditions still hold; says which ones they do not."""
    conditions = [dimensions_of(each) for each in study.conditions]
    left = []
    for claim in study.claims:
        still = narrowed(claim, conditions)
        if still is None:
            say(f"claim left out, nothing of it is measured: {claim.name}")
        else:
            left.append(still)
    return replace(study, claims=tuple(left))


def no_verdict_warning(study: Study) -> str | None:
    """What to say when no outcome of the study, or none of a single comparison, could become a verdict."""
    comparisons = comparisons_of(study)
    if comparisons == 0:
        return None
    needed = clear_ones_needed(comparisons, study.trials)
    if needed is None:
        return (
            f"warning: {comparisons} comparison{'s' * (comparisons > 1)} with {study.trials} "
            f"trial{'s' * (study.trials > 1)} can give no verdict; at least {least_trials(comparisons, comparisons)} "
            f"trials, and {least_trials(comparisons, 1)} for one difference among equals"
        )
    if needed > 1:
        return (
            f"note: {comparisons} comparisons with {study.trials} trials give a verdict where {needed} or more of them "
            f"differ clearly; at least {least_trials(comparisons, 1)} trials for one difference among equals"
        )
    return None


def comparisons_of(study: Study) -> int:
    """The most comparisons that are corrected together: of protocols, of variants, or of compressions."""
    cells = study.conditions
    places = Counter(replace(cell, protocol=Protocol.HTTP1) for cell in cells)
    protocols = sum(math.comb(count, 2) for count in places.values())
    variants = len(cells) - len({replace(cell, variant=AS_ARCHIVED) for cell in cells})
    compressions = len(cells) - len({replace(cell, compression=RECORDED_COMPRESSION) for cell in cells})
    return max(protocols, variants, compressions)
