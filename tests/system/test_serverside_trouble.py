"""The server's side once a second when a server stands still, dies, starves or logs nothing."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from http.client import HTTPConnection

import psutil
import pytest

from harness.capacity.limit import Bottleneck, Capacity, Part, bottleneck
from harness.capacity.series import Second
from harness.capacity.serverside import Watched, sampling, wait_for_rest
from harness.lab.testbed import testbed
from harness.model.protocol import Protocol
from harness.model.serversettings import Tuning, server_settings
from harness.model.settings import Replay
from harness.system.process import running
from harness.system.processtree import family
from harness.system.program import Command
from sites.archive import Archive
from tests.system.conftest import inside, small_site, wait_until
from tests.system.serverwatch import LINK, asked, connected, served, wait_for_lines

pytestmark = pytest.mark.lengthy


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    return small_site(tmp_path_factory.mktemp("archives"))


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


def test_a_crowd_waits_until_the_server_has_digested_the_one_before(archive: Archive) -> None:
    def wait() -> tuple[float, float, Sequence[Second]]:
        with served(archive, "nginx") as (made, endpoint), made.client(LINK) as client:
            server = endpoint.server
            fresh = seconds_of(lambda: wait_for_rest(server, made.server))
            with client.host.entered():
                held = [connected(endpoint) for _ in range(9)]
            for connection in held:
                asked(connection)
            threading.Timer(2, closed, [held]).start()
            used = seconds_of(lambda: wait_for_rest(server, made.server))
            with sampling(Watched(server, made.server), made.folder / "seconds.jsonl") as sampler:
                wait_for_lines(sampler, 2)
            return fresh, used, sampler.seconds

    fresh_s, used_s, seconds = inside(wait)
    assert fresh_s < 1
    assert 1.5 < used_s < 10
    assert {second.server_connections for second in seconds} == {0}


def test_connections_that_an_earlier_crowd_left_are_not_taken_for_our_own(archive: Archive) -> None:
    def leave() -> Sequence[Second]:
        with served(archive, "nginx") as (made, endpoint), made.client(LINK) as client:
            with client.host.entered():
                held = [connected(endpoint) for _ in range(9)]
            for connection in held:
                asked(connection)
            with sampling(Watched(endpoint.server, made.server), made.folder / "seconds.jsonl") as sampler:
                wait_for_lines(sampler, 1)
                closed(held)
                wait_for_lines(sampler, 2)
            return sampler.seconds

    seconds = inside(leave)
    assert seconds[0].server_connections == 9
    assert seconds[-1].server_connections == 0


@pytest.mark.parametrize("name", ["worker", "gateway"])
def test_a_fresh_server_is_not_waited_for(name: str, archive: Archive) -> None:
    def wait() -> float:
        with served(archive, name) as (made, endpoint):
            return seconds_of(lambda: wait_for_rest(endpoint.server, made.server))

    assert inside(wait) < 1


def closed(connections: Sequence[HTTPConnection]) -> None:
    for connection in connections:
        connection.close()


def seconds_of(wait: Callable[[], None]) -> float:
    began = time.monotonic()
    wait()
    return time.monotonic() - began


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
                held = [connected(endpoint) for _ in range(9)]
                for connection in held[:3]:
                    asked(connection)
                for connection in held[3:]:
                    connection.request("GET", "/", headers={"Host": "site.example"})
                wait_for_lines(sampler, 6)
            return sampler.seconds[1:], len(list(sampler.requests()))

    seconds, answered = inside(starve)
    assert answered in (3, 4), (
        "six wait for a worker; that of the status page serves one when the watching has ended"
    )
    for each in seconds[:-1]:
        assert (each.workers_busy, each.workers_idle) == (3, 0)
        assert each.server_connections == 18, "both ends are on this host"
    cores = Part.on((0, 1))
    machine = Capacity(server=cores, generator=cores, emulator=cores, workers=4)
    assert bottleneck(seconds, machine) is Bottleneck.WORKERS
