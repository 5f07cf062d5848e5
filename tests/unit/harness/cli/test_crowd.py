"""Durations of `coldload crowd`, and the lines that it prints."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from pathlib import Path

import pytest

from harness.capacity.recipe import Item, PageRecipe
from harness.capacity.series import PageLine, Second
from harness.cli.commands import main
from harness.cli.crowd import SPOKEN, duration_s
from harness.cli.crowdlines import recipe_line, second_line, summary
from harness.errors import Outcome
from harness.model.condition import Condition
from harness.model.engine import Engine
from harness.model.kind import Users
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.trials import PlannedTrial
from harness.model.underload import CrowdObservation
from harness.records import Record
from sites.archive import write_archive
from sites.response import Response
from sites.warc import About
from tests.facts import tells


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30), ("2m", 120), ("1h", 3600), ("45", 45), ("0.5s", 0.5), ("0", 0)]
)
def test_durations(text: str, seconds: float) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "-3s", "3 s", "soon", "1e9", "30sec", "nan"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is no duration; it is a number with s, m or h"):
        duration_s(text)


def test_protocols_of_crowds() -> None:
    assert {Protocol.HTTP1, Protocol.HTTPS1, Protocol.H2, Protocol.H3, Protocol.SPDY} <= set(SPOKEN)
    assert Protocol.HTTP1_PIPELINED not in SPOKEN


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--protocol", "http1-pipelined"),
            "--protocol http1-pipelined: no generator",
        ),
        (("--link", "none"), "links: none is no link"),
    ],
)
def test_what_no_crowd_can_do_is_one_line(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["crowd", "anything", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"coldload crowd: {said}")
    assert len(err.splitlines()) == 1


@pytest.mark.thorough  # Go is asked
def test_a_generator_that_cannot_be_built_is_told_with_the_command_that_builds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = Response("http://a.example/", 200, (("Content-Type", "text/html"),), b"<p>")
    write_archive(tmp_path, "small", About("http://a.example/", "test", "", ()), [answer])
    monkeypatch.setenv("COLDLOAD_ARCHIVES", str(tmp_path))
    monkeypatch.setenv("COLDLOAD_CACHE", str(tmp_path / "empty"))
    monkeypatch.setenv("GOPROXY", "off")
    assert main(["crowd", "small"]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    building, failed = err.splitlines()
    assert building.startswith("setup: building the generator of users (k6/")
    assert "network?" in failed
    assert "To try again: " in failed


def test_the_line_of_a_second() -> None:
    second = Second(
        t_s=12.004,
        users=50,
        server_cpu_s=0.614,
        server_rss_bytes=90_000_000,
        workers_busy=12,
        workers_idle=388,
        generator_cpu_s=0.3,
        machine_idle_share=0.42,
    )
    ended = [
        PageLine(t_s=11, user=1, ms=400),
        PageLine(t_s=11, user=2, ms=500),
        PageLine(t_s=3, user=3, error="timeout"),
    ]
    told = [
        "12 s",
        "50 users",
        "2 pages",
        "450 ms",
        "1 failed (1 timeout)",
        "server 0.61 90.0 MB 12/400 workers",
    ]
    assert re.split("  +", second_line(second, ended).strip()) == [
        *told,
        *("generator 0.30", "emulator -", "idle 42%"),
    ]
    unknown = re.split("  +", second_line(Second(t_s=1), []).strip())
    assert [each for each in unknown if not each.endswith("-")] == [
        "1 s",
        "- users",
        "0 pages",
        "- ms",
        "0 failed",
    ]


def test_the_line_of_a_recipe() -> None:
    document, style = (Item(f"https://{host}.example/", "GET", {}, 200, ()) for host in "ab")
    late = Item("https://a.example/late", "GET", {}, 200, (0,))
    made = PageRecipe(document, (Item(style.url, "GET", {}, 200, (-1,)), late))
    told = recipe_line("page", made)
    assert told.startswith("page: 3 requests to 2 hosts")
    assert "1 of them after others" in told


def test_a_crowd_that_loaded_nothing_is_not_said_to_be_limited_by_nothing() -> None:
    link = replace(Link.of(10, 50), per_client=True)
    usual = Condition.usual("page", Protocol.HTTP1, link, Engine.K6)
    condition = replace(usual, workload=Users(steps=(2,), step_s=10))
    seen = CrowdObservation(pages=0, pages_failed=5, errors={"connect": 5})
    why = "no page was loaded: 5 by connect"
    planned = PlannedTrial("1", 1, 1, condition)
    told = [*summary(Record(planned, Outcome.PAGE_ERROR, why, "2026-01-01", seen, 1.0))]
    assert told[1] == f"  page-error: {why}"
    assert tells(told[-1:], "limits", "not known", "no page was loaded")
