"""The pages of @desktop-2025 and @mobile-2025: replayed whole, as large as the sets say, and whole with `core`."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from harness.model.engine import DESKTOP, MOBILE, Device
from harness.model.protocol import Protocol
from harness.model.variant import parse_variant
from harness.study.pageset import read_set
from harness.verify.mending import Where, check_variants
from harness.verify.verification import verifications
from sites.archive import Archive
from sites.optimise.page import bare
from sites.recipes import RECIPES, package_cache
from tests.system.conftest import inside

pytestmark = pytest.mark.side_by_side

PAGES = [
    (name, device)
    for pages, device in (("desktop-2025", DESKTOP), ("mobile-2025", MOBILE))
    for name in read_set(pages, Path()).pages
]


def made(name: str, folder: Path) -> Archive:
    return RECIPES[name].archive(folder, package_cache())


@pytest.mark.parametrize(
    ("name", "device"),
    [*(pytest.param(*each, marks=pytest.mark.lengthy) for each in PAGES[:-1]), PAGES[-1]],
)
def test_a_page_is_replayed_whole_and_as_large_as_its_set_says(
    name: str, device: Device, tmp_path: Path
) -> None:
    archive = made(name, tmp_path)
    protocols = (Protocol.HTTP1, Protocol.H2)
    loads = [each.quality for each in inside(lambda: list(verifications(archive, protocols, (device,))))]
    assert [load.protocol for load in loads] == ["http1", "h2"]
    sizes = {bare(entry.url): entry.body_bytes for entry in archive.entries}
    for load in loads:
        assert (load.outcome, load.missed, load.closest, load.failed, load.console_errors) == (
            *("ok", (), (), ()),
            (),
        )
        assert 60 <= load.asked <= 120
        assert 8 <= len({urlsplit(url).hostname for url in load.answered}) <= 20
        assert 2_000_000 <= sum(sizes[bare(url)] for url in load.answered) <= 4_000_000
    over_http1, over_h2 = ({bare(url) for url in load.answered} for load in loads)
    assert over_http1 == over_h2


@pytest.mark.lengthy
@pytest.mark.parametrize(("name", "device"), PAGES)
def test_a_page_is_like_the_original_with_core(name: str, device: Device, tmp_path: Path) -> None:
    archive = made(name, tmp_path)
    where = Where(Protocol.H2, (device,))
    (finding,) = inside(lambda: list(check_variants(archive, [parse_variant("core")], where, mend=False)))
    assert finding.ok, [str(each) for each in finding.asked]
