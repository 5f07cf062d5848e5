"""Whether the pages of a study are archived, and their variants whole as far as `coldload verify` has found out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from harness.cli.failures import in_enclosure
from harness.errors import ArchiveError, StudyError
from harness.input.keys import nearest
from harness.input.shown import clipped, count_of, one_line, shortened
from harness.model.condition import SET_MARK, set_of
from harness.model.engine import DESKTOP, Engine
from harness.model.protocol import Protocol
from harness.model.settings import ALL_EQUAL, Distances, Replay
from harness.model.variant import FILTERS, Variant
from harness.study.study import Study, Without
from harness.study.variantfile import without_text
from sites.archive import Archive, archives_root, open_archive
from sites.archiveindex import Entry, round_trips, whole_waits
from sites.optimise.findings import Breakage, broken_by

MOST_MADE = 40  # variants that a plan makes: about a second each
MOST_TOLD = 6
EXAMPLES = 3  # of hosts
LONGEST = 400  # characters of a line


def refuse_unless_archived(study: Study) -> None:
    """ArchiveError for the first page that is not archived; it names the page's set."""
    root = archives_root()
    for page in study.every_page:
        name = set_of(study.every_set, page)
        if name is not None and not (root / page).is_dir():
            raise ArchiveError(
                f"page {page!r} of {SET_MARK}{name} is not archived in {root}; `coldload archive --shipped` makes "
                f"those that ship, `coldload archive URL --name {page}` one of your own; or take it out of the set"
            )
        open_archive(root, page)
    for part in study.parts:
        distance = next(iter(part.replays.values())).distance
        refuse_unplaced(distance, [open_archive(root, page) for page in part.pages] if distance else [])


def refuse_unplaced(distance: Distances, archives: Sequence[Archive]) -> None:
    """StudyError for the first host whose distance nothing tells, and for one that is named and no page has."""
    if not distance:
        return
    for archive in archives:
        distance.of(archive.name, archive.address_groups, round_trips(archive.entries))
    hosts = {host for archive in archives for host in archive.hosts}
    for host, _ in distance.of_hosts:
        if host not in hosts:
            meant = nearest(host, hosts)
            raise StudyError(f"distance: no page that is loaded has the host {host}{meant}; take it out")


def whole_waits_line(entries: Sequence[Entry]) -> str:
    """Of what recorded waits no round trip can be taken off; "" where there are none."""
    waits = whole_waits(entries)
    if not waits:
        return ""
    return (
        f'think_time = "recorded" is a round trip too long for {count_of(waits.total(), "response")}: the recording '
        f"does not tell how far {shortened(list(waits), EXAMPLES)} is"
    )


def whole_waits_lines(study: Study) -> Iterator[str]:
    """A line for each page whose recorded think times hold round trips that its recording does not tell."""
    root = archives_root()
    replays = [(part.pages, next(iter(part.replays.values()))) for part in study.parts]
    for page in dict.fromkeys(page for pages, each in replays if each.think_time.recorded for page in pages):
        line = whole_waits_line(open_archive(root, page).entries)
        if line:
            yield f"{page}: {line}"


def refuse_broken(study: Study) -> None:
    """StudyError for a variant that `verify` found to break its page, unless the study says what to do about it.

    It leaves the filter out, or names the page with an empty list.
    """
    root = archives_root()
    archives = {page: open_archive(root, page) for page in study.every_page}
    broken: dict[str, list[Breakage]] = {}
    asked = dict.fromkeys(
        (condition.factor, condition.page, condition.variant, condition.engine)
        for condition in study.conditions
    )
    without = {part.factor: part.without for part in study.parts}
    for factor, page, variant, engine in asked:
        if without[factor].get(page) == ():  # measured as it is, whatever was found
            continue
        breakages = broken_by(archives[page], variant, engine)
        if breakages:
            known = broken.setdefault(page, [])
            known += (breakage for breakage in breakages if breakage not in known)
    if broken:
        raise StudyError(_told(study.without, broken))


def _told(without: Without, broken: Mapping[str, Sequence[Breakage]]) -> str:
    """What was found first, and what mends all of it: in the study, or on the command line."""
    out = {
        page: {*without.get(page, ()), *(breakage.filter for breakage in found)}
        for page, found in broken.items()
    }
    mended = {page: tuple(name for name in FILTERS if name in names) for page, names in out.items()}
    page, breakages = next(iter(broken.items()))
    more = sum(map(len, broken.values())) - 1
    options = " ".join(f"--without {page}={','.join(names)}" for page, names in mended.items())
    return (
        f"page {page}: {one_line(str(breakages[0]))}{f', and {more} more like it' * bool(more)}; say in the study "
        f"{without_text({**without, **mended})}, or {options}; to measure it as it is, {page} = [] or "
        f"--without {page}="
    )


def warn_if_broken(archive: Archive, variant: Variant, engine: Engine) -> None:
    """Say in one line that `verify` found a variant to break its page."""
    breakages = broken_by(archive, variant, engine)
    if breakages:
        told = "; ".join(map(str, breakages))
        print(
            one_line(f"{archive.name}: {told}; mended: --variant {mended(variant, breakages)}"),
            file=sys.stderr,
        )


def archive_of(page: str, variant: Variant, engine: Engine, distance: Distances = ALL_EQUAL) -> Archive:
    """A variant of an archived page, made if need be; a warning when it was found to be broken.

    StudyError as of `refuse_unplaced`.
    """
    original = open_archive(archives_root(), page)
    refuse_unplaced(distance, [original])
    if variant.is_plain:
        return original
    from sites.optimise.derive import variant_of  # Pillow and the filters

    warn_if_broken(original, variant, engine)
    return variant_of(original, variant, engine)


def mended(variant: Variant, found: Iterable[Breakage]) -> str:
    """The variant without what breaks it, as `--variant` and `--set` take it."""
    left = variant.leaving_out({breakage.filter for breakage in found})
    return " --set ".join([left.written, *(f"{name}={value}" for name, value in left.settings)])


def original_text(page: str, variant: Variant, why: Iterable[str]) -> str:
    """That a variant is its original, and why."""
    return f"{variant} of {page} IS ITS ORIGINAL, not one byte is changed: {'; '.join(why) or 'it has no filter'}"


def originals(study: Study) -> Iterator[str]:
    """A line for each variant of a study that is its original. Variants are made to know it, unless they are many."""
    from sites.optimise.derive import derive, derived_before

    root = archives_root()
    archives = {page: open_archive(root, page) for page in study.every_page}
    asked = dict.fromkeys(
        (condition.page, condition.variant, condition.engine)
        for condition in study.conditions
        if not condition.variant.is_plain
    )
    reports = {
        (page, variant, engine): derived_before(archives[page], variant, engine)
        for page, variant, engine in asked
    }
    missing = [cell for cell, report in reports.items() if report is None]
    for number, (page, variant, engine) in enumerate(missing if len(missing) <= MOST_MADE else (), start=1):
        print(f"making {variant} of {page} ({number} of {len(missing)})", file=sys.stderr)
        reports[page, variant, engine] = derive(archives[page], variant, engine).report
    texts = {  # engines that get the same share a line
        f"{page} {variant}": original_text(page, variant, report.why_unchanged)
        for (page, variant, _), report in reports.items()
        if report is not None and report.unchanged
    }
    for text in list(texts.values())[:MOST_TOLD]:
        yield clipped(one_line(text), LONGEST)
    if len(texts) > MOST_TOLD:
        yield f"also their originals: {shortened(list(texts)[MOST_TOLD:], MOST_TOLD)}"
    if len(missing) > MOST_MADE:
        yield (
            f"{len(missing)} variants are not made yet: which of them are their originals is known once the study has "
            "run, or by `coldload optimize`"
        )


def asked_of(
    arguments: argparse.Namespace,
    archive: Archive,
    engine: Engine,
    protocol: Protocol,
    tell: Callable[[str], None],
) -> tuple[str, ...] | None:
    """What a load asks for, as `verify` has kept it, else found out now; None of a page that does not load."""
    from harness.verify.verification import asked_for, store, verifications

    def load() -> int:
        for verification in verifications(
            archive, [protocol], [DESKTOP], replay=Replay.usual(engine), engine=engine
        ):
            store(verification, archive)
        return 0

    asked = asked_for(archive, engine)
    if asked is None:
        tell(f"what a load asks for is not known yet: loading the page once in {engine} by {protocol}")
        in_enclosure(arguments, load)
        asked = asked_for(archive, engine)
    return asked
