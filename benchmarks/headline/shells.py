"""Where Mahimahi is. Debian has no package of it: `benchmarks.mahimahi` says how it is built by hand.

Its programs do not tell their version. The file `version` beside their folder does, for those who write it.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from benchmarks.headline.row import NotThereError

USUAL = Path("/opt/mahimahi/bin")
PROGRAMS = ("mm-delay", "mm-link", "mm-webreplay")
ALIKE, AS_IT_SHIPS = "our congestion control", "as it ships"


@dataclass(frozen=True)
class Shells:
    """The folder of its programs, and which version they are."""

    folder: Path
    version: str


def mahimahi(usual: Path = USUAL) -> Shells:
    """Mahimahi as it is in PATH or in its usual folder; NotThereError without it, and for who is not root."""
    path = f"{os.environ.get('PATH', '')}:{usual}"
    places = {name: shutil.which(name, path=path) for name in PROGRAMS}
    missing = [name for name, there in places.items() if there is None]
    if missing:
        raise NotThereError(
            f"{', '.join(missing)} of Mahimahi is not installed; `python -m benchmarks.mahimahi --help` tells how to "
            "build it (--prefix=/opt/mahimahi)"
        )
    if os.geteuid():
        raise NotThereError("Mahimahi is set beside ours by root alone")
    folder = Path(str(places["mm-link"])).parent
    told = folder.parent / "version"
    return Shells(folder, told.read_text().strip() if told.is_file() else "built by hand")
