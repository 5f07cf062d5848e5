"""What must be the same on every machine of a run, and what a machine is called."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from harness.input.keys import NAME_PATTERN

MACHINE_VARIABLE = "COLDLOAD_MACHINE"
PACKAGES = ("harness", "sites", "dnsredirect", "configs")
SUFFIXES = (".py", ".js", ".lua", ".toml", ".template")
SAME = ("programs", "packages", "fonts", "link")  # of the environment


def machine_name() -> str:
    """$COLDLOAD_MACHINE, or the name of the host."""
    name = os.environ.get(MACHINE_VARIABLE) or socket.gethostname()
    return name if NAME_PATTERN.fullmatch(name) else "machine"


def dask_version() -> str:
    """That of Dask distributed, which must be the same everywhere, too."""
    return version("distributed")


@cache
def source_digest() -> str:
    """Of all sources that measure: two machines with one digest run the same coldload."""
    digest = hashlib.sha256()
    for package in PACKAGES:
        root = Path(str(files(package)))
        for path in sorted(root.rglob("*")):
            if path.suffix in SUFFIXES and "node_modules" not in path.parts:
                digest.update(f"{package}/{path.relative_to(root)}\n".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def differences(environment: Mapping[str, Any], others: Mapping[str, Any]) -> list[str]:
    """In what a machine differs from the others, as `programs.chromium: A, elsewhere B`."""
    mine, theirs = (dict(_leaves({key: each.get(key) for key in SAME})) for each in (environment, others))
    return [
        f"{key}: {mine.get(key)}, elsewhere {theirs.get(key)}"
        for key in sorted({*mine, *theirs})
        if mine.get(key) != theirs.get(key)
    ]


def _leaves(data: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield from _leaves(value, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, str(data)
