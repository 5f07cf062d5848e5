"""Paths that no file can have are wrong input, whatever command takes them; what is no file is never replaced."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.cli.commands import main
from harness.cli.paths import given_run
from harness.system.folders import OUTSIDE, RUNS, kept_folder
from sites.archive import write_archive
from sites.response import Response
from sites.warc import About
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic

COMMANDS = (
    ("plan",),
    ("run",),
    ("report",),
    ("records",),
    ("pack",),
    ("show",),
    ("import",),
    ("compare", "."),
    ("archive", "--list"),
    ("report", ".", "--out"),
    ("report", ".", "--junit"),
    ("records", ".", "--out"),
    ("run", "demo-quick", "--out"),
    ("load", "x", "--keep"),
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Synthetic(trials=1, pages=("p",), rates_mbps=(10.0,), rtts_ms=(50.0,)).write(tmp_path / "run")


def test_the_latest_run_is_the_one_begun_last_also_beside_a_copy_of_an_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = kept_folder(RUNS)
    with pytest.raises(argparse.ArgumentTypeError, match="there is no run"):
        given_run("latest")

    def made(name: str, *, environment: str | None = None, record: str | None = None, plan_s: float) -> Path:
        run = runs / name
        run.mkdir(parents=True)
        (run / "plan.jsonl").write_text("{}\n")
        os.utime(run / "plan.jsonl", (plan_s, plan_s))
        if environment:
            (run / "environment.json").write_text(json.dumps({"taken_utc": environment}))
        if record:
            (run / "records.jsonl").write_text(json.dumps({"started_utc": record}) + "\n")
        return run

    noon_s = datetime(2020, 11, 30, 12, tzinfo=UTC).timestamp()
    first = made("first", environment="2020-11-30T10:00:00Z", plan_s=noon_s)
    assert given_run("latest") == first
    second = made("second", environment="2020-11-30T11:00:00Z", plan_s=noon_s - 60)
    shutil.copytree(first, runs / "copy-of-first", copy_function=shutil.copyfile)
    assert given_run("latest") == second
    shutil.copytree(second, runs / "copy-of-second", copy_function=shutil.copyfile)
    assert given_run("latest") == second
    by_record = made("by-record", record="2020-11-30T11:30:00.500Z", plan_s=noon_s - 7200)
    assert given_run("latest") == by_record
    by_plan = made("by-plan", plan_s=noon_s - 60)
    assert given_run("latest") == by_plan
    made("damaged", environment="no date", plan_s=noon_s - 120)
    assert given_run("latest") == by_plan


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    "path", ["loop", "a/" * 2500, "n" * 300, "a\0b"], ids=["loop", "long", "name", "nul"]
)
def test_an_impossible_path_is_wrong_input(
    words: tuple[str, ...],
    path: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    with pytest.raises(SystemExit) as left:
        main([*words, path])
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert len(said) < 300
    assert "; give another path; see `coldload " in said or ": no file can be called so" in said


@pytest.mark.parametrize(
    "words",
    [
        ("report", "run", "--out"),
        ("report", "run", "--paper"),
        ("run", "demo-quick", "--out"),
        ("demo", "--out"),
        ("load", "x", "--keep"),
        ("cluster", "certificates"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("path", ["file", "pipe", "gone", "file/below", "nowhere"])
def test_what_is_no_folder_is_refused_as_one(
    words: tuple[str, ...],
    path: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("x")
    os.mkfifo("pipe")
    Path("gone").symlink_to("nothing")
    Path("nowhere").symlink_to(os.devnull)
    with pytest.raises(SystemExit) as left:
        main([*words, path])
    assert left.value.code == 2
    assert tells(capsys.readouterr().err, f": {path.removesuffix('/below')} is no folder", "another place")


def test_a_device_is_written_into(run: Path, tmp_path: Path) -> None:
    """A node made by the test would need root; a link to one shows the same."""
    nowhere = tmp_path / "nowhere"
    nowhere.symlink_to(os.devnull)
    assert main(["records", str(run), "--out", str(nowhere)]) == 0
    assert nowhere.is_symlink()
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_a_pipe_is_written_into(run: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        assert main(["records", str(run), "--out", str(pipe)]) == 0
        assert reader.stdout is not None
        assert reader.stdout.read().startswith(b'"run",')
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_stays_and_what_it_leads_to_is_replaced(run: Path, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("data.csv")
    assert main(["records", str(run), "--out", str(tmp_path / "link.csv")]) == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "data.csv").read_text().startswith('"run",')


@pytest.mark.thorough
@pytest.mark.parametrize("closed", ["1>&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_failure(run: Path, closed: str, tmp_path: Path) -> None:
    out = tmp_path / "data.csv"
    for words in (f"records '{run}'", f"records '{run}' --out '{out}'", "pages"):
        line = f"'{sys.executable}' -m harness.cli {words} {closed}"
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
    # No text of the command took the place of the closed stream.
    assert out.read_text().splitlines()[0].startswith('"run",')
    assert "records" not in out.read_text()


@pytest.mark.parametrize("stderr", ["2>/dev/full", "2> >(exit)"])
@pytest.mark.parametrize(("words", "code"), [("plan no-such-study", 2), ("pages", 0)])
def test_what_cannot_be_said_changes_nothing(words: str, code: int, stderr: str, tmp_path: Path) -> None:
    line = f"exec '{sys.executable}' -m harness.cli {words} {stderr}"
    archives = {**os.environ, "COLDLOAD_ARCHIVES": str(tmp_path)}
    assert subprocess.run(["bash", "-c", line], env=archives, check=False).returncode == code


@pytest.mark.thorough
def test_a_full_output_is_one_line(run: Path) -> None:
    for words in (
        f"records '{run}'",
        f"records '{run}' --parquet",
        "pages",
        "--help",
        "run --help",
        "--version",
    ):
        line = f"'{sys.executable}' -m harness.cli {words} >/dev/full"
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (3, 1), (words, done.stderr)
        assert tells(done.stderr, "No space left on device", "disk is full")


@pytest.mark.thorough
def test_a_mistake_that_is_told_is_told_once_also_where_the_output_is_full(tmp_path: Path) -> None:
    for words in ("plan no-such-study", "pages no-such-page", "no-such-command"):
        line = f"'{sys.executable}' -m harness.cli {words} >/dev/full"
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 2, (words, done.stderr)
        assert "No space" not in done.stderr


@pytest.mark.thorough
def test_a_reader_that_has_gone_ends_a_table_well(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Response("http://dummy.example/", 200, (), b"x")
    write_archive(tmp_path / "archives", "dummy-2012", About(page.url, "test", "", ()), [page])
    monkeypatch.setenv("COLDLOAD_ARCHIVES", str(tmp_path / "archives"))
    for words in (f"records '{run}'", "plan demo-quick", "pages"):
        line = f"set -o pipefail; '{sys.executable}' -m harness.cli {words} | true"
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), words


@pytest.mark.thorough
@pytest.mark.parametrize("words", ["records {run}", "records {run} --parquet", "pages", "--help"])
def test_a_signal_ends_what_nobody_reads(words: str, run: Path) -> None:
    with full_pipe() as writing:
        command = [sys.executable, "-m", "harness.cli", *words.format(run=run).split()]
        with subprocess.Popen(command, stdout=writing, stderr=subprocess.PIPE, text=True) as waiting:
            with pytest.raises(subprocess.TimeoutExpired):
                waiting.wait(3)
            waiting.terminate()
            assert waiting.wait() == 130
            assert waiting.stderr is not None
            assert waiting.stderr.read().count("interrupted") == 1


@pytest.mark.thorough
@pytest.mark.parametrize("words", ["", "plan no-such-study", "no-such-command"])
def test_a_signal_ends_what_says_nothing_that_anybody_reads(words: str) -> None:
    command = [sys.executable, "-m", "harness.cli", *words.split()]
    with full_pipe() as writing, subprocess.Popen(command, stderr=writing) as waiting:
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(3)
        waiting.terminate()
        assert waiting.wait() == 130


@contextlib.contextmanager
def full_pipe() -> Iterator[int]:
    """Where to write to a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(writing, b"x" * 4096):
            pass
    os.set_blocking(writing, True)
    yield writing
    for descriptor in (reading, writing):
        os.close(descriptor)


HIDDEN = (
    ("load", "x", "--keep", "{}/kept"),
    ("crowd", "x", "--keep", "{}/kept"),
    ("verify", "x", "--variant", "core", "--keep", "{}/kept"),
    ("run", "demo-quick", "--out", "{}/run"),
    ("run", "demo-quick", "--summary", "{}/summary.md"),
    ("versus", "x", "y", "--protocol", "http1", "--html", "{}/page.html"),
    ("demo", "--out", "{}/run"),
)


@pytest.fixture
def hidden() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


@pytest.mark.parametrize("words", HIDDEN, ids=" ".join)
@pytest.mark.parametrize("through_a_link", [False, True])
def test_what_an_enclosure_would_lose_is_refused_before_anything_is_written(
    words: tuple[str, ...],
    through_a_link: bool,
    hidden: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("x", "y"):
        page = Response("http://dummy.example/", 200, (), name.encode())
        write_archive(tmp_path / "archives", name, About(page.url, "test", "", ()), [page])
    monkeypatch.setenv("COLDLOAD_ARCHIVES", str(tmp_path / "archives"))
    given = tmp_path / "link" if through_a_link else hidden
    if through_a_link:
        given.symlink_to(hidden)
    assert main([word.format(given) for word in words]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert tells(said, f"{words[-2]} {words[-1].format(given)} lies in /dev/shm")
    assert not list(hidden.iterdir())


@pytest.mark.parametrize("words", [("load", "x"), ("crowd", "x"), ("verify", "x"), ("run", "demo-quick")])
def test_archives_that_an_enclosure_would_not_see_are_told_of(
    words: tuple[str, ...],
    hidden: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLDLOAD_ARCHIVES", str(hidden))
    assert main(words) == 2
    assert f"the folder of archives {hidden} lies in /dev/shm" in capsys.readouterr().err


def test_what_is_done_outside_an_enclosure_may_lie_anywhere(hidden: Path, run: Path) -> None:
    assert main(["records", str(run), "--out", str(hidden / "records.csv")]) == 0
    assert (hidden / "records.csv").stat().st_size


@pytest.mark.parametrize(
    "words",
    [
        ("run", "demo-quick", "--out"),
        ("report", ".", "--junit"),
        ("records", ".", "--out"),
        ("archive", "http://dummy.example/", "--archives"),
        ("plan",),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("place", ["/var/www/html/r1", "link/r1", "/usr/share/../local/r1"])
def test_what_a_root_of_the_lab_would_lose_is_refused_before_anything_is_done(
    words: tuple[str, ...],
    place: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("link").symlink_to("/var/www")
    monkeypatch.setenv(OUTSIDE, "/nowhere")  # as in a root
    with pytest.raises(SystemExit) as left:
        main([*words, place])
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    own = "/usr" if "usr" in place else "/var"
    assert tells(
        said, f"{place} lies in {own}", f"the root of the lab has its own {own}", "choose a place elsewhere"
    )


def test_what_a_root_of_the_lab_shows_may_be_given_there(
    tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OUTSIDE, "/nowhere")  # as in a root
    assert main(["records", str(run), "--out", str(tmp_path / "records.csv")]) == 0
    assert main(["records", str(run), "--out", os.devnull]) == 0
