"""The process of a laboratory: what it is told comes on standard input, what it tells goes to standard output.

`harness.run.labprocess` is the other end.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import Any

from harness.errors import ColdloadError, UsageError
from harness.lab.calibration import Calibration
from harness.lab.emulated import STALL_VARIABLE
from harness.lab.lab import Opening
from harness.model.trials import PlannedTrial
from harness.run.directory import attempt_folder
from harness.run.laboratory import laboratory
from harness.run.labprocess import DONE, ENTERED, FAILED, MADE, NEXT, READY, Assignment, of_line, to_line
from harness.system.enclosure import enclosed, limit_private_files
from sites.archive import open_archive


class Wire:
    """The other end, which is also the watcher of the laboratory."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)  # what anything else prints goes to the log

    def tell(self, kind: str, content: object) -> None:
        self._out.write(to_line((kind, content)).encode() + b"\n")
        self._out.flush()

    def told(self) -> Any:
        """The next message; EOFError when there will be none."""
        line = sys.stdin.buffer.readline()
        if not line.endswith(b"\n"):
            raise EOFError
        return of_line(line)

    def preparing(self, what: str) -> None:
        self.tell("preparing", (what,))

    def warned(self, what: str) -> None:
        self.tell("warned", (what,))

    def waiting(self, seconds: float) -> None:
        self.tell("waiting", (seconds,))

    def calibrated(self, reading: Calibration) -> None:
        self.tell("calibrated", (reading,))

    def attempt_started(self, planned: PlannedTrial, attempt: int) -> None:
        self.tell("attempt_started", (planned, attempt))


def main() -> int:
    """Serve the other end in an enclosure until it says no more."""
    wire = Wire()
    try:
        if STALL_VARIABLE in os.environ:
            raise UsageError(f"{STALL_VARIABLE} makes every link late on purpose; unset it")
        return enclosed(lambda: _serve(wire))
    except ColdloadError as error:
        wire.tell(FAILED, error)
        return error.exit_code


def _serve(wire: Wire) -> int:
    try:
        wire.tell(ENTERED, None)
        _work(wire, wire.told())
    except (EOFError, BrokenPipeError):
        return 0  # the other end has gone
    except ColdloadError as error:
        wire.tell(FAILED, error)
        return error.exit_code
    except OSError as error:
        wire.tell(FAILED, str(error))
        return 3
    return 0


def _work(wire: Wire, assignment: Assignment) -> None:
    if assignment.memory_bytes is not None:
        limit_private_files(assignment.memory_bytes)
    opening = Opening(
        study=assignment.study,
        archives={
            engine: {name: open_archive(folder.parent, folder.name) for name, folder in folders.items()}
            for engine, folders in assignment.archives.items()
        },
        trials=assignment.trials,
        run=assignment.run,
        tell=wire.preparing,
        warn=wire.warned,
    )
    folders = partial(attempt_folder, assignment.files)
    with laboratory(opening, folders, wire, patient=assignment.patient) as executor:
        wire.tell(READY, (executor.environment, executor.lacking))
        while True:
            block = wire.told()
            for made in executor.run(block):
                wire.tell(MADE, made)
                if wire.told() != NEXT:
                    raise AssertionError("an attempt is followed by the next one")
            wire.tell(DONE, None)


if __name__ == "__main__":
    sys.exit(main())
