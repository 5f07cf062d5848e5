"""How a trial ends."""

from __future__ import annotations

from enum import StrEnum

from harness.errors import ColdloadError


class Outcome(StrEnum):
    """How a trial ended. Only `ok` trials enter an estimate; the others are counted by name."""

    OK = "ok"
    PAGE_TIMEOUT = "page-timeout"
    PAGE_ERROR = "page-error"
    WRONG_PROTOCOL = "wrong-protocol"
    WRONG_CACHE = "wrong-cache"
    MISSING_OBJECTS = "missing-objects"
    TESTBED_FAILED = "testbed-failed"


class TrialFailed(ColdloadError):
    """One trial failed. `outcome` says how; the runner records it and goes on.

    `died`: the browser has ended, or the process of its page. `harness.probes.registry` tells who is to blame.
    """

    def __init__(self, outcome: Outcome, reason: str, *, died: bool = False) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason
        self.died = died

    def in_which(self, what: str) -> TrialFailed:
        """The same failure, told with what it befell."""
        return TrialFailed(self.outcome, f"{what}: {self.reason}", died=self.died)
