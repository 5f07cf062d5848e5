"""How many lanes machines carry, as `coldload doctor --lanes` measured it, in the user's cache folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.errors import ColdloadError, RecordsError
from harness.input import jsontext, keys
from harness.input.shown import one_line
from harness.system.cache import cache_folder
from harness.system.files import write_whole
from harness.system.topology import Topology

KNOWN_SCHEMA = 1
MOST = 10_000
MACHINE_ID = Path("/etc/machine-id")


def known_lanes(topology: Topology, processor: str | None) -> int | None:
    """The number that was measured on this very machine with these cores; None when nobody measured it."""
    path = _path(topology, processor)
    if not path.exists():
        return None
    try:
        known = jsontext.parse(path.read_bytes())
        return int(keys.checked_number("lanes", known["lanes"], 1, MOST, whole=True))
    except (ValueError, KeyError, ColdloadError) as error:
        raise RecordsError(
            f"{path} is damaged ({one_line(str(error))}); measure again with `coldload doctor --lanes`"
        ) from error


def keep_lanes(
    topology: Topology, processor: str | None, lanes: int, findings: Sequence[Mapping[str, Any]]
) -> Path:
    """Store the number, with what it was found from; returns the file."""
    path = _path(topology, processor)
    path.parent.mkdir(parents=True, exist_ok=True)
    machine = _identity(topology, processor)
    data = {"schema": KNOWN_SCHEMA, "lanes": lanes, "machine": machine, "findings": list(findings)}
    write_whole(path, json.dumps(data, indent=1) + "\n")
    return path


def _path(topology: Topology, processor: str | None) -> Path:
    """A file per machine: a home folder may be shared by many."""
    text = json.dumps(_identity(topology, processor), sort_keys=True)
    return cache_folder() / "lanes" / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


def _identity(topology: Topology, processor: str | None) -> dict[str, Any]:
    """What tells machines apart, and the same machine with other limits. Kernels differ a little in their memory."""
    number = MACHINE_ID.read_text().strip() if MACHINE_ID.exists() else ""
    return {
        # Its own text is a secret of the machine (machine-id(5)).
        "machine": hashlib.sha256(f"coldload {number}".encode()).hexdigest()[:16] if number else None,
        "processor": processor,
        "cores": [asdict(core) for core in topology.cores],
        "quota": topology.quota,
        "memory_gib": round(topology.memory_bytes / 2**30),
    }
