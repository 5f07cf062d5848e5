"""Running a generator of users: a plan in, a line per page out."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.system.command import Command
from harness.system.netns import Host
from harness.system.process import Process, running

PLAN_NAME = "plan.json"


@dataclass(frozen=True)
class UserGenerator:
    """A generator as it is started.

    `command` takes the plan's file, and a folder for files of its own. `version` is name and version; EnvironmentLacks
    when it cannot run here. `threads` is how many of its threads load pages, None: as many as there are cores.
    """

    name: str
    command: Callable[[Path, Path], Command]
    version: Callable[[], str]
    threads: int | None = None

    def log(self, files: Path) -> Path:
        """What it said beside the lines of the pages."""
        return files / f"{self.name}.log"

    @contextlib.contextmanager
    def generating(self, plan: Mapping[str, Any], host: Host, files: Path) -> Iterator[Process]:
        """A crowd on a host for the length of the block. It ends by itself when its time is over (`check_ended_well`).

        The plan says what is loaded, by whom and when. The lines of the pages come to the plan's `lines`, each whole
        as its page ends. Plan and log are in `files`.
        """
        files.mkdir(parents=True, exist_ok=True)
        file = files / PLAN_NAME
        file.write_text(json.dumps(plan) + "\n", encoding="utf-8")
        command = self.command(file, files).named(self.name).on(host.path).dying_with_us()
        with running(command, self.log(files)) as process:
            yield process
