"""What a pack says of itself: `pack.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec

from harness.errors import RecordsError
from harness.input import jsontext
from harness.input.keys import NAME_PATTERN
from harness.input.shown import one_line, shown

MANIFEST, FORMAT, SCHEMA = "pack.json", "coldload pack", 1
Name = Annotated[str, msgspec.Meta(pattern=rf"^{NAME_PATTERN.pattern}\Z")]
Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
Count = Annotated[int, msgspec.Meta(ge=0)]


@dataclass(frozen=True)
class PackedFile:
    """A file of a pack, by its path in it."""

    path: str
    bytes: Count
    sha256: Digest


@dataclass(frozen=True)
class PackedPage:
    """A page of the study. `digest` is that of the archive as it was measured; None when nobody can tell.

    `recipe`: the page is made by coldload itself. `archived`: the pack holds the archive.
    """

    name: Name
    start_url: str | None
    digest: Digest | None
    recipe: bool
    archived: bool


@dataclass(frozen=True)
class Manifest:
    """A run, by the name of its directory, and what the pack holds of it. `left_out` counts files by their names."""

    coldload: str
    run: Name
    study: str
    seed: Count
    pages: tuple[PackedPage, ...]
    left_out: Mapping[str, Count] = field(default_factory=dict)
    files: tuple[PackedFile, ...] = ()


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
