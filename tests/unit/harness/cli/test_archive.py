"""`coldload import` and `archive --list` as a user types them."""

from __future__ import annotations

import functools
import http.server
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cli import visiting
from harness.cli.archivelines import NOTES_SHOWN, note_lines, warning_lines
from harness.cli.commands import main
from sites.archive import list_archives, write_archive
from sites.response import Response
from sites.warc import About
from tests.facts import tells
from tests.unit.sites.importers.recordings import HTML, PAGE, Warc, entry, har, saved


@pytest.fixture(autouse=True)
def archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLDLOAD_ARCHIVES", str(tmp_path / "archives"))
    return tmp_path / "archives"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """The URL of a served folder with two small pages."""
    folder = tmp_path / "site"
    folder.mkdir()
    for page in ("one.html", "two.html"):
        (folder / page).write_text(f"<p>{page}")
    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        return


@pytest.mark.parametrize(
    ("limit", "said"),
    [(1, "cannot put the bodies of the recording aside"), (100, "cannot write archive site")],
)
def test_an_import_that_cannot_write_blames_the_disk(
    tmp_path: Path, archives: Path, limit: int, said: str
) -> None:
    noise = random.Random(1).randbytes(102_000)  # noqa: S311  # what is stored besides makes it over 100 kB
    path = saved(tmp_path, Warc().response(PAGE, noise, HTML, ("Content-Encoding", "none")).data)
    command = f"ulimit -f {limit}; exec {sys.executable} -m harness.cli import {path} --name site"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert ended.returncode == 3
    assert ended.stderr.startswith(f"coldload import: {said}")
    assert (ended.stderr.count("\n"), "File too large; make room" in ended.stderr) == (1, True)
    assert not archives.exists() or list(archives.iterdir()) == []


WAITING = """
import argparse, pathlib, signal, sys
from harness.cli.failures import reported
from harness.system import interruption
from harness.system.files import temporary_folder

def command():
    with temporary_folder(pathlib.Path(sys.argv[1]), "site"):
        print("up", flush=True)
        signal.pause()

interruption.unwind()
sys.exit(reported(argparse.Namespace(command="import", verbose=False), command))
"""


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGTERM])
def test_a_signal_ends_an_import_with_one_line_and_leaves_nothing(
    archives: Path, number: signal.Signals
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WAITING, archives], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(number)
        _, err = process.communicate()
    assert (process.returncode, err) == (130, "coldload import: interrupted\n")
    assert list(archives.iterdir()) == []


def test_what_a_killed_import_left_goes_even_when_the_next_one_fails(tmp_path: Path, archives: Path) -> None:
    (archives / f".site.{'0123' * 4}.new").mkdir(parents=True)
    assert main(["import", str(saved(tmp_path, b"no recording")), "--name", "site"]) == 2
    assert list(archives.iterdir()) == []


def test_an_import_tells_what_the_archive_it_replaces_had(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def imported(*names: str) -> str:
        warc = Warc().response(PAGE, b"<p>", HTML)
        for name in names:
            warc.response(f"{PAGE}{name}", b"x")
        assert main(["import", str(saved(tmp_path, warc.data)), "--name", "site", "--replace"]) == 0
        return capsys.readouterr().out

    assert "objects only in" not in imported("a", "b") + imported("a", "b")
    said = imported("a", "c", "d", "e", "f")
    assert tells(said, f"({PAGE}b)", f"4 only in this one ({PAGE}c {PAGE}d {PAGE}e ...)")
    (tmp_path / "archives" / "site" / "index.jsonl").write_text("damaged")
    assert "objects only in" not in imported("a")


def test_import_says_what_it_took(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path, Warc().response(PAGE, b"<p>", HTML).request(PAGE).data, "my.page.warc.gz")
    assert main(["import", str(path)]) == 0
    said = capsys.readouterr().out
    assert f"archived {PAGE} as my.page: 1 responses of 1 host(s)" in said
    assert "request records not taken: 1" in said
    assert main(["import", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["import", str(path), "--replace", "--start-url", f"{PAGE}none"]) == 2
    assert main(["import", str(path), "--replace"]) == 0
    assert main(["import", str(saved(tmp_path, har(entry()), "x.HAR")), "--name", "other"]) == 0
    assert main(["pages", "other"]) == 0
    assert [archive.name for archive in list_archives(tmp_path / "archives")] == ["my.page", "other"]


@pytest.mark.thorough
def test_a_list_is_archived_reported_and_gone_on_with(
    site: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = saved(
        tmp_path, f"{site}/one.html one\n{site}/two.html two\n{site}/none.html none\n".encode(), "list"
    )
    assert main(["archive", "--with", "httrack", "--list", str(pages)]) == 1
    said = capsys.readouterr().out
    assert "one: 1 responses of 1 host(s)" in said
    assert tells(said, "1 of 3 failed", "same command")
    assert f"{site}/none.html: HTTrack could not fetch" in said
    (tmp_path / "site" / "none.html").write_text("<p>now")
    assert main(["archive", "--with", "httrack", "--list", str(pages), "--jobs", "3"]) == 0
    assert capsys.readouterr().out.count("archived already") == 2


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (["archive"], "name one of: a URL"),
        (["archive", "https://a.example/", "--shipped"], "name one of: a URL"),
        (["archive", "--list", "x", "--name", "y"], "name one of: a URL"),
        (["archive", "--list", "x", "--jobs", "0"], "--jobs 0 makes no sense"),
        (["archive", "not-a-url"], "'not-a-url' is no absolute URL"),
        (["record", "not-a-url"], "'not-a-url' is no absolute URL"),
        (["archive", "--list", "none"], "cannot read the list none"),
        (["import", "n" * 200], "cannot name an archive"),
        (["import", "none", "--name", "../up"], "cannot name an archive"),
        (["import", "none", "--start-url", "x"], "no such file or folder"),
    ],
)
def test_mistakes_get_one_line(argv: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    said = capsys.readouterr().err
    assert why in said
    assert said.count("\n") == 1


def test_a_folder_is_not_imported_as_this_machine(
    archives: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text("<p>")
    assert main(["import", str(folder), "--start-url", "http://localhost:8123/"]) == 2
    said = capsys.readouterr().err
    assert "and localhost is none" in said
    assert said.count("\n") == 1
    assert not archives.exists() or [*archives.iterdir()] == []


def test_notes_of_an_archive_are_printed_short(archives: Path) -> None:
    notes = ("two style sheets were missing", "x" * 1000, *(f"note {number}" for number in range(20)))
    page = Response(PAGE, 200, (), b"<p>")
    made = write_archive(archives, "noted", About(PAGE, "t", "", notes), [page])
    lines = note_lines(made)
    assert lines[0] == notes[0]
    assert all(len(line) < 300 for line in lines)
    assert lines[NOTES_SHOWN:] == [f"and {22 - NOTES_SHOWN} more in {made.folder / 'archive.json'}"]


def test_a_second_archive_of_a_page_is_compared_with_the_first_by_what_is_asked_for(archives: Path) -> None:
    def made(name: str, *rest: str) -> list[str]:
        answers = [Response(url, 200, (), b"x") for url in (PAGE, *(f"{PAGE}{each}" for each in rest))]
        return warning_lines(write_archive(archives, name, About(PAGE, "t", "", ("Warning: look",)), answers))

    assert made("one", "a", "b?_=1700000000000") == ["Warning: look"]
    _, told = made("two", "b?_=1711111111111", "c")
    assert tells(told, f"1 objects only in one ({PAGE}a)", f"1 only in this one ({PAGE}c)")
    assert made("one", "a", "b?_=1722222222222") == [
        "Warning: look"
    ]  # the archive that it replaces comes first
    (archives / "two" / "index.jsonl").write_text("damaged")
    assert made("three", "a", "b?_=1733333333333") == ["Warning: look"]


def test_progress_is_told_in_a_log_and_shows_no_escape(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(visiting, "LOG_EVERY_S", 0.01)
    with visiting.FetchStatus().shown() as status:
        status("Chromium", 3, "https://a.example/\x1b[2J" + "x" * 500)
        until = time.monotonic() + 30
        said = ""
        while "3 objects" not in said and time.monotonic() < until:
            said += capsys.readouterr().err
            time.sleep(0.01)
    assert "s, Chromium: 3 objects (https://a.example/" in said
    assert "\x1b" not in said
    assert max(map(len, said.splitlines())) < 120
