"""Settings of servers under load: what is refused, and a cache of what was compressed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import resources
from typing import Any

import pytest

from harness.errors import StudyError, TestbedFailed
from harness.lab.testbed import testbed
from harness.model.condition import Compression
from harness.model.protocol import Protocol
from harness.model.serversettings import USUAL, ServerTemplate, Tuning, server_settings
from harness.model.settings import Replay
from harness.system.processtree import cpu_seconds
from sites.archive import Archive, write_archive
from sites.servers.server import Match
from sites.warc import About
from tests.system.conftest import START_URL, html, inside, small_site, wait_until
from tests.system.serverwatch import asked, connected

pytestmark = pytest.mark.lengthy


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    return small_site(tmp_path_factory.mktemp("archives"))


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


@pytest.mark.parametrize("program", ["apache", "nginx"])
def test_a_configuration_of_ones_own_serves_the_page_and_proves_it(archive: Archive, program: str) -> None:
    """With a line more than the one that ships, and one that the server itself refuses."""
    shipped = (resources.files("configs") / "servers" / f"{program}.template").read_text("utf-8")
    at, line = ("{% for listener in listeners %}", 'Header always set X-Mine "yes"\n')
    if program == "nginx":
        line = "    add_header X-Mine yes always;\n"

    def serve(added: str) -> list[str | None]:
        template = ServerTemplate("my.template", shipped.replace(at, f"{added}{at}", 1))
        with testbed() as made:
            tuning = Tuning(replace(USUAL[program], template=template))
            made.serve(archive, [Protocol.HTTP1], Replay(), program, tuning=tuning)
            (endpoint,) = made.endpoints.values()
            assert endpoint.server.settings["template"] == str(template)
            with made.server.entered():
                answer, _ = asked(connected(endpoint))
            wait_until(lambda: endpoint.server.log_offset > 0, "the log")
            return [answer.getheader("X-Mine"), str(answer.status)]

    assert inside(partial(serve, line)) == ["yes", "200"]
    with pytest.raises(TestbedFailed, match="NoSuchDirective"):
        inside(partial(serve, "NoSuchDirective on;\n"))
