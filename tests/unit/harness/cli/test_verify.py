"""What `verify --variant` keeps with an archive, and what of it a later verification replaces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.cli.verify import _kept
from harness.model.engine import DEVICES
from harness.model.protocol import Protocol
from harness.model.variant import parse_variant
from harness.probes.loadedpage import Screenful
from harness.verify.likeness import Likeness
from harness.verify.mending import Finding, Where
from sites.optimise.findings import Breakage, breakages, record
from tests.facts import tells
from tests.unit.sites.optimise.test_findings import SEEN, archived

CORE = parse_variant("core")
SMALL = (("inline_css.max_bytes", 100),)
WHOLE, BROKEN = (Likeness("core", "desktop", similarity, Screenful(1), 1) for similarity in (1.0, 0.5))
DESKTOP, MOBILE = (Where(Protocol.H2, (DEVICES[name],)) for name in ("desktop", "mobile"))


def test_what_breaks_a_variant_is_forgotten_only_where_it_was_looked_for(tmp_path: Path) -> None:
    archive = archived(tmp_path)
    usual = replace(SEEN, filter="inline_css", archive_digest=archive.digest)
    record(archive, [usual])
    assert list(_kept(archive, CORE.with_settings(SMALL), Finding((WHOLE,)), DESKTOP)) == []
    assert list(_kept(archive, CORE, Finding((WHOLE,)), MOBILE)) == []
    assert breakages(archive) == (usual,)
    assert tells(list(_kept(archive, CORE, Finding((WHOLE,)), DESKTOP)), "inline_css no longer breaks it")
    assert breakages(archive) == ()


def test_other_limits_and_devices_are_findings_of_their_own(tmp_path: Path) -> None:
    archive = archived(tmp_path)
    usual = replace(SEEN, filter="inline_css", archive_digest=archive.digest)
    small, mobile = replace(usual, settings=SMALL), replace(usual, device="mobile")

    def verified(found: Breakage, where: Where) -> None:
        list(
            _kept(archive, CORE.with_settings(found.settings), Finding((BROKEN,), (found,), (WHOLE,)), where)
        )

    verified(usual, DESKTOP)
    verified(small, DESKTOP)
    verified(mobile, MOBILE)
    assert breakages(archive) == (usual, small, mobile)
    later = replace(small, reason="desktop: it differs more")
    verified(later, DESKTOP)
    assert breakages(archive) == (usual, mobile, later)
