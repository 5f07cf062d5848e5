"""Studies of a server under load as a user runs them: from plan to report, killed and continued."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.system.conftest import Coldload, small_site, was_too_busy
from tests.system.test_run import records, wait_for_records

pytestmark = pytest.mark.lengthy

USERS = """
name = "crowd"
kind = "users"
pages = ["small"]
protocols = ["h2"]
server = ["few", "caddy"]
trials = {least = 2, attempts = 1}
aa = false
seed = 1

[users]
from = 1
to = 5
over_s = 3
think_s = 0.5
page_timeout_s = 5
bucket_s = 1

[servers.few]
program = "apache"
mpm = "worker"
ThreadsPerChild = 4
MaxRequestWorkers = 8
KeepAliveTimeout = 1

[[links]]
per_client = true
down_mbps = 20
rtt_ms = 10
"""
REQUESTS = """
name = "loop"
kind = "requests"
pages = ["small"]
protocols = ["http1"]
generator = ["wrk", "h2load"]
server = "nginx"
links = ["none"]
trials = {least = 2, attempts = 1}
aa = false
seed = 1

[requests]
connections = [4]
depth = [1, 8]
seconds = 1
warm_s = 0.5
"""


@pytest.mark.parametrize(
    ("text", "main_metric", "trials"), [(USERS, "pages_per_s", 4), (REQUESTS, "requests_per_s", 8)]
)
def test_a_run_is_killed_and_goes_on_and_is_reported(
    coldload: Coldload, text: str, main_metric: str, trials: int
) -> None:
    small_site(coldload.folder / "archives")
    (coldload.folder / "study.toml").write_text(text)
    code, out, err = coldload.run("plan", "study.toml")
    assert code == 0, err
    assert f"= {trials} trials" in out

    process = coldload.start("run", "study.toml", "--out", "run")
    wait_for_records(process, coldload.folder, "run", 2)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    before = records(coldload.folder / "run")

    code, out, err = coldload.run("run", "study.toml", "--out", "run")
    assert code == 0 or was_too_busy(code, err), out + err
    made = records(coldload.folder / "run")
    assert made[: len(before)] == before
    assert len({each["trial"] for each in made}) == len(made) == trials
    for each in made:
        assert each["outcome"] == "ok", each["reason"]
        assert each[main_metric] > 0
        assert each["server_cpu_s"] > 0
    assert (coldload.folder / "run" / "report.html").stat().st_size > 10_000
    check_series(coldload.folder / "run", made)
    check_environment(coldload.folder / "run", {each["condition"]["engine"] for each in made})
    if text == USERS:
        check_recipe(coldload.folder / "run", out)


@pytest.fixture
def without_generators(coldload: Coldload, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with everything but what makes load on servers."""
    programs = coldload.folder / "programs"
    programs.mkdir()
    for each in Path("/usr/bin").iterdir():
        if each.name not in ("wrk", "h2load"):
            (programs / each.name).symlink_to(each)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("COLDLOAD_CACHE", str(coldload.folder / "cache"))
    monkeypatch.setenv("GOPROXY", "off")


@pytest.mark.usefixtures("without_generators")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (USERS, "the generator of users (k6) is not built: go died (exit code 1): "),
        (REQUESTS.replace(', "h2load"', ""), "the program wrk is not installed; `coldload doctor` tells how"),
        (REQUESTS.replace('"wrk", ', ""), "the program h2load is not installed; `coldload doctor` tells how"),
    ],
)
def test_a_missing_generator_is_one_line_with_the_command_that_brings_it(
    coldload: Coldload, text: str, said: str
) -> None:
    small_site(coldload.folder / "archives")
    (coldload.folder / "study.toml").write_text(text)
    code, _, err = coldload.run("run", "study.toml", "--out", "run")
    line = err.splitlines()[-1]
    assert code == 3
    assert line.startswith(f"coldload run: {said}")
    assert not (coldload.folder / "run").exists() or records(coldload.folder / "run") == []


def check_environment(run: Path, generators: Iterable[str]) -> None:
    """The versions of what made the load."""
    programs = json.loads((run / "environment.json").read_text())["programs"]
    assert {each: str(programs[each]).split("/")[0].split()[0] for each in generators} == {
        each: each for each in generators
    }


def check_recipe(run: Path, again: str) -> None:
    """What pages ask for is learned once, and kept."""
    (recipe,) = (run / "recipes").iterdir()
    assert len(json.loads(recipe.read_text())["items"]) > 5
    assert "asks for by" not in again


def check_series(run: Path, made: Iterable[Mapping[str, Any]]) -> None:
    """A crowd's series lie beside its record; a closed loop is one number."""
    wanted = {"pages.jsonl", "seconds.jsonl", "buckets.jsonl"}
    for each in made:
        if each["kind"] == "users":
            assert wanted <= {file.name for file in (run / "trials" / each["trial"]).iterdir()}
