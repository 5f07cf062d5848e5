"""The server's side once a second: real servers, real connections held open over a link, and /proc to compare with."""

from __future__ import annotations

import json
import os
import pickle
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from harness.system import syscalls
from sites.archive import Archive
from tests.system.conftest import inside, small_site
from tests.system.serverwatch import HELD, ROUNDS, SERVERS, WORKERS, Watch, watch

pytestmark = pytest.mark.lengthy

Result = TypeVar("Result")


def as_ordinary_user(function: Callable[[], Result]) -> Result:
    """Call it in a child that is uid 1000 without any privilege outside its own user namespace."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer"
        owner = Path(folder).stat()
        child = os.fork()
        if child == 0:
            try:
                syscalls.unshare(syscalls.CLONE_NEWUSER)
                Path("/proc/self/setgroups").write_text("deny")
                Path("/proc/self/uid_map").write_text(f"1000 {owner.st_uid} 1")
                Path("/proc/self/gid_map").write_text(f"1000 {owner.st_gid} 1")
                answer.write_bytes(pickle.dumps(function()))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        result: Result = pickle.loads(answer.read_bytes())  # noqa: S301  # our own file
        return result


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    return small_site(tmp_path_factory.mktemp("archives"))


@pytest.fixture(scope="module", params=list(SERVERS))
def seen(request: pytest.FixtureRequest, archive: Archive) -> tuple[str, Watch]:
    return request.param, inside(partial(watch, archive, request.param))


def test_a_line_a_second(seen: tuple[str, Watch]) -> None:
    _, watch = seen
    assert len(watch.seconds) >= ROUNDS / 2
    times = [each.t_s for each in watch.seconds]
    assert times == sorted(times)
    whole = [time_s for time_s in times[:-1] if time_s % 1 < 0.5]
    assert len(whole) >= len(times) - 2, times
    assert [json.loads(json.dumps(asdict(each))) for each in watch.seconds] == watch.lines


def test_every_request_and_every_byte_is_counted_once(seen: tuple[str, Watch]) -> None:
    _, watch = seen
    assert watch.requests == HELD * ROUNDS
    assert sum(watch.known("server_hits")) == watch.requests
    assert sum(watch.known("server_bytes")) == watch.body_bytes > 0


def test_open_connections_are_counted(seen: tuple[str, Watch]) -> None:
    name, watch = seen
    ours = HELD * 2 if name == "gateway" else HELD  # it may keep one to nginx for each
    assert HELD <= statistics.mode(watch.known("server_connections")) <= ours


def test_a_connection_that_is_kept_holds_a_worker_or_not(seen: tuple[str, Watch]) -> None:
    name, watch = seen
    busy, idle = watch.known("workers_busy"), watch.known("workers_idle")
    if name in ("worker", "prefork"):
        assert statistics.mode(busy) == HELD  # once one more: this test has asked for the status itself
        assert {a + b for a, b in zip(busy, idle, strict=True)} == {WORKERS - 1}, (
            busy,
            idle,
        )  # one is the status page's
    elif name == "event":
        assert max(busy) < HELD
        assert max(idle) <= WORKERS
    elif name == "gateway":
        assert busy == idle == []
    else:
        assert busy
        assert idle == []


def test_cpu_memory_and_threads_are_those_of_proc(seen: tuple[str, Watch]) -> None:
    name, watch = seen
    ticks = 0.02 * watch.processes  # /proc counts in ticks of 10 ms, user and system apart
    assert sum(watch.known("server_cpu_s")) == pytest.approx(watch.cpu_s, abs=ticks + 0.05)
    assert watch.known("server_rss_bytes")[-1] == pytest.approx(watch.rss_bytes, rel=0.1)
    started_meanwhile = (
        5 if name in ("caddy", "gateway") else 0
    )  # Go and Node start threads when they want them
    assert watch.known("server_threads")[-1] == pytest.approx(watch.threads, abs=started_meanwhile)
    assert 0 < max(watch.known("server_pss_bytes")) <= 1.1 * watch.rss_bytes


def test_the_machine_and_the_link_are_told(seen: tuple[str, Watch]) -> None:
    _, watch = seen
    for told in ("machine_idle_share", "idle_by_core", "down_drops"):
        assert len(watch.known(told)) >= len(watch.seconds) - 1 > 0
    assert all(0 <= share <= 1 for share in watch.known("machine_idle_share"))
    assert all(len(each) == os.cpu_count() for each in watch.known("idle_by_core"))
    assert sum(watch.known("down_packets")) >= watch.link_packets > 0
    assert sum(watch.known("up_bytes")) > 0
    assert sum(watch.known("down_drops")) == 0
    assert 0 < sum(watch.known("emulator_cpu_s")) < 5


def test_settings_are_in_effect(seen: tuple[str, Watch]) -> None:
    name, watch = seen
    program, table = SERVERS[name]
    if program == "apache":
        assert watch.mpm == name
        assert table.items() <= watch.described.items()
        processes = WORKERS if name == "prefork" else 2
        assert watch.processes == 1 + processes
        assert watch.threads == 1 + WORKERS if name == "prefork" else watch.threads > WORKERS
    elif program == "nginx":
        assert watch.processes == 1 + 3
        assert watch.described["worker_processes"] == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes control groups")
def test_root_counts_by_control_groups(seen: tuple[str, Watch]) -> None:
    _, watch = seen
    assert watch.accounting == "cgroup"


def test_an_ordinary_user_counts_by_the_process_tree(archive: Archive) -> None:
    seen = as_ordinary_user(lambda: inside(partial(watch, archive, "worker")))
    assert seen.accounting == "processes"
    test_every_request_and_every_byte_is_counted_once(("worker", seen))
    test_cpu_memory_and_threads_are_those_of_proc(("worker", seen))
    test_a_connection_that_is_kept_holds_a_worker_or_not(("worker", seen))
