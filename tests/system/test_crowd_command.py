"""`coldload crowd` as a user runs it: its lines, its refusals, and how it ends early."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import time
from pathlib import Path

import pytest

from harness.capacity.series import PAGES_NAME
from harness.system.accounts import PREFIX
from sites.archive import archives_root, write_archive
from sites.response import Response
from sites.warc import About
from tests.system.conftest import Coldload, picture, wait_until
from tests.system.test_crowd import PAGE, lines

pytestmark = pytest.mark.lengthy


@pytest.fixture(autouse=True)
def our_archives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands work in folders of their own."""
    monkeypatch.setenv("COLDLOAD_ARCHIVES", str(archives_root().absolute()))


def test_the_command_prints_a_line_a_second_and_a_summary(coldload: Coldload) -> None:
    code, out, err = coldload.run(
        "crowd", PAGE, "--protocol", "h2", "--users", "3", "--for", "5s", "--think", "1s", "--rtt-ms", "20"
    )
    assert (code, err) == (0, "")
    told = out.splitlines()
    assert told[0].startswith(f"{PAGE}: 24 requests to 1 host")
    assert sum(" s  3 users  " in line for line in told) >= 4
    assert any("limited by" in line for line in told)


def test_the_command_prints_the_record(coldload: Coldload) -> None:
    code, out, err = coldload.run(
        "crowd",
        PAGE,
        "--users",
        "2",
        "--for",
        "3s",
        "--think",
        "1s",
        "--rtt-ms",
        "20",
        "--json",
        "--keep",
        "kept",
    )
    record = json.loads(out)
    assert code == 0
    assert record["kind"] == "users"
    assert record["outcome"] == "ok"
    assert record["pages"] == len(lines(coldload.folder / "kept" / PAGES_NAME))
    assert " s  2 users  " in err


def test_the_command_finds_the_limit_of_a_server_with_few_workers(coldload: Coldload) -> None:
    """Or says by what it was not met: on a machine of few cores what makes the users may be the limit."""
    bound = ("--slower-than", "0.5s", "--think", "0.5s", "--for", "4s", "--users", "16", "--rounds", "2")
    code, out, err = coldload.run(
        "crowd", PAGE, "--find-limit", *bound, "--rtt-ms", "20", "--json", "--keep", "kept"
    )
    told = json.loads(out)
    crowds = told["crowds"]
    assert len(crowds) >= 2
    assert all(0 < each["used"]["server-cpu"] < 1.5 for each in crowds if each["page_ms"])
    assert sum(f"{each['users']} user" in err for each in crowds) >= len(crowds)
    assert len(lines(coldload.folder / "kept" / "00001" / PAGES_NAME)) > 0
    if code == 0:
        assert told["low"] <= told["users"] <= told["high"]
        assert min(each["users"] for each in crowds) <= told["users"] <= max(each["users"] for each in crowds)
    else:
        assert (code, told["users"]) == (1, None)
        assert told["at_least"] is not None, told["why"]


@pytest.mark.parametrize(
    ("start", "protocol"),
    [
        ("http://192.0.2.7:8080/", "http1"),
        ("http://[2001:db8::1]/", "h2"),
        ("http://[::1]:3000/", "h3"),
        ("http://localhost:3000/", "https1"),
        ("http://127.0.0.1:8000/", "spdy"),
    ],
)
def test_a_crowd_loads_a_page_that_came_from_an_ip_address_or_a_port(
    start: str, protocol: str, coldload: Coldload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = b'<!doctype html><link rel=icon href="data:,"><img src="i.png"><img src="http://site.example:81/i.png">'
    png = (("Content-Type", "image/png"),)
    answers = [
        Response(start, 200, (("Content-Type", "text/html"),), page),
        *(Response(url, 200, png, picture()) for url in (f"{start}i.png", "http://site.example:81/i.png")),
    ]
    write_archive(tmp_path, "own", About(start, "test", "test", ()), answers)
    monkeypatch.setenv("COLDLOAD_ARCHIVES", str(tmp_path))
    code, out, err = coldload.run(
        "crowd", "own", "--protocol", protocol, "--users", "2", "--for", "3s", "--think", "1s", "--json"
    )
    record = json.loads(out)
    assert (code, record["outcome"], record["pages_failed"]) == (0, "ok", 0), err
    assert record["pages"] >= 2
    assert record["requests"] == 3 * record["pages"]


def test_a_killed_command_leaves_nothing_behind(coldload: Coldload) -> None:
    process = coldload.start("crowd", PAGE, "--users", "3", "--for", "120s", "--rtt-ms", "20")
    assert process.stdout is not None
    assert any(" users  " in line for line in process.stdout)  # the crowd is there
    process.kill()
    process.wait()
    wait_until(lambda: not coldload.left_behind(), "the end of everything the command had started")
    process.stdout.close()
    assert process.stderr is not None
    process.stderr.close()


def groups() -> set[str]:
    """Control groups of runs, anywhere on this machine, that nobody is in any more."""
    found = set()
    for each in Path("/sys/fs/cgroup").rglob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # it goes
            if not (each / "cgroup.procs").read_text():
                found.add(str(each))
    return found


LONG = ("crowd", PAGE, "--protocol", "h2", "--users", "3", "--for", "120s", "--think", "1s", "--rtt-ms", "20")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("phase", ["learning", "calibrating", "running"])
def test_an_interrupted_crowd_ends_within_seconds_and_tells_what_it_measured(
    coldload: Coldload, phase: str, number: signal.Signals
) -> None:
    groups_before = groups()
    process = coldload.start(*LONG)
    assert process.stdout is not None
    said = []
    if phase == "learning":
        wait_until(lambda: any("chrom" in words for words in coldload.left_behind()), "the browser")
    else:
        said.append(process.stdout.readline())  # the recipe; then the link is measured
    if phase == "running":
        said += [process.stdout.readline() for _ in range(4)]
        assert all(" s  3 users  " in line for line in said[1:])
    began = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate()
    assert process.returncode == 130
    assert time.monotonic() - began < 10
    assert err.splitlines() == ["coldload crowd: interrupted"]
    if phase == "running":
        assert "interrupted after" in out
        assert re.search(r"pages: [1-9]\d* loaded, 0 failed", out)
        assert "limited by" in out
    else:
        assert out == ""
    assert coldload.left_behind() == []
    assert groups() <= groups_before


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["nowhere"], 2, "nowhere"),
        ([PAGE, "--users", "0"], 2, "0 clients are asked for"),
        ([PAGE, "--users", "70000"], 2, "70,000 clients are asked for"),
        ([PAGE, "--for", "soon"], 2, "'soon' is no duration"),
    ],
)
def test_bad_input_is_one_line(coldload: Coldload, words: list[str], code: int, said: str) -> None:
    ended, out, err = coldload.run("crowd", *words)
    assert ended == code
    assert out == ""
    assert said in err.splitlines()[-1]


def test_more_users_than_the_machine_carries_are_refused_before_the_crowd_comes(coldload: Coldload) -> None:
    code, out, err = coldload.run(
        "crowd", PAGE, "--users", "2000", "--rtt-ms", "20", prefix=("prlimit", "--nofile=4096:4096")
    )
    assert code == 3
    assert out == ""
    assert "2,000 users need 24,100 file descriptors" in err
    assert len(err.splitlines()) == 1
