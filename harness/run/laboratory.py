"""A laboratory: the lab of a study in this enclosure, its links measured, where blocks are run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from harness.lab.calibration import Patience, refuse_if_off
from harness.lab.environment import describe_environment
from harness.lab.lab import Opening, TrialLab
from harness.model.engine import Engine
from harness.model.link import Link
from harness.model.trials import PlannedTrial
from harness.run.kinds import KINDS
from harness.run.repeating import Folders, Repeating
from harness.run.work import Block, Made, Watcher


class Laboratory:
    """Runs blocks in a lab that is open. `environment` is what it was made on and with."""

    def __init__(
        self, made: TrialLab, opening: Opening, folders: Folders, watcher: Watcher, *, patient: bool
    ) -> None:
        self._made = made
        self._opening = opening
        self._watcher = watcher
        programs = KINDS[opening.study.kind].programs()
        self.environment: Mapping[str, Any] = describe_environment(
            made.testbed, opening.archives, opening.study, programs
        )
        self._repeating = Repeating(made, folders, watcher, self._measure_from, patient=patient)

    @property
    def lacking(self) -> Mapping[Engine, str]:
        """The engines that cannot work on this machine, each with the reason."""
        return self._made.lacking

    def measure_links(self) -> None:
        """Measure the links of all trials; MeasurementRefused when one is off."""
        self._measure(self._opening.trials)

    def run(self, block: Block) -> Iterator[Made]:
        """Run a block, see `Executor`."""
        for due in block.trials:
            yield from self._repeating.trial(due)

    def _measure_from(self, planned: PlannedTrial) -> None:
        """Measure the links from a trial on, over the testbed that there is by then."""
        self._measure([each for each in self._opening.trials if each.order >= planned.order])

    def _measure(self, trials: Sequence[PlannedTrial]) -> None:
        last = []
        for link in links_of(trials):
            self._watcher.preparing(f"measuring link {link.name}")
            for reading in self._made.readings(link, trials, Patience(waiting=self._watcher.waiting)):
                self._watcher.calibrated(reading)
            last.append(reading)
        refuse_if_off(last)


def links_of(trials: Iterable[PlannedTrial]) -> list[Link]:
    """The links of trials, each once, the slowest first."""
    return sorted(
        {planned.condition.link for planned in trials},
        key=lambda link: (link.down.rate.mean_mbps, link.rtt_ms, link.name),
    )


@contextlib.contextmanager
def laboratory(
    opening: Opening, folders: Folders, watcher: Watcher, *, patient: bool
) -> Iterator[Laboratory]:
    """A laboratory for trials of a study, open for the length of the block. Must run inside an enclosure.

    `patient`: after an attempt that was disturbed it waits for a calm machine.
    """
    with KINDS[opening.study.kind].lab(opening) as made:
        yield Laboratory(made, opening, folders, watcher, patient=patient)
