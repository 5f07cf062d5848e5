"""What a run tells of where it was made."""

from __future__ import annotations

import contextlib
from pathlib import Path

from harness.lab.emulated import LinkDevice
from harness.lab.environment import describe_environment
from harness.lab.testbed import Testbed
from harness.model.engine import Engine
from harness.model.settings import TcpSettings
from harness.study.studyfile import parse_study
from harness.system.netns import Host
from sites.archive import write_archive
from sites.response import Response
from sites.warc import About

STUDY = """
name = "two"
pages = ["agency"]
variants = ["plain"]
protocols = ["http1"]
links = ["dsl"]
trials = 2
"""
URL = "http://site.example/"


def test_an_archive_that_nothing_serves_is_described(tmp_path: Path) -> None:
    """As when the only engine that loads it is missing."""
    page = Response(URL, 200, (("Content-Type", "text/html"),), b"<title>t</title>")
    archive = write_archive(tmp_path, "agency", About(URL, "t", "t", ()), [page])
    study = parse_study(STUDY, "two.toml", tmp_path)
    with contextlib.ExitStack() as stack:
        host = Host("server", tmp_path / "server")
        testbed = Testbed(host, tmp_path / "testbed", stack, TcpSettings(), LinkDevice.TUN)
        told = describe_environment(testbed, {Engine.FIREFOX: {"agency": archive}}, study, {})
    (only,) = told["archives"].values()
    assert (only["digest"], only["addresses"]) == (archive.digest, [])
    assert set(told["browser"]) == {"flags", "preferences", "unresolved"}


def test_a_run_of_one_engine_tells_nothing_of_another_browser(tmp_path: Path) -> None:
    study = parse_study(STUDY + 'engines = ["firefox"]\n', "two.toml", tmp_path)
    with contextlib.ExitStack() as stack:
        host = Host("server", tmp_path / "server")
        testbed = Testbed(host, tmp_path / "testbed", stack, TcpSettings(), LinkDevice.TUN)
        told = describe_environment(testbed, {}, study, {})
    assert set(told["browser"]) == {"firefox"}
