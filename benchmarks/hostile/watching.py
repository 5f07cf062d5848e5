"""A run under way, looked at from outside: its records as they come, its parts."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.hostile.cases import HUNG, TRACEBACK, one_line
from benchmarks.hostile.commands import Running
from benchmarks.hostile.stage import TIMEOUT_S, Part
from harness.outcome import Outcome
from harness.trial.trial import START_S

SLACK_S = (
    START_S + 30.0
)  # the longest start of a browser, then a testbed made anew and its link measured again
POLL_S = 0.005

Record = Mapping[str, Any]


class RunOverError(Exception):
    """The run has ended, or says nothing any more; the fault and what was seen."""

    def __init__(self, fault: str, seen: str) -> None:
        super().__init__(seen)
        self.fault = fault
        self.seen = seen


@dataclass
class Watched:
    """A run under way: its records as they come."""

    running: Running
    path: Path
    seen: list[Record] = field(default_factory=list)

    def records(self, count: int) -> list[Record]:
        """So many records, waited for; raises RunOverError when they do not come."""
        deadline = time.monotonic() + TIMEOUT_S + SLACK_S
        while len(self.seen) < count:
            alive = self.running.alive
            if self._read():
                deadline = time.monotonic() + TIMEOUT_S + SLACK_S
                continue
            if not alive:
                code = self.running.popen.returncode
                raise RunOverError(TRACEBACK, f"the run ended ({code}): {one_line(self.running.written())}")
            if time.monotonic() > deadline:
                raise RunOverError(HUNG, f"no record for {TIMEOUT_S} s and {SLACK_S:g} s of slack")
            time.sleep(POLL_S)
        return self.seen[:count]

    def _read(self) -> bool:
        if not self.path.exists():
            return False
        whole = self.path.read_bytes().rpartition(b"\n")[0].splitlines()
        new = [json.loads(line) for line in whole[len(self.seen) :]]
        self.seen += new
        return bool(new)

    def processes(self, part: Part) -> list[int]:
        return [pid for pid, words in self.running.parts().items() if part.found(words)]

    def honest_ms(self) -> float:
        """The median load time of the trials that nobody disturbed, as far as the report would take them."""
        times = [each["plt_ms"] for each in self.seen if each["outcome"] == Outcome.OK and each["plt_ms"]]
        return statistics.median(times[:2]) if times else float("nan")
