"""The study of a pack: what it was, and the options of the command line that it was run with."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.errors import StudyError
from harness.input import tomltext
from harness.pack.manifest import Manifest
from harness.pack.packedrun import STUDY
from harness.pack.packfile import RUN, open_pack
from harness.study.study import Study
from harness.study.studyfile import parse_study
from sites.wholefolder import temporary_folder

# As `coldload run` notes them at the end of study.toml, a line each.
_NOTED = re.compile(r"# run with (--[a-z-]+) ([^\n]*)\n")
MOST_OPTIONS = 100


@dataclass(frozen=True)
class PackedStudy:
    """`text` is the study's file without the options that were noted below it, which are `options`."""

    study: Study
    text: str
    options: tuple[tuple[str, str], ...]
    seed: int


def read_packed_study(path: Path) -> PackedStudy:
    """The study of the pack at `path`; RecordsError or StudyError when it cannot be read."""
    temporary = temporary_folder(Path(tempfile.gettempdir()), "coldload", 0o700)
    with temporary as folder, open_pack(path) as pack:
        run = pack.unpack(RUN, folder / RUN)
        try:
            text, options = without_options(tomltext.read_text(run / STUDY))
        except (OSError, tomltext.TomlRefusedError) as error:
            raise StudyError(f"cannot read the study of the pack {path}: {error}") from error
        if len(options) > MOST_OPTIONS:
            raise StudyError(
                f"the pack {path} notes {len(options):,} options of its run; at most {MOST_OPTIONS} are read"
            )
        study = parse_study(text, f"{path}: {STUDY}", run)
        options = (*_left_out(pack.manifest, study, path), *options)
        return PackedStudy(study, text, options, pack.manifest.seed)


def _left_out(manifest: Manifest, study: Study, path: Path) -> Iterator[tuple[str, str]]:
    """What variants went without in a run of an older version, whose study did not say so: as an option says it."""
    for page in manifest.pages:
        cells = [each for each in study.conditions if each.page == page.name]
        off = [
            each
            for each in page.switched_off or ()
            if any(each.filter in cell.variant.filters for cell in cells)
        ]
        for each in off:
            apart = {cell.engine for cell in cells if each.filter in cell.variant.filters} - {each.engine}
            if each.engine and apart:
                raise StudyError(
                    f"{path}: variants of {page.name} went without {each.filter} in {each.engine} alone, and this "
                    "version leaves it out in each engine or in none; run the pack with the version that made it"
                )
        if off:
            yield "--without", f"{page.name}={','.join(each.filter for each in off)}"


def without_options(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """A run's study.toml as the file that the study was, and the options it was run with."""
    options: list[tuple[str, str]] = []
    end = len(text)
    while noted := _NOTED.search(text, text.rfind("\n", 0, max(0, end - 1)) + 1, end):
        options.append((noted[1], noted[2]))
        end = noted.start()
        if text.endswith("\n\n", 0, end) or (end == 1 and text[0] == "\n"):
            end -= 1  # the empty line above the options
        if end and text[end - 1] != "\n":  # the study's last line had no end of its own
            return text[:end] + "\n", tuple(reversed(options))
    return text[:end], tuple(reversed(options))
