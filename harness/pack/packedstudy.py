"""The study of a pack: what it was, and the options of the command line that it was run with."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness.errors import StudyError
from harness.input import tomltext
from harness.model.plan import Options
from harness.pack.packedrun import STUDY, read_plan, unpack_run
from harness.pack.packfile import RUN, open_pack
from harness.study.study import Study
from harness.study.studyfile import parse_study
from sites.wholefolder import temporary_folder


@dataclass(frozen=True)
class PackedStudy:
    """`text` is the study's file, `options` those of the command line that its run was made with."""

    study: Study
    text: str
    options: Options
    seed: int


def read_packed_study(path: Path) -> PackedStudy:
    """The study of the pack at `path`; RecordsError or StudyError when it cannot be read."""
    temporary = temporary_folder(Path(tempfile.gettempdir()), "coldload", 0o700)
    with temporary as folder, open_pack(path) as pack:
        run = unpack_run(pack, folder / RUN)
        try:
            text = tomltext.read_text(run / STUDY)
        except (OSError, tomltext.TomlRefusedError) as error:
            raise StudyError(f"cannot read the study of the pack {path}: {error}") from error
        plan = read_plan(run)
        return PackedStudy(parse_study(text, f"{path}: {STUDY}", run), text, plan.options, plan.seed)
