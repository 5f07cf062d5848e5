"""A pack as a file: a zip with a manifest (`pack.json`) and what the manifest names, each file with size and digest.

The same files give the same bytes. A pack comes from somebody else, so nothing of it is trusted: names, kinds, sizes
and digests are checked, and every file goes into a new folder.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import re
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import IO, Annotated

import msgspec

from harness.errors import RecordsError, StorageFailed
from harness.input import jsontext
from harness.input.jsontext import Count
from harness.input.keys import NAME_PATTERN
from harness.input.shown import one_line, shown
from harness.input.textfile import open_file
from harness.system.files import whole_file

MANIFEST, FORMAT, SCHEMA = "pack.json", "coldload pack", 1
Name = Annotated[str, msgspec.Meta(pattern=rf"^{NAME_PATTERN.pattern}\Z")]
Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


@dataclass(frozen=True)
class PackedFile:
    """A file of a pack, by its path in it."""

    path: str
    """path in the pack"""
    bytes: Count
    """size"""
    sha256: Digest
    """digest"""


@dataclass(frozen=True)
class PackedPage:
    """A page of the study."""

    name: Name
    """name of the page"""
    start_url: str | None
    """its URL; null when nobody can tell"""
    digest: Digest | None
    """digest of the archive as it was measured; null when nobody can tell"""
    recipe: bool
    """whether coldload makes the page by itself"""
    archived: bool
    """whether the pack holds the archive"""


@dataclass(frozen=True)
class Manifest:
    """A run, and what the pack holds of it."""

    coldload: str
    """version that made the pack"""
    run: Name
    """name of the run directory"""
    study: str
    """name of the study"""
    seed: Count
    """seed of the plan"""
    pages: tuple[PackedPage, ...]
    """pages of the study"""
    left_out: Mapping[str, Count] = field(default_factory=dict)
    """how many files of each name a study had kept of trials, which are not in the pack"""
    files: tuple[PackedFile, ...] = ()
    """files of the pack"""


def read_manifest(text: bytes, path: Path) -> Manifest:
    """The manifest of the pack at `path`; RecordsError when it is none, or that of a newer version."""
    try:
        data = jsontext.parse(text)
        made_by, schema = data.get("coldload"), data.get("schema")
        if data.get("format") != FORMAT:
            raise RecordsError(f"{path} is no pack: its {MANIFEST} is of something else")
        if schema != SCHEMA:
            raise RecordsError(
                f"{path} is a pack of schema {shown(schema)}, made by coldload {shown(made_by)}; this version reads "
                f"schema {SCHEMA}: read it with that version"
            )
        return msgspec.convert(data, Manifest)
    except ValueError as error:
        raise RecordsError(
            f"the pack {path} is damaged or not one of ours: {MANIFEST}: {one_line(str(error))}"
        ) from error


RUN, ARCHIVES, PAGES = "run", "archives", "pages"  # the folders of a pack
MOST_FILES = 100_000
MOST_BYTES = 50_000_000_000  # unpacked
MOST_TIMES = 300  # the size of the pack, once it is unpacked
ALWAYS_FINE_BYTES = 50_000_000  # also of a tiny pack
LONGEST_NAME = 400
_PART = re.compile(r"[^/\\:\x00-\x1f\x7f]{1,200}")
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BEGINNING = b"PK\x03\x04"
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # that a zip can say
_UNREADABLE = (
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


def is_pack(path: Path) -> bool:
    """Whether a path is meant as a pack: a file that begins as a zip does, or is called one."""
    try:
        with open_file(path) as file:
            return file.read(len(_BEGINNING)) == _BEGINNING or path.suffix == ".zip"
    except OSError:
        return False


class Pack:
    """An open pack. Its manifest is checked; the files are as they are unpacked."""

    def __init__(self, path: Path, packed: zipfile.ZipFile, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest
        self._packed = packed

    def unpack(self, part: str, into: Path) -> Path:
        """The files of one folder of the pack, in `into`, which is made; RecordsError when one is damaged."""
        into.mkdir(parents=True)
        for file in self.manifest.files:
            if file.path.startswith(f"{part}/"):
                target = into / PurePosixPath(file.path).relative_to(part)
                target.parent.mkdir(parents=True, exist_ok=True)
                self._unpack_file(file, target)
        return into

    def _unpack_file(self, file: PackedFile, target: Path) -> None:
        try:
            with self._packed.open(file.path) as source, target.open("xb") as unpacked:
                digest = _copied(source, unpacked)
        except _UNREADABLE as error:
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise StorageFailed(f"cannot unpack {self.path}: {error.strerror}; make room") from error
            raise _damaged(self.path, error) from error
        if digest != file.sha256:
            raise _damaged(self.path, f"{shown(file.path)} is not what the pack says (digest)")


@contextlib.contextmanager
def open_pack(path: Path) -> Iterator[Pack]:
    """A pack for reading; RecordsError when it is none, is damaged, or holds what no pack of ours does."""
    with contextlib.ExitStack() as stack:
        try:
            packed = stack.enter_context(zipfile.ZipFile(stack.enter_context(open_file(path))))
            entries = packed.infolist()
            _refuse_strange(path, entries)
            with packed.open(MANIFEST) as file:
                manifest = read_manifest(file.read(jsontext.MAX_LINE_BYTES + 1), path)
        except FileNotFoundError as error:
            raise RecordsError(f"there is no pack {path}") from error
        except KeyError as error:
            raise RecordsError(f"{path} is a zip and no pack: it has no {MANIFEST}") from error
        except _UNREADABLE as error:
            raise _damaged(path, error) from error
        _refuse_others(path, entries, manifest)
        yield Pack(path, packed, manifest)


def write_pack(folder: Path, about: Manifest, out: Path) -> Manifest:
    """Write all files below `folder` as a pack, whole or not at all; the manifest with its files."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    files = tuple(_described(name, paths[name]) for name in sorted(paths))
    manifest = replace(about, files=files)
    told = {"format": FORMAT, "schema": SCHEMA, **asdict(manifest)}
    try:
        with whole_file(out) as made, zipfile.ZipFile(made, "w") as packed:
            packed.writestr(_entry(MANIFEST), json.dumps(told, indent=1) + "\n")
            for file in files:
                entry = _entry(file.path)
                entry.file_size = file.bytes  # so that zipfile knows a large one beforehand
                with paths[file.path].open("rb") as source, packed.open(entry, "w") as target:
                    shutil.copyfileobj(source, target)
    except OSError as error:
        raise StorageFailed(
            f"cannot write the pack {out}: {error.strerror or error}; make room, or choose another --out"
        ) from error
    return manifest


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EARLIEST)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3  # Unix, wherever it is made
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    return entry


def _described(name: str, path: Path) -> PackedFile:
    with path.open("rb") as file:
        return PackedFile(name, path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def _copied(source: IO[bytes], target: IO[bytes]) -> str:
    """Copy, and the digest of what was copied."""
    digest = hashlib.sha256()
    while part := source.read(1 << 20):
        digest.update(part)
        target.write(part)
    return digest.hexdigest()


def _refuse_strange(path: Path, entries: Sequence[zipfile.ZipInfo]) -> None:
    """RecordsError for what no pack of ours holds, before any of it is read."""
    if len(entries) > MOST_FILES:
        raise RecordsError(f"{path} holds {len(entries):,} files; a pack holds {MOST_FILES:,} at most")
    seen: set[str] = set()
    for entry in entries:
        why = _strange(entry, seen)
        if why:
            raise RecordsError(
                f"{path} holds {shown(entry.filename)}, {why}; no pack of ours does: get it from its source"
            )
        seen.add(entry.filename)
    folders = {str(parent) for name in seen for parent in PurePosixPath(name).parents}
    if both := seen & folders:
        raise RecordsError(
            f"{path} holds {shown(min(both))} as a file and as a folder; get it from its source"
        )
    unpacked, size = sum(entry.file_size for entry in entries), path.stat().st_size
    if unpacked > min(MOST_BYTES, max(ALWAYS_FINE_BYTES, MOST_TIMES * size)):
        raise RecordsError(
            f"{path} has {size:,} bytes and would unpack to {unpacked:,}; nothing was unpacked: get it from its source"
        )


def _strange(entry: zipfile.ZipInfo, seen: set[str]) -> str:
    """What is wrong with an entry; empty when nothing is."""
    # Zipfile cuts names at a NUL; the name as it stands in the file is the one to judge.
    name = entry.orig_filename
    parts = name.split("/")
    placed = name == MANIFEST or (len(parts) > 1 and parts[0] in (RUN, ARCHIVES, PAGES))
    named = all(_PART.fullmatch(part) and part not in (".", "..") for part in parts)
    wrong = {
        "which leads out of it or belongs to no part of it": not placed,
        "which leads out of it or is no name": not named or len(name) > LONGEST_NAME,
        "twice": name in seen,
        "which is a link or no file": stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG),
        "which is encrypted": bool(entry.flag_bits & 1),
        "which is compressed by a method that packs do not use": entry.compress_type not in METHODS,
    }
    return next((why for why, is_so in wrong.items() if is_so), "")


def _refuse_others(path: Path, entries: Sequence[zipfile.ZipInfo], manifest: Manifest) -> None:
    """RecordsError unless the files are those of the manifest, in their sizes."""
    there = {entry.filename: entry.file_size for entry in entries if entry.filename != MANIFEST}
    named = {file.path: file.bytes for file in manifest.files}
    for name in sorted(there.keys() | named.keys()):
        if there.get(name) != named.get(name):
            missing = (
                "lacks" if name not in there else "does not name" if name not in named else "has another"
            )
            raise _damaged(path, f"it {missing} {shown(name)}")


def _damaged(path: Path, why: str | Exception) -> RecordsError:
    text = one_line(str(why))[:200] or type(why).__name__
    return RecordsError(f"the pack {path} is damaged or cut short ({text}); fetch it again")
