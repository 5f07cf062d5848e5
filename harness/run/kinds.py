"""Which lab measures which kind. A further kind is a further `TrialLab`, and a line in `KINDS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from harness.capacity.crowdtrial import crowd_lab, crowd_programs
from harness.capacity.ratetrial import rate_lab, rate_programs
from harness.engines.browsers import browser_programs
from harness.lab.lab import Opening, TrialLab
from harness.model.kind import Kind
from harness.trial.browserlab import load_lab


@dataclass(frozen=True)
class Measuring:
    """How a kind is measured: its lab, and the programs it runs."""

    lab: Callable[[Opening], AbstractContextManager[TrialLab]]
    programs: Callable[[], Mapping[str, Callable[[], str]]]


KINDS: Mapping[Kind, Measuring] = {
    Kind.LOAD: Measuring(load_lab, browser_programs),
    Kind.USERS: Measuring(crowd_lab, crowd_programs),
    Kind.REQUESTS: Measuring(rate_lab, rate_programs),
}
