"""Crowds on the dummy page: whole series, proofs, and what happens when a part dies under them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import psutil
import pytest

from harness.capacity.crowdtrial import CrowdOptions, run_crowd_trial
from harness.capacity.provedload import in_the_browser, proved_recipe
from harness.capacity.recipe import Item, PageRecipe
from harness.capacity.series import BUCKETS_NAME, PAGES_NAME, SECONDS_NAME
from harness.cli.crowdlines import summary
from harness.model.condition import Condition, Origins
from harness.model.crowdobservation import CrowdObservation
from harness.model.engine import Engine
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.serversettings import Tuning
from harness.model.settings import Replay
from harness.model.workload import Users
from harness.outcome import Outcome
from harness.records import Record
from harness.study.plan import PlannedTrial
from harness.system.accounts import PREFIX
from harness.system.enclosure import WORKSPACE
from harness.testbed.testbed import testbed
from harness.trial.bench import bench
from sites.archive import Response, archives_root, open_archive, write_archive
from sites.warc import About
from tests.system.conftest import Coldload, html, inside, wait_until

pytestmark = pytest.mark.lengthy

PAGE = "dummy-2012"
REQUESTS = 24
LINK = replace(Link.of(20, 20), per_client=True)
PROTOCOLS = (Protocol.HTTP1, Protocol.HTTPS1, Protocol.H2, Protocol.H3)
HOSTILE_OBJECTS = 5000
CONNECTIONS = {"http/1.1": 6, "h2": 1, "h3": 1}


class Trial(NamedTuple):
    """A trial with the lines that it left."""

    record: Record
    pages: list[dict[str, Any]]
    seconds: list[dict[str, Any]]
    buckets: list[dict[str, Any]]


def crowd_of(protocol: Protocol, users: int = 5, seconds: float = 8, engine: Engine = Engine.K6) -> Condition:
    return Condition(
        page=PAGE,
        protocol=protocol,
        link=LINK,
        engine=engine,
        driver=engine.drivers[0],
        origins=Origins.SINGLE,
        server=engine.traits.server,
        workload=Users(steps=(users,), step_s=seconds, think_s=0.5, page_timeout_s=20, bucket_s=2),
    )


def recipe(condition: Condition) -> PageRecipe:
    asked = in_the_browser(condition)
    archive = open_archive(archives_root(), PAGE)
    with bench({PAGE: archive}, [asked.protocol], server=asked.server, engine=asked.engine) as opened:
        return proved_recipe(opened, condition, WORKSPACE / "recipe")


Recipes = Mapping[str, PageRecipe]  # by scheme


@pytest.fixture(scope="module")
def recipes() -> Recipes:
    """Learned once for each scheme: the protocols of one ask for the same."""
    return {each.scheme: inside(partial(recipe, crowd_of(each))) for each in (Protocol.HTTP1, Protocol.H2)}


def crowd(
    recipes: Recipes,
    condition: Condition,
    files: Path,
    each_second: Callable[..., None] = lambda _second, _ended: None,
) -> Trial:
    """A crowd of the condition, inside an enclosure."""
    options = CrowdOptions(recipes[condition.protocol.scheme], each_second=each_second)
    with testbed() as made:
        archive = open_archive(archives_root(), PAGE)
        made.serve(
            archive,
            [condition.protocol],
            Replay.usual(condition.engine),
            server=condition.server,
            engine=condition.engine,
            tuning=Tuning(status=True, name=condition.server),
        )
        record = run_crowd_trial(made, PlannedTrial("00001", 1, 1, condition), options, files)
    return left(record, files)


def left(record: Record, files: Path) -> Trial:
    """A record with the series that its trial left."""
    return Trial(record, *(lines(files / name) for name in (PAGES_NAME, SECONDS_NAME, BUCKETS_NAME)))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def observed(trial: Trial) -> CrowdObservation:
    assert isinstance(trial.record.observation, CrowdObservation)
    return trial.record.observation


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_crowd_loads_the_page_by_the_protocol_and_leaves_whole_series(
    protocol: Protocol, recipes: Recipes, tmp_path: Path
) -> None:
    told: list[float] = []
    made = inside(
        lambda: (
            crowd(recipes, crowd_of(protocol), tmp_path, lambda second, _ended: told.append(second.t_s)),
            told,
        )
    )
    trial, seconds_told = made
    seen = observed(trial)
    assert (trial.record.outcome, trial.record.reason) == (Outcome.OK, None)
    assert seen.pages == len(trial.pages) >= 5
    assert seen.pages_failed == 0
    assert {page["requests"] for page in trial.pages} == {REQUESTS}
    assert {page["protocol"] for page in trial.pages} == {protocol.wire}
    assert {page["connections"] for page in trial.pages} == {CONNECTIONS[protocol.wire]}
    assert {page["user"] for page in trial.pages} == set(range(5))
    assert all(0 < page["document_ms"] < page["ms"] for page in trial.pages)
    assert seen.requests_by_protocol == {protocol.wire: seen.requests}
    assert set(seen.tls_versions) == ({"TLS 1.3"} if protocol.encrypted else set())
    assert sum(bucket["pages"] for bucket in trial.buckets) == seen.pages
    assert sum(bucket["requests"] for bucket in trial.buckets) == seen.requests
    times = [second["t_s"] for second in trial.seconds]
    assert times == sorted(times)
    assert len(times) >= 8
    assert set(seconds_told) <= set(times)
    assert sum(second["server_hits"] or 0 for second in trial.seconds) == seen.requests
    assert all((second["server_rss_bytes"] or 0) > 1e6 for second in trial.seconds[2:-2])
    assert (seen.server_cpu_s or 0) > 0
    assert (seen.generator_cpu_s or 0) > 0
    assert (seen.bytes_down or 0) > seen.pages * 1_100_000
    assert seen.limited_by is not None


def test_with_a_connection_for_each_request(recipes: Recipes, tmp_path: Path) -> None:
    trial = inside(lambda: crowd(recipes, crowd_of(Protocol.HTTP1_CLOSE, 2, 4), tmp_path))
    assert (trial.record.outcome, trial.record.reason) == (Outcome.OK, None)
    assert {page["connections"] for page in trial.pages} == {REQUESTS}


def killer(program: str) -> Callable[..., None]:
    """Kills a program in the third second, as nobody can ask it not to."""
    killed: list[int] = []

    def each_second(second: Any, _ended: object) -> None:
        if second.t_s > 3 and not killed:
            killed.extend(each.pid for each in psutil.process_iter() if each.name() == program)
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    return each_second


@pytest.mark.parametrize("program", ["k6", "caddy", "linkem"])
def test_a_part_that_is_killed_ends_the_trial_and_is_named(
    program: str, recipes: Recipes, tmp_path: Path
) -> None:
    trial = inside(lambda: crowd(recipes, crowd_of(Protocol.H2, 3, 60), tmp_path, killer(program)))
    assert trial.record.outcome is Outcome.TESTBED_FAILED
    assert f"{program} died" in (trial.record.reason or "")
    assert 3 <= len(trial.seconds) < 30
    assert trial.pages
    assert sum(bucket["pages"] + bucket["failed"] for bucket in trial.buckets) == len(trial.pages)


def test_a_stopped_server_ends_the_trial_at_once(recipes: Recipes, tmp_path: Path) -> None:
    def stop(second: Any, _ended: object) -> None:
        if second.t_s > 3:
            for each in psutil.process_iter():
                if each.name() == "caddy":
                    each.suspend()

    trial = inside(lambda: crowd(recipes, crowd_of(Protocol.H2, 3, 60), tmp_path, stop))
    assert trial.record.outcome is Outcome.TESTBED_FAILED
    assert "caddy is stopped" in (trial.record.reason or "")
    assert len(trial.seconds) < 30


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


def test_a_hostile_page_is_measured_and_leaves_plain_lines(tmp_path: Path) -> None:
    """Thousands of objects, escapes of terminals in their names, and headers of a megabyte in all."""
    start = "https://hostile.example/"
    names = [f"{number}%1b[31m%0a\u202e{{}}[bold]" for number in range(HOSTILE_OBJECTS)]
    big = tuple((f"X-Big-{number}", "\t\\x1b[2J" * 200) for number in range(8))
    objects = [Response(f"{start}{quote(name, safe='%')}", 200, big, b"x") for name in names]

    def hostile() -> Trial:
        title = html(start, "<title>\x1b[31m{}</title>")
        archive = write_archive(tmp_path, "hostile", About(start, "test", "test", ()), [title, *objects])
        document, *items = (
            Item(url, "GET", (("x-asked", "\\x1b[31m" * 500),), 200, () if url == start else (-1,))
            for url in (start, *(each.url for each in objects))
        )
        condition = replace(crowd_of(Protocol.H2, 2, 5), page="hostile")
        options = CrowdOptions(PageRecipe(document, tuple(items)))
        with testbed() as made:
            made.serve(
                archive,
                [condition.protocol],
                server=condition.server,
                engine=condition.engine,
                tuning=Tuning(status=True, name=condition.server),
            )
            record = run_crowd_trial(
                made, PlannedTrial("00001", 1, 1, condition), options, tmp_path / "files"
            )
        return left(record, tmp_path / "files")

    trial = inside(hostile)
    assert (trial.record.outcome, trial.record.reason) == (Outcome.OK, None)
    assert {page["requests"] for page in trial.pages} == {1 + HOSTILE_OBJECTS}
    for path in (tmp_path / "files").iterdir():
        text = path.read_text()
        assert all(line.isprintable() for line in text.splitlines()), path
    told = list(summary(trial.record))
    assert all(line.isprintable() for line in told)


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
    assert "2,000 users need 12,100 file descriptors" in err
    assert len(err.splitlines()) == 1
