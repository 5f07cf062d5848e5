"""What wrk prints, recorded with nginx, as values; and what it does not print, refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.capacity.loadtool import ClosedLoop, Latency
from harness.capacity.wrk import command, read
from harness.errors import TestbedFailed
from harness.model.protocol import Protocol

DATA = Path(__file__).parents[3] / "data" / "capacity"
LOOP = ClosedLoop("http://site.example/", Protocol.HTTP1, 16, 1, 10.0, codings=("deflate", "gzip"))
FEW = replace(LOOP, connections=4)


def said(name: str) -> str:
    return (DATA / f"wrk-{name}.txt").read_text()


def test_a_reading_holds_rate_bytes_and_latencies() -> None:
    reading = read(said("http1-1"), LOOP, DATA)
    assert (reading.requests, reading.seconds, reading.errors) == (12611, 1.011149, {})
    assert reading.bytes_read == 5284009
    assert reading.requests_per_s == pytest.approx(12471.95, abs=0.01)  # wrk's own word in the same output
    assert reading.latency == Latency(0.428, 4.819, 9.817, 14.017)
    assert (reading.protocol, reading.tls, reading.bytes_body) == (None, None, None)


def test_of_pipelined_requests_no_latency_is_known() -> None:
    reading = read(said("http1-8"), replace(LOOP, depth=8), DATA)
    assert (reading.requests, reading.latency) == (17072, None)


def test_tls_looks_alike() -> None:
    assert read(said("https1-1"), replace(LOOP, protocol=Protocol.HTTPS1), DATA).requests == 4328


def test_what_was_not_found_is_an_error_and_no_request() -> None:
    reading = read(said("404"), FEW, DATA)
    assert (reading.requests, reading.errors) == (0, {"status": 2218})


def test_errors_are_counted_by_kind() -> None:
    assert read(said("killed-server"), FEW, DATA).errors == {"read": 4, "write": 13008}


@pytest.mark.parametrize(
    ("was", "becomes", "shown"),
    [
        ("  Thread Stats", "  Threads", "strange line: '  Threads"),
        ('{"requests"', '{"answers"', "ended with a strange line"),
        ('"status": 0', '"status": -1', "numbers that cannot be"),
        ('"status": 0', '"status": 99999', "numbers that cannot be"),
        ('"duration_us": 1011149', '"duration_us": 0', "numbers that cannot be"),
        ('"p999_us": 14017', '"p999_us": 1.5', "numbers that cannot be"),
        ("and 16 connections", "and 15 connections", "was to make 16 connections"),
    ],
)
def test_what_is_not_understood_is_refused_with_the_line(was: str, becomes: str, shown: str) -> None:
    changed = said("http1-1").replace(was, becomes)
    with pytest.raises(TestbedFailed, match=shown):
        read(changed, LOOP, DATA)


@pytest.mark.parametrize("lines", [0, 1, 2, 7])
def test_an_output_without_its_end_is_refused(lines: int) -> None:
    with pytest.raises(TestbedFailed):
        read("".join(said("http1-1").splitlines(keepends=True)[:lines]), LOOP, DATA)


def test_the_command_asks_for_the_loop() -> None:
    words = command(replace(LOOP, depth=8, seconds=2.4), DATA).argv
    assert words[:7] == ("wrk", "--threads", "1", "--connections", "16", "--duration", "2s")
    assert words[-3:] == ("http://site.example/", "--", "8")
    assert "Accept-Encoding: deflate, gzip" in words
