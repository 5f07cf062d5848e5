"""The plan of a study: blocks over all conditions, each in its own random order.

A block is made of settings, whose conditions are compared with each other, in groups that stay together.

The time of a load drifts with the machine, and a pair of trials is worth the more the closer its two stand. A setting
has one page, link, engine, driver, device, slowdown of the processor, cache and factor: what differs in these stands
apart in a block, but for pages that a claim sets against each other and that differ in nothing else. So a block goes
from setting to setting, all at random: the order of the settings, of the groups of a setting, and of the members of a
group.

A setting of more than MOST_TOGETHER conditions, as of a factorial study, cannot stay close: its block takes minutes. It
is split by that one of the dimensions that are compared which has the fewest values: comparisons between those lose
their neighbourhood, and they are the fewest. As a setting is a whole product, a group still holds what its members are
compared with: plain of a protocol, say, among 36 variants.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from harness.model.condition import USUAL_FACTOR, Condition
from harness.model.trials import PlannedTrial
from harness.study.claim import Claim, pairs
from harness.study.defaultclaims import Compared, baseline_among
from harness.study.plan import MAX_PLANNED, Plan
from harness.study.study import Study

MOST_TOGETHER = 16
DRAW_BITS = 48  # of a run's own number: two runs share a draw in one of a million pairs

Thing = TypeVar("Thing")
CellGroup = tuple[Condition, ...]
CellSetting = tuple[CellGroup, ...]

COMPARED: tuple[Callable[[Condition], Hashable], ...] = (
    lambda condition: condition.protocol,
    lambda condition: condition.variant,
    lambda condition: condition.compression,
    lambda condition: condition.server,
    lambda condition: getattr(condition.workload, "depth", None),
    lambda condition: getattr(condition.workload, "connections", None),
)


def make_plan(study: Study, seed: int, draw: int | None = None) -> Plan:
    """Order the trials of a study: as many blocks as trials per condition at most, shuffled each by itself.

    `draw`: a number of the run's own, below 2^DRAW_BITS. Losses and jitter are drawn anew for each run and block by it,
    and for each page that no claim sets against another one, whatever else it names: what is averaged errs by itself,
    and what is compared alike. None: for each block alone.
    """
    source = random.Random(seed)  # noqa: S311  # an order that can be made again, not a secret
    settings = settings_of(study.conditions, twice=study.aa, claims=study.every_claim)
    first = {} if draw is None else _drawn_alike(study)
    pages = sorted({each.page for each in study.conditions})

    def drawn(condition: Condition, block: int) -> int | None:
        page = pages.index(first.get(condition.page, condition.page))
        return None if draw is None else draw + page * MAX_PLANNED + block

    planned: list[PlannedTrial] = []
    for block in range(1, study.trials.most + 1):
        for condition in shuffled(settings, source):
            order = len(planned) + 1
            planned.append(
                PlannedTrial(f"{order:05d}", block, order, condition, own_draw=drawn(condition, block))
            )
    return Plan(
        study=study.name,
        seed=seed,
        trials=tuple(planned),
        per_condition=study.trials,
        claims=study.all_claims,
        sets=study.every_set,
        figures=study.figures,
        published=study.published,
        options=study.options,
        title=study.title if study.title != study.name else "",
        study_text=study.text,
        companions=study.companions,
        portrayed=study.portraits,
    )


def settings_of(
    conditions: Iterable[Condition], *, twice: bool, claims: Iterable[Claim] = ()
) -> tuple[CellSetting, ...]:
    """The settings of a study, each with its groups. Pages that a claim sets against each other alone share one.

    `twice`: the baseline of each stands beside itself (A/A); of factors, the study as it is shows what chance does.
    """
    first = _first_of_compared(claims)
    settings = _by(lambda cell: _place(cell, first.get(cell.page, cell.page)), conditions)
    return tuple(
        _groups(cells, baseline_of(cells) if twice and _usual(cells) else None) for cells in settings
    )


def _first_of_compared(claims: Iterable[Claim]) -> dict[str, str]:
    """Pages that claims set against each other alone, each with the page that stands for all of them."""
    sides = [
        (claim.subject.get("page"), claim.reference.get("page"))
        for claim in claims
        if claim.named == ("page",)
    ]
    return _joined(
        (subject, reference) for subject, reference in sides if subject is not None and reference is not None
    )


def _drawn_alike(study: Study) -> dict[str, str]:
    """Pages of which claims set loads against each other, each with the page that stands for all of them."""
    return _joined(
        (subject["page"], reference["page"])
        for claim in study.every_claim
        for subject, reference in pairs(claim, study.dimensions)
        if reference is not None and subject["page"] != reference["page"]
    )


def _joined(compared: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Pages that belong together by these pairs, each with the page that stands for all of them."""
    first: dict[str, str] = {}
    for subject, reference in dict.fromkeys(compared):
        mine, other = first.get(subject, subject), first.get(reference, reference)
        first |= {page: other for page, of in first.items() if of == mine}
        first |= {subject: other, reference: other}
    return first


def _place(cell: Condition, page: str) -> Hashable:
    """What is alike in a setting; `page` stands for the pages that are compared with that of the cell."""
    by_browser = (cell.engine, cell.driver, cell.device, cell.cpu_slowdown, cell.cache)
    return (page, cell.link, *by_browser, cell.factor)


def _usual(setting: CellGroup) -> bool:
    """Whether a setting is the study as it is, and not one of its factors."""
    return setting[0].factor in ("", USUAL_FACTOR)


def baseline_of(setting: Sequence[Condition]) -> Condition:
    """What the others of a setting are compared with: http1 or the first protocol, plain, without compression."""
    return baseline_among(
        setting, lambda cell: Compared(cell.protocol, cell.variant.name, str(cell.compression))
    )


def shuffled(settings: Iterable[CellSetting], source: random.Random) -> list[Condition]:
    """The order of one block."""
    return [
        cell
        for setting in _in_random_order(settings, source)
        for group in _in_random_order(setting, source)
        for cell in _in_random_order(group, source)
    ]


def _groups(cells: CellGroup, doubled: Condition | None) -> CellSetting:
    """The groups of a setting, the condition that is measured twice beside itself."""
    return tuple(
        (*group, replace(doubled, again=True)) if doubled is not None and doubled in group else group
        for group in _split(cells)
    )


def _split(cells: CellGroup) -> Iterable[CellGroup]:
    if len(cells) <= MOST_TOGETHER:
        return (cells,)
    groupings = [_by(dimension, cells) for dimension in COMPARED]
    useful = [groups for groups in groupings if 1 < len(groups[0]) < len(cells)]
    if not useful:
        return (cells,)
    largest = max(useful, key=lambda groups: len(groups[0]))
    return (part for group in largest for part in _split(group))


def _by(key: Callable[[Condition], Hashable], cells: Iterable[Condition]) -> list[CellGroup]:
    """The conditions with the same key together, in the order of the first of them."""
    groups: dict[Hashable, list[Condition]] = {}
    for cell in cells:
        groups.setdefault(key(cell), []).append(cell)
    return [tuple(group) for group in groups.values()]


def _in_random_order(things: Iterable[Thing], source: random.Random) -> list[Thing]:
    order = list(things)
    source.shuffle(order)
    return order
