"""Trace files, whole and damaged."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from harness.engines.browser import read_trace

EVENTS = [{"name": "Screenshot", "ph": "O", "ts": 7, "args": {"snapshot": "AA=="}}]


def test_a_trace_that_is_cut_off_or_none_has_no_events(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    whole = gzip.compress(json.dumps({"traceEvents": EVENTS}).encode())
    path.write_bytes(whole)
    assert read_trace(path) == EVENTS
    for text in (whole[:-20], b"", b"{}", gzip.compress(b"{}"), gzip.compress(b"[1")):
        path.write_bytes(text)
        assert read_trace(path) == []
    assert read_trace(tmp_path / "none") == []
