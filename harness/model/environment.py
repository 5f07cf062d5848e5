"""What a run was made with, as its environment.json tells it: at its beginning, and wherever it went on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CONTINUED = "continued"  # the environments of later calls, inside the first one
# What should be alike throughout a run, and in runs that are set against each other.
ALIKE = ("coldload", "programs", "link", "browser", "replay", "servers", "archives")
OF_THE_MACHINE = ("processor", "kernel")  # what may change what is measured; a lane has cores of its own
# A signature is a byte longer or shorter by chance; the chain and its key are settings of their own.
BY_CHANCE = ".certificate_bytes"


def environments(stored: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The first one, then that of each later call."""
    first = {key: value for key, value in stored.items() if key != CONTINUED}
    later = stored.get(CONTINUED)
    return (
        (first, *(environment for environment in later if isinstance(environment, dict)))
        if isinstance(later, list)
        else (first,)
    )
