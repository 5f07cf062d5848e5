"""How far a run has come: what is left of its plan. Pure but for the reading of a run's files."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.model.trials import PlannedTrial
from harness.records import RECORDS
from harness.run.attempts import Attempts, read_attempts
from harness.study.plan import LOOKS, Looks, Plan, read_looks


@dataclass(frozen=True)
class Standing:
    """A plan with the attempts that were made and the looks that were taken. Both grow as the run goes on."""

    plan: Plan
    attempts: Attempts
    looks: Looks

    @classmethod
    def read(cls, folder: Path, plan: Plan) -> Standing:
        """That of a run directory; changes nothing there."""
        return cls(plan, read_attempts(folder / RECORDS, plan), read_looks(folder / LOOKS, plan))

    @cached_property
    def blocks(self) -> Mapping[int, tuple[PlannedTrial, ...]]:
        """The trials of each block, in their order."""
        by_block = itertools.groupby(self.plan.trials, lambda planned: planned.block)
        return {number: tuple(trials) for number, trials in by_block}

    def left_of(self, block: int) -> list[PlannedTrial]:
        """The trials of a block that are neither finished nor no longer needed, in the latest go at it.

        None are left when any go at it is whole, also one that was thought lost.
        """
        needed = [planned for planned in self.blocks[block] if self.looks.needs(planned)]
        left = needed
        for restart in sorted(self.attempts.restarts(block)):
            left = [each for each in needed if self.attempts.next_of(each, restart) is not None]
            if not left:
                return []
        return left

    def of_blocks(self, blocks: Iterable[int]) -> list[PlannedTrial]:
        """All trials of these blocks, also those that are finished: a block may be begun again."""
        return [planned for block in sorted(set(blocks)) for planned in self.blocks[block]]

    @property
    def left(self) -> list[PlannedTrial]:
        """The trials still to do, in their order."""
        return [planned for block in self.blocks for planned in self.left_of(block)]
