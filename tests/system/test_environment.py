"""What a run tells of where it was made."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.lab.emulated import LinkDevice
from harness.lab.environment import describe_environment
from harness.lab.testbed import Testbed
from harness.model.engine import Engine
from harness.model.settings import TcpSettings
from harness.study.study import Study
from harness.study.studyfile import parse_study
from harness.system.netns import Host
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.warc import About
from tests.system.conftest import inside

STUDY = """
name = "two"
pages = ["agency"]
variants = ["plain"]
protocols = ["http1"]
links = ["dsl"]
trials = 2
"""
URL = "http://site.example/"
pytestmark = pytest.mark.side_by_side


def described(
    folder: Path, study: Study, by_engine: Mapping[Engine, Mapping[str, Archive]]
) -> Mapping[str, Any]:
    """What a run of the study tells, of a testbed that serves nothing."""

    def made() -> Mapping[str, Any]:
        with contextlib.ExitStack() as stack:
            host = Host("server", folder / "server")
            testbed = Testbed(host, folder / "testbed", stack, TcpSettings(), LinkDevice.VETH)
            return describe_environment(testbed, by_engine, study, {})

    return inside(made)


def test_an_archive_that_nothing_serves_is_described(tmp_path: Path) -> None:
    """As when the only engine that loads it is missing."""
    page = Response(URL, 200, (("Content-Type", "text/html"),), b"<title>t</title>")
    archive = write_archive(tmp_path, "agency", About(URL, "t", "t", ()), [page])
    study = parse_study(STUDY, "two.toml", tmp_path)
    told = described(tmp_path, study, {Engine.FIREFOX: {"agency": archive}})
    (only,) = told["archives"].values()
    assert (only["digest"], only["addresses"]) == (archive.digest, [])
    assert set(told["browser"]) == {"flags", "preferences", "unresolved"}


def test_a_run_of_one_engine_tells_nothing_of_another_browser(tmp_path: Path) -> None:
    study = parse_study(STUDY + 'engines = ["firefox"]\n', "two.toml", tmp_path)
    assert set(described(tmp_path, study, {})["browser"]) == {"firefox"}
