"""What wrk and h2load print and log, recorded with nginx, as values; and what they do not print, refused."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.capacity.loadtool import ClosedLoop, Latency
from harness.capacity.ratetools import (
    H2LOAD_COUNTS_FROM,
    H2LOAD_TIMES,
    Logged,
    few,
    h2load_command,
    read_h2load,
    read_wrk,
    uncorrected,
    under_way,
    wrk_command,
)
from harness.errors import TestbedFailed
from harness.model.protocol import Protocol

DATA = Path(__file__).parents[3] / "data" / "capacity"
WRK_LOOP = ClosedLoop("http://site.example/", Protocol.HTTP1, 16, 1, 10.0, codings=("deflate", "gzip"))
FEW_CONNECTIONS = replace(WRK_LOOP, connections=4)


def wrk_said(name: str) -> str:
    return (DATA / f"wrk-{name}.txt").read_text()


def test_of_wrk_a_reading_holds_rate_bytes_and_latencies() -> None:
    reading = read_wrk(wrk_said("http1-1"), WRK_LOOP, DATA)
    assert (reading.requests, reading.seconds, reading.errors) == (9348, 1.008528, {})
    assert reading.bytes_read == 4085076
    assert reading.requests_per_s == pytest.approx(9268.95, abs=0.01)  # wrk's own word in the same output
    assert reading.latency == Latency(0.771, 3.646, 11.424, 44.388)
    assert (reading.protocol, reading.tls, reading.bytes_body) == (None, None, None)


def test_of_wrk_of_pipelined_requests_no_latency_is_known() -> None:
    reading = read_wrk(wrk_said("http1-8"), replace(WRK_LOOP, depth=8), DATA)
    assert (reading.requests, reading.latency) == (9944, None)
    assert reading.batch == Latency(9.271, 20.110, 136.027, 136.146)


def test_of_wrk_what_took_too_long_for_it_is_among_the_slowest() -> None:
    said = wrk_said("http1-1").replace('"requests": 9348', '"requests": 9358')
    reading = read_wrk(said.replace('"timeout": 0', '"timeout": 10'), WRK_LOOP, DATA)
    assert (reading.requests, reading.errors) == (9358, {"timeout": 10})
    assert reading.latency is not None
    assert reading.latency.p99_ms is not None
    assert reading.latency.p99_ms > 11.424
    assert reading.latency.p999_ms is None


@pytest.mark.parametrize(("name", "depth", "requests"), [("http1-1", 1, 9348), ("http1-8", 8, 9944)])
def test_of_wrk_what_it_adds_to_its_latencies_is_taken_out(name: str, depth: int, requests: int) -> None:
    """What is left is one for each batch, and its mean that of a closed loop (Little's law)."""
    told = json.loads(wrk_said(name).splitlines()[-1])
    corrected = dict(told["latencies_us"])
    measured = uncorrected(corrected, requests // 16, told["duration_us"])
    assert sum(measured.values()) * depth == requests < sum(corrected.values()) * depth * 0.8
    mean_us = sum(us * count for us, count in measured.items()) / sum(measured.values())
    assert mean_us == pytest.approx(16 * depth * told["duration_us"] / requests, rel=0.06)


@given(st.dictionaries(st.integers(1, 300), st.integers(1, 9), min_size=1), st.integers(1, 100))
def test_of_wrk_what_it_adds_is_known(measured: dict[int, int], between: int) -> None:
    """`stats_correct` of wrk 4.1.0, as it stands there."""
    corrected = Counter(measured)
    for longer in range(2 * between, max(measured) + 1):
        shorter = longer - between
        while corrected[longer] and shorter > between:
            corrected[shorter] += corrected[longer]
            shorter -= between
    assert uncorrected(+corrected, 1, between) == measured


def test_of_wrk_tls_looks_alike() -> None:
    assert read_wrk(wrk_said("https1-1"), replace(WRK_LOOP, protocol=Protocol.HTTPS1), DATA).requests == 4684


def test_of_wrk_what_was_not_found_is_an_error_and_no_request() -> None:
    reading = read_wrk(wrk_said("404"), FEW_CONNECTIONS, DATA)
    assert (reading.requests, reading.errors) == (0, {"status": 14901})


def test_of_wrk_errors_are_counted_by_kind() -> None:
    assert read_wrk(wrk_said("killed-server"), FEW_CONNECTIONS, DATA).errors == {"read": 4, "write": 5116}


@pytest.mark.parametrize(
    ("was", "becomes", "shown"),
    [
        ("  Thread Stats", "  Threads", "strange line: '  Threads"),
        ('{"requests"', '{"answers"', "ended with a strange line"),
        ('"status": 0', '"status": -1', "numbers that cannot be"),
        ('"status": 0', '"status": 99999', "numbers that cannot be"),
        ('"duration_us": 1008528', '"duration_us": 0', "numbers that cannot be"),
        ("[104, 1]", "[104, 1.5]", "numbers that cannot be"),
        ("[104, 1]", "[104]", "numbers that cannot be"),
        ("[104, 1]", "[104, 99]", "the times of 9446 batches, and of 9348 requests"),
        ('"duration_us": 1008528', '"duration_us": 100852', "otherwise than wrk 4.1.0 does"),
        ("and 16 connections", "and 15 connections", "was to make 16 connections"),
    ],
)
def test_of_wrk_what_is_not_understood_is_refused_with_the_line(was: str, becomes: str, shown: str) -> None:
    changed = wrk_said("http1-1").replace(was, becomes)
    with pytest.raises(TestbedFailed, match=shown):
        read_wrk(changed, WRK_LOOP, DATA)


@pytest.mark.parametrize("lines", [0, 1, 2, 7])
def test_of_wrk_an_output_without_its_end_is_refused(lines: int) -> None:
    with pytest.raises(TestbedFailed):
        read_wrk("".join(wrk_said("http1-1").splitlines(keepends=True)[:lines]), WRK_LOOP, DATA)


def test_of_wrk_the_command_asks_for_the_loop() -> None:
    words = wrk_command(replace(WRK_LOOP, depth=8, seconds=2.4), DATA).argv
    assert words[:7] == ("wrk", "--threads", "1", "--connections", "16", "--duration", "2s")
    assert words[-3:] == ("http://site.example/", "--", "8")
    assert "Accept-Encoding: deflate, gzip" in words


H2LOAD_LOOP = ClosedLoop("http://site.example/", Protocol.HTTP1, 4, 1, 0.02, 0.5)


def h2load_said(name: str) -> str:
    return (DATA / f"h2load-{name}.txt").read_text()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(DATA / "h2load-http1-1.tsv", tmp_path / H2LOAD_TIMES)
    return tmp_path


def times(name: str, folder: Path) -> Path:
    shutil.copy(DATA / f"h2load-{name}.tsv", folder / H2LOAD_TIMES)
    return folder


def test_of_h2load_a_reading_holds_rate_bytes_and_the_latencies_of_the_log(folder: Path) -> None:
    reading = read_h2load(h2load_said("http1-1"), H2LOAD_LOOP, folder)
    assert (reading.requests, reading.errors, reading.bytes_read) == (212, {}, 88828)
    assert reading.requests_per_s == pytest.approx(10600)  # h2load's own word
    taken = sorted(int(line.split("\t")[2]) for line in (folder / H2LOAD_TIMES).read_text().splitlines())
    assert reading.latency is not None
    wanted = [taken[math.ceil(share * len(taken)) - 1] / 1000 for share in (0.5, 0.9, 0.99, 0.999)]
    assert [
        reading.latency.p50_ms,
        reading.latency.p90_ms,
        reading.latency.p99_ms,
        reading.latency.p999_ms,
    ] == wanted
    assert (reading.protocol, reading.tls) == ("http/1.1", None)
    assert reading.under_way is not None
    assert 0.9 * H2LOAD_LOOP.connections <= reading.under_way <= H2LOAD_LOOP.connections


@pytest.mark.parametrize(
    ("name", "protocol", "wire", "tls", "requests"),
    [
        ("http1-8", Protocol.HTTP1, "http/1.1", None, 513),
        ("https1-8", Protocol.HTTPS1, "http/1.1", "TLSv1.3", 128),
        ("h2-8", Protocol.H2, "h2", "TLSv1.3", 160),
    ],
)
def test_of_h2load_its_own_word_tells_protocol_and_tls(
    name: str, protocol: Protocol, wire: str, tls: str | None, requests: int, tmp_path: Path
) -> None:
    reading = read_h2load(
        h2load_said(name), replace(H2LOAD_LOOP, protocol=protocol, depth=8), times(name, tmp_path)
    )
    assert (reading.protocol, reading.tls, reading.requests) == (wire, tls, requests)
    assert reading.latency is not None
    assert reading.under_way is not None
    assert 2 * H2LOAD_LOOP.connections < reading.under_way <= 8 * H2LOAD_LOOP.connections


@pytest.mark.parametrize(
    ("spans", "at_once"),
    [
        ([(0, 10), (10, 20), (20, 30)], 1.0),
        ([(0, 10), (0, 20), (10, 30), (20, 30)], 1.5),
        ([(0, 30), (0, 40)], 0.0),  # all of the time after the first end is that of a request from before it
        ([(0, 30)], None),
        ([], None),
    ],
)
def test_of_h2load_how_many_are_under_way_is_told_by_those_that_began_after_the_first_end(
    spans: list[tuple[int, int]], at_once: float | None
) -> None:
    assert under_way([Logged(begin, 200, end - begin) for begin, end in spans]) == at_once


def test_of_h2load_what_was_not_found_is_an_error_and_no_request(tmp_path: Path) -> None:
    reading = read_h2load(h2load_said("404"), H2LOAD_LOOP, times("404", tmp_path))
    assert (reading.requests, reading.errors, reading.latency) == (0, {"status": 125}, None)


def test_of_h2load_when_nobody_listens_nothing_is_measured(tmp_path: Path) -> None:
    (tmp_path / H2LOAD_TIMES).touch()
    reading = read_h2load(h2load_said("refused"), H2LOAD_LOOP, tmp_path)
    assert (reading.requests, reading.latency, reading.protocol) == (0, None, None)


@pytest.mark.parametrize(
    ("was", "becomes", "shown"),
    [
        ("starting benchmark...", "beginning", "strange line: 'beginning'"),
        ("212 succeeded", "many succeeded", "strange line: 'requests: 212 total"),
        ("212 done", "213 done", r"213 requests, .*\blog .*\b212\b"),
        ("traffic:", "Stopped all clients for thread #0\n#", "strange line: '#"),
    ],
)
def test_of_h2load_what_is_not_understood_is_refused_with_the_line(
    was: str, becomes: str, shown: str, folder: Path
) -> None:
    with pytest.raises(TestbedFailed, match=shown):
        read_h2load(h2load_said("http1-1").replace(was, becomes), H2LOAD_LOOP, folder)


def test_of_h2load_an_output_without_its_end_is_refused(folder: Path) -> None:
    with pytest.raises(TestbedFailed, match="without its rate, done"):
        read_h2load(h2load_said("http1-1").partition("finished")[0], H2LOAD_LOOP, folder)


def test_of_h2load_a_strange_time_is_refused(folder: Path) -> None:
    lines = (folder / H2LOAD_TIMES).read_text()
    (folder / H2LOAD_TIMES).write_text(lines.replace("\t200\t", "\t200\tx", 1))
    with pytest.raises(TestbedFailed, match="logged a strange line"):
        read_h2load(h2load_said("http1-1"), H2LOAD_LOOP, folder)


def test_of_h2load_the_command_asks_for_the_loop_and_its_output_tells_when_it_counts(tmp_path: Path) -> None:
    words = h2load_command(replace(H2LOAD_LOOP, protocol=Protocol.H2, depth=8, seconds=2.5), tmp_path).argv
    assert words[:7] == ("h2load", "--threads", "1", "--clients", "4", "--max-concurrent-streams", "8")
    assert {"--npn-list=h2", "2500ms", "500ms", "accept-encoding: identity"} <= set(words)
    assert "--h1" in h2load_command(H2LOAD_LOOP, tmp_path).argv
    assert H2LOAD_COUNTS_FROM in h2load_said("http1-1")


def test_of_h2load_few_requests_are_asked_for_as_those_of_the_loop(tmp_path: Path) -> None:
    loop = replace(H2LOAD_LOOP, connections=1, depth=8)
    words = few(loop, 8).argv
    assert words[-2:] == ("--requests", "8")
    assert words[:-2] == tuple(word for word in h2load_command(loop, tmp_path).argv if word in words)
