"""The servers of a study file, usual ones and those that it sets up itself."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from harness.errors import StudyError
from harness.model.engine import Engine
from harness.model.kind import Kind
from harness.model.protocol import Protocol
from harness.model.serversettings import (
    USUAL,
    ApacheSettings,
    NginxSettings,
    ServerTemplate,
    server_settings,
)
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


def shipped(program: str) -> str:
    return (resources.files("configs") / "servers" / f"{program}.template").read_text("utf-8")


def with_template(folder: Path, text: str | bytes, program: str = "nginx") -> NamedServer:
    (folder / "my.template").write_bytes(text.encode() if isinstance(text, str) else text)
    table = {"program": program, "template": "my.template"}
    data = {"server": "mine", "servers": {"mine": table}}
    ((found,),) = servers_of(data, (Engine.K6,), Kind.USERS, folder).values()
    return found


@pytest.mark.parametrize("program", ["apache", "nginx", "caddy"])
def test_a_server_may_have_a_template_of_ones_own(tmp_path: Path, program: str) -> None:
    """A copy of the one that ships is one."""
    server = with_template(tmp_path, shipped(program), program)
    assert server.settings is not None
    assert server.settings.template == ServerTemplate("my.template", shipped(program))
    assert server.settings.described["template"] == f"my.template {server.settings.template.sha256}"
    assert "template" not in server_settings(program, {}).described


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (shipped("nginx") + "{{ workers }}", "my.template asks for workers; it is given"),
        (shipped("nginx") + "{{ listener }}", r"asks for listener \(did you mean listeners\?\)"),
        ("events {} {{ folder }} {{ log_format }}", "does not use listeners, by which it listens"),
        ("{% for each in listeners %}", "my.template, line 1: "),
        (b"\xff", "my.template is no UTF-8 text"),
        (b"x" * 1_000_001, "cannot read .*my.template: it has over 1,000 kB"),
    ],
)
def test_a_template_that_could_not_serve_is_refused_in_a_line(
    tmp_path: Path, text: str | bytes, says: str
) -> None:
    with pytest.raises(StudyError, match=f"mine: template: .*{says}") as caught:
        with_template(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_a_template_that_is_not_there_or_of_a_server_that_takes_none_is_refused(tmp_path: Path) -> None:
    for table, says in (
        ({"program": "nginx", "template": "none.template"}, "cannot read .*none.template: No such file"),
        ({"program": "spdy-gateway", "template": "x"}, "spdy-gateway takes none; leave it out"),
    ):
        data = {"server": "mine", "servers": {"mine": table}}
        with pytest.raises(StudyError, match=says):
            servers_of(data, (Engine.K6,), Kind.USERS, tmp_path)
