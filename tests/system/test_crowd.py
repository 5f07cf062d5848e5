"""Crowds on the dummy page: whole series, proofs, and what happens when a part dies under them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import psutil
import pytest

from harness.capacity.crowdtrial import PAGE_NAME, CrowdOptions, run_crowd_trial
from harness.capacity.recipe import Item, PageRecipe, in_the_browser, proved_recipe
from harness.capacity.series import BUCKETS_NAME, PAGES_NAME, SECONDS_NAME
from harness.cli.crowdlines import summary
from harness.errors import Outcome
from harness.input.shown import one_line
from harness.lab.testbed import Testbed, testbed
from harness.model.condition import Condition
from harness.model.engine import Engine
from harness.model.kind import Users
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.rate import RateFormat, RecordedRate
from harness.model.serversettings import Tuning
from harness.model.settings import Replay
from harness.model.trials import PlannedTrial
from harness.model.underload import CrowdObservation
from harness.records import Record
from harness.system.enclosure import WORKSPACE
from harness.system.netns import Host
from harness.trial.trial import browser_lab
from sites.archive import Archive, archives_root, open_archive, write_archive
from sites.response import Response
from sites.warc import About
from tests.system.conftest import html, inside

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
    users_of_page = Users(steps=(users,), step_s=seconds, think_s=0.5, page_timeout_s=20, bucket_s=2)
    return replace(Condition.usual(PAGE, protocol, LINK, engine), workload=users_of_page)


def recipe(condition: Condition) -> PageRecipe:
    asked = in_the_browser(condition)
    archive = open_archive(archives_root(), PAGE)
    with browser_lab({PAGE: archive}, [asked.protocol], server=asked.server, engine=asked.engine) as opened:
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
    return measured(open_archive(archives_root(), PAGE), condition, options, files)


def measured(
    archive: Archive,
    condition: Condition,
    options: CrowdOptions,
    files: Path,
    around: Callable[[Testbed], contextlib.AbstractContextManager[None]] = lambda _: contextlib.nullcontext(),
) -> Trial:
    """A trial of a page with the series that it left, inside an enclosure; `around` lasts as long as the trial."""
    with testbed() as made:
        tuning = Tuning(status=True, name=condition.server)
        made.serve(
            archive,
            [condition.protocol],
            Replay.usual(condition.engine),
            server=condition.server,
            engine=condition.engine,
            tuning=tuning,
        )
        with around(made):
            record = run_crowd_trial(made, PlannedTrial("00001", 1, 1, condition), options, files)
    return Trial(record, *(lines(files / name) for name in (PAGES_NAME, SECONDS_NAME, BUCKETS_NAME)))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


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
    assert all(0 < page["document_ms"] < page["ms"] == page["ended_ms"] for page in trial.pages)
    assert {page["broke_ms"] for page in trial.pages} == {None}
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


def test_buckets_have_the_users_of_their_step(recipes: Recipes, tmp_path: Path) -> None:
    workload = Users(steps=(2, 4), step_s=4, think_s=0.5, page_timeout_s=20, bucket_s=2)
    trial = inside(lambda: crowd(recipes, replace(crowd_of(Protocol.H2), workload=workload), tmp_path))
    assert (trial.record.outcome, trial.record.reason) == (Outcome.OK, None)
    assert [bucket["users"] for bucket in trial.buckets[:4]] == [2, 2, 4, 4]


def test_with_a_connection_for_each_request(recipes: Recipes, tmp_path: Path) -> None:
    trial = inside(lambda: crowd(recipes, crowd_of(Protocol.HTTP1_CLOSE, 2, 4), tmp_path))
    assert (trial.record.outcome, trial.record.reason) == (Outcome.OK, None)
    assert {page["connections"] for page in trial.pages} == {REQUESTS}


@contextlib.contextmanager
def restless(host: Host, seconds: float) -> Iterator[None]:
    """A host with a connection that is half closed for so long: no crowd begins meanwhile."""
    with host.entered(), socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
    near.shutdown(socket.SHUT_WR)

    def close() -> None:
        near.close()
        far.close()

    closing = threading.Timer(seconds, close)
    closing.start()
    try:
        yield
    finally:
        closing.join()


def test_a_rate_that_changes_begins_with_the_crowd_and_not_with_the_link(
    recipes: Recipes, tmp_path: Path
) -> None:
    """The server takes longer to come to rest than the link is fast."""
    steps = RecordedRate.of(RateFormat.STEPS, "s", "0 20\n4000 1\n")
    asked = crowd_of(Protocol.H2, 2, 3)
    cell = replace(asked, link=replace(LINK, down=replace(LINK.down, rate=steps)))

    def run() -> Trial:
        options = CrowdOptions(recipes[cell.protocol.scheme])
        archive = open_archive(archives_root(), PAGE)
        return measured(archive, cell, options, tmp_path, lambda made: restless(made.server, 6))

    trial = inside(run)
    assert (trial.record.outcome, trial.record.reason) == (Outcome.OK, None)
    assert min(page["ms"] for page in trial.pages) < 3000  # at 1 Mbit/s a page takes 9 s


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
    assert trial.record.outcome is Outcome.TESTBED_FAILED, trial.record.reason
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
    assert trial.record.outcome is Outcome.TESTBED_FAILED, trial.record.reason
    assert "caddy is stopped" in (trial.record.reason or "")
    assert len(trial.seconds) < 30


HOSTILE = "https://hostile.example/"


def hostile(folder: Path, names: Sequence[str], recipe_urls: Sequence[str]) -> Trial:
    """A crowd on a page with hostile names, texts and headers."""
    big = tuple((f"X-Big-{number}", "\t\\x1b[2J" * 500) for number in range(8))
    objects = [
        Response(f"{HOSTILE}{name}", 200, big if number < 20 else (), b"x")
        for number, name in enumerate(names)
    ]
    page = html(HOSTILE, "<title>\x1b[31m{}</title>")
    archive = write_archive(folder, "hostile", About(HOSTILE, "test", "test", ()), [page, *objects])
    items = [
        Item(url, "GET", {"x-asked": "\\x1b[31m" * 500} if number < 20 else {}, 200, (-1,))
        for number, url in enumerate(recipe_urls)
    ]
    options = CrowdOptions(PageRecipe(Item(HOSTILE, "GET", {}, 200, ()), tuple(items)))
    workload = Users(steps=(2,), step_s=5, page_timeout_s=120, bucket_s=5)
    condition = replace(crowd_of(Protocol.H2), page="hostile", workload=workload)
    return inside(lambda: measured(archive, condition, options, folder / "files"))


def test_a_hostile_page_is_measured_and_leaves_plain_lines(tmp_path: Path) -> None:
    """Thousands of objects, escapes of terminals in their names, and headers of tens of kilobytes."""
    names = [quote(f"{number}\x1b[31m\n\u202e{{}}[bold]%s") for number in range(HOSTILE_OBJECTS)]
    trial = hostile(tmp_path, names, [HOSTILE + name for name in names])
    assert (trial.record.outcome, trial.record.reason) == (Outcome.OK, None)
    assert {page["requests"] for page in trial.pages} == {1 + HOSTILE_OBJECTS}
    assert_plain(tmp_path / "files", trial.record)


def test_a_name_that_nobody_can_ask_for_ends_the_trial_with_one_plain_line(tmp_path: Path) -> None:
    trial = hostile(tmp_path, ["x"], [HOSTILE + "x\x1b[31m\nred"])
    assert trial.record.outcome is Outcome.TESTBED_FAILED, trial.record.reason
    assert "k6 died" in (trial.record.reason or "")
    assert trial.pages == []
    assert_plain(tmp_path / "files", trial.record)


def assert_plain(files: Path, record: Record) -> None:
    """Nothing that a terminal would act on, in the series and in what is printed."""
    for name in (PAGES_NAME, SECONDS_NAME, BUCKETS_NAME, PAGE_NAME):
        text = (files / name).read_text() if (files / name).exists() else ""
        assert all(line.isprintable() for line in text.splitlines()), name
    assert all(one_line(line).isprintable() for line in summary(record))
