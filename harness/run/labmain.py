"""The process of a lab, in an enclosure that it makes; `harness.run.labprocess` has both ends of its wire."""

from __future__ import annotations

import os
import sys
from functools import partial

from harness.errors import ColdloadError, UsageError
from harness.lab.emulated import STALL_VARIABLE
from harness.lab.lab import Opening
from harness.run.directory import attempt_folder
from harness.run.labprocess import ENTERED, FAILED, Assignment, Wire
from harness.run.openlab import open_lab
from harness.system.enclosure import enclosed, limit_private_files
from sites.archive import open_archive


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
    with open_lab(opening, folders, wire, patient=assignment.patient) as executor:
        wire.answer(executor)


if __name__ == "__main__":
    sys.exit(main())
