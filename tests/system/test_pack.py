"""A run goes to another machine as a pack: there it is reported, and its study is run again, from the pack alone."""

from __future__ import annotations

import json
import shutil

import pytest
from sites.optimise.switched import SwitchedOff, switch_off

from sites.archive import open_archive
from sites.recipes import RECIPES, package_cache
from tests.system.conftest import Coldload
from tests.system.test_run import records

PAGE = "text-10k"
STUDY = """
name = "packed"
pages = ["@mine"]
variants = ["minify"]
published = "papers/its.toml"
protocols = ["http1"]
drivers = ["playwright"]
trials = {least = 3, attempts = 1}
aa = false
timeout_s = 20
[[links]]
down_mbps = 20
rtt_ms = 10
"""
CLAIMS = """
title = "A paper"
source = "Somebody, 2012"
[[claims]]
name = "quick"
text = "The page takes less than a minute"
stands = "figure 1"
subject = {protocol = "http1"}
metric = "plt_ms"
published = "below 60000"
"""
OFF = SwitchedOff("collapse_whitespace", "it breaks the page", "minify", "2026-11-21T00:00:00Z")


@pytest.mark.side_by_side
def test_a_pack_is_reported_and_run_again_where_there_is_nothing_else(coldload: Coldload) -> None:
    top = coldload.folder
    here, there = top / "here", top / "there"
    for folder in (here / "papers", here / "sets", there):
        folder.mkdir(parents=True)
    (here / "papers" / "its.toml").write_text(CLAIMS)
    (here / "sets" / "mine.toml").write_text(f'pages = ["{PAGE}"]')
    (here / "packed.toml").write_text(STUDY)
    RECIPES[PAGE].archive(here / "archives", package_cache())
    switch_off(open_archive(here / "archives", PAGE), [OFF])
    coldload.folder = here
    code, out, err = coldload.run("run", "packed.toml", "--trials", "2", "--out", "run")
    assert (code, err) == (0, ""), out
    code, out, err = coldload.run("pack", "run", "--out", str(there / "it.zip"))
    assert (code, err) == (0, ""), out
    digest = open_archive(here / "archives", PAGE).digest
    tables = ("calibration.csv", "published.csv")
    before = [(here / "run" / "tables" / name).read_bytes() for name in tables]
    made = json.loads((here / "run" / "environment.json").read_text())["archives"]
    assert [each["filter"] for each in made[f"{PAGE}--minify"]["switched_off"]] == [OFF.filter]
    trials = [record["trial"] for record in records(here / "run")]
    shutil.rmtree(here)

    coldload.folder = there
    code, out, err = coldload.run("report", "it.zip")
    assert (code, err) == (0, ""), out
    assert [(there / "it-report" / "tables" / name).read_bytes() for name in tables] == before
    code, out, err = coldload.run("run", "it.zip", "--out", "again")
    assert (code, err) == (0, ""), out
    assert f"archiving {PAGE}" in out
    assert open_archive(there / "archives", PAGE).digest == digest
    again = records(there / "again")
    assert {record["trial"] for record in again} == set(trials) == {"00001", "00002"}
    assert {record["outcome"] for record in again} == {"ok"}
    environment = json.loads((there / "again" / "environment.json").read_text())
    assert environment["archives"] == made
    assert (there / "again" / "tables" / "published.csv").exists()
