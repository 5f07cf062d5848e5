"""Build hook: compile the link emulator with cargo and put it into the wheel (or beside an editable install)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PINNED = "constraints.txt"  # with the wheel: a root that it makes has these versions, too


class LinkemBuildHook(BuildHookInterface[Any]):
    """Compiles harness/linkem before the wheel is made and tags the wheel for this platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling for each wheel, also an editable one."""
        crate = Path(self.root, "harness", "linkem")
        building = [sys.executable, str(crate / "build.py"), "build"]
        told = subprocess.run(building, check=True, stdout=subprocess.PIPE, text=True).stdout
        (crate / "bin").mkdir(exist_ok=True)
        store(Path(told.rstrip("\n")), crate / "bin" / "linkem")
        if self.target_name == "wheel" and version == "standard":
            build_data["force_include"][PINNED] = f"configs/{PINNED}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def store(program: Path, place: Path) -> None:
    """Put a copy there at once: a run under way keeps the program it started, a power cut leaves the old or the new."""
    # In a folder of its own: another build may do the same.
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".new-") as mine:
        copy = Path(mine, place.name)
        shutil.copy2(program, copy)
        with copy.open("rb") as file:
            os.fsync(file.fileno())
        copy.replace(place)
