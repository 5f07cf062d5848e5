"""What `verify` found of variants of a page: kept with its archive, and no variant changes."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import ArchiveError
from harness.model.engine import Engine
from harness.model.variant import parse_variant
from sites.archive import Archive, write_archive
from sites.optimise.derive import derive
from sites.optimise.findings import FILE, Breakage, breakages, broken_by, record
from sites.response import Response
from sites.warc import About
from tests.facts import tells
from tests.unit.atonce import codes_of_both

SEEN = Breakage(
    *("rewrite_css", "desktop: it differs", "core", "2026-11-25T08:00:00Z", "chromium", "desktop", ()),
    archive_digest="0" * 64,
    coldload="0.1.0",
)
MINIFY = parse_variant("minify")


def archived(root: Path) -> Archive:
    page = Response(
        "https://a.example/", 200, (("Content-Type", "text/html"),), b"<style>p { color : red }</style>"
    )
    return write_archive(root, "page", About(page.url, "test", "", ()), [page])


def test_a_finding_is_kept_and_changes_no_variant(tmp_path: Path) -> None:
    archive = archived(tmp_path)
    assert breakages(archive) == ()
    before = derive(archive, MINIFY)
    seen = replace(SEEN, archive_digest=archive.digest, settings=(("inline_css.max_bytes", 9),))
    record(archive, [seen])
    assert breakages(archive) == (seen,)
    after = derive(archive, MINIFY)
    assert (after.fresh, after.archive.digest) == (False, before.archive.digest)
    assert archive.digest == archived(tmp_path / "again").digest
    other = replace(seen, filter="shard", archive_digest="0" * 64)
    record(archive, [other])
    assert breakages(archive) == (seen, other)
    record(archive, [replace(seen, reason="now so")], outdated=[seen])
    assert [each.reason for each in breakages(archive)] == ["now so"]  # nor what is of another recording
    assert tells([str(seen)], "rewrite_css breaks core", "desktop: it differs", "chromium, 2026-11-25")


def test_it_is_about_variants_with_the_filter_in_its_engine_of_this_recording_and_with_these_limits(
    tmp_path: Path,
) -> None:
    archive = archived(tmp_path)
    large = (("inline_css.max_bytes", 4096),)
    inline, core = parse_variant("inline_css"), parse_variant("core")

    def concerned(seen: Breakage, engine: Engine = Engine.CHROMIUM) -> list[str]:
        record(archive, [seen], breakages(archive))
        variants = (MINIFY, MINIFY.leaving_out(["rewrite_css"]), inline, core, core.with_settings(large))
        return [str(each) for each in variants if broken_by(archive, each, engine)]

    both = ["core", "core with inline_css.max_bytes=4096"]
    here = replace(SEEN, archive_digest=archive.digest)
    assert concerned(here) == ["minify", *both]
    assert concerned(SEEN) == []
    assert concerned(here, Engine.QTWEBKIT) == []
    assert concerned(replace(here, filter="inline_css", settings=large)) == both[1:]


RECORDING = """
import sys
from dataclasses import replace
from pathlib import Path
from sites.archive import open_archive
from sites.optimise.findings import record
from tests.unit.sites.optimise.test_findings import SEEN

archive = open_archive(Path(sys.argv[1]), "page")
print("ready", flush=True)
sys.stdin.read()
for number in range(200):
    record(archive, [replace(SEEN, filter=f"{sys.argv[2]}-{number}", archive_digest=archive.digest)])
"""


def test_verifications_at_once_lose_nothing_of_each_other(tmp_path: Path) -> None:
    archive = archived(tmp_path)
    words = [sys.executable, "-c", RECORDING, str(tmp_path)]
    assert codes_of_both([*words, "one"], [*words, "other"]) == [0, 0]
    assert len(breakages(archive)) == 400


@pytest.mark.parametrize(
    "damaged", ["{", "[]", "{}", '{"filters": [{"filter": 5}]}', '{"filters": {}}', "\x00"]
)
def test_a_damaged_file_is_named(damaged: str, tmp_path: Path) -> None:
    archive = archived(tmp_path)
    (archive.folder / FILE).write_text(damaged)
    with pytest.raises(ArchiveError, match=r"broken\.json is damaged .*; remove it"):
        broken_by(archive, MINIFY, Engine.CHROMIUM)
