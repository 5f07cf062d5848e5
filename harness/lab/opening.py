"""What a room is opened with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.lab.studybed import Archives
from harness.model.plan import PlannedTrial
from harness.study.study import Study

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Opening:
    """A study, its archives, the trials that are left of it, and the directory of the run.

    `tell` is given what is being prepared, for somebody who waits; `warn` what somebody should read afterwards.
    """

    study: Study
    archives: Archives
    trials: Sequence[PlannedTrial]
    run: Path
    tell: Tell
    warn: Tell
