"""Settings and status pages in the configurations of servers; page loads get none of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from harness.errors import TestbedFailed
from harness.model.protocol import Protocol
from harness.model.serversettings import ApacheSettings, NginxSettings, server_settings
from sites.servers import apache, caddy, nginx, spdygateway
from sites.servers.serving import Setup
from tests.unit.sites.servers.setups import setup_of, site, spoken_by

USUAL = Path(__file__).parent / "usual"  # what is written where a study sets nothing
SERVERS = {
    "apache": (apache, "httpd.conf"),
    "nginx": (nginx, "nginx.conf"),
    "caddy": (caddy, "caddy.json"),
}


def setup(server: str, table: Mapping[str, Any] | None = None, *, status: bool = False) -> Setup:
    settings = None if table is None else server_settings(server, table)
    return setup_of(spoken_by(server), site("http"), site("https"), settings=settings, status=status)


def lines(module: ModuleType, server: str, table: Mapping[str, Any], *, status: bool = False) -> set[str]:
    text = module.configuration(setup(server, table, status=status))
    return {line.strip() for line in text.splitlines()}


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        (
            "apache",
            {"settings": set(vars(ApacheSettings())) - {"mpm", "template"}},
        ),  # a module that it loads; itself
        ("apache", {"fixed": apache.FIXED, "cache": apache.CACHE}),
        ("nginx", {"settings": set(vars(NginxSettings())) - {"template"}, "fixed": nginx.FIXED}),
        ("caddy", {"settings": {"idle_timeout"}, "fixed": caddy.FIXED}),
        ("gateway", {"fixed": spdygateway.FIXED}),
    ],
)
def test_every_setting_is_explained_in_the_template(name: str, settings: Mapping[str, Iterable[str]]) -> None:
    template = (files("configs") / "servers" / f"{name}.template").read_text()
    for prefix, names in settings.items():
        for each in names:
            assert f"{prefix}.{each}" in template, each


@pytest.mark.parametrize("server", SERVERS)
def test_page_loads_are_served_as_ever(server: str) -> None:
    module, file = SERVERS[server]
    assert module.configuration(setup(server)) == (USUAL / file).read_text()


@pytest.mark.parametrize("server", SERVERS)
def test_a_study_that_sets_nothing_gets_what_page_loads_get(server: str) -> None:
    module, file = SERVERS[server]
    assert module.configuration(setup(server, {})) == (USUAL / file).read_text()


@pytest.mark.parametrize("server", SERVERS)
def test_a_status_page_is_on_the_loopback_of_the_servers_host_alone(server: str) -> None:
    module, file = SERVERS[server]
    text = module.configuration(setup(server, {"metrics": True} if server == "caddy" else {}, status=True))
    assert text.count("127.0.0.1:8080") >= 1
    assert "127." not in (USUAL / file).read_text()
    removed = set((USUAL / file).read_text().splitlines()) - set(text.splitlines())
    assert removed <= {"        }"}  # a comma follows it in Caddy's JSON


def test_the_apache_of_2013() -> None:
    of_2013 = {
        "mpm": "worker",
        "StartServers": 5,
        "MaxRequestWorkers": 600,
        "MinSpareThreads": 50,
        "MaxSpareThreads": 150,
        "ThreadsPerChild": 50,
        "KeepAliveTimeout": 5,
        "Mutex": "pthread",
    }
    written = lines(apache, "apache", of_2013)
    for name, value in of_2013.items():
        assert name == "mpm" or f"{name} {value}" in written, name
    assert {"ServerLimit 12", "ThreadLimit 50"} <= written
    modules = apache.MODULE_FOLDER
    assert f'LoadModule mpm_worker_module "{modules}/mod_mpm_worker.so"' in written


def test_prefork_has_processes_and_no_threads() -> None:
    written = lines(apache, "apache", {"mpm": "prefork", "MaxRequestWorkers": 40, "MaxSpareServers": 20})
    assert {"ServerLimit 40", "StartServers 40", "MinSpareServers 1", "MaxSpareServers 20"} <= written
    assert not any(line.startswith(("Thread", "MinSpareThreads", "MaxSpareThreads")) for line in written)


def test_a_cache_keeps_answers_as_they_are_sent() -> None:
    on_disk = lines(apache, "apache", {"mod_cache": "disk"})
    assert {"CacheEnable disk /", "CacheQuickHandler Off", 'CacheRoot "/x"'} <= on_disk
    shared = lines(apache, "apache", {"mod_cache": "socache"})
    assert {"CacheEnable socache /", "CacheSocacheMaxSize 1000000"} <= shared


def test_nginx_and_caddy_take_theirs() -> None:
    table = {"worker_processes": 1, "worker_connections": 512, "keepalive_requests": 7, "access_log": False}
    table |= {"sendfile": True, "tcp_nopush": True}
    assert {
        "worker_processes 1;",
        "events { worker_connections 512; }",
        "keepalive_requests 7;",
        "access_log off;",
        "sendfile on;",
        "tcp_nopush on;",
    } <= lines(nginx, "nginx", table)
    made = setup("caddy", {"idle_timeout": 7, "GOMAXPROCS": 1})
    assert json.loads(caddy.configuration(made))["apps"]["http"]["servers"]["http"]["idle_timeout"] == "7s"
    assert caddy.configure(made)[caddy.THREADS_NAME] == "1"


def test_caddy_counts_no_requests_in_hand_unless_the_study_says_so() -> None:
    assert caddy.configuration(setup("caddy", status=True)) == (USUAL / "caddy.json").read_text()


def test_what_was_set_is_described_by_the_servers_own_names() -> None:
    table = {"mpm": "worker", "ThreadsPerChild": 50, "MaxRequestWorkers": 600}
    told = apache.described(setup("apache", table))
    assert table.items() <= told.items()
    assert "MinSpareServers" not in told
    assert nginx.described(setup("nginx", {"worker_processes": 1}))["worker_processes"] == 1
    assert caddy.described(setup("caddy")).items() >= {"idle_timeout": 300, "h2_streams": 250}.items()


def test_settings_of_another_server_are_refused() -> None:
    given = setup_of([Protocol.HTTP1], site("http"), settings=NginxSettings())
    with pytest.raises(TestbedFailed, match="NginxSettings given to a server that takes ApacheSettings"):
        apache.configuration(given)
