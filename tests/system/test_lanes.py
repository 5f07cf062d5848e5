"""Lanes: two enclosures side by side on cores of their own, from the command line to the records.

On two cores a lane has one, which makes loads slow; what they take is not what is tested here.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from harness.run.lanes import divided
from harness.system.folders import cache_folder
from harness.system.processtree import children, family
from harness.system.topology import cpu_list, read_topology
from tests.facts import tells
from tests.system.conftest import Coldload, ended_well, small_site, wait_until

pytestmark = pytest.mark.side_by_side

STUDY = """
name = "narrow"
pages = ["small"]
protocols = ["http1", "h2"]
portraits = false
trials = {least = 4, attempts = 1}
aa = false
seed = 7
[[links]]
down_mbps = 20
rtt_ms = 20
"""
LAB = "harness.run.openlab"
PINNED = {LAB, "chromium", "caddy", "dnsmasq", "linkem", "node"}
CpusOfLanes = defaultdict[int, defaultdict[str, set[int]]]


@pytest.fixture
def study(coldload: Coldload) -> Coldload:
    """A folder with an archive and a study of four blocks of two trials."""
    small_site(coldload.folder / "archives")
    (coldload.folder / "narrow.toml").write_text(STUDY)
    return coldload


def lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a file that may still grow."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def whole(records: list[dict[str, Any]]) -> bool:
    """Whether every attempt is there once, every block was finished by one lane, and none has a part by another."""
    attempts = [(record["trial"], record["attempt"]) for record in records]
    places: defaultdict[tuple[int, int], set[int | None]] = defaultdict(set)
    trials: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
    for record in records:
        go = record["block"], record.get("restart", 0)
        places[go].add(record.get("lane"))
        trials[go].add(record["trial"])
    finished = {block for (block, _), of_block in trials.items() if len(of_block) == 2}
    return (
        len(set(attempts)) == len(attempts)
        and all(len(each) == 1 for each in places.values())
        and finished == {1, 2, 3, 4}
    )


def where_it_runs(coordinator: int, found: CpusOfLanes) -> None:
    """Note on which CPUs the threads of the programs of each lane may run now; lanes are started in their order."""
    for lane, lab in enumerate(sorted(children(coordinator)), start=1):
        for pid in family(lab):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
                words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
                is_lab = words[1:4] == ["-P", "-m", LAB]  # and not taskset, which pins it first
                name = LAB if is_lab else Path(words[0]).name
                for status in Path(f"/proc/{pid}/task").glob("*/status"):
                    allowed = status.read_text().split("Cpus_allowed_list:")[1].split("\n")[0]
                    found[lane][name].update(cpu_list(allowed))


def test_a_killed_run_in_lanes_goes_on_with_another_number_of_them(study: Coldload) -> None:
    run = study.folder / "out"
    process = study.start("run", "narrow.toml", "--out", "out", "--lanes", "2")
    cpus: CpusOfLanes = defaultdict(lambda: defaultdict(set))

    def seen() -> bool:
        where_it_runs(process.pid, cpus)
        lanes = {record["lane"] for record in lines(run / "records.jsonl")}
        all_seen = all(cpus[lane].keys() >= PINNED for lane in (1, 2))
        return process.poll() is not None or (lanes == {1, 2} and all_seen)

    wait_until(seen, "records of both lanes")
    process.kill()
    out, err = process.communicate()
    wait_until(lambda: not study.left_behind(), "the end of what the run had started")
    for lane in divided(read_topology(), 2):
        wanted = {name: set(lane.cpus) for name in PINNED}
        assert {name: cpus[lane.number][name] for name in PINNED} == wanted, (out, err)
    before = lines(run / "records.jsonl")
    assert {reading["lane"] for reading in lines(run / "calibration.jsonl")} == {1, 2}
    assert [tuple(lane["cpus"]) for lane in json.loads((run / "environment.json").read_text())["lanes"]] == [
        lane.cpus for lane in divided(read_topology(), 2)
    ]
    code, out, err = study.run("run", "narrow.toml", "--out", "out")
    assert ended_well(code, err), (out, err)
    assert "going on with" in out
    records = lines(run / "records.jsonl")
    assert records[: len(before)] == before
    assert whole(records)
    drawn = {trial["trial"]: 1 + trial["own_draw"] for trial in lines(run / "plan.jsonl")[1:]}
    assert {record["trial"]: record["link_reading"]["seed"] for record in before} == {
        record["trial"]: drawn[record["trial"]] for record in before
    }
    assert not any("lane" in record for record in records[len(before) :])


@pytest.mark.lengthy
def test_a_lane_that_dies_does_not_end_the_work_of_the_others(study: Coldload) -> None:
    run = study.folder / "out"
    (study.folder / "narrow.toml").write_text(STUDY.replace("portraits = false\n", ""))
    process = study.start("run", "narrow.toml", "--out", "out", "--lanes", "2")

    def begun() -> bool:
        return process.poll() is not None or bool(lines(run / "records.jsonl"))

    wait_until(begun, "a record")
    first, _ = sorted(children(process.pid))
    os.kill(first, signal.SIGKILL)
    out, err = process.communicate()
    assert ended_well(process.returncode, err), (out, err)
    assert tells(out, "warning: lane 1 has ended", "(killed by SIGKILL)")
    records = lines(run / "records.jsonl")
    assert whole(records)
    assert {record["lane"] for record in records if record["block"] == 4} == {2}
    looked_at = lines(run / "portraits.jsonl")
    assert [each["trial"] for each in looked_at] == ["portrait-00001", "portrait-00002"]
    assert {each["lane"] for each in looked_at} == {2}
    assert all((run / "trials" / each["trial"] / "load.har").is_file() for each in looked_at)


@pytest.mark.lengthy
def test_ctrl_c_ends_all_lanes(study: Coldload) -> None:
    process = study.start("run", "narrow.toml", "--out", "out", "--lanes", "2")

    def begun() -> bool:
        return process.poll() is not None or bool(lines(study.folder / "out" / "records.jsonl"))

    wait_until(begun, "a record")
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert err.startswith("coldload run: interrupted: ")
    assert tells(err.splitlines()[-1:], "`coldload report out`")
    assert study.left_behind() == []


@pytest.mark.lengthy
def test_a_measurement_of_lanes_ends_with_a_verdict_that_is_kept(
    coldload: Coldload, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_site(coldload.folder / "archives", "agency")
    cache = tmp_path_factory.mktemp("cache")
    for each in cache_folder().iterdir():
        if each.name != "lanes":
            (cache / each.name).symlink_to(each)
    monkeypatch.setenv("COLDLOAD_CACHE", str(cache))
    code, out, err = coldload.run("doctor", "--lanes", "2", "--rounds", "3")
    assert err == ""
    for protocol in ("http1", "https1", "h2", "h3"):
        assert re.search(rf"^  {protocol} +[-+].* of 3  ", out, re.MULTILINE), out
    assert "round 3: lane 1, all lanes busy" in out
    (kept,) = (cache / "lanes").iterdir()
    assert f"stored in {kept}" in out
    verdict = json.loads(kept.read_text())["measured"]["2"]["verdict"]
    assert f"2 lanes: {verdict}" in out
    assert code == (0 if verdict == "carried" else 1)
    assert "`coldload run --lanes auto` takes " in out
