"""Settings of servers: what a study may write, and what follows from it."""

from __future__ import annotations

from typing import Any

import pytest

from harness.errors import StudyError
from harness.model.protocol import Protocol
from harness.model.serversettings import (
    USUAL,
    ApacheSettings,
    CaddySettings,
    NginxSettings,
    server_settings,
)


def apache(**table: Any) -> ApacheSettings:
    found = server_settings("apache", table)
    assert isinstance(found, ApacheSettings)
    return found


@pytest.mark.parametrize("program", USUAL)
def test_an_empty_table_gives_the_usual_settings(program: str) -> None:
    assert server_settings(program, {}) == USUAL[program]


def test_the_apache_of_2013() -> None:
    made = apache(
        mpm="worker",
        StartServers=5,
        MaxRequestWorkers=600,
        MinSpareThreads=50,
        MaxSpareThreads=150,
        ThreadsPerChild=50,
        KeepAliveTimeout=5,
    )
    assert (made.server_limit, made.start_servers, made.workers) == (12, 5, 600)
    assert (made.min_spare_threads, made.max_spare_threads, made.keep_alive_timeout) == (50, 150, 5)


@pytest.mark.parametrize(
    ("table", "limit", "per_child", "most"),
    [
        ({"MaxRequestWorkers": 400}, 1, 400, 400),
        ({"ThreadsPerChild": 50}, 5, 50, 250),
        ({"ThreadsPerChild": 300}, 1, 300, 300),
        ({"ServerLimit": 8, "ThreadsPerChild": 25}, 8, 25, 200),
        ({"ServerLimit": 4}, 4, 64, 256),
        ({"ServerLimit": 16, "ThreadsPerChild": 25, "MaxRequestWorkers": 100}, 16, 25, 100),
    ],
)
def test_what_is_left_out_follows_from_the_rest(
    table: dict[str, int], limit: int, per_child: int, most: int
) -> None:
    made = apache(**table)
    assert (made.server_limit, made.threads_per_child, made.max_request_workers) == (limit, per_child, most)
    assert made.start_servers * made.threads_per_child == most, "all workers start with the server"
    assert made.max_spare_threads == most, "and stay"


def test_a_worker_of_prefork_is_a_process() -> None:
    made = apache(mpm="prefork", MaxRequestWorkers=150)
    assert (made.server_limit, made.start_servers, made.max_spare_servers, made.workers) == (150,) * 4
    assert apache(mpm="prefork", ServerLimit=10).workers == 10
    assert apache(mpm="prefork").workers == 256
    assert apache(mpm="prefork", MaxRequestWorkers=9, StartServers=2).start_servers == 2


@pytest.mark.parametrize(
    ("program", "table", "message"),
    [
        (
            "apache",
            {"ServerLimits": 3},
            "'ServerLimits' in .* apache .did you mean ServerLimit",
        ),
        ("apache", {"MaxClients": 600}, "MaxClients .* use MaxRequestWorkers"),
        ("apache", {"KeepAlive": False}, "http1-close"),
        ("apache", {"mpm": "itk"}, "mpm: unknown 'itk'; known: event, worker, prefork"),
        ("apache", {"mpm": ["event"]}, "mpm: unknown"),
        (
            "apache",
            {"ServerLimit": 4, "ThreadsPerChild": 25, "MaxRequestWorkers": 200},
            "MaxRequestWorkers is 200, .* which is 100",
        ),
        (
            "apache",
            {"mpm": "prefork", "ServerLimit": 4, "MaxRequestWorkers": 5},
            "MaxRequestWorkers is 5, above ServerLimit = 4, which is 4",
        ),
        (
            "apache",
            {"ThreadsPerChild": 50, "MaxRequestWorkers": 610},
            "multiple of ThreadsPerChild = 50, such as 600",
        ),
        (
            "apache",
            {"ThreadsPerChild": 50, "MaxRequestWorkers": 20},
            "multiple of ThreadsPerChild = 50, such as 50",
        ),
        ("apache", {"StartServers": 2}, "StartServers is 2, above ServerLimit = 1"),
        (
            "apache",
            {"ThreadsPerChild": 50, "MinSpareThreads": 50, "MaxSpareThreads": 60},
            "MaxSpareThreads is 60; .* = 100",
        ),
        ("apache", {"mpm": "prefork", "ThreadsPerChild": 2}, "means nothing to Apache's prefork MPM"),
        ("apache", {"mpm": "worker", "AsyncRequestWorkerFactor": 3}, "leave it out, or use event"),
        (
            "apache",
            {"MinSpareServers": 2},
            "event MPM; leave it out, or use prefork",
        ),
        ("apache", {"Mutex": "flock"}, "Mutex is flock, a lock on a file"),
        ("apache", {"H2MinWorkers": 9, "H2MaxWorkers": 8}, "H2MinWorkers is 9, above H2MaxWorkers = 8"),
        ("apache", {"MaxRequestWorkers": "600"}, "MaxRequestWorkers must be a whole number"),
        ("apache", {"MaxRequestWorkers": 0}, "MaxRequestWorkers is 0; it must be 1 to 20000"),
        ("apache", {"KeepAliveTimeout": float("nan")}, "KeepAliveTimeout must be a whole number"),
        ("nginx", {"worker_connections": True}, "worker_connections must be a whole number"),
        ("nginx", {"access_log": "off"}, "access_log must be true or false"),
        ("nginx", {"tcp_nopush": True}, "tcp_nopush has no effect without sendfile"),
        ("nginx", {"mpm": "event"}, "unknown key 'mpm' in the settings of nginx"),
        ("caddy", {"idle_timeout": -1}, "idle_timeout is -1"),
        ("spdy-gateway", {"workers": 1}, "unknown key 'workers' in the settings of spdy-gateway"),
        ("iis", {}, "program: unknown 'iis'"),
    ],
)
def test_a_mistake_is_one_line(program: str, table: dict[str, Any], message: str) -> None:
    with pytest.raises(StudyError, match=message) as refused:
        server_settings(program, table)
    assert "\n" not in str(refused.value)


def test_a_lock_on_a_file_is_for_processes() -> None:
    assert apache(mpm="prefork", Mutex="fcntl").mutex == "fcntl"


def test_prefork_speaks_no_http2() -> None:
    prefork = apache(mpm="prefork")
    prefork.refuse_unless_spoken(Protocol.HTTPS1)
    with pytest.raises(StudyError, match="prefork MPM speaks no HTTP/2"):
        prefork.refuse_unless_spoken(Protocol.H2)
    for settings in (apache(mpm="worker"), NginxSettings(), CaddySettings()):
        settings.refuse_unless_spoken(Protocol.H2)


def test_what_limits_a_server() -> None:
    nginx = server_settings("nginx", {"worker_processes": 1, "worker_connections": 1000})
    assert (nginx.workers, nginx.slots, nginx.most_cores) == (None, 1000, 1)
    event, few = apache(), apache(ThreadsPerChild=50, ServerLimit=4, AsyncRequestWorkerFactor=3)
    assert (event.workers, event.slots, event.slots_per_idle) == (256, 768, 2)
    assert (few.workers, few.slots, few.slots_per_idle) == (200, 800, 3)
    for mpm in ("worker", "prefork"):
        assert (apache(mpm=mpm).slots, apache(mpm=mpm).slots_per_idle) == (None, None)
    assert server_settings("caddy", {"GOMAXPROCS": 3}).most_cores == 3
    assert server_settings("caddy", {}).most_cores is None
    assert server_settings("nginx", {"access_log": False}).logs_requests is False
