"""The user's folder for what is downloaded or built once and is the same for every checkout."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """$COLDLOAD_CACHE, or ~/.cache/coldload."""
    return Path(os.environ.get("COLDLOAD_CACHE") or Path.home() / ".cache" / "coldload")


def records_cache() -> Path:
    """Where the records of large runs are kept once they were read."""
    return cache_folder() / "records"
