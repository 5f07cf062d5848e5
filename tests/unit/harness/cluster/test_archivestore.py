"""Archives come once, and are what they were."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cluster.archivestore import ARRIVING, PARTS, ArchiveStore
from harness.cluster.messages import Parcel
from harness.errors import ArchiveError
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.warc import About

MACHINE = "lab-1"


def archive(root: Path, body: bytes = b"<p>a page") -> Archive:
    page = Response("https://site.example/", 200, (("Content-Type", "text/html"),), body)
    return write_archive(root, "page", About(page.url, "a test", "", ()), [page])


def sent(store: ArchiveStore, made: Archive, parcel: Parcel, piece: int = 100) -> None:
    for name in PARTS:
        data = (made.folder / name).read_bytes()
        for start in range(0, len(data), piece):
            store.receive(parcel, name, data[start : start + piece])
    store.keep(parcel)


def whole(root: Path) -> list[str]:
    """The digests of what a store holds."""
    return [path.name for path in root.iterdir() if path.name != ARRIVING]


def arriving(root: Path) -> int:
    """How many archives are not whole yet."""
    return len(list((root / ARRIVING).glob("*/*")))


def test_an_archive_comes_in_pieces_and_once(tmp_path: Path) -> None:
    made = archive(tmp_path / "here")
    parcel = Parcel(made.name, made.digest)
    store = ArchiveStore(tmp_path / "there", MACHINE)
    assert store.lacking([parcel]) == [parcel]
    with pytest.raises(ArchiveError, match="has not come here"):
        store.folder(parcel.name, parcel.digest)
    sent(store, made, parcel)
    assert {path.name for path in store.folder(parcel.name, parcel.digest).iterdir()} == set(PARTS)
    assert store.lacking([parcel]) == []
    assert ArchiveStore(tmp_path / "there", MACHINE).lacking([parcel]) == []
    assert (whole(tmp_path / "there"), arriving(tmp_path / "there")) == ([parcel.digest], 0)


@pytest.mark.parametrize("meanwhile", [False, True])  # another worker of the machine has had it
def test_what_a_killed_command_had_sent_of_an_archive_is_sent_anew(tmp_path: Path, meanwhile: bool) -> None:
    made = archive(tmp_path / "here")
    parcel = Parcel(made.name, made.digest)
    store = ArchiveStore(tmp_path / "there", MACHINE)
    store.lacking([parcel])
    store.receive(parcel, PARTS[0], (made.folder / PARTS[0]).read_bytes()[:100])
    if meanwhile:
        sent(ArchiveStore(tmp_path / "there", MACHINE), made, parcel)
        assert store.lacking([parcel]) == []
    else:
        assert store.lacking([parcel]) == [parcel]
        sent(store, made, parcel)
    assert store.folder(parcel.name, parcel.digest).is_dir()
    assert (whole(tmp_path / "there"), arriving(tmp_path / "there")) == ([parcel.digest], 0)


KILLED = """
import os, signal, sys
from pathlib import Path
from harness.cluster.archivestore import PARTS, ArchiveStore
from harness.cluster.messages import Parcel

store = ArchiveStore(Path(sys.argv[1]), sys.argv[2])
store.receive(Parcel("page", "0" * 64), PARTS[0], b"a part")
os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_a_worker(root: Path) -> None:
    """One of MACHINE, which had a part of an archive."""
    done = subprocess.run([sys.executable, "-P", "-c", KILLED, str(root), MACHINE], check=False)
    assert done.returncode == -signal.SIGKILL
    assert arriving(root) == 1


def test_what_a_killed_worker_had_of_an_archive_goes_with_the_next_run(tmp_path: Path) -> None:
    root = tmp_path / "there"
    kill_a_worker(root)
    made = archive(tmp_path / "here")
    parcel = Parcel(made.name, made.digest)
    store = ArchiveStore(root, MACHINE)
    assert store.lacking([parcel]) == [parcel]
    assert (whole(root), arriving(root)) == ([], 0)
    store.receive(parcel, PARTS[0], b"of one that lives")
    ArchiveStore(root, MACHINE).lacking([parcel])
    assert arriving(root) == 1


def test_what_arrives_at_another_machine_stays_whatever_its_locks_say_here(tmp_path: Path) -> None:
    """On a home in the network each machine sees its own locks alone: what arrives elsewhere looks left by the dead."""
    root = tmp_path / "there"
    kill_a_worker(root)
    made = archive(tmp_path / "here")
    parcel = Parcel(made.name, made.digest)
    other = ArchiveStore(root, "lab-2")
    assert other.lacking([parcel]) == [parcel]
    sent(other, made, parcel)
    assert arriving(root) == 1
    assert ArchiveStore(root, MACHINE).lacking([parcel]) == []  # what is whole is everybody's
    assert arriving(root) == 0


def test_two_workers_may_receive_one_archive_at_once(tmp_path: Path) -> None:
    root, made = tmp_path / "there", archive(tmp_path / "here")
    parcel = Parcel(made.name, made.digest)
    first, second = ArchiveStore(root, MACHINE), ArchiveStore(root, "lab-2")
    for name in PARTS:
        second.receive(parcel, name, (made.folder / name).read_bytes())
    sent(first, made, parcel)
    second.keep(parcel)
    assert second.folder(parcel.name, parcel.digest) == first.folder(parcel.name, parcel.digest)
    assert (whole(root), arriving(root)) == ([parcel.digest], 0)


def test_another_archive_is_refused_and_not_kept(tmp_path: Path) -> None:
    made, other = archive(tmp_path / "here"), archive(tmp_path / "elsewhere", b"<p>another one")
    parcel = Parcel(made.name, made.digest)
    store = ArchiveStore(tmp_path / "there", MACHINE)
    with pytest.raises(
        ArchiveError, match=f"has digest {other.digest[:12]} here and {made.digest[:12]} where the run is"
    ):
        sent(store, other, parcel)
    assert (whole(tmp_path / "there"), arriving(tmp_path / "there")) == ([], 0)


def test_one_that_was_changed_since_is_refused_with_its_place(tmp_path: Path) -> None:
    made, other = archive(tmp_path / "here"), archive(tmp_path / "elsewhere", b"<p>another one")
    parcel = Parcel(made.name, made.digest)
    sent(ArchiveStore(tmp_path / "there", MACHINE), made, parcel)
    folder = tmp_path / "there" / made.digest / made.name
    for name in PARTS:
        (folder / name).write_bytes((other.folder / name).read_bytes())
    with pytest.raises(ArchiveError, match=f"remove {folder}"):
        ArchiveStore(tmp_path / "there", MACHINE).lacking([parcel])


def test_only_parts_of_an_archive_are_taken(tmp_path: Path) -> None:
    store = ArchiveStore(tmp_path / "there", MACHINE)
    with pytest.raises(ArchiveError, match="no part of an archive"):
        store.receive(Parcel("page", "0" * 64), "../../evil", b"x")
