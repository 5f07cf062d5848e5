"""The command line as a user sees it: a study from plan to report, killed and continued; bad input in one line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from harness.errors import StorageFailed
from harness.model.engine import Engine
from harness.study.metrics import unobserved
from harness.system.files import append_line
from harness.system.syscalls import mount
from tests.facts import tells
from tests.system.conftest import (
    OWN_MOUNTS,
    Coldload,
    ended_well,
    inside,
    small_site,
    wait_until,
    was_too_busy,
)

pytestmark = pytest.mark.side_by_side
# Two loads at a time disturb each other, so a trial has one attempt, and none has to count.
STUDY = """
name = "tiny"
pages = ["small"]
protocols = ["http1", "h2"]
drivers = ["playwright"]
portraits = false
trials = {least = 4, attempts = 1}
aa = false
seed = 1
timeout_s = 20
[[links]]
down_mbps = 20
rtt_ms = 10
"""


@pytest.fixture
def study(coldload: Coldload) -> Coldload:
    """A folder with an archive and a study of eight trials."""
    small_site(coldload.folder / "archives")
    (coldload.folder / "tiny.toml").write_text(STUDY)
    return coldload


def records(folder: Path) -> list[dict[str, Any]]:
    path = folder / "records.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def wait_for_records(process: subprocess.Popen[str], root: Path, pattern: str, count: int) -> None:
    """Until a run under way has so many records; it must still be under way then."""

    def seen() -> bool:
        return process.poll() is not None or any(len(records(run)) >= count for run in root.glob(pattern))

    wait_until(seen, f"{count} records")
    assert process.poll() is None, process.communicate()


def test_a_study_from_plan_to_report(study: Coldload) -> None:
    code, out, err = study.run("plan", "tiny.toml")
    assert (code, err) == (0, "")
    assert tells(out, "2 conditions", "4 trials", "8 trials", "4 blocks")
    code, out, err = study.run("run", "tiny.toml", "--out", "out", "--trials", "2")
    assert ended_well(code, err), (out, err)
    run = study.folder / "out"
    assert [record["outcome"] for record in records(run)] == ["ok"] * 4
    assert [record["order"] for record in records(run)] == [1, 2, 3, 4]
    planned = [json.loads(line) for line in (run / "plan.jsonl").read_text().splitlines()[1:]]
    assert len({trial["own_draw"] for trial in planned}) == 2  # of two blocks
    assert [record["link_reading"]["seed"] for record in records(run)] == [
        1 + trial["own_draw"] for trial in planned
    ]
    assert json.loads((run / "calibration.jsonl").read_text().splitlines()[-1])["ok"]
    environment = json.loads((run / "environment.json").read_text())
    assert "Chromium" in environment["programs"]["chromium"]
    assert environment["programs"]["caddy"].startswith("Caddy/2.")
    changed = environment["archives"]["small"]["changed_for_replay"]
    assert tells(changed["http"], "10 links in bodies", "http")
    assert not any("links in bodies" in note for note in changed["https"])
    assert (run / "report.html").read_text().startswith("<!")
    nothing_counts = "left out of the estimates: 4 of 4 attempts" in out  # the machine was busy all the time
    assert nothing_counts or list((run / "figures").glob("*.svg"))
    assert "report: out/report.html" in out.splitlines()[-1]
    code, out, err = study.run("report", "out")
    assert (code, err) == (0, "")


@pytest.mark.lengthy  # test_kills.py kills runs at any instant
def test_a_killed_run_goes_on_with_the_same_command(study: Coldload) -> None:
    """Kill -9 at several instants; nothing is measured twice, nothing is lost."""
    words = ("run", "tiny.toml", "--trials", "3")
    for wanted in (1, 3):
        process = study.start(*words)
        wait_for_records(process, study.folder / "runs", "tiny-*", wanted)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        wait_until(lambda: not study.left_behind(), "the end of what the run had started")
    code, out, err = study.run(*words)
    assert ended_well(code, err), (out, err)
    assert "going on with" in out
    (run,) = (study.folder / "runs").glob("tiny-*")
    trials = [record["trial"] for record in records(run)]
    assert trials == [f"{number:05d}" for number in range(1, 7)]
    assert {record["outcome"] for record in records(run)} == {"ok"}
    environment = json.loads((run / "environment.json").read_text())
    assert len(environment["continued"]) == 2


def test_ctrl_c_ends_in_order(study: Coldload) -> None:
    process = study.start("run", "tiny.toml", "--out", "out")
    wait_for_records(process, study.folder, "out", 1)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    (said,) = err.strip().splitlines()
    assert re.match(r"coldload run: interrupted: [1-7] of 8 trials are done in out; ", said)
    assert tells([said], "the same command goes on", "`coldload report out`")
    code, out, err = study.run("report", "out")
    assert (code, err) == (0, "")
    assert tells(out, "provisional: ", "not complete")


@pytest.mark.lengthy  # as the lanes of a run do not: test_lanes.py
def test_two_runs_side_by_side_do_not_disturb_each_other(study: Coldload) -> None:
    both = [study.start("run", "tiny.toml", "--out", name, "--trials", "2") for name in ("a", "b")]
    for process in both:
        out, err = process.communicate()
        assert ended_well(process.returncode, err), (out, err)
    for name in ("a", "b"):
        assert {record["outcome"] for record in records(study.folder / name)} == {"ok"}


def test_an_ordinary_user_gets_the_same(study: Coldload) -> None:
    """Uid 1000 without any privilege outside its own user namespace; both engines, which have hosts of their own."""
    both = STUDY.replace('"h2"]', '"h2", "spdy-plain"]\nengines = ["chromium", "qtwebkit"]')
    (study.folder / "tiny.toml").write_text(both)
    prefix = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
    code, out, err = study.run("run", "tiny.toml", "--out", "out", "--trials", "1", prefix=prefix)
    assert ended_well(code, err), (out, err)
    assert [record["outcome"] for record in records(study.folder / "out")] == ["ok"] * 4
    for record in records(study.folder / "out"):
        engine = Engine(record["condition"]["engine"])
        assert {key: record[key] for key in unobserved(engine)} == dict.fromkeys(unobserved(engine))
    environment = json.loads((study.folder / "out" / "environment.json").read_text())
    assert environment["machine"]["as_root"] is False


def test_a_claim_without_data_ends_a_run_with_1_and_stands_in_the_file_for_ci(study: Coldload) -> None:
    """Caddy does not tell how deep pipelines were, however quiet the machine is."""
    claim = (
        '[[claims]]\nname = "depth"\nsubject = {protocol = "h2"}\nreference = {protocol = "http1"}\n'
        'metric = "pipelining_depth"\nratio_below = 1\n'
    )
    once = STUDY.replace("least = 4", "least = 1, most = 1")
    (study.folder / "tiny.toml").write_text(once + claim)
    code, out, err = study.run("run", "tiny.toml", "--out", "out", "--junit", "claims.xml")
    assert code == 1, err
    assert "claim depth: no data" in out
    (suite,) = ElementTree.parse(study.folder / "claims.xml").getroot()  # noqa: S314  # we wrote it
    assert suite.get("errors") == suite.get("tests") == "1"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("run", "nothing.toml"), 2, "no study file nothing.toml"),
        (("run", "tiny.toml", "--only", "protocol=h3"), 2, "it has: http1, h2"),
        (("run", "tiny.toml", "--trials", "0"), 2, "--trials is 0"),
        (("load", "elsewhere"), 2, "elsewhere"),
        (("load", "small", "--rtt-ms", "-5"), 2, "rtt_ms is -5"),
        (("load", "small", "--down-mbps", "0"), 2, "down_mbps is 0"),
        (("load", "small", "--think-time", "soon"), 2, "think_time: unknown 'soon'"),
        (("load", "small", "--think-time", "50"), 2, "servers that can: apache, nginx"),
        (("load", "small", "--compression", "zip"), 2, "compression: unknown 'zip'; known: recorded, none"),
        (("verify", "small", "--protocol", "http1", "--compression", "brotli"), 2, "brotli over https only"),
        (("verify", "small", "--variant", "minify", "--determinism", "false"), 2, "do not go with --variant"),
        (("report", "nowhere"), 2, "nowhere"),
        (("archive",), 2, "a URL to archive"),
        (("archive", "http://127.0.0.1:9/", "--name", "x"), 2, "127.0.0.1:9"),
        (("calibrate", "--link", "cabel"), 2, "did you mean cable"),
    ],
)
def test_bad_input_gets_one_clear_line(study: Coldload, words: tuple[str, ...], code: int, said: str) -> None:
    ended, _, err = study.run(*words)
    assert ended == code
    assert said in err
    assert len(err.strip().splitlines()) == 1, err
    assert not (study.folder / "runs").exists()


def test_a_damaged_index_is_named(study: Coldload) -> None:
    index = study.folder / "archives" / "small" / "index.jsonl"
    index.write_text(index.read_text()[:-40])
    code, _, err = study.run("load", "small")
    assert code == 2
    assert "index.jsonl" in err
    assert len(err.strip().splitlines()) == 1


def test_a_missing_program_is_named_with_the_way_to_get_it(study: Coldload) -> None:
    """A system without Apache: its program and its folder are covered by empty ones."""
    cover = 'mount -t tmpfs none /usr/sbin && exec "$@"'
    prefix = (*OWN_MOUNTS, "sh", "-c", cover, "sh")
    code, _, err = study.run("load", "small", "--server", "apache", prefix=prefix)
    assert code == 3
    assert "apache2 is not installed" in err
    assert "doctor" in err
    code, out, _ = study.run("doctor", prefix=prefix)
    assert code == 3
    assert "apt-get install apache2-bin" in out


def test_a_full_disk_leaves_earlier_records_intact() -> None:
    def fill() -> tuple[str, str]:
        folder = Path("/run/full")
        folder.mkdir()
        mount("tmpfs", str(folder), "tmpfs", 0, "size=8k")
        path = folder / "records.jsonl"
        kept = ""
        try:
            for number in range(1000):
                kept = path.read_text() if path.exists() else ""
                append_line(path, {"trial": number, "text": "x" * 100})
        except StorageFailed as error:
            return str(error), kept if path.read_text() == kept else "changed"
        return "never full", ""

    said, kept = inside(fill)
    assert "No space left on device" in said
    assert "earlier records are intact" in said
    assert len(kept.splitlines()) > 10
    assert all(json.loads(line)["text"] for line in kept.splitlines())


def test_a_run_on_a_full_disk_goes_on_once_there_is_room(study: Coldload) -> None:
    """The disk has room for the plan and a record or two; then for all."""
    (study.folder / "disk").mkdir()
    script = (
        'mount -t tmpfs -o size=44k none disk && "$@"; echo "ended with $?"; wc -l < disk/out/records.jsonl; '
        'mount -o remount,size=100m none disk && { "$@"; ended=$?; cp -r disk/out kept; exit $ended; }'
    )
    prefix = (*OWN_MOUNTS, "sh", "-c", script, "sh")
    code, out, err = study.run("run", "tiny.toml", "--out", "disk/out", "--trials", "3", prefix=prefix)
    assert code == 0 or was_too_busy(code, err), err
    assert "ended with 3" in out
    said = err.splitlines()[0]
    assert tells(said, "No space left on device", "earlier records are intact", "make room")
    assert [record["trial"] for record in records(study.folder / "kept")] == [f"{n:05d}" for n in range(1, 7)]
    before = int(out.partition("ended with 3\n")[2].split()[0])
    assert 0 < before < 6
    assert f"{6 - before} of 6 trials to do" in out


@pytest.mark.parametrize(
    ("driver", "limit"),
    [("playwright", "--nofile=16"), ("selenium", "--nofile=16"), ("playwright", "--as=1000000000")],
)
def test_a_driver_without_resources_is_one_line(study: Coldload, driver: str, limit: str) -> None:
    """Too few descriptors, too little memory: the machine lacks something."""
    code, out, err = study.run("load", "small", "--driver", driver, prefix=("prlimit", limit))
    assert code == 3
    (said,) = (out + err).strip().splitlines()
    assert "did not start" in said


def test_a_run_without_a_trial_that_counts_says_so(study: Coldload) -> None:
    """No page loads within a second on this link."""
    slow = STUDY.replace("timeout_s = 20", "timeout_s = 1").replace("down_mbps = 20", "down_mbps = 0.3")
    (study.folder / "slow.toml").write_text(slow)
    code, _, err = study.run("run", "slow.toml", "--out", "out", "--trials", "1", "--only", "protocol=http1")
    assert code == 1
    (said,) = err.strip().splitlines()
    assert "no trial of out counts" in said
    assert tells(said, "1 page-timeout", "within 1 s")
    assert (study.folder / "out" / "report.html").exists()


def test_doctor_finds_everything_here(coldload: Coldload) -> None:
    code, out, err = coldload.run("doctor")
    assert (code, err) == (0, "")
    assert "MISSING" not in out


def test_load_prints_one_line(study: Coldload) -> None:
    code, out, err = study.run(
        "load", "small", "--protocol", "https1", "--driver", "selenium", "--rtt-ms", "20",
        "--server", "nginx", "--think-time", "1000", "--determinism", "false", "--compression", "gzip-9",
    )  # fmt: skip
    assert (code, err) == (0, "")
    (line,) = out.splitlines()
    assert "small plain gzip-9 https1 10mbps-20ms selenium" in line
    counts = ["11 requests (11 by http/1.1; 1 not archived)", "12 requests (12 by http/1.1; 2 not archived)"]
    assert any(count in line for count in counts)  # the icon is asked for about when the load ends
    load_ms = float(line.partition("selenium: ")[2].partition(" ms load")[0].replace(",", ""))
    assert load_ms > 2000  # the page waits, and then what it names


def test_verify_lists_what_is_missing(study: Coldload) -> None:
    code, out, err = study.run("verify", "small", "--device", "desktop", "--determinism", "false")
    assert (code, err) == (1, "")
    assert "10 answered as recorded" in out
    assert "https://cdn.example/missing.png" in out
    pictures = list((study.folder / "archives" / "small" / "verify").glob("desktop-*.png"))
    assert [picture.read_bytes()[:4] for picture in pictures] == [b"\x89PNG"]
    report = json.loads(pictures[0].with_suffix(".json").read_text())
    assert (report["determinism"], report["compression"]) == (False, "recorded")


def test_shell_runs_a_command_behind_the_link(coldload: Coldload) -> None:
    code, out, err = coldload.run("shell", "--rtt-ms", "80", "--", "ip", "-br", "address")
    assert (code, err) == (0, "")
    assert "link0" in out
    code, _, err = coldload.run("shell", "--", "false")
    assert (code, err) == (1, "")
    code, _, err = coldload.run("shell", "--", "no-such-program-here")
    assert code == 2
    assert "no-such-program-here" in err


def test_shell_says_when_its_link_died(coldload: Coldload) -> None:
    """What ran behind it ran behind none, whatever it says of itself."""
    ended = "kill -9 $(pidof linkem) && sleep 0.2 && true"
    code, _, err = coldload.run("shell", "--", "sh", "-c", ended)
    assert code == 3
    assert err.count("\n") == 1
    assert "link" in err
