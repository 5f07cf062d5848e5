"""The server's side once a second: real servers, real connections held open over a link, and /proc to compare with."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import pickle
import signal
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest

from harness.capacity.limit import Bottleneck, Capacity, Part, verdict
from harness.capacity.series import Second
from harness.capacity.serverside import Sampler, Watched, sampling
from harness.errors import StudyError
from harness.model.compression import Compression
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.serversettings import Tuning, server_settings
from harness.model.settings import Replay
from harness.system import syscalls
from harness.system.accounts import MOUNT, GroupAccount, account
from harness.system.command import Command
from harness.system.process import running
from harness.system.processtree import cpu_seconds, family
from harness.testbed.endpoint import Endpoint
from harness.testbed.testbed import Testbed, testbed
from sites.archive import Archive, write_archive
from sites.servedrequest import Match
from sites.warc import About
from tests.system.conftest import START_URL, html, inside, small_site, wait_until

pytestmark = pytest.mark.lengthy

Result = TypeVar("Result")
HELD = 12  # connections
ROUNDS = 6  # requests over each, two a second
WORKERS = 40
APACHE = {"ThreadsPerChild": 20, "MaxRequestWorkers": WORKERS, "KeepAliveTimeout": 30}
SERVERS: dict[str, tuple[str, dict[str, Any]]] = {
    "worker": ("apache", {"mpm": "worker", **APACHE}),
    "event": ("apache", {"mpm": "event", **APACHE}),
    "prefork": ("apache", {"mpm": "prefork", "MaxRequestWorkers": WORKERS, "KeepAliveTimeout": 30}),
    "nginx": ("nginx", {"worker_processes": 3}),
    "caddy": ("caddy", {"metrics": True}),
    "gateway": ("spdy-gateway", {}),
}
LINK = Link.of(20, 20)


@dataclass
class Watch:
    """What was seen of a server, by the sampler and beside it."""

    seconds: Sequence[Second] = ()
    accounting: str = ""
    cost_s: float = 0.0
    lines: Sequence[Mapping[str, Any]] = ()
    requests: int = 0
    body_bytes: int = 0
    cpu_s: float = 0.0
    rss_bytes: int = 0
    threads: int = 0
    processes: int = 0
    mpm: str | None = None
    described: Mapping[str, object] = field(default_factory=dict)
    link_packets: int = 0

    def known(self, name: str) -> list[Any]:
        """What the lines tell of something, where it was known."""
        return [value for value in (getattr(each, name) for each in self.seconds) if value is not None]


@contextlib.contextmanager
def served(archive: Archive, name: str, replay: Replay | None = None) -> Iterator[tuple[Testbed, Endpoint]]:
    program, table = SERVERS[name]
    with testbed() as made:
        tuning = Tuning(server_settings(program, table), status=True)
        made.serve(archive, [Protocol.HTTP1], replay or Replay(), program, tuning=tuning)
        (endpoint,) = made.endpoints.values()
        yield made, endpoint


def connected(endpoint: Endpoint) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection(endpoint.address, 80, timeout=60)
    connection.connect()
    return connection


def asked(connection: http.client.HTTPConnection, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    connection.request("GET", "/", headers={"Host": "site.example", **headers})
    answer = connection.getresponse()
    return answer, answer.read()


def watch(archive: Archive, name: str) -> Watch:
    """Twelve connections that stay open, asking twice a second, while the sampler reads."""
    found = Watch()
    with served(archive, name) as (made, endpoint), made.client(LINK) as client:
        file = made.folder / "seconds.jsonl"
        server = endpoint.server
        with made.server.entered(), sampling(Watched(server, made.server, client.link), file) as sampler:
            offset, before = server.log_offset, server.cpu_seconds() or 0.0
            with client.host.entered():
                held = [connected(endpoint) for _ in range(HELD)]
            for _ in range(ROUNDS):
                for connection in held:
                    asked(connection)
                time.sleep(0.5)
            found.rss_bytes, found.threads, found.processes = in_proc(server.programs.values())
            found.link_packets = client.link.reading()["down"]["packets_out"]
            status = server.telling.status
            if status:
                own = http.client.HTTPConnection(status.address, status.port)
                own.request("GET", status.target)
                found.mpm = status.parse(own.getresponse().read().decode()).mpm
                own.close()
            wait_until(lambda: len(server.requests(offset)) == HELD * ROUNDS, "the log")
            time.sleep(1.1)  # what has been logged stands in a line
            for connection in held:
                connection.close()
            found.cpu_s = (server.cpu_seconds() or 0.0) - before
        found.seconds, found.accounting, found.cost_s = sampler.seconds, sampler.accounting, sampler.cpu_s
        found.lines = [json.loads(line) for line in file.read_text().splitlines()]
        requests = server.requests(offset)
        found.requests, found.body_bytes = len(requests), sum(each.body_bytes for each in requests)
        found.described = server.settings
    return found


def wait_for_lines(sampler: Sampler, more: int) -> None:
    there = len(sampler.seconds)
    wait_until(lambda: len(sampler.seconds) >= there + more, "lines")


def in_proc(roots: Any) -> tuple[int, int, int]:
    """Resident memory, threads and number of a server's processes, by psutil."""
    every = [psutil.Process(pid) for root in roots for pid in family(root)]
    return (
        sum(each.memory_info().rss for each in every),
        sum(each.num_threads() for each in every),
        len(every),
    )


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
    assert [json.loads(json.dumps(each.to_json())) for each in watch.seconds] == watch.lines


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


def test_a_server_that_stands_still_holds_nothing_up_and_comes_back(archive: Archive) -> None:
    def stand_still() -> Sequence[Second]:
        with served(archive, "worker") as (made, endpoint):
            with sampling(Watched(endpoint.server, made.server), made.folder / "seconds.jsonl") as sampler:
                every = [pid for root in endpoint.server.programs.values() for pid in family(root)]
                wait_for_lines(sampler, 1)
                for number in (signal.SIGSTOP, signal.SIGCONT):
                    for pid in every:
                        os.kill(pid, number)
                    wait_for_lines(sampler, 4)
            return sampler.seconds

    seconds = inside(stand_still)
    busy = [each.workers_busy for each in seconds]
    assert busy.count(None) >= 2, "while it stood still"
    assert busy[0] is not None
    assert busy[-2] is not None, "after it"
    assert all(each.server_rss_bytes is not None for each in seconds)


def test_a_server_that_dies_is_seen_in_the_series(archive: Archive) -> None:
    def die() -> Sequence[Second]:
        with served(archive, "nginx") as (made, endpoint):
            with sampling(Watched(endpoint.server, made.server), made.folder / "seconds.jsonl") as sampler:
                wait_for_lines(sampler, 1)
                for pid in reversed(family(endpoint.server.programs["nginx"])):
                    os.kill(pid, signal.SIGKILL)
                wait_for_lines(sampler, 2)
            return sampler.seconds

    seconds = inside(die)
    assert seconds[0].server_threads
    assert (seconds[-1].workers_busy, seconds[-1].server_pss_bytes) == (None, None)


def test_a_generator_is_followed_from_its_start_to_its_end(archive: Archive) -> None:
    spend = "import time\nwhile time.process_time() < 1.5: pass"

    def follow() -> tuple[float, float]:
        with served(archive, "nginx") as (made, endpoint):
            with sampling(Watched(endpoint.server, made.server), made.folder / "seconds.jsonl") as sampler:
                with running(Command.of("python3", "-c", spend), made.folder / "generator.log") as generator:
                    sampler.follow(generator.pid)
                    wait_until(lambda: not generator.alive, "its end")
                wait_for_lines(sampler, 1)
            return (
                sum(each.generator_cpu_s or 0.0 for each in sampler.seconds),
                max(each.generator_rss_bytes or 0 for each in sampler.seconds),
            )

    cpu_s, rss_bytes = inside(follow)
    assert 1.4 < cpu_s < 3
    assert rss_bytes > 10**6


def test_no_client_reaches_the_status_page_and_page_loads_have_none(archive: Archive) -> None:
    def look() -> tuple[list[str], object, list[int]]:
        failures = []
        with served(archive, "nginx") as (made, endpoint), made.client(LINK) as client:
            status = endpoint.server.telling.status
            assert status is not None
            with client.host.entered():
                for address in (status.address, endpoint.address):
                    try:
                        socket.create_connection((address, status.port), 2).close()
                    except OSError as error:
                        failures.append(type(error).__name__)
                answer, _ = asked(connected(endpoint))
                failures.append(str(answer.status))
                connection = connected(endpoint)
                connection.request("GET", status.target, headers={"Host": "site.example"})
                failures.append(str(connection.getresponse().status))
        with testbed() as made:
            made.serve(archive, [Protocol.HTTP1], Replay(), "nginx")
            (endpoint,) = made.endpoints.values()
            with made.server.entered():
                ports = [
                    each.laddr.port
                    for each in psutil.net_connections("tcp")
                    if each.laddr and each.status == psutil.CONN_LISTEN
                ]
            return failures, endpoint.server.telling.status, ports

    failures, status, ports = inside(look)
    assert failures == ["ConnectionRefusedError", "ConnectionRefusedError", "200", "404"]
    assert status is None
    assert 8080 not in ports


def test_a_server_without_a_log_counts_by_its_status_page(archive: Archive) -> None:
    def count() -> tuple[Sequence[Second], int]:
        with testbed() as made:
            settings = server_settings("nginx", {"access_log": False, "worker_processes": 1})
            made.serve(archive, [Protocol.HTTP1], Replay(), "nginx", tuning=Tuning(settings, status=True))
            (endpoint,) = made.endpoints.values()
            with (
                made.server.entered(),
                sampling(Watched(endpoint.server, made.server), made.folder / "seconds.jsonl") as sampler,
            ):
                connection = connected(endpoint)
                for _ in range(200):
                    asked(connection)
                wait_for_lines(sampler, 2)
            return sampler.seconds, endpoint.server.log_offset

    seconds, logged = inside(count)
    assert sum(each.server_hits or 0 for each in seconds) == 200
    assert {each.server_bytes for each in seconds} == {None}
    assert logged == 0


def test_workers_that_starve_are_the_limit_and_the_status_page_still_answers(archive: Archive) -> None:
    """Four workers, of which the status page holds one, and nine connections that are kept."""

    def starve() -> tuple[Sequence[Second], int]:
        with testbed() as made:
            settings = server_settings(
                "apache", {"mpm": "worker", "ThreadsPerChild": 2, "MaxRequestWorkers": 4}
            )
            made.serve(archive, [Protocol.HTTP1], Replay(), "apache", tuning=Tuning(settings, status=True))
            (endpoint,) = made.endpoints.values()
            with (
                made.server.entered(),
                sampling(Watched(endpoint.server, made.server), made.folder / "seconds.jsonl") as sampler,
            ):
                offset = endpoint.server.log_offset
                held = [connected(endpoint) for _ in range(9)]
                for connection in held[:3]:
                    asked(connection)
                for connection in held[3:]:
                    connection.request("GET", "/", headers={"Host": "site.example"})
                wait_for_lines(sampler, 6)
                answered = len(endpoint.server.requests(offset))
            return sampler.seconds[1:], answered

    seconds, answered = inside(starve)
    assert answered == 3, "six wait for a worker"
    for each in seconds[:-1]:
        assert (each.workers_busy, each.workers_idle) == (3, 0)
        assert each.server_connections == 18, "both ends are on this host"
    cores = Part.on((0, 1))
    machine = Capacity(server=cores, generator=cores, emulator=cores, workers=4)
    assert verdict(seconds, machine).limited_by is Bottleneck.WORKERS


def test_prefork_and_http2_are_refused_before_anything_starts(archive: Archive) -> None:
    def serve() -> None:
        with testbed() as made:
            tuning = Tuning(server_settings("apache", {"mpm": "prefork"}))
            made.serve(archive, [Protocol.H2], Replay(), "apache", tuning=tuning)

    with pytest.raises(StudyError, match="prefork MPM speaks no HTTP/2"):
        inside(serve)


@pytest.mark.parametrize("kind", ["disk", "socache"])
def test_a_cache_answers_with_what_was_compressed_before(
    tmp_path_factory: pytest.TempPathFactory, kind: str
) -> None:
    body = "".join(f"<p>{number:x} {number * 7919:o} prime and proper" for number in range(6000))
    pages = tmp_path_factory.mktemp("archives")
    text = write_archive(pages, "text", About(START_URL, "test", "test", ()), [html(START_URL, body)])
    replay = Replay(compression=Compression.parse("gzip-9-dynamic"))

    def serve(mod_cache: str) -> tuple[list[tuple[Any, ...]], list[Match], float]:
        with testbed() as made:
            settings = server_settings("apache", {"mod_cache": mod_cache, "mpm": "worker"})
            made.serve(text, [Protocol.HTTP1], replay, "apache", tuning=Tuning(settings))
            (endpoint,) = made.endpoints.values()
            offset, before = endpoint.server.log_offset, cpu_seconds(endpoint.server.processes[0].pid) or 0.0
            with made.server.entered():
                connection = connected(endpoint)
                answers = []
                for _ in range(40):
                    answer, got = asked(connection, **{"Accept-Encoding": "gzip"})
                    coding, age = answer.getheader("Content-Encoding"), answer.getheader("Age")
                    answers.append((answer.status, coding, len(got), age is not None))
            wait_until(lambda: len(endpoint.server.requests(offset)) == 40, "the log")
            spent = (cpu_seconds(endpoint.server.processes[0].pid) or 0.0) - before
            return answers, [each.match for each in endpoint.server.requests(offset)], spent

    plain, _, dear_s = inside(partial(serve, "off"))
    cached, matches, cheap_s = inside(partial(serve, kind))
    assert set(matches) == {Match.EXACT}
    assert {answer[:2] for answer in cached} == {(200, "gzip")}
    assert [answer[3] for answer in plain] == [False] * 40
    assert [answer[3] for answer in cached] == [False] + [True] * 39, "all but the first come from the cache"
    assert {answer[2] for answer in cached} == {plain[0][2]}, "the same bytes"
    assert cheap_s < dear_s / 3


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes control groups")
def test_a_group_goes_with_its_block_and_that_of_a_killed_run_with_the_next_one(tmp_path: Path) -> None:
    left = tmp_path / "name"

    def die() -> int:
        with account(os.getpid()) as made:
            assert isinstance(made, GroupAccount)
            left.write_text(made.folder.name)
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    def again() -> tuple[bool, bool, bool]:
        with running(Command.of("sleep", "60"), tmp_path / "log") as process:
            with account(process.pid) as made:
                assert isinstance(made, GroupAccount)
                assert made.pids() == [process.pid]
                there = made.folder.exists()
            return (MOUNT / left.read_text()).exists(), there, made.folder.exists()

    with pytest.raises(AssertionError, match="no answer"):
        inside(die)
    dead, own, after = inside(again)
    assert (dead, own, after) == (False, True, False)
