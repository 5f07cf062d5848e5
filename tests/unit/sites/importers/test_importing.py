"""What holds for every format: nothing is replaced by surprise, nothing is left behind, nothing else is raised."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import shutil
from pathlib import Path

import pytest

from harness.errors import ArchiveError
from sites.archive import list_archives, open_archive
from sites.importers import import_recording
from tests.unit.sites.importers.recordings import CSS, HTML, PAGE, Warc, entry, har, saved, wacz

MIRRORS = Path(__file__).parents[3] / "data" / "httrack"
WARC = Warc(gzip=False).response(PAGE, b"<p>" * 30, HTML).request(PAGE).response(f"{PAGE}s", b"i{}", CSS)
GZIPPED = Warc().response(PAGE, b"<p>" * 30, HTML).response(f"{PAGE}s", b"i{}", CSS)
RECORDINGS = {
    "warc": WARC.data,
    "warc.gz": GZIPPED.data,
    "wacz": wacz({"archive/a.warc.gz": GZIPPED.data, "pages/pages.jsonl": b"{}"}),
    "har": har(entry(), entry(f"{PAGE}p", b"\x89P", "image/png")),
}


@pytest.mark.parametrize("kind", ["plain", "rounds"])
def test_a_mirror_folder(tmp_path: Path, kind: str) -> None:
    archive = import_recording(MIRRORS / kind, tmp_path, "mirror")
    assert archive.captured_with == "mirror by HTTrack"
    assert len(archive.entries) > 3
    assert archive.notes[0] == f"Imported from {kind}."
    assert any("HTTrack keeps decoded bodies" in note for note in archive.notes)


def test_what_is_no_recording_is_named(tmp_path: Path) -> None:
    for path, why in (
        (tmp_path, "a folder without an HTTrack mirror"),
        (tmp_path / "none", "no such file or folder"),
        (tmp_path / ("n" * 4000), "cannot be read .*too long|no such file"),
        (Path("/dev/null"), "no such file or folder"),
    ):
        with pytest.raises(ArchiveError, match=why) as caught:
            import_recording(path, tmp_path / "archives", "site")
        assert len(str(caught.value)) < 600
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", RECORDINGS)
def test_an_archive_is_replaced_only_on_request(tmp_path: Path, kind: str) -> None:
    path = saved(tmp_path, RECORDINGS[kind])
    archives = tmp_path / "archives"
    before = import_recording(path, archives, "site")
    with pytest.raises(ArchiveError, match=r"archive site .* --name .* --replace"):
        import_recording(path, archives, "site")
    with pytest.raises(ArchiveError, match="an archive cannot be called"):
        import_recording(path, archives, "../site")
    other = saved(tmp_path, Warc().response(PAGE, b"<p>other", HTML).data, "other")
    assert import_recording(other, archives, "site", replace=True).digest != before.digest
    assert [each.name for each in archives.iterdir()] == ["site"]
    with pytest.raises(ArchiveError, match="no such file"):
        import_recording(tmp_path / "none", archives, "site", replace=True)
    assert len(open_archive(archives, "site").entries) == 1


def test_what_a_killed_import_leaves_is_no_archive_and_goes_with_the_next(tmp_path: Path) -> None:
    archive = import_recording(saved(tmp_path, WARC.data), tmp_path / "archives", "site")
    left = archive.folder.with_name(f".site.{'0123' * 4}.new")
    shutil.copytree(archive.folder, left)
    assert [each.name for each in list_archives(tmp_path / "archives")] == ["site"]
    import_recording(tmp_path / "recording", tmp_path / "archives", "site", replace=True)
    assert [each.name for each in (tmp_path / "archives").iterdir()] == ["site"]


def test_what_another_process_is_writing_is_left_alone(tmp_path: Path) -> None:
    busy = tmp_path / "archives" / f".site.{'4567' * 4}.new"
    busy.mkdir(parents=True)
    writer = os.open(busy, os.O_RDONLY)
    fcntl.flock(writer, fcntl.LOCK_EX)
    import_recording(saved(tmp_path, WARC.data), tmp_path / "archives", "site")
    assert busy.is_dir()
    os.close(writer)


def test_an_archive_can_be_imported_itself(tmp_path: Path) -> None:
    made = import_recording(saved(tmp_path, RECORDINGS["har"]), tmp_path / "archives", "site", f"{PAGE}p")
    again = import_recording(made.folder / "archive.warc.gz", tmp_path / "archives", "again")
    assert again.digest == made.digest


@pytest.mark.thorough
@pytest.mark.parametrize("kind", RECORDINGS)
def test_cut_and_damaged_recordings_raise_nothing_else_and_leave_nothing(tmp_path: Path, kind: str) -> None:
    """Seeded, so that a failure comes back."""
    chance = random.Random(f"{kind} 1")  # noqa: S311
    whole, archives = RECORDINGS[kind], tmp_path / "archives"
    for _ in range(60):
        data = bytearray(whole[: chance.randrange(len(whole))] if chance.random() < 0.4 else whole)
        for _ in range(chance.randrange(4)):
            at = chance.randrange(len(data) + 1)
            data[at : at + chance.randrange(6)] = chance.randbytes(chance.randrange(6))
        said = ""
        try:
            import_recording(saved(tmp_path, bytes(data)), archives, "site", replace=True)
        except ArchiveError as error:
            said = str(error)
        assert said.isprintable()
        for left in archives.iterdir() if archives.exists() else ():
            assert left.name == "site"
            shutil.rmtree(left)
    assert {path.name for path in tmp_path.iterdir()} <= {"recording", "archives"}


@pytest.mark.thorough
def test_damaged_mirrors_raise_nothing_else(tmp_path: Path) -> None:
    chance = random.Random(3)  # noqa: S311
    folder = tmp_path / "mirror"
    shutil.copytree(MIRRORS / "plain", folder)
    for file in ("new.zip", "new.txt") * 20:
        whole = (MIRRORS / "plain" / "hts-cache" / file).read_bytes()
        at = chance.randrange(len(whole))
        (folder / "hts-cache" / file).write_bytes(whole[:at] + chance.randbytes(4) + whole[at + 4 :])
        with contextlib.suppress(ArchiveError):
            import_recording(folder, tmp_path / "archives", "site", replace=True)
    assert {path.name for path in tmp_path.rglob("*") if path.parent.name == "archives"} <= {"site"}


def test_random_bytes_are_no_recording(tmp_path: Path) -> None:
    chance = random.Random(1)  # noqa: S311
    for start in (
        b"",
        b"WARC/1.0\r\n",
        b"WARC/1.1\r\nContent-Length: 9\r\n\r\n",
        b"\x1f\x8b\x08",
        b"PK\x03\x04",
        b"{",
    ):
        for _ in range(10):
            path = saved(tmp_path, start + chance.randbytes(chance.randrange(1, 400)))
            with pytest.raises(ArchiveError):
                import_recording(path, tmp_path / "archives", "site")
    assert [path.name for path in tmp_path.iterdir()] == ["recording"]
