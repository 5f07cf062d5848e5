"""`coldload advise`: what would make a page faster, measured, and ranked by what it saves."""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.crowd import duration_s
from harness.cli.options import add_links_option
from harness.cli.studychoice import add_new, add_out, refuse_new
from harness.cli.telling import say
from harness.errors import MeasurementRefused, UsageError
from harness.model.engine import DEFAULT_ENGINE
from harness.model.protocol import Protocol

if TYPE_CHECKING:
    from harness.model.link import Link
    from harness.study.advising import Advising, Alternative, Budget
    from sites.archive import Archive

USUAL_LINKS = ("cable", "4g")
BASELINES = (Protocol.HTTP1, Protocol.HTTPS1, Protocol.H2, Protocol.H3)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Try what could make a page faster, one change at a time against the page as archived: filters, compression, "
        "protocols, cache headers, one host; the most promising first, each until it is known, within the time given. "
        "Ends with a ranked list: advice.html and advice.json in the run. The same command goes on after a kill."
    )
    parser.add_argument("name", metavar="NAME", help="an archive")
    add_links_option(parser, USUAL_LINKS)
    parser.add_argument(
        "--budget", type=duration_s, default=1200.0, metavar="TIME", help="how long it may take (default 20m)"
    )
    parser.add_argument(
        "--protocol",
        choices=[protocol.value for protocol in BASELINES],
        help=f"by which the page is served today (default {Protocol.H2}, or {Protocol.HTTP1} of a page without TLS)",
    )
    add_out(parser)
    add_new(parser)


def run(arguments: argparse.Namespace) -> int:
    from harness.cli.alternatives import alternatives_of
    from harness.cli.archived import asked_of
    from harness.cli.making import make_parts_and_pages
    from harness.cli.run import Course, run_and_report
    from harness.study.advising import Choices, most_promising_first
    from harness.study.studyfile import parse_study
    from sites.archive import archives_root, open_archive

    began_s = time.monotonic()
    refuse_new(arguments)
    links = _links(arguments.link or USUAL_LINKS)
    make_parts_and_pages(arguments, [DEFAULT_ENGINE.traits.server], [arguments.name])
    archive = open_archive(archives_root(), arguments.name)
    secure = archive.start_url.startswith("https://")
    protocol = Protocol(arguments.protocol or (Protocol.H2 if secure else Protocol.HTTP1))
    budget = _budget(archive, protocol, links, arguments.budget)
    _refuse_too_short(budget, links)
    asked = asked_of(arguments, archive, DEFAULT_ENGINE, protocol, say)
    if asked is None:
        raise MeasurementRefused(
            f"{archive.name} does not load in {DEFAULT_ENGINE}, so there is nothing to measure; "
            f"`coldload verify {archive.name}` tells why"
        )
    possibilities = alternatives_of(archive, protocol, asked, say)
    promising = most_promising_first(possibilities.alternatives, links)
    if not promising:
        raise MeasurementRefused(f"nothing that coldload knows would change {archive.name}")
    tried = budget.fitting(promising)
    if not tried:
        raise UsageError(_too_short(budget, promising[:1], links))
    later = [alternative for alternative in promising if alternative not in tried]
    prepared_s = time.monotonic() - began_s
    if budget.needed_s(tried[:1]) > budget.seconds - prepared_s:
        raise MeasurementRefused(
            f"making what could be tried took {_minutes(prepared_s)} of --budget {_given(budget.seconds)}, and the "
            "rest is too short to know anything; what is made is kept: give the same command again"
        )
    everything = _minutes(budget.needed_s(promising))
    untried = {alternative.name: f"--budget {everything} has time for all" for alternative in later}
    advising = _advising(archive.name, protocol, links, tried, budget, list(untried))
    study = parse_study(advising.text.text, f"{advising.name}.toml")
    choices = Choices(protocol.label, tuple(tried), possibilities.idle, untried)
    say(_measuring(len(tried), len(promising), len(possibilities.idle), budget.seconds - prepared_s))
    course = Course(begun=choices.write, ends_s=began_s + budget.seconds)
    return run_and_report(arguments, Path(f"{advising.name}.toml"), study, course=course)


def _measuring(tried: int, of: int, idle: int, seconds: float) -> str:
    """How many changes are measured, how long at most, and how many others are not worth a try."""
    every = "1 change" if of == 1 else f"{of} changes"
    what = f"the most promising {tried} of {every}" if tried < of else every
    others = "1 other changes" if idle == 1 else f"{idle} others change"
    return f"measuring {what}, each until it is known, {_minutes(seconds)} at most; {others} nothing of this page"


def _links(names: list[str] | tuple[str, ...]) -> list[Link]:
    from harness.model.link import NO_LINK
    from harness.study.linkfile import named_links

    links = [link for name in dict.fromkeys(names) for link in named_links(name)]
    if NO_LINK in links:
        raise UsageError(f"--link {NO_LINK.name} is no link, and pages are loaded over one; name another one")
    return links


def _budget(archive: Archive, protocol: Protocol, links: list[Link], seconds: float) -> Budget:
    """How long views take, as `coldload plan` guesses it from the page's bytes."""
    from analysis.statistics import LEAST_PAIRS_LOOKED
    from harness.model.condition import CacheState, Condition, Origins
    from harness.model.trials import seconds_of
    from harness.study.advising import Budget

    page_bytes = sum(entry.body_bytes for entry in archive.entries)

    def all_links_s(cache: CacheState) -> float:
        return sum(
            seconds_of(
                replace(Condition.usual(archive.name, protocol, link), origins=Origins.RECORDED, cache=cache),
                page_bytes,
            )
            for link in links
        )

    return Budget(seconds, all_links_s(CacheState.COLD), all_links_s(CacheState.WARM), LEAST_PAIRS_LOOKED)


def _advising(
    page: str,
    protocol: Protocol,
    links: list[Link],
    tried: list[Alternative],
    budget: Budget,
    later: list[str],
) -> Advising:
    from harness.study.advising import Advising

    notes = [f"Written by `coldload advise {page}`: the page as archived against one change at a time."]
    notes += [f"Not tried, for want of time: {', '.join(later)}."] if later else []
    names = tuple(link.name for link in links)
    return Advising(page, protocol, names, tuple(tried), budget.least, budget.blocks(tried), tuple(notes))


def _refuse_too_short(budget: Budget, links: list[Link]) -> None:
    """UsageError when not even one change could be tried, before anything is made."""
    from harness.study.advising import Alternative

    one = [Alternative("one change", "", "", {})]
    if not budget.fitting(one):
        raise UsageError(_too_short(budget, one, links))


def _too_short(budget: Budget, first: list[Alternative], links: list[Link]) -> str:
    where = " and ".join(link.name for link in links)
    return (
        f"--budget {_given(budget.seconds)} is too short to know anything on {where}: {first[0].name} needs about "
        f"{_minutes(budget.needed_s(first))}, and each further one "
        f"{_minutes(budget.needed_s(first * 2) - budget.needed_s(first))}"
    )


def _minutes(seconds: float) -> str:
    """As `--budget` takes it: `12m`, rounded up so that it is enough, and `30s` below a minute."""
    whole = math.ceil(seconds)
    return f"{whole}s" if whole < 60 else f"{-(-whole // 60)}m"


def _given(seconds: float) -> str:
    """The budget as it was given: `20m`, `90s`."""
    return f"{seconds:g}s" if seconds % 60 else f"{seconds / 60:g}m"
