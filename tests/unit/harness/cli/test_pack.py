"""`coldload pack`, and a pack where a run or a study may stand."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import shutil
import socket
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli.commands import main
from harness.cli.making import provide_pages
from harness.errors import ArchiveError, Outcome
from harness.model.engine import Driver
from harness.pack.packfile import open_pack
from harness.run.directory import RunDirectory, open_run
from harness.study.plan import Plan
from harness.study.planning import make_plan
from harness.study.studyfile import parse_study
from sites.archive import Archive, open_archive, write_archive
from sites.optimise.findings import FILE, Breakage, record
from sites.response import Response
from sites.warc import About
from tests.facts import tells
from tests.unit.analysis.synthetic import observed

pytestmark = pytest.mark.thorough

STUDY = """name = "tiny"
pages = ["one"]
protocols = ["http1", "h2"]
drivers = ["playwright"]
trials = 4
aa = false
[[links]]
down_mbps = 10
rtt_ms = [20, 50]
"""
OPTIONS = (("--only", "link=10mbps-20ms"),)
PRIVATE = "/home/somebody/lab"


def archive(
    root: Path, body: bytes = b"<p>not ours to pass on</p>", scripts: tuple[str, ...] = ("a", "b")
) -> Archive:
    """A page and its scripts, which are kept in their order."""
    page = Response("http://one.example/", 200, (("Content-Type", "text/html"),), body)
    kind = (("Content-Type", "text/javascript"),)
    others = [Response(f"{page.url}{name}.js", 200, kind, name.encode()) for name in scripts]
    return write_archive(
        root, "one", About(page.url, "test", "", (f"from {PRIVATE}/one.har",)), [page, *others]
    )


def fill(run: RunDirectory, plan: Plan, digest: str) -> None:
    """Records of all trials, as if they had been measured."""
    for planned in plan.trials:
        condition = planned.condition.to_json()
        ms = (300.0 if condition["protocol"] == "h2" else 330.0) + planned.block
        head = {"schema": 2, **planned.to_json(), "attempt": 1, "left_out": None}
        record = head | observed(condition, ms, Outcome.OK, planned.order)
        if planned.order == 1:
            record |= {
                "outcome": Outcome.TESTBED_FAILED,
                "left_out": "testbed-failed",
                "reason": f"{PRIVATE}/caddy died",
            }
        with run.records_path.open("a") as file:
            file.write(json.dumps(record) + "\n")
    archives = {"one": {"digest": digest, "start_url": "http://one.example/"}}
    run.write_environment(
        {
            "coldload": "0.1.0",
            "programs": {engine.value: "X 1" for engine in plan.engines}
            | {"caddy": f"Caddy in {PRIVATE}/bin"},
            "link": {"backend": "tun"},
            "archives": archives,
        }
    )


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of a study that was narrowed, with its archive."""
    monkeypatch.chdir(tmp_path)
    made = archive(tmp_path / "archives")
    study = parse_study(STUDY.replace("[20, 50]", "20"), "tiny.toml")
    plan = make_plan(study, 99)
    assert study.drivers == (Driver.PLAYWRIGHT,)
    with open_run(tmp_path / "runs" / "tiny-1", replace(plan, options=OPTIONS)) as opened:
        fill(opened, plan, made.digest)
    (tmp_path / "runs" / "tiny-1" / "trials" / "00001").mkdir(parents=True)
    (tmp_path / "runs" / "tiny-1" / "trials" / "00001" / "link.pcap").write_bytes(b"x")
    return Path("runs/tiny-1")


def test_a_pack_holds_the_run_and_nothing_of_the_machine(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pack", str(run)]) == 0
    said = capsys.readouterr().out
    assert tells(said, "bodies of one", "of somebody else")
    assert "link.pcap 1" in said
    assert "pack: runs/tiny-1.zip" in said
    with zipfile.ZipFile("runs/tiny-1.zip") as packed:
        names = set(packed.namelist())
        content = b"\n".join(packed.read(name) for name in names)
    assert {
        "pack.json",
        "run/report.html",
        "run/tables/claims.csv",
        "run/environment.json",
        "run/records.jsonl",
    } <= names
    assert {"pages/one/index.jsonl", "pages/one/archive.json"} <= names
    assert not any(name.endswith((".warc.gz", ".pcap")) for name in names)
    assert any(name.startswith("run/figures/") and name.endswith(".pdf") for name in names)
    assert b"not ours to pass on" not in content
    told = {PRIVATE, "somebody", str(Path.cwd()), str(Path.home())} - {"/"}
    if getpass.getuser() != "root":
        told.add(getpass.getuser())
    if len(socket.gethostname()) > 8:
        told.add(socket.gethostname())
    assert {each for each in told if each.encode() in content} == set()


def test_the_same_run_gives_the_same_pack(run: Path) -> None:
    assert main(["pack", str(run), "--out", "a.zip"]) == 0
    shutil.copytree(run, Path("elsewhere") / run.name)
    assert main(["report", str(Path("elsewhere") / run.name)]) == 0  # what was made before does not matter
    assert main(["pack", str(Path("elsewhere") / run.name), "--out", "b.zip"]) == 0
    assert Path("a.zip").read_bytes() == Path("b.zip").read_bytes()


def test_another_machine_reports_a_pack_as_the_run_was_reported(run: Path, tmp_path: Path) -> None:
    assert main(["pack", str(run), "--out", str(tmp_path / "it.zip")]) == 0
    shutil.rmtree(run.parent)
    shutil.rmtree("archives")
    assert main(["report", "it.zip"]) == 0
    with open_pack(Path("it.zip")) as pack:
        before = pack.unpack("run", tmp_path / "unpacked")
    for part in ("report.html", "tables/claims.csv", "tables/exclusions.csv", "records.parquet"):
        assert (Path("it-report") / part).read_bytes() == (before / part).read_bytes()
    assert not list(Path("it-report").glob("*.jsonl"))


def test_a_pack_is_compared_as_a_run_is(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", str(run), "--no-report"]) == 0
    other = Path("runs/tiny-2")
    shutil.copytree(run, other)
    records = (other / "records.jsonl").read_text()
    (other / "records.jsonl").write_text(
        records.replace('"plt_ms": 30', '"plt_ms": 60').replace('"started_utc": "20', '"started_utc": "19')
    )
    capsys.readouterr()
    assert main(["compare", "runs/tiny-1.zip", str(other), "--fail-on", "10"]) == 1
    assert "runs/tiny-1.zip (study tiny" in capsys.readouterr().out
    assert main(["compare", "runs/tiny-1.zip", "runs/tiny-1.zip"]) == 2


def test_a_pack_beside_its_run_is_no_second_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor is a pack that is given twice. A pack tells other reasons."""
    assert main(["pack", str(run), "--no-report"]) == 0
    for given in (str(run), "runs/tiny-1.zip"):
        capsys.readouterr()
        assert main(["report", given, "runs/tiny-1.zip"]) == 2
        assert "run 2 (tiny-1) holds 8 records of run 1 (tiny-1)" in capsys.readouterr().err


def test_the_plan_of_a_pack_is_that_of_its_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", str(run), "--no-report"]) == 0
    capsys.readouterr()
    assert main(["plan", "runs/tiny-1.zip"]) == 0
    assert tells(capsys.readouterr().out, "2 conditions", "4 trials", "8 trials", "4 blocks")
    assert main(["plan", "runs/tiny-1.zip", "--trials", "2", "--only", "protocol=h2"]) == 0
    assert "1 condition x 2 trials" in capsys.readouterr().out.replace("1 conditions", "1 condition")


def test_trials_of_the_command_line_go_before_the_half_width_of_a_pack(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header, *rest = (run / "plan.jsonl").read_text().splitlines(keepends=True)
    until = json.loads(header) | {"options": [["--until", "2 %"], *map(list, OPTIONS)]}
    (run / "plan.jsonl").write_text("".join([json.dumps(until) + "\n", *rest]))
    assert main(["pack", str(run), "--no-report"]) == 0
    capsys.readouterr()
    assert main(["plan", "runs/tiny-1.zip"]) == 0
    assert "x up to 60 trials" in capsys.readouterr().out
    assert main(["plan", "runs/tiny-1.zip", "--trials", "3"]) == 0
    assert "x 3 trials" in capsys.readouterr().out


def test_a_pack_without_its_report_gives_the_same_one(run: Path) -> None:
    assert main(["pack", str(run), "--no-report"]) == 0
    with zipfile.ZipFile("runs/tiny-1.zip") as packed:
        assert not [name for name in packed.namelist() if "report" in name or "figures/" in name]
    assert main(["report", "runs/tiny-1.zip"]) == 0
    assert Path("runs/tiny-1-report/report.html").is_file()


def test_archives_go_with_a_pack_on_demand_and_come_out_as_they_were(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["pack", str(run), "--no-report", "--with-archives"]) == 0
    monkeypatch.setenv("COLDLOAD_ARCHIVES", "others")
    conditions = parse_study(STUDY, "tiny.toml").conditions
    provide_pages(argparse.Namespace(), Path("runs/tiny-1.zip"), conditions)
    for name in ("archive.warc.gz", "index.jsonl"):
        assert (Path("others/one") / name).read_bytes() == (Path("archives/one") / name).read_bytes()


def test_a_finding_refuses_a_study_that_says_nothing_and_changes_none_that_does(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("runs").mkdir(exist_ok=True)
    silent = STUDY.replace("trials", 'variants = ["minify"]\ntrials')
    there = open_archive(Path("archives"), "one")
    seen = Breakage(
        *("rewrite_css", "desktop: it breaks", "core", "2026-11-21T00:00:00Z", "chromium", "desktop", ()),
        archive_digest=there.digest,
        coldload="0.1.0",
    )
    for name, text in {"silent": silent, "left": f'{silent}\n[without]\none = ["rewrite_css"]\n'}.items():
        with open_run(Path("runs") / name, make_plan(parse_study(text, "tiny.toml"), 1)) as opened:
            fill(opened, opened.plan, there.digest)
        assert main(["pack", str(opened.folder), "--no-report", "--with-archives"]) == 0

    def planned(pack: str, root: str, *options: str) -> tuple[int, str]:
        monkeypatch.setenv("COLDLOAD_ARCHIVES", root)
        capsys.readouterr()
        code = main(["plan", f"runs/{pack}.zip", *options])
        said = capsys.readouterr()
        return code, said.err if code else said.out

    shutil.copytree("archives", "elsewhere")
    record(there, [seen])
    # The same study measures the same, whatever was found where it is run, or refuses.
    assert planned("left", "archives") == planned("left", "elsewhere")
    assert planned("silent", "elsewhere")[0] == 0
    code, said = planned("silent", "archives")
    assert (code, said.count("\n")) == (2, 1)
    assert tells(said, "rewrite_css breaks core", "desktop: it breaks", "chromium, 2026-11-21")
    assert 'without = {one = ["rewrite_css"]}' in said
    assert planned("silent", "archives", "--without", "one=") == planned("silent", "elsewhere")
    assert planned("silent", "archives", "--without", "one=rewrite_css") == planned("left", "elsewhere")
    # What was found of another recording, in another engine or of other filters says nothing.
    for other in (
        replace(seen, archive_digest="0" * 64),
        replace(seen, engine="qtwebkit"),
        replace(seen, filter="shard"),
        replace(seen, settings=(("inline_css.max_bytes", 9),)),
    ):
        (there.folder / FILE).unlink()
        record(there, [other])
        assert planned("silent", "archives")[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("pack", "nowhere"), "is not a run directory"),
        (("pack", "archives"), "is not a run directory"),
        (("pack", "runs/tiny-1", "--out", "runs"), "is a folder"),
        (("pack", "runs/tiny-1", "--out", "no/it.zip"), "no is no folder"),
        (("report", "cut.zip"), "damaged or cut short"),
        (("run", "cut.zip"), "damaged or cut short"),
        (("plan", "cut.zip"), "damaged or cut short"),
        (("compare", "cut.zip", "runs/tiny-1"), "damaged or cut short"),
        (("run", "runs/tiny-1.zip"), "holds no bodies of one (http://one.example/, digest "),
    ],
)
def test_what_cannot_be_is_one_line_and_nothing_is_left(
    words: tuple[str, ...],
    said: str,
    run: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert main(["pack", str(run), "--no-report"]) == 0
    whole = Path("runs/tiny-1.zip").read_bytes()
    Path("cut.zip").write_bytes(whole[: len(whole) // 2])
    if words[0] == "run":
        monkeypatch.setenv("COLDLOAD_ARCHIVES", "none")
    capsys.readouterr()
    before = sorted(Path().rglob("*"))
    assert main(list(words)) == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) == 1
    assert sorted(Path().rglob("*")) == before


def test_a_pack_without_room_is_one_line(run: Path, tmp_path: Path) -> None:
    """A file may not become longer than 2 kB, which the plan of the run already is."""
    command = f"ulimit -f 2; exec {sys.executable} -m harness.cli pack {run} --out {tmp_path / 'packed.zip'}"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr.count("\n")) == (3, 1)
    assert tells(ended.stderr, "set TMPDIR")
    assert not (tmp_path / "packed.zip").exists()


def test_an_archive_that_has_changed_is_told_from_the_measured_one(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive(Path("archives"), b"another page")
    assert main(["pack", str(run), "--with-archives"]) == 2
    assert tells(capsys.readouterr().err, "not in archives", "measured")
    assert main(["pack", str(run), "--no-report"]) == 0
    with zipfile.ZipFile("runs/tiny-1.zip") as packed:
        assert not any(name.startswith("pages/") for name in packed.namelist())
    capsys.readouterr()
    assert main(["run", "runs/tiny-1.zip"]) == 2
    assert tells(capsys.readouterr().err, "not the one", "measured")


def test_a_run_of_variants_of_a_page_that_was_replaced_says_that_the_page_is_not_known(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured, path = open_archive(Path("archives"), "one"), run / "environment.json"
    plan, environment = (run / "plan.jsonl").read_text(), json.loads(path.read_text())
    (run / "plan.jsonl").write_text(plan.replace('"variant": "plain"', '"variant": "core"'))
    records = run / "records.jsonl"
    records.write_text(records.read_text().replace('"variant": "plain"', '"variant": "core"'))
    told = {**environment["archives"].pop("one"), "notes": [f"variant core of one ({measured.digest[:16]})"]}
    environment["archives"]["one--core"] = told
    path.write_text(json.dumps(environment))
    assert main(["pack", str(run), "--no-report", "--with-archives"]) == 0
    archive(Path("archives"), b"another page")
    capsys.readouterr()
    assert main(["pack", str(run), "--no-report"]) == 0
    assert tells(capsys.readouterr().out, "not known", "which one was measured")
    with open_pack(Path("runs/tiny-1.zip")) as pack:
        assert [(page.digest, page.archived) for page in pack.manifest.pages] == [(None, False)]
    assert main(["pack", str(run), "--no-report", "--with-archives"]) == 2


@pytest.mark.parametrize("options", [(), ("--with-archives",)])
def test_an_archive_in_another_order_is_the_measured_one(options: tuple[str, ...], run: Path) -> None:
    measured = open_archive(Path("archives"), "one").digest
    assert main(["pack", str(run), "--no-report", *options]) == 0
    path, conditions = Path("runs/tiny-1.zip"), parse_study(STUDY, "tiny.toml").conditions
    assert archive(Path("archives"), scripts=("b", "a")).digest != measured
    provide_pages(argparse.Namespace(), path, conditions)
    for other in (("b", "c"), ("b",), ("b", "a", "c")):
        archive(Path("archives"), scripts=other)
        with pytest.raises(ArchiveError, match="is not the one that was measured"):
            provide_pages(argparse.Namespace(), path, conditions)


def test_who_has_no_entry_in_passwd_packs_as_anybody(run: Path) -> None:
    named = ("LOGNAME", "USER", "LNAME", "USERNAME")
    environment = {name: value for name, value in os.environ.items() if name not in named}
    words = ["unshare", "--user", "--map-user=54321", sys.executable, "-m", "harness.cli", "pack", str(run)]
    ended = subprocess.run(
        [*words, "--no-report"], env=environment, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert Path("runs/tiny-1.zip").exists()
