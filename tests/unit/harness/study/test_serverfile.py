"""The servers of a study file, usual ones and those that it sets up itself."""

from __future__ import annotations

from typing import Any

import pytest

from harness.errors import StudyError
from harness.model.engine import Engine
from harness.model.kind import Kind
from harness.model.protocol import Protocol
from harness.model.serversettings import USUAL, ApacheSettings, NginxSettings, server_settings
from harness.study.serverfile import NamedServer, servers_of

OLD = {"program": "apache", "mpm": "worker", "MaxRequestWorkers": 400, "ThreadsPerChild": 25}


def servers(data: dict[str, Any], kind: Kind = Kind.USERS) -> tuple[NamedServer, ...]:
    engine = Engine.CHROMIUM if kind is Kind.LOAD else Engine.K6
    (found,) = servers_of(data, (engine,), kind).values()
    return found


def test_without_a_word_an_engine_has_its_usual_server() -> None:
    assert servers({}) == servers({}, Kind.LOAD) == (NamedServer("caddy", "caddy"),)


def test_a_study_sets_up_servers_of_its_own() -> None:
    old, apache, nginx = servers(
        {
            "server": ["old", "apache", "nginx"],
            "servers": {"old": OLD},
            "nginx": {"worker_processes": 1},
        }
    )
    settings = {key: each for key, each in OLD.items() if key != "program"}
    assert old == NamedServer("old", "apache", server_settings("apache", settings))
    assert isinstance(old.capacity, ApacheSettings)
    assert old.capacity.workers == 400
    assert apache == NamedServer.usual("apache")
    assert apache.capacity is USUAL["apache"]
    assert isinstance(nginx.settings, NginxSettings)
    assert (nginx.name, nginx.program, nginx.settings.worker_processes) == ("nginx", "nginx", 1)


def test_a_server_speaks_what_its_program_does_under_its_settings() -> None:
    prefork = NamedServer("prefork", "apache", server_settings("apache", {"mpm": "prefork"}))
    assert prefork.speaks(Protocol.HTTP1)
    assert not prefork.speaks(Protocol.H2)
    assert NamedServer.usual("apache").speaks(Protocol.H2)
    assert not NamedServer.usual("apache").speaks(Protocol.H3)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"server": "iis"}, "server: unknown 'iis'; known: apache, caddy, nginx, spdy-gateway"),
        ({"server": ["apache", "apache"]}, "twice"),
        ({"server": []}, "at least one"),
        ({"server": 3}, "unknown 3"),
        ({"apache": {"mpm": "worker"}}, "apache is set up and serves nothing"),
        ({"servers": {"old": OLD}}, "old is set up and serves nothing"),
        ({"server": "old", "servers": {"old": {"mpm": "worker"}}}, "servers.old: program: unknown None"),
        ({"server": "old", "servers": {"old": {}}}, "must be a table"),
        ({"server": "old", "servers": {"old": OLD | {"mpm": "threads"}}}, "old: mpm"),
        ({"server": "caddy", "servers": {"caddy": OLD}}, "cannot be the name"),
        ({"server": "nginx", "nginx": {"workers": 1}}, "nginx: unknown key 'workers'"),
        ({"servers": [1]}, r"tables such as \[servers.old\]"),
    ],
)
def test_a_server_that_cannot_be_is_refused_in_one_line(data: dict[str, Any], said: str) -> None:
    with pytest.raises(StudyError, match=said) as refused:
        servers(data)
    assert "\n" not in str(refused.value)


def test_page_loads_have_one_server_for_each_engine() -> None:
    assert servers({"server": "nginx", "nginx": {"worker_processes": 1}}, Kind.LOAD)[0].settings is not None
    with pytest.raises(StudyError, match="one for each engine"):
        servers({"server": ["nginx", "apache"]}, Kind.LOAD)
