"""`coldload crowd --find-limit`: how many users a server stands, by crowds of different sizes at the same testbed."""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.capacity.crowdtrial import GENERATORS, CrowdOptions, capacity_of, run_crowd_trial
from harness.capacity.limit import Bottleneck, shares_used
from harness.capacity.recipe import PageRecipe
from harness.capacity.resources import Machine, allotted_here, crowd_of, refuse_too_many
from harness.capacity.series import PAGES_NAME, SECONDS_NAME, PageLine, Second
from harness.capacity.usersearch import Held, UserLimit, find_limit
from harness.cli.crowdlines import LIMITS
from harness.cli.telling import say as print_line
from harness.errors import EnvironmentLacks, Outcome, StudyError, TestbedFailed, UsageError
from harness.input.shown import one_line
from harness.lab.testbed import Testbed
from harness.model.condition import Condition
from harness.model.kind import Users
from harness.model.serversettings import USUAL
from harness.model.trials import PlannedTrial
from harness.records import Record
from harness.study.metrics import machine_reasons, unsound

ATTEMPTS = 2  # at a crowd that the machine disturbs
OVERHEAD_S = 10.0  # of a crowd: its hosts, its link, its end
USUAL_ROUGH, USUAL_FINE = 5, 2.5  # crowds of the first round, and of each further one


def refuse_unless_settled(workload: Users) -> None:
    """UsageError when a number of users is not held long enough: a crowd settles in the first half of the time."""
    least = 2 * (workload.think_s + workload.slower_than_s)
    if workload.seconds < least:
        raise UsageError(
            f"--for {workload.seconds:g}s: a number of users settles for a page and a think time, and is measured as "
            f"long; give at least --for {math.ceil(least)}s"
        )


@dataclass
class LimitSearch:
    """A search at a testbed that serves the page. `condition` has the first number of users; `say` tells a person."""

    testbed: Testbed
    condition: Condition
    workload: Users
    recipe: PageRecipe
    files: Path
    say: Callable[[str], None]
    crowds: list[Held] = field(default_factory=list)

    def run(self, rounds: int, *, as_json: bool) -> int:
        """Search, and print what came of it; the exit code."""
        began = time.monotonic()
        each_s = self.workload.seconds + OVERHEAD_S
        likely = USUAL_ROUGH + rounds * USUAL_FINE
        self.say(
            f"some {likely:.0f} crowds of {self.workload.seconds:g} s, about {likely * each_s / 60:.0f} min; a crowd "
            f"is too large when its median page takes longer than {self.workload.slower_than_s:g} s"
        )
        bound_ms = 1000 * self.workload.slower_than_s
        limit = find_limit(self.hold, bound_ms, start=self.workload.most, rounds=rounds)
        if as_json:
            print(json.dumps({**limit.to_json(), "bound_s": self.workload.slower_than_s, **self._told()}))
        else:
            for line in answer(limit, self.condition, self.workload, self.crowds):
                print_line(line)
            print_line(f"{len(self.crowds)} crowds in {(time.monotonic() - began) / 60:.0f} min")
        return 0 if limit.users is not None else 1

    def _told(self) -> dict[str, object]:
        return {
            "provisional": any(crowd.disturbed for crowd in self.crowds),
            "crowds": [crowd.to_json() for crowd in self.crowds],
        }

    def hold(self, users: int) -> Held:
        """One number of users; once more where the machine disturbed it, unless it did so before."""
        calm = not self.crowds or self.crowds[-1].disturbed is None
        for _ in range(ATTEMPTS if calm else 1):
            held = self._crowd(users)
            if held.disturbed is None:
                break
        self.crowds.append(held)
        return held

    def _crowd(self, users: int) -> Held:
        workload = replace(self.workload, steps=(users,))
        condition = replace(self.condition, workload=workload)
        try:
            refuse_too_many(
                crowd_of(workload, self.recipe, condition.protocol, condition.link.rtt_ms), Machine.this()
            )
        except (EnvironmentLacks, StudyError) as error:
            self.say(f"{users:,} users: {one_line(str(error))}")
            return Held(users=users, refused=str(error))
        number = len(self.crowds) + 1
        options = CrowdOptions(self.recipe, interrupted=lambda _: self.say(self._until_now(users)))
        planned = PlannedTrial(f"{number:05d}", number, number, condition)
        files = self.files / planned.trial
        record = run_crowd_trial(self.testbed, planned, options, files)
        if record.outcome not in (Outcome.OK, Outcome.PAGE_ERROR):
            raise TestbedFailed(f"with {users:,} users: {record.outcome}: {record.reason}")
        held = self._held(record, condition, workload, files)
        self.say(one_line(crowd_line(held)))
        return held

    def _held(self, record: Record, condition: Condition, workload: Users, files: Path) -> Held:
        end = workload.seconds
        pages = [PageLine(**line) for line in _lines(files / PAGES_NAME)]
        seconds = [Second(**line) for line in _lines(files / SECONDS_NAME)]
        link, settings = condition.link, USUAL[condition.server]
        capacity = capacity_of(GENERATORS[condition.engine], link, allotted_here(), settings)
        reason = unsound(record.to_json())
        return replace(
            settled(workload.most, pages, end),
            used=shares_used([second for second in seconds if end / 2 <= second.t_s <= end], capacity),
            limited_by=Bottleneck(record.observation.limited_by or Bottleneck.NOTHING),
            disturbed=reason if reason in machine_reasons() else None,
        )

    def _until_now(self, users: int) -> str:
        return f"interrupted with {users:,} users; held before: " + (
            ", ".join(f"{crowd.users:,} ({_page(crowd)})" for crowd in self.crowds) or "none"
        )


def settled(users: int, pages: Sequence[PageLine], end_s: float) -> Held:
    """What pages took that were under way in the second half of a crowd, once it had settled: also those that ended
    after it. A page that failed took for ever; `pages_per_s` are those that were loaded within that half.
    """
    there = [page for page in pages if page.t_s <= end_s and page.counts_at_s >= end_s / 2]
    times = [math.inf if page.ms is None else page.ms for page in there]
    loaded = sum(page.ms is not None and page.counts_at_s <= end_s for page in there)
    return Held(
        users=users,
        page_ms=statistics.median(times) if times else math.inf,
        pages_per_s=round(loaded / (end_s / 2), 3),
    )


def crowd_line(held: Held) -> str:
    """One number of users."""
    used = ", ".join(f"{part} {share:.0%}" for part, share in held.used.items())
    words = [
        f"{held.users:,} user{'s' * (held.users != 1)}",
        _page(held),
        f"{held.pages_per_s:.1f} pages/s",
        f"used: {used or '-'}",
    ]
    return "  ".join([*words, *([f"disturbed: {held.disturbed}"] if held.disturbed else [])])


def answer(found: UserLimit, condition: Condition, workload: Users, crowds: Sequence[Held]) -> Iterator[str]:
    """What came of a search, the answer first."""
    bound = f"{workload.slower_than_s:g} s"
    page = f"{condition.page} by {condition.protocol}"
    if found.users is None or found.low is None or found.high is None:
        if found.at_least is None:
            yield f"{page}: no number of users stays within {bound}: {found.why}"
        else:
            yield (
                f"{page}: at least {found.at_least:,} users stay within {bound}; the limit cannot be measured here: "
                f"{found.why}"
            )
    else:
        yield (
            f"{page}: up to {found.users:,.0f} users (95 % between {found.low:,.0f} and {found.high:,.0f}) the median "
            f"page takes no longer than {bound}"
        )
        yield f"limited by {LIMITS[found.limited_by]}"
        yield _next_line(found)
    disturbed = [held for held in crowds if held.disturbed]
    if disturbed:
        yield (
            f"provisional: the machine disturbed {len(disturbed)} of {len(crowds)} crowds "
            f"({', '.join(sorted({held.disturbed or '' for held in disturbed}))}), so the server may stand more"
        )


def _next_line(found: UserLimit) -> str:
    if found.next_limit is None or found.next_users is None:
        return "next limit: none in sight"
    name = PARTS.get(found.next_limit, found.next_limit.value)
    return f"next limit: {name}, at some {found.next_users:,.0f} users, as long as a page needs as much of it as now"


PARTS = {
    Bottleneck.WORKERS: "the server's workers or connections",
    Bottleneck.SERVER_CPU: "the server's CPU",
    Bottleneck.GENERATOR_CPU: "the CPU of what makes the users, beyond which nothing can be measured here",
    Bottleneck.EMULATOR: "the link emulator, beyond which nothing can be measured here",
    Bottleneck.LINK: "the link that all share",
}


def _page(held: Held) -> str:
    return "no page" if math.isinf(held.page_ms) else f"{held.page_ms / 1000:.2f} s a page"


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, path.read_text().splitlines())
