"""A pack as a file: what goes in comes out, the same files give the same bytes, and nothing of a pack is trusted."""

from __future__ import annotations

import json
import stat
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import RecordsError
from harness.pack.packfile import MANIFEST, RUN, Manifest, PackedPage, is_pack, open_pack, write_pack
from tests.facts import tells

PAGE = PackedPage("one", "http://one.example/", "ab" * 32, recipe=False, archived=False)
ABOUT = Manifest("1.2.3", "tiny-20260101T000000Z", "tiny", 7, (PAGE,), {"link.pcap": 2})
FILES = {
    "run/study.toml": b'name = "tiny"\n',
    "run/trials/00001/buckets.jsonl": b"{}\n" * 50,
    "pages/one/index.jsonl": b"x",
}


def made(folder: Path, files: dict[str, bytes] | None = None) -> Path:
    """A pack of these files."""
    for name, content in (FILES if files is None else files).items():
        path = folder / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    write_pack(folder / "in", ABOUT, folder / "out.zip")
    return folder / "out.zip"


def rewritten(path: Path, change: Callable[[dict[str, Any], dict[str, bytes]], None]) -> Path:
    """The same pack with another manifest or other files, as somebody else may write it."""
    with zipfile.ZipFile(path) as packed:
        content = {name: packed.read(name) for name in packed.namelist()}
    manifest = json.loads(content.pop(MANIFEST))
    change(manifest, content)
    with zipfile.ZipFile(path, "w") as packed:
        for name, body in {MANIFEST: json.dumps(manifest).encode(), **content}.items():
            packed.writestr(name, body)
    return path


def refusal(path: Path) -> str:
    """The one line with which a pack is refused, as a whole or when it is unpacked."""
    with pytest.raises(RecordsError) as refused, open_pack(path) as pack:
        pack.unpack(RUN, path.parent / "unpacked")
    assert len(str(refused.value).splitlines()) == 1
    return str(refused.value)


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    with open_pack(made(tmp_path)) as pack:
        assert replace(pack.manifest, files=()) == ABOUT
        unpacked = pack.unpack(RUN, tmp_path / "unpacked")
    there = {path.relative_to(unpacked).as_posix(): path.read_bytes() for path in unpacked.rglob("*.*")}
    assert there == {
        name.removeprefix("run/"): body for name, body in FILES.items() if name.startswith("run/")
    }


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    first = made(tmp_path / "a")
    files = dict(reversed(FILES.items()))
    assert made(tmp_path / "b", files).read_bytes() == first.read_bytes()


def test_a_pack_is_told_from_other_files(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text('name = "x"')
    empty = tmp_path / "cut.zip"
    empty.write_bytes(b"")
    assert [is_pack(path) for path in (made(tmp_path), empty, study, tmp_path, tmp_path / "none.zip")] == [
        *(True, True),
        *(False, False, False),
    ]


@pytest.mark.parametrize(
    "name",
    [
        *(
            "../evil",
            "run/../../evil",
            "/etc/evil",
            "run//etc/evil",
            "run/./evil",
            "..\\evil",
            "run/..\\..\\evil",
        ),
        *(
            "C:/evil",
            "run/C:evil",
            "evil",
            "other/evil",
            "run/a\nb",
            "run/\x1b[2J",
            "run/" + "x" * 500,
            "run/",
        ),
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(name: str, tmp_path: Path) -> None:
    path = rewritten(made(tmp_path), lambda _, files: files.update({name: b"evil"}))
    assert "no pack of ours does" in refusal(path)
    assert not (tmp_path / "unpacked").exists()
    assert list(tmp_path.rglob("*evil*")) == []


def test_a_link_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path)
    entry = zipfile.ZipInfo("run/link")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "a") as packed:
        packed.writestr(entry, "/etc/passwd")
    assert "a link or no file" in refusal(path)


def test_a_file_twice_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path)
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as packed:
        packed.writestr("run/study.toml", "other")
    assert "twice" in refusal(path)


def test_a_file_that_is_a_folder_as_well_is_refused(tmp_path: Path) -> None:
    path = rewritten(made(tmp_path), lambda _, files: files.update({"run/study.toml/x": b"x"}))
    assert "as a file and as a folder" in refusal(path)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(MANIFEST, "{}")
        packed.writestr("run/records.jsonl", bytes(60_000_000))
    assert "would unpack to 60,000,002" in refusal(path)
    assert [each.name for each in tmp_path.iterdir()] == ["bomb.zip"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": 2, "coldload": "9.0"}, "schema 2, made by coldload '9.0'"),
        ({"schema": None}, "schema None"),
        ({"format": "something"}, "is of something else"),
        ({"run": "../evil"}, "damaged or not one of ours"),
        ({"run": "evil\n"}, "damaged or not one of ours"),
        ({"pages": [{"name": "one"}]}, "damaged or not one of ours"),
        ({"seed": -1}, "damaged or not one of ours"),
        ({"files": []}, "does not name 'pages/one/index.jsonl'"),
    ],
)
def test_another_manifest_is_refused_with_what_is_wrong(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    assert said in refusal(rewritten(made(tmp_path), lambda manifest, _: manifest.update(change)))


def test_a_file_that_was_changed_is_named(tmp_path: Path) -> None:
    path = rewritten(made(tmp_path), lambda _, files: files.update({"run/study.toml": b'name = "TINY"\n'}))
    assert tells([refusal(path)], "'run/study.toml' is not what")


def test_a_file_that_is_missing_or_of_another_size_is_named(tmp_path: Path) -> None:
    path = rewritten(made(tmp_path), lambda _, files: files.update({"run/study.toml": b""}))
    assert "has another 'run/study.toml'" in refusal(path)
    path = rewritten(path, lambda _, files: files.__delitem__("run/study.toml"))
    assert "lacks 'run/study.toml'" in refusal(path)


def test_other_files_are_no_packs(tmp_path: Path) -> None:
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("run/a", "x")
    assert "is a zip and no pack" in refusal(path)
    path.write_bytes(b"no zip at all")
    assert "damaged or cut short" in refusal(path)
    assert "there is no pack" in refusal(tmp_path / "none.zip")


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A pack, as its bytes."""
    return made(tmp_path_factory.mktemp("packed")).read_bytes()


@given(share=st.floats(0, 1, exclude_max=True), flipped=st.booleans(), bit=st.integers(0, 7))
def test_a_pack_that_was_cut_or_damaged_comes_out_whole_or_not_at_all(
    share: float, flipped: bool, bit: int, packed: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    path, whole = folder / "out.zip", bytearray(packed)
    place = int(share * len(whole))
    if flipped:
        whole[place] ^= 1 << bit
    path.write_bytes(whole if flipped else whole[:place])
    unpacked, said = folder / "unpacked", ""
    try:
        with open_pack(path) as pack:
            pack.unpack(RUN, unpacked)
    except RecordsError as error:
        said = str(error)
    assert len(said.splitlines()) <= 1
    whole_files = {name.removeprefix("run/"): body for name, body in FILES.items() if name.startswith("run/")}
    assert said or {name: (unpacked / name).read_bytes() for name in whole_files} == whole_files
