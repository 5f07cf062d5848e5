"""A run goes to another machine as a pack: there it is reported, and its study is run again, from the pack alone."""

from __future__ import annotations

import json
import shutil

import pytest

from sites.archive import open_archive
from sites.recipes import RECIPES, package_cache
from tests.system.conftest import Coldload
from tests.system.test_run import records

PAGE = "text-10k"
STUDY = f"""
name = "packed"
pages = ["{PAGE}"]
protocols = ["http1"]
drivers = ["playwright"]
trials = {{least = 3, attempts = 2}}
aa = false
timeout_s = 20
[[links]]
down_mbps = 20
rtt_ms = 10
"""


@pytest.mark.side_by_side
def test_a_pack_is_reported_and_run_again_where_there_is_nothing_else(coldload: Coldload) -> None:
    top = coldload.folder
    here, there = top / "here", top / "there"
    for folder in (here, there):
        folder.mkdir()
    (here / "packed.toml").write_text(STUDY)
    RECIPES[PAGE].archive(here / "archives", package_cache())
    coldload.folder = here
    code, out, err = coldload.run("run", "packed.toml", "--trials", "2", "--out", "run")
    assert (code, err) == (0, ""), out
    code, out, err = coldload.run("pack", "run", "--out", str(there / "it.zip"))
    assert (code, err) == (0, ""), out
    digest = open_archive(here / "archives", PAGE).digest
    before = (here / "run" / "tables" / "calibration.csv").read_bytes()
    trials = [record["trial"] for record in records(here / "run")]
    shutil.rmtree(here)

    coldload.folder = there
    code, out, err = coldload.run("report", "it.zip")
    assert (code, err) == (0, ""), out
    assert (there / "it-report" / "tables" / "calibration.csv").read_bytes() == before
    code, out, err = coldload.run("run", "it.zip", "--out", "again")
    assert (code, err) == (0, ""), out
    assert f"archiving {PAGE}" in out
    assert open_archive(there / "archives", PAGE).digest == digest
    again = records(there / "again")
    assert {record["trial"] for record in again} == set(trials) == {"00001", "00002"}
    assert {record["outcome"] for record in again} == {"ok"}
    environment = json.loads((there / "again" / "environment.json").read_text())
    assert environment["archives"][PAGE]["digest"] == digest
