"""What h2load prints and logs, recorded with nginx, as values; and what it does not print, refused."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from harness.capacity.h2load import COUNTS_FROM, TIMES, Logged, command, few, read, under_way
from harness.capacity.loadtool import ClosedLoop
from harness.errors import TestbedFailed
from harness.model.protocol import Protocol

DATA = Path(__file__).parents[3] / "data" / "capacity"
LOOP = ClosedLoop("http://site.example/", Protocol.HTTP1, 4, 1, 0.02, 0.5)


def said(name: str) -> str:
    return (DATA / f"h2load-{name}.txt").read_text()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(DATA / "h2load-http1-1.tsv", tmp_path / TIMES)
    return tmp_path


def times(name: str, folder: Path) -> Path:
    shutil.copy(DATA / f"h2load-{name}.tsv", folder / TIMES)
    return folder


def test_a_reading_holds_rate_bytes_and_the_latencies_of_the_log(folder: Path) -> None:
    reading = read(said("http1-1"), LOOP, folder)
    assert (reading.requests, reading.errors, reading.bytes_read) == (212, {}, 88828)
    assert reading.requests_per_s == pytest.approx(10600)  # h2load's own word
    taken = sorted(int(line.split("\t")[2]) for line in (folder / TIMES).read_text().splitlines())
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
    assert 0.9 * LOOP.connections <= reading.under_way <= LOOP.connections


@pytest.mark.parametrize(
    ("name", "protocol", "wire", "tls", "requests"),
    [
        ("http1-8", Protocol.HTTP1, "http/1.1", None, 513),
        ("https1-8", Protocol.HTTPS1, "http/1.1", "TLSv1.3", 128),
        ("h2-8", Protocol.H2, "h2", "TLSv1.3", 160),
    ],
)
def test_its_own_word_tells_protocol_and_tls(
    name: str, protocol: Protocol, wire: str, tls: str | None, requests: int, tmp_path: Path
) -> None:
    reading = read(said(name), replace(LOOP, protocol=protocol, depth=8), times(name, tmp_path))
    assert (reading.protocol, reading.tls, reading.requests) == (wire, tls, requests)
    assert reading.latency is not None
    assert reading.under_way is not None
    assert 2 * LOOP.connections < reading.under_way <= 8 * LOOP.connections


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
def test_how_many_are_under_way_is_told_by_those_that_began_after_the_first_end(
    spans: list[tuple[int, int]], at_once: float | None
) -> None:
    assert under_way([Logged(begin, 200, end - begin) for begin, end in spans]) == at_once


def test_what_was_not_found_is_an_error_and_no_request(tmp_path: Path) -> None:
    reading = read(said("404"), LOOP, times("404", tmp_path))
    assert (reading.requests, reading.errors, reading.latency) == (0, {"status": 125}, None)


def test_when_nobody_listens_nothing_is_measured(tmp_path: Path) -> None:
    (tmp_path / TIMES).touch()
    reading = read(said("refused"), LOOP, tmp_path)
    assert (reading.requests, reading.latency, reading.protocol) == (0, None, None)


@pytest.mark.parametrize(
    ("was", "becomes", "shown"),
    [
        ("starting benchmark...", "beginning", "strange line: 'beginning'"),
        ("212 succeeded", "many succeeded", "strange line: 'requests: 212 total"),
        ("212 done", "213 done", "counted 213 requests, but its log has the times of 212"),
        ("traffic:", "Stopped all clients for thread #0\n#", "strange line: '#"),
    ],
)
def test_what_is_not_understood_is_refused_with_the_line(
    was: str, becomes: str, shown: str, folder: Path
) -> None:
    with pytest.raises(TestbedFailed, match=shown):
        read(said("http1-1").replace(was, becomes), LOOP, folder)


def test_an_output_without_its_end_is_refused(folder: Path) -> None:
    with pytest.raises(TestbedFailed, match="without its rate, done"):
        read(said("http1-1").partition("finished")[0], LOOP, folder)


def test_a_strange_time_is_refused(folder: Path) -> None:
    lines = (folder / TIMES).read_text()
    (folder / TIMES).write_text(lines.replace("\t200\t", "\t200\tx", 1))
    with pytest.raises(TestbedFailed, match="logged a strange line"):
        read(said("http1-1"), LOOP, folder)


def test_the_command_asks_for_the_loop_and_its_output_tells_when_it_counts(tmp_path: Path) -> None:
    words = command(replace(LOOP, protocol=Protocol.H2, depth=8, seconds=2.5), tmp_path).argv
    assert words[:7] == ("h2load", "--threads", "1", "--clients", "4", "--max-concurrent-streams", "8")
    assert {"--npn-list=h2", "2500ms", "500ms", "accept-encoding: identity"} <= set(words)
    assert "--h1" in command(LOOP, tmp_path).argv
    assert COUNTS_FROM in said("http1-1")


def test_few_requests_are_asked_for_as_those_of_the_loop(tmp_path: Path) -> None:
    loop = replace(LOOP, connections=1, depth=8)
    words = few(loop, 8).argv
    assert words[-2:] == ("--requests", "8")
    assert words[:-2] == tuple(word for word in command(loop, tmp_path).argv if word in words)
