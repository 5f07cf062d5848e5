"""A run goes to another machine as a pack: there it is reported, and its study is run again, from the pack alone."""

from __future__ import annotations

import json
import shutil

import pytest

from sites.archive import open_archive
from sites.recipes import RECIPES, package_cache
from tests.system.conftest import Coldload, ended_well
from tests.system.test_run import records

PAGE = "text-10k"
STUDY = """
name = "packed"
pages = ["@mine"]
variants = ["minify"]
published = "papers/its.toml"
protocols = ["http1"]
drivers = ["playwright"]
without = {text-10k = ["collapse_whitespace"]}
portraits = false
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
WITHOUT = "collapse_whitespace"


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
    coldload.folder = here
    code, out, err = coldload.run("run", "packed.toml", "--trials", "2", "--out", "run")
    assert ended_well(code, err), (out, err)
    code, out, err = coldload.run("pack", "run", "--out", str(there / "it.zip"))
    assert (code, err) == (0, ""), out
    digest = open_archive(here / "archives", PAGE).digest
    tables = ("calibration.csv", "published.csv")
    before = [(here / "run" / "tables" / name).read_bytes() for name in tables]
    made = json.loads((here / "run" / "environment.json").read_text())["archives"]
    assert list(made) == [f"{PAGE}--minify.without.{WITHOUT}"]
    trials = {record["trial"]: record["condition"] for record in records(here / "run")}
    assert {condition["without"] for condition in trials.values()} == {WITHOUT}
    shutil.rmtree(here)

    coldload.folder = there
    code, out, err = coldload.run("report", "it.zip")
    assert (code, err) == (0, ""), out
    assert [(there / "it-report" / "tables" / name).read_bytes() for name in tables] == before
    code, out, err = coldload.run("run", "it.zip", "--out", "again")
    assert ended_well(code, err), (out, err)
    assert f"archiving {PAGE}" in out
    assert open_archive(there / "archives", PAGE).digest == digest
    again = records(there / "again")
    assert {record["trial"]: record["condition"] for record in again} == trials
    assert {record["outcome"] for record in again} == {"ok"}
    environment = json.loads((there / "again" / "environment.json").read_text())
    assert environment["archives"] == made
    assert (there / "again" / "tables" / "published.csv").exists()
    assert f"minify without {WITHOUT}" in (there / "again" / "report.html").read_text()
